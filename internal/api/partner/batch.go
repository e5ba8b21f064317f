package partner

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/body"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

// item is one change of a batch.
type item struct {
	sent  *partnerv1.Reservation
	patch reservation.Patch
	wrong []fault.Field
	path  string
	out   *partnerv1.Reservation
	err   error
}

// batch stores the items in their order, each behind a savepoint of its own, in one transaction: what is acknowledged is
// durable together, and the Idempotency-Key covers the whole.
func (s *Service) batch(ctx context.Context, a actor.Actor, req *partnerv1.BatchUpsertReservationsRequest, report *body.Report) (*partnerv1.BatchUpsertReservationsResponse, error) {
	items, err := itemsOf(ctx, req, report)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Memory, func(tx *db.Tx) (*partnerv1.BatchUpsertReservationsResponse, error) {
		for i := range items {
			it := &items[i]
			it.err = tx.Savepoint(func() (err error) {
				if len(it.wrong) > 0 {
					_, err = s.keeper().Upsert(tx, own(a), it.patch, it.wrong)
					return err
				}
				it.out, err = s.upsert(tx, a, it.patch)
				return err
			})
			if _, known := fault.Of(it.err); it.err != nil && !known {
				return nil, it.err
			}
		}
		return outcome(ctx, items, report)
	})
}

func itemsOf(ctx context.Context, req *partnerv1.BatchUpsertReservationsRequest, report *body.Report) ([]item, error) {
	items := make([]item, len(req.GetReservations()))
	for i, sent := range req.GetReservations() {
		it := &items[i]
		it.sent, it.path = sent, fmt.Sprintf("reservations[%d]", i)
		mask := &fieldmaskpb.FieldMask{Paths: report.Mask(it.path)}
		if masks := req.GetUpdateMasks(); i < len(masks) && len(masks[i].GetPaths()) > 0 {
			mask = masks[i]
		}
		it.patch, it.wrong = patchOf(sent, mask)
		wrong, err := chain.Violations(ctx, sent, it.path)
		if err != nil {
			return nil, err
		}
		it.wrong = append(within(wrong, it.path), it.wrong...)
	}
	return items, nil
}

// within names fields as the item itself does, which the failure shows beside them.
func within(wrong []fault.Field, path string) []fault.Field {
	for i := range wrong {
		wrong[i].Path = strings.TrimPrefix(strings.TrimPrefix(wrong[i].Path, path), ".")
	}
	return wrong
}

func outcome(ctx context.Context, items []item, report *body.Report) (*partnerv1.BatchUpsertReservationsResponse, error) {
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

// requestData is the item as it was sent; over gRPC, as REST would have sent it.
func requestData(it item, report *body.Report) (*structpb.Struct, error) {
	if sent, ok := report.Sent(it.path); ok {
		return sent, nil
	}
	sent := proto.CloneOf(it.sent)
	dropTimes(sent.ProtoReflect())
	raw, err := protojson.Marshal(sent)
	if err != nil {
		return nil, fmt.Errorf("write an item as JSON: %w", err)
	}
	out := &structpb.Struct{}
	return out, protojson.Unmarshal(raw, out)
}

// dropTimes takes out the times that are none, which JSON cannot say.
func dropTimes(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				dropTimes(v.List().Get(i).Message())
			}
		default:
			if at, ok := v.Message().Interface().(*timestamppb.Timestamp); !ok {
				dropTimes(v.Message())
			} else if !at.IsValid() {
				m.Clear(fd)
			}
		}
		return true
	})
}
