package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/text"
)

// rendered is a mail that can be sent now, or why it cannot.
type rendered struct {
	canceled bool          // the mail is no longer needed
	wait     time.Duration // if not 0, wait so long: the locks have not confirmed the code
	text     mail.Text     // without a recipient if no address reaches the guest
	links    []guest.MailedLink
	profile  *guest.MailedProfileLink // the link to a kept profile, or nil
	stays    []*ent.Reservation       // the stays that the mail is about, as rendered, see checkRecipient; none in a mail to staff
	listed   []string                 // the reservations that an invitation or a reminder lists
	property string                   // the property's name
}

// errOutdated means that the address of the guest changed after the mail was rendered: the mail must be rendered again.
var errOutdated = errors.New("the guest's address changed while a mail was rendered")

// storeLinks stores what must be in force when a mail arrives: the hashes of its links, and which rooms it lists; other rooms that it was
// ordered for count as not mailed again. A mail with a code revokes the links of the stay's earlier mails with a code, except those that a
// device has opened. A retry stores nothing new. It returns errOutdated if the recipient changed since: a former address gets no link.
func (m Mails) storeLinks(tx *db.Tx, row *mail.Row, r rendered) error {
	if err := m.checkRecipient(tx, row, r); err != nil {
		return err
	}
	for _, l := range r.links {
		if err := l.Store(tx, m.Keys); err != nil {
			return err
		}
		if listsRooms(mail.Kind(row.Kind)) {
			continue // the sweep that ordered the mail follows these stays
		}
		if err := followStay(tx, m.Keys, m.Reservations, l.Stay); err != nil {
			return err
		}
	}
	if r.profile != nil {
		if err := r.profile.Store(tx, m.Keys); err != nil {
			return err
		}
	}
	if mail.Kind(row.Kind).HasPIN() {
		if err := m.revokeFormerKeys(tx, row); err != nil {
			return err
		}
	}
	return unlist(tx, row, r.listed)
}

// renderer collects the content of one mail.
type renderer struct {
	Mails
	view     *db.Tx
	row      *mail.Row
	property *property.Row
	occasion mail.Occasion
	to       string // the recipient; empty if no address reaches the guest
	out      rendered
}

// render loads what a mail is about and composes its text, in the reader's language. The result may also be that the mail must wait, is
// canceled, or has no recipient.
func (m Mails) render(ctx context.Context, row *mail.Row) (rendered, error) {
	view := m.DB.View(ctx)
	in, err := property.Get(view, row.PropertyID)
	if err != nil {
		return rendered{}, err
	}
	settings, err := property.GetCheckInSettings(view, row.PropertyID)
	if err != nil {
		return rendered{}, err
	}
	zone, err := clock.Zone(in.TimeZone)
	if err != nil {
		zone = time.UTC // an unknown time zone must not hold back mails
	}
	language, err := languageOf(view, row, settings)
	if err != nil {
		return rendered{}, err
	}
	to, err := mail.Recipient(view, m.Keys, row)
	if err != nil {
		return rendered{}, err
	}
	texts := property.TextsIn(settings, language)
	r := &renderer{Mails: m, view: view, row: row, property: in, to: to, out: rendered{property: in.Name}, occasion: mail.Occasion{
		Kind: mail.Kind(row.Kind), Reader: message.Reader{Language: language, Zone: zone}, Property: in.Name, Accent: settings.Accent,
		DeskPhone: settings.DeskPhone, Address: texts.Address, Directions: texts.Directions, Now: view.Now(),
		ProfilePage: m.BaseURL() + "/g/profile/" + in.ID,
	}}
	if row.ReservationID != "" {
		if err := r.addStay(); err != nil || r.out.canceled || r.out.wait > 0 {
			return r.out, err
		}
	}
	switch r.occasion.Kind {
	case mail.Staff:
		r.occasion.Stop = mail.StaffText(row.Parameters)
	case mail.Profile:
		if err := r.addProfile(); err != nil || r.out.canceled {
			return r.out, err
		}
	case mail.Notices:
		if err := r.addNotices(); err != nil || r.out.canceled {
			return r.out, err
		}
	case mail.Join:
		if err := r.addJoin(); err != nil || r.out.canceled {
			return r.out, err
		}
	}
	r.out.text, err = mail.Compose(r.to, r.occasion.Content())
	return r.out, err
}

// languageOf returns the language of a mail: that of the guest who gets it, or the property's if it is not known. Staff read the property's
// language, invited people and former guests that of their request.
func languageOf(view *db.Tx, row *mail.Row, settings *property.CheckInSettings) (string, error) {
	if kind := mail.Kind(row.Kind); kind == mail.Join || kind == mail.Profile {
		return cmp.Or(row.Parameters["language"], settings.Language), nil
	}
	if row.ReservationID == "" || mail.Kind(row.Kind) == mail.Staff {
		return settings.Language, nil
	}
	language, err := guest.LanguageOf(view, row.PropertyID, row.ReservationID, row.GuestID)
	return cmp.Or(language, settings.Language), err
}

// addStay adds a stay to the mail: dates, room, and links or PINs. For a mail that is no longer needed, such as after a removal, it sets
// r.out.canceled instead, without an error.
func (r *renderer) addStay() error {
	stay, err := reservation.Get(r.view, reservation.Scope{PropertyID: r.row.PropertyID}, r.row.ReservationID)
	if fault.Has(err, fault.ReservationNotFound) {
		r.out.canceled = true
		return nil
	}
	if err != nil {
		return err
	}
	if r.out.canceled, err = r.isPointless(stay); err != nil || r.out.canceled {
		return err
	}
	if r.row.GuestID == "" && r.occasion.Kind != mail.Staff {
		if err := r.addressBooker(stay); err != nil || r.out.canceled {
			return err
		}
	}
	if r.row.GuestID != "" {
		is, err := r.isCompanions(r.view, r.row, r.to)
		if r.out.canceled = !is; err != nil || !is {
			return err
		}
	}
	stays := []*ent.Reservation{stay}
	if listsRooms(r.occasion.Kind) {
		if stays, err = r.selectRooms(stay); err != nil {
			return err
		}
	}
	if r.occasion.Kind != mail.Staff {
		r.out.stays = stays
		if err := r.greet(stays); err != nil {
			return err
		}
	}
	for _, stay := range stays {
		if err := r.addRoom(stay); err != nil {
			return err
		}
	}
	switch {
	case r.occasion.Kind.HasPIN():
		return r.addCodes(stay)
	case r.occasion.Kind == mail.Erasure:
		return r.addErasure()
	}
	return nil
}

// isPointless reports whether the mail is no longer needed. It is false for mails to staff or of an erasure, and where listsRooms is true.
func (r *renderer) isPointless(stay *ent.Reservation) (bool, error) {
	kind := r.occasion.Kind
	if kind != mail.Staff && kind != mail.Erasure && !listsRooms(kind) && doesNotFit(stay, kind, r.view.Now()) {
		return true, nil
	}
	if kind != mail.Departure {
		return false, nil
	}
	p, _, err := guest.ViewParty(r.view, r.Keys, r.row.PropertyID, r.row.ReservationID)
	if err != nil {
		return false, err
	}
	return !isOpenAtDeparture(p), nil
}

// selectRooms returns the rooms of the booking that the mail lists. Without any it sets r.out.canceled. It also sets how many rooms of the
// booker other mails list.
func (r *renderer) selectRooms(stay *ent.Reservation) ([]*ent.Reservation, error) {
	stays, elsewhere, err := r.listedRooms(r.view, r.row, stay, r.to)
	if err != nil {
		return nil, err
	}
	r.out.canceled = len(stays) == 0
	r.out.listed = idsOf(stays)
	r.occasion.Elsewhere = elsewhere
	return stays, nil
}

// addRoom adds one reservation, with its link if the mail has links and its recipient is trusted.
func (r *renderer) addRoom(stay *ent.Reservation) error {
	room, err := roomName(r.view, stay)
	if err != nil {
		return err
	}
	one := mail.OccasionStay{Number: stay.PmsNumber, From: stay.FromAt, To: stay.ToAt, Room: room}
	if r.occasion.Kind.HasLink() && !r.occasion.Plain {
		secret := mail.LinkSecret(r.Keys, r.row.ID, stay.ID, guest.AddressMAC(r.Keys, stay.PropertyID, r.to))
		one.Link = r.BaseURL() + "/g/l/" + secret
		r.out.links = append(r.out.links, guest.MailedLink{Stay: stay, GuestID: r.row.GuestID, Secret: secret, Address: r.to})
	}
	r.occasion.Stays = append(r.occasion.Stays, one)
	return nil
}

// doesNotFit reports whether a mail does not fit the stay now: too late, or before check-in. A link or message fits as long as links work.
func doesNotFit(stay *ent.Reservation, kind mail.Kind, now time.Time) bool {
	state := access.State(stay.State)
	if kind == mail.Link || kind == mail.Message {
		isFirm := state == access.Confirmed || state == access.Started || state == access.Processed
		return !isFirm || !now.Before(guest.LinksEndAt(stay))
	}
	switch state {
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

// roomName returns the name of a stay's room, with the dorm of a bed, or "" if the room is not known.
func roomName(view *db.Tx, stay *ent.Reservation) (string, error) {
	place, err := reservation.PlaceOf(view, stay)
	if err != nil {
		return "", fmt.Errorf("find the room of a stay: %w", err)
	}
	if place.Space == nil {
		return "", nil
	}
	return text.FullName(place.ParentName(), place.Space.Name), nil
}

const (
	// keyPatience is how long a mail with a code waits for the locks to confirm the code. After that it says that they have not.
	keyPatience = 90 * time.Second
	keyInterval = 3 * time.Second // time between two checks whether the locks have confirmed the code
)

// addCodes adds the PINs of a stay to the mail. Until the locks confirm the code, it sets r.out.wait, so that the mail waits. After
// keyPatience the mail is sent anyway. If the stay has no code, addCodes sets r.out.canceled, unless the stay was moved to a room without a
// lock.
func (r *renderer) addCodes(stay *ent.Reservation) error {
	shown, err := access.RevealPINs(access.Reconciler{Tx: r.view, Keys: r.Keys}, r.row.PropertyID, stay.ID)
	if err != nil {
		return err
	}
	plan, err := r.Reservations.Plan(r.view, stay, r.property)
	if err != nil {
		return err
	}
	r.occasion.Confirmed = !shown.IsEmpty() && isConfirmed(plan)
	if !r.occasion.Confirmed && r.view.Now().Before(r.row.CreatedAt.Add(keyPatience)) {
		r.out.wait = keyInterval
		return nil
	}
	r.occasion.AtDesk = isKeyAtDesk(plan)
	if shown.IsEmpty() {
		r.out.canceled = !r.occasion.AtDesk || r.occasion.Kind != mail.KeyChanged
		return nil
	}
	if plan.Window != nil {
		r.occasion.OpensAt = plan.Window.From
	}
	if shown.PIN != "" {
		r.occasion.Codes = append(r.occasion.Codes, mail.DoorCode{Digits: shown.PIN})
	}
	for _, g := range shown.Gates {
		if g.PIN != shown.PIN {
			r.occasion.Codes = append(r.occasion.Codes, mail.DoorCode{Door: g.Name, Digits: g.PIN})
		}
	}
	return nil
}
