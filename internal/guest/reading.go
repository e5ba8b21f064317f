package guest

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entdisclosure "latchkey.dev/ent/disclosure"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// readsInterval is how long reads by a partner with the same result are counted on one line of the ledger (the list of disclosures).
const readsInterval = time.Hour

// Reading is what a partner (a PMS vendor) may read of one guest: Answers and Groups. It must not be passed on as a whole, because the field
// Member also has the answers that the partner must not get.
type Reading struct {
	Member  Member
	Answers rule.Answers
	Groups  []rule.Group
	Refused fault.Reason // why the partner reads nothing; empty: Answers and Groups are valid
}

// Read returns the answers of one guest that a partner may read, and their groups. refused is why it may read none: the party does not stay
// now, or the guest shares nothing.
func (s Sharing) Read() (answers rule.Answers, groups []rule.Group, refused fault.Reason) {
	if !s.Staying {
		return nil, nil, fault.OutsideStay
	}
	if answers, groups = s.Disclose(); len(groups) == 0 {
		return nil, nil, fault.NotShared
	}
	return answers, groups, ""
}

// IsStaying reports whether the PMS has checked the party in, and the stay with its late check-out is not over.
func (p *Party) IsStaying(now time.Time) bool {
	end := p.Reservation.ToAt.Add(time.Duration(p.Property.LateOutMinutes) * time.Minute)
	return access.State(p.Reservation.State) == access.Started && now.Before(end)
}

// ReadGuests returns what an integration may read of each guest of a reservation, and records each read in the guest's ledger, also a
// refused one. It stores missing guests first. The caller checks that the reservation is the integration's.
func ReadGuests(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID, integrationID string) ([]Reading, error) {
	p, err := LoadParty(tx, keys, propertyID, reservationID)
	if err != nil {
		return nil, err
	}
	out := make([]Reading, len(p.Members))
	for i, m := range p.Members {
		s := p.SharingOf(m)
		s.Staying = p.IsStaying(tx.Now())
		r := Reading{Member: m}
		r.Answers, r.Groups, r.Refused = s.Read()
		if err := recordRead(tx, p.Reservation, integrationID, r); err != nil {
			return nil, err
		}
		out[i] = r
	}
	return out, nil
}

// recordRead adds a read to the ledger of its guest. Reads with the same result within readsInterval count on one line, so a partner that
// polls adds one line an hour.
func recordRead(tx *db.Tx, of *ent.Reservation, integrationID string, r Reading) error {
	groups := make([]string, len(r.Groups))
	for i, g := range r.Groups {
		groups[i] = string(g)
	}
	recent, err := tx.Disclosure.Query().Where(entdisclosure.PropertyID(of.PropertyID), entdisclosure.GuestID(r.Member.Row.ID),
		entdisclosure.IntegrationID(integrationID), entdisclosure.Why(WhyRead), entdisclosure.Refused(string(r.Refused)),
		entdisclosure.CreatedAtGT(tx.Now().Add(-readsInterval))).Order(ent.Desc(entdisclosure.FieldCreatedAt)).Limit(1).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load the ledger of a guest: %w", err)
	}
	if len(recent) == 1 && slices.Equal(recent[0].Groups, groups) {
		err = tx.Disclosure.UpdateOne(recent[0]).AddTimes(1).SetLastAt(tx.Now()).Exec(tx.Context())
	} else {
		err = tx.Disclosure.Create().SetID(id.New(id.Disclosure)).SetPropertyID(of.PropertyID).SetReservationID(of.ID).SetGuestID(r.Member.Row.ID).
			SetIntegrationID(integrationID).SetGroups(groups).SetWhy(WhyRead).SetCall("").SetRefused(string(r.Refused)).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("record a read of a guest's data: %w", err)
	}
	return nil
}
