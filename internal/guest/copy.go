package guest

import (
	"fmt"
	"time"

	"latchkey.dev/ent"
	entprofile "latchkey.dev/ent/guestprofile"
	"latchkey.dev/ent/guestsession"
	entregister "latchkey.dev/ent/registerentry"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
)

// The functions of this file collect the data of which a guest gets a copy on request.

// VisibleAnswers returns those answers of a guest that a session may read. For a guest for whom the session does not act it returns
// errGuestNotFound.
func (p *Party) VisibleAnswers(a actor.Actor, m Member) (rule.Answers, error) {
	form, err := p.FormOf(a, m.Row.ID)
	if err != nil {
		return nil, err
	}
	out := rule.Answers{}
	for field := range m.Answers {
		if value, withheld := form.Value(field); !withheld {
			out[field] = value
		}
	}
	return out, nil
}

// CheckExport returns errMailLinkOnly for a session that gets no copy of its guest's data: one of two facts (booking number and name).
// Otherwise it returns nil.
func CheckExport(a actor.Actor) error {
	_, err := erasureScope(a)
	return err
}

// ActsAs reports whether a session is a guest's own. It is false for the main guest who acts for a companion, and for a session of two
// facts (booking number and name).
func ActsAs(a actor.Actor, g *Row) bool { return callerOf(a, g) == theGuest }

// SessionGuests returns the id of the guest of each session of a party, by session id; "" is the main guest. Ended sessions are included
// until they are deleted.
func (p *Party) SessionGuests(view *db.Tx) (map[string]string, error) {
	rows, err := view.GuestSession.Query().Where(guestsession.PropertyID(p.Reservation.PropertyID), guestsession.ReservationID(p.Reservation.ID)).
		Select(guestsession.FieldID, guestsession.FieldGuestID).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the guests of sessions: %w", err)
	}
	out := make(map[string]string, len(rows))
	for _, row := range rows {
		out[row.ID] = row.GuestID
	}
	return out, nil
}

// AsGuest returns a caller with the rights of the main guest, if guestID is empty, or of a companion. For any other id, also that of the
// main guest, it returns errGuestNotFound. Staff use it to make the copy that the guest would get.
func AsGuest(p *Party, guestID string) (actor.Actor, error) {
	if guestID != "" && !p.hasCompanion(guestID) {
		return actor.Actor{}, errGuestNotFound
	}
	r := p.Reservation
	return actor.Actor{Kind: actor.Guest, ID: "staff", PropertyID: r.PropertyID, ReservationID: r.ID, GuestID: guestID, Origin: OriginMail}, nil
}

// RegisteredForm returns the official form of a guest that is in the guest register, without Fields, or nil if the form is not there.
func RegisteredForm(view *db.Tx, keys *keyring.Ring, g *Row) (*Entry, error) {
	row, err := view.RegisterEntry.Query().Where(entregister.PropertyID(g.PropertyID), entregister.GuestID(g.ID)).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the official form of a guest: %w", err)
	}
	e, err := decryptEntry(view, keys, row)
	return &e, err
}

// KeptProfile returns the profile (the main guest's answers that the property keeps for the next stay), and when it was last saved or
// offered. It returns nil if there is none or the stay uses none. Of the profile of the booker's present address and that of this stay, it
// returns the latest. That of this stay counts only if the main guest has answered with the link of the mail: without that it was offered
// to a former address, perhaps another person's, and can be deleted and not read.
func (p *Party) KeptProfile(view *db.Tx, keys *keyring.Ring) (rule.Answers, time.Time, error) {
	if uses, err := p.UsesProfile(view); err != nil || !uses {
		return nil, time.Time{}, err
	}
	ids := make([]string, 0, 2)
	present, err := p.presentProfileID(view.Context(), keys)
	if err != nil {
		return nil, time.Time{}, err
	}
	if ids = append(ids, present); p.Stay != nil && len(p.Members) > 0 && len(p.Members[0].mailed) > 0 {
		ids = append(ids, p.Stay.ProfileID)
	}
	kept, err := view.GuestProfile.Query().Where(entprofile.PropertyID(p.Reservation.PropertyID), entprofile.IDIn(ids...)).
		Order(ent.Desc(entprofile.FieldUpdatedAt)).Limit(1).All(view.Context())
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("load a guest's profile: %w", err)
	}
	if len(kept) == 0 {
		return nil, time.Time{}, nil
	}
	answers, err := openProfile(view.Context(), keys, kept[0])
	return answers, kept[0].UpdatedAt, err
}
