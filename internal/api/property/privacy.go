package property

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/id"
)

type privacy struct {
	propertyv1.UnimplementedPrivacyServiceServer
	Deps
}

// RequestErasure stores a request to erase the data of a companion or, without a guest id, of the whole party, after the guest asked the
// property for it. It erases nothing itself: the erasure follows when it is due. If the same request is pending, it returns that one.
func (s *privacy) RequestErasure(ctx context.Context, r *propertyv1.RequestErasureRequest) (*propertyv1.RequestErasureResponse, error) {
	who, _ := actor.From(ctx)
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RequestErasureResponse, error) {
		by, err := staffName(tx, who)
		if err != nil {
			return nil, err
		}
		e, err := guest.RequestErasureFor(tx, s.Keys, propertyID, r.GetReservationId(), r.GetGuestId(), by)
		if err != nil {
			return nil, err
		}
		items, err := s.erasureItems(tx, propertyID, []guest.Erasure{e})
		if err != nil {
			return nil, err
		}
		return &propertyv1.RequestErasureResponse{Data: items[0]}, nil
	})
}

// ExportGuestData returns the copy of the data that the main guest or, with a guest id, a companion would get, and records that a member of
// staff read it.
func (s *privacy) ExportGuestData(ctx context.Context, r *propertyv1.ExportGuestDataRequest) (*propertyv1.ExportGuestDataResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	who, _ := actor.From(ctx)
	out := &propertyv1.ExportGuestDataResponse{}
	return out, s.DB.Write(ctx, func(tx *db.Tx) error {
		by, err := staffName(tx, who)
		if err != nil {
			return err
		}
		p, _, err := guest.ViewParty(tx, s.Keys, propertyID, r.GetReservationId())
		if err != nil {
			return err
		}
		as, err := guest.AsGuest(p, r.GetGuestId())
		if err != nil {
			return err
		}
		if out.Data, err = convert.Export(tx, s.Keys, p, as); err != nil {
			return err
		}
		return event.Append(tx, event.Event{
			PropertyID: propertyID, Subject: event.InternalSubject(r.GetReservationId()), Kind: event.GuestsRead,
			Body: map[string]any{"reservationId": r.GetReservationId(), "by": by},
		})
	})
}

// ListErasures lists a page of the erasures of the property, the latest request first.
func (s *privacy) ListErasures(ctx context.Context, r *propertyv1.ListErasuresRequest) (*propertyv1.ListErasuresResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	if r.GetPageToken() != "" && !id.Valid(id.Erasure, r.GetPageToken()) {
		return nil, fault.BadPageToken()
	}
	size := int(r.GetPageSize())
	if size == 0 {
		size = defaultPage
	}
	view := s.DB.View(ctx)
	found, err := guest.ListErasures(view, s.Keys, propertyID, guest.ErasurePage{PendingOnly: r.GetPendingOnly(), After: r.GetPageToken(), Limit: size + 1})
	if err != nil {
		return nil, err
	}
	list := &propertyv1.ErasureList{}
	if len(found) > size {
		found = found[:size]
		list.NextPageToken = found[size-1].Row.ID
	}
	list.List, err = s.erasureItems(view, propertyID, found)
	return &propertyv1.ListErasuresResponse{Data: list}, err
}

// erasureItems converts erasures for staff, without the receipts, which only the guests get.
func (s *privacy) erasureItems(view *db.Tx, propertyID string, erasures []guest.Erasure) ([]*propertyv1.ErasureItem, error) {
	names, err := namesOf(view, s.Keys, propertyID, erasures, func(e guest.Erasure) string { return e.Row.RequestedBy })
	if err != nil {
		return nil, err
	}
	items := make([]*propertyv1.ErasureItem, len(erasures))
	for i, e := range erasures {
		items[i] = &propertyv1.ErasureItem{
			Id: e.Row.ID, ReservationId: e.Row.ReservationID, GuestId: e.GuestID, RequestedBy: e.Row.RequestedBy, RequestedByName: names[e.Row.RequestedBy],
			Erasure: convert.Erasure(e, ""),
		}
	}
	return items, nil
}
