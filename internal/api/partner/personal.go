package partner

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/reservation"
)

// reservationsIn returns the reservations in the answer of a call that changes reservations, or nil for another answer. An entry can be
// nil.
func reservationsIn(answer proto.Message) []*partnerv1.Reservation {
	switch m := answer.(type) {
	case *partnerv1.UpsertReservationResponse:
		return []*partnerv1.Reservation{m.GetData()}
	case *partnerv1.BatchUpsertReservationsResponse:
		return m.GetData().GetUpdatedReservations()
	case *partnerv1.ResetKeyChainResponse:
		return []*partnerv1.Reservation{m.GetData().GetReservation()}
	}
	return nil
}

// RemovePersonal removes the booker and the ids of companions (accompanying guests) from an answer before it is stored under an
// Idempotency-Key, and from the failed items of a batch everything but their ids. The stored answer could outlive the erasure of the guest:
// see [idem.Answers].
func RemovePersonal(answer proto.Message) {
	if m, ok := answer.(*partnerv1.BatchUpsertReservationsResponse); ok {
		for _, f := range m.GetData().GetFailures() {
			f.RequestData = onlyIDs(f.GetRequestData())
		}
	}
	for _, r := range reservationsIn(answer) {
		if r == nil {
			continue
		}
		r.Booker = nil
		if r.PmsMeta != nil {
			r.PmsMeta.CompanionIds = nil
		}
	}
}

// onlyIDs returns what identifies an item of a batch, as it was sent: the PMS's id and the number of the reservation. Any other field may
// have data of guests, also one that the API does not know.
func onlyIDs(sent *structpb.Struct) *structpb.Struct {
	if sent == nil {
		return nil
	}
	kept := pickScalars(sent, "pmsNumber", "pms_number")
	for _, name := range []string{"pmsMeta", "pms_meta"} {
		if meta := sent.GetFields()[name].GetStructValue(); meta != nil {
			kept.Fields[name] = structpb.NewStructValue(pickScalars(meta, "id"))
		}
	}
	return kept
}

// pickScalars returns the fields with these names whose values are texts or numbers.
func pickScalars(from *structpb.Struct, names ...string) *structpb.Struct {
	kept := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for _, name := range names {
		switch v := from.GetFields()[name]; v.GetKind().(type) {
		case *structpb.Value_StringValue, *structpb.Value_NumberValue:
			kept.Fields[name] = v
		}
	}
	return kept
}

// RenderPersonal is an idem.Renderer: it adds the booker's present name, mail address and phone number and the companions' ids to a repeated
// answer, if the reservation is still stored.
func (s *Service) RenderPersonal(ctx context.Context, answer proto.Message) error {
	a, err := caller(ctx)
	if err != nil {
		return err
	}
	for _, r := range reservationsIn(answer) {
		if r.GetId() == "" {
			continue
		}
		row, err := reservation.Get(s.DB.View(ctx), writeScope(a), r.GetId())
		if fault.Has(err, fault.ReservationNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		booker, err := s.reservations().Booker(ctx, row)
		if err != nil {
			return fmt.Errorf("render the booker of a repeated answer: %w", err)
		}
		r.Booker = &partnerv1.Booker{FirstName: booker.FirstName, LastName: booker.LastName, Email: booker.Email, Mobile: booker.Mobile}
		if r.PmsMeta != nil {
			r.PmsMeta.CompanionIds = row.PmsCompanionIds
		}
	}
	return nil
}
