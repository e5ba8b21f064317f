package guest

import (
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/property"
)

// Party is a stay with its guests, their answers and the rules for them. In a party that [ViewParty] made, Stay is nil if nothing is stored
// about the stay, and Members can be empty or too few.
type Party struct {
	Reservation *ent.Reservation
	Property    *ent.Property
	Stay        *ent.Stay
	Settings    *Settings
	Rules       rule.Settings
	Members     []Member // the main guest first
	Adults      int      // Adults and Children are as the main guest entered them, or else as the PMS sent them: see PartySize
	Children    int
	arrival     time.Time
	keys        *keyring.Ring
	usesProfile *bool // nil: not read yet, see [Party.UsesProfile]
}

// Member is one guest of a party. Row is as stored; the other fields without a comment are decrypted from it: see the type person.
type Member struct {
	Row     *ent.Guest
	Answers rule.Answers
	// Missing has the required fields without an answer. It is empty for a guest who does not have to fill in the form.
	Missing []rule.Field
	// Open has the fields without an answer that the law wants at the departure at the latest. The guest can check in without them.
	Open []rule.Field
	// SignedAt is when the guest signed the present answers on a screen, or zero.
	SignedAt  time.Time
	signature *signature
	by        map[rule.Field]string
	own       map[rule.Field]bool
	mailed    map[rule.Field]bool
	invitedTo string
	mailTo    *mailTo
}

// person returns what is stored encrypted about a member: the answers, how they were given, the mail addresses and the signature.
func (m Member) person() person {
	return person{Answers: m.Answers, By: m.by, Own: m.own, Mailed: m.mailed, InvitedTo: m.invitedTo, MailTo: m.mailTo, Signature: m.signature}
}

var errGuestNotFound = fault.New(fault.NotFound, fault.GuestNotFound, "this stay has no such guest: read the stay again for its guests")

// LoadParty returns the party of a reservation. It stores the guests that are missing, and removes companions that are too many, except
// those with answers or a link. If the party's data were erased, it stores nothing.
func LoadParty(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string) (*Party, error) {
	reserved, err := loadReservation(tx, propertyID, reservationID)
	if err != nil {
		return nil, err
	}
	stay, err := loadStayOf(tx, reserved)
	if err != nil {
		return nil, err
	}
	guests, err := ensureGuests(tx, reserved, stay)
	if err != nil {
		return nil, err
	}
	return partyOf(tx, keys, reserved, stay, guests)
}

// ViewParty returns the party of a reservation and changes nothing. The second result is true if the stay is stored and its guests fit the
// size of the party. If it is false, [LoadParty] stores what is missing, unless the party's data were erased.
func ViewParty(view *db.Tx, keys *keyring.Ring, propertyID, reservationID string) (*Party, bool, error) {
	reserved, err := loadReservation(view, propertyID, reservationID)
	if err != nil {
		return nil, false, err
	}
	stay, err := LoadStay(view, propertyID, reservationID)
	if err != nil {
		return nil, false, err
	}
	guests, err := ListGuests(view, propertyID, reservationID)
	if err != nil {
		return nil, false, err
	}
	p, err := partyOf(view, keys, reserved, stay, guests)
	if err != nil {
		return nil, false, err
	}
	return p, stay != nil && changeParty(guests, p.Adults, p.Children).isEmpty(), nil
}

// partyOf loads the property and its settings, decrypts the guests' answers, and returns them with the stay as a party. stay may be nil.
func partyOf(view *db.Tx, keys *keyring.Ring, reserved *ent.Reservation, stay *ent.Stay, guests []*ent.Guest) (*Party, error) {
	prop, err := property.Get(view, reserved.PropertyID)
	if err != nil {
		return nil, err
	}
	settings, err := property.GetCheckInSettings(view, reserved.PropertyID)
	if err != nil {
		return nil, err
	}
	return newParty(view, keys, prop, settings, reserved, stay, guests)
}

// newParty returns the party of a stay from rows that the caller loaded. It decrypts the answers, and finds which are missing.
func newParty(view *db.Tx, keys *keyring.Ring, prop *ent.Property, settings *Settings, reserved *ent.Reservation, stay *ent.Stay, guests []*ent.Guest) (*Party, error) {
	zone, err := clock.Zone(prop.TimeZone)
	if err != nil {
		return nil, err
	}
	p := &Party{Reservation: reserved, Property: prop, Stay: stay, Settings: settings, Rules: ruleSettings(settings), arrival: reserved.FromAt.In(zone), keys: keys}
	p.Adults, p.Children = PartySize(stay, reserved)
	for _, g := range guests {
		answered, err := openPerson(view.Context(), keys, g)
		if err != nil {
			return nil, err
		}
		p.Members = append(p.Members, p.newMember(g, answered))
	}
	for i := range p.Members {
		p.Members[i].SignedAt = p.signedAt(p.Members[i])
	}
	return p, nil
}

// newMember returns the member for a stored guest and the decrypted answers. It also finds which answers are missing.
func (p *Party) newMember(g *ent.Guest, answered person) Member {
	m := Member{Row: g, Answers: answered.Answers, by: answered.By, own: answered.Own, mailed: answered.Mailed, invitedTo: answered.InvitedTo, mailTo: answered.MailTo, signature: answered.Signature}
	p.findMissing(&m)
	return m
}

// findMissing sets which answers a member still has to give: those required now, and those that the law wants by the departure.
func (p *Party) findMissing(m *Member) {
	m.Missing, m.Open = nil, nil
	if p.fillsIn(*m) {
		m.Missing, m.Open = rule.Missing(p.Rules, ruleGuest(*m), p.ruleParty()), rule.Open(p.Rules, ruleGuest(*m), p.ruleParty())
	}
}

// fillsIn reports whether a guest fills in a form, by the property's setting of who does: all guests, the main guest and the adults, or the
// main guest only.
func (p *Party) fillsIn(m Member) bool {
	switch p.Settings.WhoFills {
	case "lead":
		return m.Row.Role == Main
	case "adults":
		return m.Row.Role == Main || !rule.IsMinor(ruleGuest(m), p.arrival)
	}
	return true
}

// ruleGuest converts a guest for package rule.
func ruleGuest(m Member) rule.Guest {
	return rule.Guest{Main: m.Row.Role == Main, Child: m.Row.Child, Answers: m.Answers}
}

// ruleParty converts the party for package rule.
func (p *Party) ruleParty() rule.Party {
	party := rule.Party{Arrival: p.arrival, Size: p.Adults + p.Children}
	if len(p.Members) > 0 {
		party.Head = p.Members[0].Answers
	}
	return party
}

// Law returns the version of the country's rule that is in force on the day of arrival. It is never nil: without a country it is the rule
// without questions.
func (p *Party) Law() *rule.Rule { return p.Rules.Rule.On(p.arrival) }

// OftenCountries returns the countries that lists of countries show first: those of the settings, or else the country of the rule, or nil
// if the rule is of no country.
func (p *Party) OftenCountries() []string {
	if len(p.Settings.OftenCountries) > 0 {
		return p.Settings.OftenCountries
	}
	if here := p.Law().Name; rule.IsCountry(here) {
		return []string{here}
	}
	return nil
}

// KeptUntil returns the last day on which the answers for the law are kept if the stay ends as planned, and false if the rule names none.
// The day is midnight in UTC: see [rule.KeptUntil].
func (p *Party) KeptUntil() (time.Time, bool) {
	return rule.KeptUntil(p.Law(), p.Reservation.ToAt.In(p.arrival.Location()))
}

// Visible returns the guests for whom a session acts: a companion's own row, or none if the companion was removed, and otherwise all
// guests. It does not check [Party.MayAccess].
func (p *Party) Visible(a actor.Actor) []Member {
	if a.GuestID == "" {
		return p.Members
	}
	return slices.DeleteFunc(slices.Clone(p.Members), func(m Member) bool { return m.Row.ID != a.GuestID })
}

// Correspondent returns the guest whose conversation with the property a session reads: a companion's own, or the main guest's. In a party
// without stored guests it returns errGuestNotFound. Others may know the booking number and the name. So a session that these opened gets
// errMailLinkOnly, unless it checked the guest in and the stay has not ended.
func (p *Party) Correspondent(a actor.Actor) (guestID string, err error) {
	switch {
	case a.GuestID != "":
		return a.GuestID, nil
	case len(p.Members) == 0:
		return "", errGuestNotFound
	case a.Origin == OriginMail, p.Reservation.State == string(access.Started) && isPressedBy(a, p.Stay):
		return p.Members[0].Row.ID, nil
	}
	return "", errMailLinkOnly
}

// Member returns one of the guests of [Party.Visible]. For any other guest it returns errGuestNotFound.
func (p *Party) Member(a actor.Actor, guestID string) (Member, error) {
	for _, m := range p.Visible(a) {
		if m.Row.ID == guestID {
			return m, nil
		}
	}
	return Member{}, errGuestNotFound
}

// IsMinor reports whether a guest is under 18 on the day of arrival. Without a birth date, a guest is a minor if the party counts them as a
// child.
func (p *Party) IsMinor(m Member) bool { return rule.IsMinor(ruleGuest(m), p.arrival) }

// Incomplete returns the ids of the guests with missing answers.
func (p *Party) Incomplete() []string {
	var out []string
	for _, m := range p.Members {
		if len(m.Missing) > 0 {
			out = append(out, m.Row.ID)
		}
	}
	return out
}
