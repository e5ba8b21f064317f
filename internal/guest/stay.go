package guest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/watch"
)

// Roles of guests.
const (
	Main      = "main"
	Companion = "companion"
)

// maxOfKind is the most adults, and the most children, that a party gets from the PMS, which can send any number.
const maxOfKind = 30

// Row is a guest as stored.
type Row = ent.Guest

// LoadOrCreateStay returns the stay of a reservation: what guests and this service add to it. It stores an empty one if there is none.
func LoadOrCreateStay(tx *db.Tx, propertyID, reservationID string) (*ent.Stay, error) {
	row, err := LoadStay(tx, propertyID, reservationID)
	if err != nil || row != nil {
		return row, err
	}
	row, err = tx.Stay.Create().SetID(id.New(id.Stay)).SetPropertyID(propertyID).SetReservationID(reservationID).SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a stay: %w", err)
	}
	return row, nil
}

// loadStayOf is LoadOrCreateStay for a loaded reservation. If its data were erased, the empty stay is not stored.
func loadStayOf(tx *db.Tx, reserved *ent.Reservation) (*ent.Stay, error) {
	if reserved.ErasedAt == nil {
		return LoadOrCreateStay(tx, reserved.PropertyID, reserved.ID)
	}
	row, err := LoadStay(tx, reserved.PropertyID, reserved.ID)
	if err == nil && row == nil {
		row = &ent.Stay{PropertyID: reserved.PropertyID, ReservationID: reserved.ID}
	}
	return row, err
}

// LoadStay returns the stay of a reservation, or nil if there is none yet.
func LoadStay(tx *db.Tx, propertyID, reservationID string) (*ent.Stay, error) {
	rows, err := tx.Stay.Read(tx.Context(), "property_id = $1 AND reservation_id = $2", propertyID, reservationID)
	if err != nil {
		return nil, fmt.Errorf("load a stay: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return rows[0], nil
}

// ArrivalTimes returns the time of arrival, HH:MM, that guests entered, by reservation. Reservations without one are missing.
func ArrivalTimes(view *db.Tx, propertyID string, reservationIDs []string) (map[string]string, error) {
	rows, err := view.Stay.Query().Where(entstay.PropertyID(propertyID), entstay.ReservationIDIn(reservationIDs...), entstay.ArrivalTimeNEQ("")).
		Select(entstay.FieldReservationID, entstay.FieldArrivalTime).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the hours of arrival: %w", err)
	}
	hours := make(map[string]string, len(rows))
	for _, row := range rows {
		hours[row.ReservationID] = row.ArrivalTime
	}
	return hours, nil
}

// PartySize returns the adults and children of a stay: as the guest says, or else as the PMS says. Only the numbers of the PMS are cut, to
// maxOfKind each. If the PMS sent no number of adults, or zero people, it counts one adult.
func PartySize(stay *ent.Stay, reserved *ent.Reservation) (adults, children int) {
	if stay != nil && stay.PartySet {
		return stay.AdultCount, stay.ChildCount
	}
	adults = 1
	if reserved.AdultCount != nil {
		adults = min(max(*reserved.AdultCount, 0), maxOfKind)
	}
	if reserved.ChildCount != nil {
		children = min(max(*reserved.ChildCount, 0), maxOfKind)
	}
	if adults+children == 0 {
		adults = 1
	}
	return adults, children
}

// ListGuests returns the stored guests of a reservation, the main guest first. There are none until [LoadParty] or the first session stores
// them.
func ListGuests(tx *db.Tx, propertyID, reservationID string) ([]*ent.Guest, error) {
	rows, err := tx.Guest.Read(tx.Context(), "property_id = $1 AND reservation_id = $2", propertyID, reservationID)
	if err != nil {
		return nil, fmt.Errorf("list the guests of a stay: %w", err)
	}
	slices.SortFunc(rows, func(a, b *ent.Guest) int { return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.ID, b.ID)) })
	return rows, nil
}

// partyChange is which guests to add and remove so that the stored guests fit the size of the party.
type partyChange struct {
	addMain, mainIsChild   bool // mainIsChild: the main guest to add counts as a child
	addAdults, addChildren int
	remove                 []*ent.Guest
}

// isEmpty reports whether the stored guests fit the party already.
func (c partyChange) isEmpty() bool {
	return !c.addMain && c.addAdults+c.addChildren == 0 && len(c.remove) == 0
}

// changeParty returns the change that makes the stored guests fit a number of adults and children. A companion with answers or with a link
// is never removed, and the main guest neither removed nor changed.
func changeParty(guests []*ent.Guest, adults, children int) partyChange {
	c := partyChange{addMain: len(guests) == 0, mainIsChild: adults == 0}
	adultCompanions, childCompanions := max(adults-1, 0), children
	if adults == 0 {
		childCompanions--
	}
	var has [2][]*ent.Guest
	for _, g := range guests {
		if g.Role == Companion {
			has[indexOfAge(g.Child)] = append(has[indexOfAge(g.Child)], g)
		}
	}
	for i, wanted := range [2]int{adultCompanions, childCompanions} {
		extra := len(has[i]) - wanted
		for _, g := range slices.Backward(has[i]) {
			if extra > 0 && len(g.Person) == 0 && g.InvitedAt == nil {
				c.remove = append(c.remove, g)
				extra--
			}
		}
	}
	c.addAdults = max(adultCompanions-len(has[0]), 0)
	c.addChildren = max(childCompanions-len(has[1]), 0)
	return c
}

// indexOfAge returns where changeParty counts a companion: 0 for adults, 1 for children.
func indexOfAge(child bool) int {
	if child {
		return 1
	}
	return 0
}

// ensureParty is ensureGuests for a reservation whose stay is not loaded: it adds missing guests and removes surplus companions, but adds
// none to a stay whose data were erased. It also stores the stay.
func ensureParty(tx *db.Tx, reserved *ent.Reservation) ([]*ent.Guest, error) {
	stay, err := LoadOrCreateStay(tx, reserved.PropertyID, reserved.ID)
	if err != nil {
		return nil, err
	}
	return ensureGuests(tx, reserved, stay)
}

// ensureGuests returns the guests of a stored stay. It adds those that are missing, and removes surplus companions without answers or a
// link. A stay whose data were erased gets no guests again.
func ensureGuests(tx *db.Tx, reserved *ent.Reservation, stay *ent.Stay) ([]*ent.Guest, error) {
	guests, err := ListGuests(tx, reserved.PropertyID, reserved.ID)
	if err != nil {
		return nil, err
	}
	adults, children := PartySize(stay, reserved)
	c := changeParty(guests, adults, children)
	if c.isEmpty() || reserved.ErasedAt != nil {
		return guests, nil
	}
	if err := c.store(tx, reserved, guests); err != nil {
		return nil, err
	}
	return ListGuests(tx, reserved.PropertyID, reserved.ID)
}

// store adds the missing guests at the end of the party, and deletes the companions that are too many.
func (c partyChange) store(tx *db.Tx, reserved *ent.Reservation, guests []*ent.Guest) error {
	position := 0
	if len(guests) > 0 {
		position = guests[len(guests)-1].Position + 1
	}
	var rows []*ent.GuestCreate
	add := func(role string, child bool) {
		rows = append(rows, tx.Guest.Create().SetID(id.New(id.Guest)).SetPropertyID(reserved.PropertyID).SetReservationID(reserved.ID).SetRole(role).
			SetChild(child).SetPosition(position).SetCreatedAt(tx.Now()))
		position++
	}
	if c.addMain {
		add(Main, c.mainIsChild)
	}
	for range c.addAdults {
		add(Companion, false)
	}
	for range c.addChildren {
		add(Companion, true)
	}
	if len(rows) > 0 {
		if err := tx.Guest.CreateBulk(rows...).Exec(tx.Context()); err != nil {
			return fmt.Errorf("store guests: %w", err)
		}
	}
	if len(rows)+len(c.remove) > 0 {
		watch.Notify(tx, reserved.PropertyID, watch.Reservations, reserved.ID)
	}
	return deleteGuests(tx, reserved.PropertyID, c.remove...)
}

// deleteGuests deletes the rows of guests of a property, with their messages and disclosures. It leaves their links and sessions.
func deleteGuests(tx *db.Tx, propertyID string, guests ...*ent.Guest) error {
	if len(guests) == 0 {
		return nil
	}
	ids := make([]string, len(guests))
	for i, g := range guests {
		ids[i] = g.ID
	}
	_, err := tx.Guest.Delete().Where(entguest.PropertyID(propertyID), entguest.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete guests: %w", err)
	}
	return nil
}

// person is what is stored encrypted about a guest: the answers, and how they were given.
type person struct {
	Answers rule.Answers `json:"answers"`
	// By has the session that gave each answer, because a session of two facts (booking number and name) does not see answers from other
	// sessions.
	By map[rule.Field]string `json:"by,omitempty"`
	// Own has the answers that a companion gave on a link of their own. Only the companion changes them.
	Own map[rule.Field]bool `json:"own,omitempty"`
	// Mailed has the answers that were given in a session of a mailed link. Sessions of two facts (booking number and name) do not change
	// them.
	Mailed map[rule.Field]bool `json:"mailed,omitempty"`
	// InvitedTo is the address to which a companion's link was mailed, or empty.
	InvitedTo string `json:"invitedTo,omitempty"`
	// MailTo is the address that the main guest gave for mails if the PMS has none, or that a companion typed on their own link; nil: none.
	MailTo *mailTo `json:"mailTo,omitempty"`
	// Signature is what the guest drew on a screen, or nil.
	Signature *signature `json:"signature,omitempty"`
}

// personPurpose returns the purpose of [keyring.Ring.Seal] for the answers of a guest.
func personPurpose(guestID string) string { return "guest/" + guestID }

// openPerson decrypts what is stored about a guest. For a guest who has answered nothing, it is empty.
func openPerson(ctx context.Context, keys *keyring.Ring, g *ent.Guest) (person, error) {
	p := person{Answers: rule.Answers{}, By: map[rule.Field]string{}, Own: map[rule.Field]bool{}, Mailed: map[rule.Field]bool{}}
	if len(g.Person) == 0 {
		return p, nil
	}
	raw, err := keys.Open(ctx, g.PropertyID, personPurpose(g.ID), g.Person)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return person{}, fmt.Errorf("open the answers of %s: %w", g.ID, err)
	}
	if p.By == nil {
		p.By = map[rule.Field]string{}
	}
	if p.Own == nil {
		p.Own = map[rule.Field]bool{}
	}
	if p.Mailed == nil {
		p.Mailed = map[rule.Field]bool{}
	}
	return p, nil
}

// sealPerson encrypts what is stored about a guest, for the column Person of the guest's row.
func sealPerson(ctx context.Context, keys *keyring.Ring, g *ent.Guest, p person) ([]byte, error) {
	raw, err := json.Marshal(p)
	if err == nil {
		raw, err = keys.Seal(ctx, g.PropertyID, personPurpose(g.ID), raw)
	}
	if err != nil {
		return nil, fmt.Errorf("seal the answers of %s: %w", g.ID, err)
	}
	return raw, nil
}

// Answers decrypts what a guest answered. The result is empty for a guest who has answered nothing.
func Answers(ctx context.Context, keys *keyring.Ring, g *ent.Guest) (rule.Answers, error) {
	p, err := openPerson(ctx, keys, g)
	return p.Answers, err
}
