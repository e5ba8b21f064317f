package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	entreservation "latchkey.dev/ent/reservation"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// rendered is a mail that can be sent now, or why it cannot.
type rendered struct {
	canceled bool          // the mail has lost its reason
	wait     time.Duration // the mail waits for its code to be on the locks
	text     mail.Text     // without a recipient if no address reaches the guest
	links    []guest.MailedLink
	stays    []*ent.Reservation // the stays that the mail is about, as they were rendered; none in a mail to staff
	listed   []string           // the reservations that an invitation or a reminder is about, also those without a link in it
	property string             // the property's name
}

// errOutdated means that the address of the guest changed after the mail was rendered.
var errOutdated = errors.New("the guest's address changed while a mail was rendered")

// storeLinks stores the hashes of the links in a mail, and which reservations it lists. A retry stores nothing new. It returns
// errOutdated if the recipient changed since: a former address gets no link.
func (m Mails) storeLinks(tx *db.Tx, row *mail.Row, r rendered) error {
	if err := m.checkRecipient(tx, row, r); err != nil {
		return err
	}
	for _, l := range r.links {
		if err := l.Store(tx, m.Keys); err != nil {
			return err
		}
	}
	return unlist(tx, row, r.listed)
}

// checkRecipient returns errOutdated if a booker of a mail, or the address to which its guest's mails go, changed after it was rendered.
func (m Mails) checkRecipient(tx *db.Tx, row *mail.Row, r rendered) error {
	if len(r.stays) == 0 {
		return nil
	}
	used := map[string][]byte{}
	for _, stay := range r.stays {
		used[stay.ID] = stay.Booker
	}
	present, err := tx.Reservation.Query().Where(entreservation.PropertyID(row.PropertyID), entreservation.IDIn(slices.Collect(maps.Keys(used))...)).
		Select(entreservation.FieldID, entreservation.FieldBooker).All(tx.Context())
	if err != nil {
		return fmt.Errorf("load the bookers of a mail: %w", err)
	}
	for _, stay := range present {
		if !bytes.Equal(stay.Booker, used[stay.ID]) {
			return errOutdated
		}
	}
	if !followsGuest(row) {
		return nil
	}
	address, err := m.GuestAddress(tx, r.stays[0])
	if err == nil && address != r.text.To {
		err = errOutdated
	}
	return err
}

// followsGuest reports whether a mail goes to the address that the guest has when it is sent. Others have a fixed recipient, or list rooms
// of one booker.
func followsGuest(row *mail.Row) bool {
	kind := mail.Kind(row.Kind)
	return row.GuestID == "" && kind != mail.Staff && !listsRooms(kind)
}

// render collects what a mail says and puts it into words.
func (m Mails) render(ctx context.Context, row *mail.Row) (rendered, error) {
	view := m.DB.View(ctx)
	house, err := property.Get(view, row.PropertyID)
	if err != nil {
		return rendered{}, err
	}
	look, err := property.GetCheckInSettings(view, row.PropertyID)
	if err != nil {
		return rendered{}, err
	}
	zone, err := clock.Zone(house.TimeZone)
	if err != nil {
		zone = time.UTC // an unknown time zone must not hold back mails
	}
	o := mail.Occasion{
		Kind: mail.Kind(row.Kind), Reader: message.Reader{Language: look.Language, Zone: zone}, Property: house.Name, Accent: look.Accent,
		DeskPhone: look.DeskPhone, Address: look.Address, Directions: look.Directions, Now: view.Now(),
	}
	out := rendered{property: house.Name}
	to, err := mail.Recipient(view, m.Keys, row)
	if err != nil {
		return rendered{}, err
	}
	if row.ReservationID != "" {
		if err := m.addStay(view, row, house, &o, &out, &to); err != nil || out.canceled || out.wait > 0 {
			return out, err
		}
	}
	if o.Kind == mail.Staff {
		o.Stop = mail.StaffText(row.Parameters)
	}
	out.text, err = mail.Compose(to, o.Letter())
	return out, err
}

// addStay adds a stay to a mail: its dates, its room, and links or PINs.
func (m Mails) addStay(view *db.Tx, row *mail.Row, house *property.Row, o *mail.Occasion, out *rendered, to *string) error {
	stay, err := reservation.Get(view, reservation.Scope{PropertyID: row.PropertyID}, row.ReservationID)
	if fault.Has(err, fault.ReservationNotFound) {
		out.canceled = true
		return nil
	}
	if err != nil {
		return err
	}
	if o.Kind != mail.Staff && !listsRooms(o.Kind) && hasEnded(stay, o.Kind, view.Now()) {
		out.canceled = true
		return nil
	}
	if o.Kind == mail.Departure {
		p, _, err := guest.ViewParty(view, m.Keys, row.PropertyID, row.ReservationID)
		if err != nil {
			return err
		}
		if out.canceled = !isOpenAtDeparture(p); out.canceled {
			return nil
		}
	}
	booker, err := m.Reservations.Booker(view.Context(), stay)
	if err != nil {
		return err
	}
	if row.GuestID == "" && o.Kind != mail.Staff {
		if booker.FirstName != nil {
			o.FirstName = *booker.FirstName
		}
		present, err := m.GuestAddress(view, stay)
		if err != nil {
			return err
		}
		// A code and the message of a ready room follow the guest, also after an attempt for a former address.
		if *to == "" || strings.EqualFold(*to, present) || o.Kind.HasPIN() || o.Kind == mail.RoomReady {
			*to = present
		}
		// A former address gets no link. The sweep invites the present one.
		if o.Kind.HasLink() && !listsRooms(o.Kind) && *to != present {
			out.canceled = true
			return nil
		}
	}
	stays := []*ent.Reservation{stay}
	if listsRooms(o.Kind) {
		if stays, err = m.listedRooms(view, row, stay, *to); err != nil {
			return err
		}
		out.canceled = len(stays) == 0
		out.listed = idsOf(stays)
		if o.More = max(0, len(stays)-mail.MaxLinks); o.More > 0 {
			stays = stays[:mail.MaxLinks]
		}
	}
	if o.Kind != mail.Staff {
		out.stays = stays
	}
	for _, stay := range stays {
		one := mail.OccasionStay{Number: stay.PmsNumber, From: stay.FromAt, To: stay.ToAt}
		if one.Room, err = roomName(view, stay); err != nil {
			return err
		}
		if o.Kind.HasLink() {
			secret := mail.LinkSecret(m.Keys, row.ID, stay.ID)
			one.Link = m.BaseURL() + "/g/l/" + secret
			out.links = append(out.links, guest.MailedLink{Stay: stay, GuestID: row.GuestID, Secret: secret, Address: *to})
		}
		o.Stays = append(o.Stays, one)
	}
	if o.Kind.HasPIN() {
		return m.addCodes(view, row, stay, house, o, out)
	}
	return nil
}

// hasEnded reports whether a mail about a stay has lost its reason.
func hasEnded(stay *ent.Reservation, kind mail.Kind, now time.Time) bool {
	switch access.State(stay.State) {
	case access.Confirmed:
		return kind.HasPIN() || kind == mail.Departure || !stay.ToAt.After(now)
	case access.Started:
		if kind == mail.Departure {
			return !stay.ToAt.After(now)
		}
		return kind == mail.Invitation || kind == mail.Reminder || kind == mail.RoomReady
	}
	return true
}

// roomName returns the name of a stay's room, with the dorm of a bed.
func roomName(view *db.Tx, stay *ent.Reservation) (string, error) {
	place, err := reservation.PlaceOf(view, stay)
	if err != nil {
		return "", fmt.Errorf("find the room of a stay: %w", err)
	}
	if place.Space == nil {
		return "", nil
	}
	if place.Parent == nil || strings.Contains(place.Space.Name, place.Parent.Name) {
		return place.Space.Name, nil
	}
	return place.Parent.Name + " · " + place.Space.Name, nil
}

const (
	// keyPatience is how long a mail with a code waits for the locks to confirm the code. After that it says that they have not.
	keyPatience = 90 * time.Second
	keyInterval = 3 * time.Second // time between two checks
)

// addCodes adds the PINs of a stay. They exist only here and in the text that is sent.
func (m Mails) addCodes(view *db.Tx, row *mail.Row, stay *ent.Reservation, house *property.Row, o *mail.Occasion, out *rendered) error {
	shown, err := access.RevealPINs(access.Reconciler{Tx: view, Keys: m.Keys}, row.PropertyID, stay.ID)
	if err != nil {
		return err
	}
	plan, err := m.Reservations.Plan(view, stay, house)
	if err != nil {
		return err
	}
	o.Confirmed = shown.PIN != "" && isConfirmed(plan)
	if !o.Confirmed && view.Now().Before(row.CreatedAt.Add(keyPatience)) {
		out.wait = keyInterval
		return nil
	}
	if shown.PIN == "" {
		out.canceled = true // the stay has no code, such as in a room without a lock
		return nil
	}
	o.Codes = append(o.Codes, mail.DoorCode{Digits: shown.PIN})
	for _, g := range shown.Gates {
		if g.PIN != shown.PIN {
			o.Codes = append(o.Codes, mail.DoorCode{Door: g.Name, Digits: g.PIN})
		}
	}
	return nil
}

// isConfirmed reports whether the locks of all doors of a plan have confirmed the code.
func isConfirmed(plan access.Plan) bool {
	for _, d := range plan.Doors {
		if !d.Left && d.PIN != slot.Accepted && d.PIN != slot.Verified && d.PIN != slot.Used {
			return false
		}
	}
	return len(plan.Doors) > 0
}
