package partner

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

// item is one reservation change of a batch: what the caller sent, the errors found before storing it, and its result. It is not stored if
// there are such errors.
type item struct {
	sent  *partnerv1.Reservation
	patch reservation.Patch
	wrong []fault.Field // paths are relative to the reservation, also in the answer
	path  string        // path in the request, such as "reservations[2]"
	out   *partnerv1.Reservation
	err   error
}

// batch stores several reservation changes, in order and in one transaction, so that the Idempotency-Key covers the whole batch. Each item
// has its own savepoint, so that it fails alone, and the answer lists the failures. Only an internal error, or a wrong number of masks,
// fails the whole batch. The report is nil for a protobuf request.
func (s *Service) batch(ctx context.Context, req *partnerv1.BatchUpsertReservationsRequest, report *jsonpb.Report) (*partnerv1.BatchUpsertReservationsResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	items, err := s.validateItems(req, report)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*partnerv1.BatchUpsertReservationsResponse, error) {
		for i := range items {
			it := &items[i]
			it.err = tx.Savepoint(func() (err error) {
				if len(it.wrong) > 0 {
					_, err = s.reservations().Upsert(tx, writeScope(a), it.patch, it.wrong)
					return err
				}
				it.out, err = s.upsert(tx, a, it.patch)
				return err
			})
			if _, known := fault.Of(it.err); it.err != nil && !known {
				return nil, it.err
			}
		}
		return batchMessage(ctx, items, report)
	})
}

// validateItems converts and validates each reservation of a batch. An invalid reservation gets errors in its item and does not fail the
// call. A wrong number of masks fails it: masks belong to reservations by their position, and would clear fields of others.
func (s *Service) validateItems(req *partnerv1.BatchUpsertReservationsRequest, report *jsonpb.Report) ([]item, error) {
	if masks, all := len(req.GetUpdateMasks()), len(req.GetReservations()); masks != 0 && masks != all {
		return nil, fault.Fields(fault.Field{Path: "updateMasks", Reason: fault.WrongValue,
			Message: fmt.Sprintf("must have one mask for each of the reservations, or none: there are %d reservations and %d masks", all, masks)})
	}
	items := make([]item, len(req.GetReservations()))
	for i, sent := range req.GetReservations() {
		it := &items[i]
		it.sent, it.path = sent, fmt.Sprintf("reservations[%d]", i)
		mask := &fieldmaskpb.FieldMask{Paths: report.Mask(it.path)}
		if masks := req.GetUpdateMasks(); i < len(masks) && len(masks[i].GetPaths()) > 0 {
			mask = masks[i]
		}
		it.patch, it.wrong = patchOf(sent, mask)
		wrong, err := chain.Violations(s.Validator, report, sent, it.path)
		if err != nil {
			return nil, err
		}
		it.wrong = append(relativePaths(wrong, it.path), it.wrong...)
	}
	return items, nil
}

// relativePaths makes the paths of field errors relative to the batch item, because the answer lists the errors per item. It changes wrong.
func relativePaths(wrong []fault.Field, path string) []fault.Field {
	for i := range wrong {
		wrong[i].Path = strings.TrimPrefix(strings.TrimPrefix(wrong[i].Path, path), ".")
	}
	return wrong
}

// batchMessage returns the answer to a batch: the stored reservations, and for each failed item its error and what the caller sent.
func batchMessage(ctx context.Context, items []item, report *jsonpb.Report) (*partnerv1.BatchUpsertReservationsResponse, error) {
	out := &partnerv1.BatchOutcome{}
	for _, it := range items {
		if it.err == nil {
			out.UpdatedReservations = append(out.UpdatedReservations, it.out)
			continue
		}
		sent, err := requestData(it, report)
		if err != nil {
			return nil, err
		}
		out.Failures = append(out.Failures, &partnerv1.BatchFailure{RequestData: sent, Error: chain.Failure(ctx, it.err)})
	}
	return &partnerv1.BatchUpsertReservationsResponse{Data: out}, nil
}

// requestData returns a batch item as the caller sent it. For gRPC, it returns the equivalent JSON without invalid timestamps.
func requestData(it item, report *jsonpb.Report) (*structpb.Struct, error) {
	if sent, ok := report.Sent(it.path); ok {
		return sent, nil
	}
	sent := proto.CloneOf(it.sent)
	removeInvalidTimes(sent.ProtoReflect())
	return jsonpb.Struct(sent)
}

// removeInvalidTimes clears fields with an invalid timestamp, which JSON cannot represent, at any depth except in maps.
func removeInvalidTimes(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				removeInvalidTimes(v.List().Get(i).Message())
			}
		default:
			if at, ok := v.Message().Interface().(*timestamppb.Timestamp); !ok {
				removeInvalidTimes(v.Message())
			} else if !at.IsValid() {
				m.Clear(fd)
			}
		}
		return true
	})
}
