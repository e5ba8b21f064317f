package partner

import (
	"context"
	"slices"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/reservation"
)

var (
	errOutsideStay = fault.New(fault.Denied, fault.OutsideStay, "guests' data can be read only while they stay: the reservation is not started, or is past its end")
	errNotShared   = fault.New(fault.Denied, fault.NotShared, "no guest of this stay shares a field that the property marks mandatory")
)

// ListGuests lists the guests of a stay with the answers that they share with the partner. A guest who shares none is listed with the
// reason instead, but if no guest shares any, or outside of the stay, the call fails. The read is recorded even then: see readGuests.
func (s *Service) ListGuests(ctx context.Context, req *partnerv1.ListGuestsRequest) (*partnerv1.ListGuestsResponse, error) {
	a, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	read, err := s.readGuests(ctx, a, req.GetId())
	if err != nil {
		return nil, err
	}
	out := &partnerv1.GuestList{Total: int32(len(read))}
	for _, r := range read {
		one := &partnerv1.SharedGuest{Id: r.Member.Row.ID, Role: r.Member.Row.Role, Withheld: string(r.Refused)}
		for _, g := range r.Groups {
			one.Groups = append(one.Groups, string(g))
		}
		if r.Refused == "" {
			if one.Person, err = personMessage(r.Answers); err != nil {
				return nil, err
			}
		}
		out.List = append(out.List, one)
	}
	return &partnerv1.ListGuestsResponse{Data: out}, nil
}

// addGuests adds the answers that the guests share to the message of their reservation. It leaves out guests who share none. Like
// readGuests, it records the read. It fails if the caller lacks the scope guests:read, and as readGuests does.
func (s *Service) addGuests(ctx context.Context, a actor.Actor, out *partnerv1.Reservation) error {
	if !a.Has(actor.GuestsRead) {
		return fault.New(fault.Denied, fault.ScopeMissing, "reading guests needs the scope guests:read; the property's owner can grant it").Put("scope", actor.GuestsRead)
	}
	read, err := s.readGuests(ctx, a, out.GetId())
	if err != nil {
		return err
	}
	for _, r := range read {
		if r.Refused != "" {
			continue
		}
		person, err := personMessage(r.Answers)
		if err != nil {
			return err
		}
		if r.Member.Row.Role == guest.Main {
			out.MainCustomer = person
		} else {
			out.Companions = append(out.Companions, person)
		}
	}
	return nil
}

// readGuests reads the answers that the guests of a stay share with the partner. It records the read in the ledger of disclosures, in its
// own transaction, even if it then refuses it. It fails outside of the stay, and if no guest shares anything. Otherwise the result also has
// the guests who share nothing, with Refused set.
func (s *Service) readGuests(ctx context.Context, a actor.Actor, reservationID string) (read []guest.Reading, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		row, err := reservation.Get(tx, readScope(a), reservationID)
		if err != nil {
			return err
		}
		read, err = guest.ReadGuests(tx, s.Keys, a.PropertyID, row.ID, a.IntegrationID)
		return err
	})
	if err != nil {
		return nil, err
	}
	is := func(why fault.Reason) func(guest.Reading) bool {
		return func(r guest.Reading) bool { return r.Refused == why }
	}
	switch {
	case slices.ContainsFunc(read, is("")):
		return read, nil
	case slices.ContainsFunc(read, is(fault.OutsideStay)):
		return nil, errOutsideStay
	}
	return nil, errNotShared
}

// personMessage converts a guest's answers to the message Person, which calls to a PMS's checkIn endpoint also contain.
func personMessage(a rule.Answers) (*pmsv1.Person, error) {
	out := &pmsv1.Person{}
	return out, jsonpb.Convert(checkin.PersonOf(a), out)
}
