package partner

import (
	"context"
	"fmt"
	"slices"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// Values of the extend parameter, which adds data to an answer.
const (
	extendPIN    = "pin"
	extendGates  = "gatePins"
	extendSpace  = "space"
	extendAccess = "access"
	extendGuests = "guests"
)

// answer converts a reservation and adds the data that extend names. If extend includes guests, it records the read in the ledger of
// disclosures (which partner read which guest data), in a transaction of its own and not in tx. It fails if the caller lacks the right to
// data that extend names.
func (s *Service) answer(ctx context.Context, tx *db.Tx, a actor.Actor, row *reservation.Row, extend []string) (*partnerv1.Reservation, error) {
	out, err := s.extendedMessage(tx, a, row, extend)
	if err == nil && slices.Contains(extend, extendGuests) {
		err = s.addGuests(ctx, a, out)
	}
	return out, err
}

// extendedMessage converts a reservation and adds the data that extend names, except guests.
func (s *Service) extendedMessage(tx *db.Tx, a actor.Actor, row *reservation.Row, extend []string) (*partnerv1.Reservation, error) {
	property, err := property.Get(tx, a.PropertyID)
	if err != nil {
		return nil, fmt.Errorf("load the property: %w", err)
	}
	booker, err := s.reservations().Booker(tx.Context(), row)
	if err != nil {
		return nil, err
	}
	out, err := reservationMessage(row, booker, property.TimeZone)
	if err != nil {
		return nil, err
	}
	wants := func(what string) bool { return slices.Contains(extend, what) }
	if wants(extendPIN) || wants(extendGates) {
		if err := s.addPINs(tx, a, row, out, wants); err != nil {
			return nil, err
		}
	}
	if wants(extendSpace) {
		if out.Space, err = s.spaceOfReservation(tx, row); err != nil {
			return nil, err
		}
	}
	if wants(extendAccess) {
		if out.Access, err = s.accessOf(tx, row, property); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// accessOf returns the current access plan of a reservation at a property.
func (s *Service) accessOf(tx *db.Tx, row *reservation.Row, in *property.Row) (*partnerv1.AccessPlan, error) {
	p, err := s.reservations().Plan(tx, row, in)
	if err != nil {
		return nil, err
	}
	out, err := planMessage(p, row, in.TimeZone)
	if err != nil {
		return nil, err
	}
	at, err := reservation.LastAccessEventAt(tx, row.PropertyID, row.ID)
	out.UpdatedAt = clock.Timestamp(at)
	return out, err
}

// addPINs adds to out the PINs that the caller asked for. wants reports whether the extend parameter has a value. It fails if the caller
// lacks the scope pins:read.
func (s *Service) addPINs(tx *db.Tx, a actor.Actor, row *reservation.Row, out *partnerv1.Reservation, wants func(string) bool) error {
	if !a.Has(actor.PINsRead) {
		return fault.New(fault.Denied, fault.ScopeMissing, "reading PINs needs the scope pins:read; the property's owner can grant it").Put("scope", actor.PINsRead)
	}
	shown, err := access.RevealPINs(access.Reconciler{Tx: tx, Keys: s.Keys}, a.PropertyID, row.ID)
	if err != nil {
		return err
	}
	if wants(extendPIN) && shown.PIN != "" {
		out.Pin = &shown.PIN
	}
	if wants(extendGates) {
		for _, g := range shown.Gates {
			out.GatesPins = append(out.GatesPins, &partnerv1.GatePin{GateId: g.ID, GateName: g.Name, Pin: g.PIN})
		}
	}
	return nil
}

// spaceOfReservation returns the room or bed of a reservation, or nil if it is unknown.
func (s *Service) spaceOfReservation(tx *db.Tx, row *reservation.Row) (*partnerv1.Space, error) {
	place, _, err := space.Resolve(tx, space.Request{
		PropertyID: row.PropertyID, IntegrationID: row.IntegrationID, ExternalID: convert.OrEmpty(row.PmsSpaceID),
		ExternalParentID: convert.OrEmpty(row.PmsParentSpaceID), OwnID: convert.OrEmpty(row.OwnSpaceID),
	})
	if err != nil || place.Space == nil {
		return nil, err
	}
	list, err := s.spaceMessages(tx, row.PropertyID, row.IntegrationID, []*space.Row{place.Space})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// pageSize returns the page size of a request, or 50 if it sets none.
func pageSize(n int32) int {
	if n <= 0 {
		return 50
	}
	return int(n)
}
