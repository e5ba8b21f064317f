package worker

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/integration"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/ent/stay"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// keyEvents are the kinds of events after which a stay may have another code or room, so that a mail may be due: see orderKey.
var keyEvents = []event.Kind{event.PINGenerated, event.AccessIssued, event.AccessUpdated, event.AccessFailed}

// Subscriber orders a mail when a stay gets its code, no matter how the guest was checked in, and another when its code or room changes. It
// orders none to a guest who must not be mailed: see orderKey.
func (m Mails) Subscriber() Subscriber {
	return Subscriber{Name: "mails", Wants: wantsKinds(keyEvents...), Apply: func(tx *db.Tx, events []*ent.Event) error {
		stays := map[string]*ent.Event{} // the latest event of each stay
		for _, e := range events {
			if slices.Contains(keyEvents, event.Kind(e.Kind)) {
				stays[e.Subject] = e
			}
		}
		for _, id := range slices.Sorted(maps.Keys(stays)) {
			if err := m.orderKey(tx, stays[id]); err != nil {
				return err
			}
		}
		return nil
	}}
}

// orderKey orders a mail with the code of a started stay if one is due after the latest one (see [stayKey.mailAfter]), and then cancels the
// latest one if it still waits (a new mail with a PIN has the kind of the canceled one). It orders none if the guest got no code by mail
// before and must not be mailed (see mayMail). Without an address that reaches the guest the mail fails later: staff are notified, and can
// send it again when there is one. In each case it extends the links and sessions of a started stay until its end.
func (m Mails) orderKey(tx *db.Tx, e *ent.Event) error {
	row, err := reservation.Get(tx, reservation.Scope{PropertyID: e.PropertyID}, e.Subject)
	if fault.Has(err, fault.ReservationNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if row.State != string(access.Started) {
		return nil
	}
	if err := guest.Prolong(tx, row.PropertyID, row.ToAt, row.ID); err != nil { // for a phone without a mailed link; see followStay for the others
		return err
	}
	former, err := latestKeyMail(tx, row)
	if err != nil {
		return err
	}
	onceKey := ""
	if former != nil { // a guest who got a code by mail also gets its changes
		onceKey = *former.OnceKey
	} else if mayMail, err := m.mayMail(tx, row); err != nil || !mayMail {
		return err
	}
	if err := followStay(tx, m.Keys, m.Reservations, row); err != nil {
		return err
	}
	key, err := m.keyOf(tx, row)
	if err != nil {
		return err
	}
	kind := key.mailAfter(onceKey)
	if kind == "" {
		return nil
	}
	if former != nil {
		canceled, err := mail.Move(tx, former, mail.Waiting, mail.Canceled, nil)
		if err != nil {
			return err
		}
		if canceled && key.hasPIN {
			kind = mail.Kind(former.Kind)
		}
	}
	_, err = mail.Order(tx, m.Keys, m.Jobs, mail.Mail{
		PropertyID: row.PropertyID, Kind: kind, ReservationID: row.ID, OnceKey: fmt.Sprintf("%s/%s/%s/%d/%s", row.ID, mail.Key, key.contentHash, e.ID, key.room),
	})
	return err
}

// latestKeyMail returns the latest mail with the code of a stay that was ordered by an event (not by staff) and was not canceled, or nil.
func latestKeyMail(view *db.Tx, row *ent.Reservation) (*ent.Mail, error) {
	former, err := view.Mail.Query().Where(entmail.PropertyID(row.PropertyID), entmail.ReservationID(row.ID), entmail.KindIn(string(mail.Key), string(mail.KeyChanged)),
		entmail.OnceKeyNotNil(), entmail.StateNEQ(string(mail.Canceled))).Order(entmail.ByID(sql.OrderDesc())).First(view.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the former mail with a code: %w", err)
	}
	return former, nil
}

// mayMail reports whether the guest of a stay may get the first mail without asking for it: staff have switched on the invitations of the
// integration, or the guest has begun the check-in with this service.
func (m Mails) mayMail(tx *db.Tx, row *ent.Reservation) (bool, error) {
	on, err := tx.Integration.Query().Where(integration.PropertyID(row.PropertyID), integration.ID(row.IntegrationID), integration.InvitationsAtNotNil()).Exist(tx.Context())
	if err == nil && !on {
		on, err = tx.Stay.Query().Where(stay.PropertyID(row.PropertyID), stay.ReservationID(row.ID), stay.BeganAtNotNil()).Exist(tx.Context())
	}
	if err != nil {
		return false, fmt.Errorf("find whether a guest may be mailed: %w", err)
	}
	return on, nil
}

// revokeFormerKeys revokes the links in earlier mails with a code of the stay, except those that a device has opened: only the newest link
// works.
func (m Mails) revokeFormerKeys(tx *db.Tx, row *mail.Row) error {
	var former []struct {
		ID         string `json:"id"`
		AddressMAC []byte `json:"address_mac"`
	}
	err := tx.Mail.Query().Where(entmail.PropertyID(row.PropertyID), entmail.ReservationID(row.ReservationID),
		entmail.KindIn(string(mail.Key), string(mail.KeyChanged)), entmail.IDLT(row.ID)).
		Select(entmail.FieldID, entmail.FieldAddressMAC).Scan(tx.Context(), &former)
	if err != nil || len(former) == 0 {
		return err
	}
	var secrets []string
	for _, sent := range former {
		secrets = append(secrets, mail.LinkSecrets(m.Keys, sent.ID, row.ReservationID, sent.AddressMAC)...)
	}
	return guest.RevokeMailedLinks(tx, m.Keys, row.PropertyID, secrets)
}

// GuestAddress returns the booker's address if it reaches the guest: it is not an agency's, and the latest mail to it did not bounce. Else
// it returns such an address that the main guest gave and that is trusted, see [guest.TrustedAddresses]. The booker's comes first, because
// a person who only knows a number and a name can fill in the form at a kiosk. If mails to all of them bounced, it returns the first one
// that is not an agency's, or "". Unlike Address it does not ask whether the guest may be mailed.
func (m Mails) GuestAddress(tx *db.Tx, row *ent.Reservation) (string, error) {
	working, all, err := m.guestAddresses(tx, row, func() ([]string, error) { return guest.TrustedAddresses(tx, m.Keys, row.PropertyID, row.ID) })
	if err != nil || working != "" {
		return working, err
	}
	if i := slices.IndexFunc(all, mail.Reaches); i >= 0 {
		return all[i], nil
	}
	return "", nil
}

// recipientOf returns the address to which a mail of a kind goes, or "". The mail that the room is ready may also go to an address given by
// a person who only knew a number and a name, such as at a kiosk. Then trusted is false, and the mail gets neither a link nor data of the
// stay.
func (m Mails) recipientOf(view *db.Tx, row *ent.Reservation, kind mail.Kind) (address string, trusted bool, err error) {
	address, err = m.GuestAddress(view, row)
	if err != nil || address != "" || kind != mail.RoomReady {
		return address, true, err
	}
	given, err := guest.GivenAddresses(view, m.Keys, row.PropertyID, row.ID)
	if err == nil {
		address, err = m.firstWorking(view, row.PropertyID, given...)
	}
	return address, address == "", err
}

// guestAddresses returns the first working address of the guest: the booker's, or one that trusted returns. An address works if it reaches
// the guest and its mails do not bounce. If none works, guestAddresses returns all of them. trusted loads the addresses that the guest
// gave, and is called only if the booker's does not work.
func (m Mails) guestAddresses(tx *db.Tx, row *ent.Reservation, trusted func() ([]string, error)) (working string, all []string, err error) {
	booked, err := bookerAddress(tx, m.Reservations, row)
	if err != nil {
		return "", nil, err
	}
	if working, err := m.firstWorking(tx, row.PropertyID, booked); err != nil || working != "" {
		return working, nil, err
	}
	given, err := trusted()
	if err != nil {
		return "", nil, err
	}
	working, err = m.firstWorking(tx, row.PropertyID, given...)
	return working, append([]string{booked}, given...), err
}

// firstWorking returns the first address that is not an agency's and to which mails do not bounce, or "".
func (m Mails) firstWorking(view *db.Tx, propertyID string, addresses ...string) (string, error) {
	return mail.FirstWorking(view, propertyID, addresses, func(address string) []byte { return guest.AddressMAC(m.Keys, propertyID, address) })
}

// Address returns the address to which mails about a stay go: the booker's, else a trusted one that the guest gave. It returns "" if none
// of them reaches the guest, or if mails to all of them bounced. It also returns "" as long as staff have not switched on the invitations
// of the integration and the guest has not begun the check-in.
func (m Mails) Address(view *db.Tx, p *guest.Party) (string, error) {
	row := p.Reservation
	mayMail := p.Stay != nil && p.Stay.BeganAt != nil
	if !mayMail {
		var err error
		if mayMail, err = m.mayMail(view, row); err != nil || !mayMail {
			return "", err
		}
	}
	working, _, err := m.guestAddresses(view, row, func() ([]string, error) { return p.TrustedAddresses(view) })
	return working, err
}

// ReadyAddress returns the address for the mail that the room is ready, or "". Unlike Address it also accepts untrusted addresses that a
// guest gave, once the check-in has begun.
func (m Mails) ReadyAddress(view *db.Tx, p *guest.Party) (string, error) {
	address, err := m.Address(view, p)
	if err != nil || address != "" || p.Stay == nil || p.Stay.BeganAt == nil {
		return address, err
	}
	return m.firstWorking(view, p.Reservation.PropertyID, p.GivenAddresses()...)
}

// Outlet returns where the mails of a property go: to its mail server, or without one to its mailbox, which staff read in the dashboard, and
// guests if GuestsReadMailbox is set.
func (m Mails) Outlet(view *db.Tx, propertyID string) (mail.Outlet, error) {
	return mail.OutletOf(view, propertyID, m.GuestsReadMailbox)
}

// mailKeyAgain orders a mail with the code of a started stay after the booker's address changed: the link in the former address's mail
// ended, or that mail did not arrive. A mail that still waits goes to the present address anyway. It does nothing after the end of the
// stay, if no address reaches the guest (see [Mails.GuestAddress]), if no mail with the code was ordered before, or if that mail went to an
// address that the guest gave, whose link works.
func (v Invitations) mailKeyAgain(tx *db.Tx, r room) error {
	if r.stay.State != string(access.Started) || !r.stay.ToAt.After(tx.Now()) {
		return nil
	}
	former, err := mail.Latest(tx, r.stay.PropertyID, r.stay.ID, "", mail.Key, mail.KeyChanged)
	if err != nil || former == nil || former.State == string(mail.Waiting) {
		return err
	}
	if address, err := (Mails{Keys: v.Keys, Reservations: v.Reservations}).GuestAddress(tx, r.stay); err != nil || address == "" {
		return err
	}
	if state := mail.State(former.State); state != mail.Failed && state != mail.Bounced {
		if works, err := guest.HasMailedLink(tx, r.stay.PropertyID, r.stay.ID); err != nil || works {
			return err
		}
	}
	pins, err := access.RevealPINs(access.Reconciler{Tx: tx, Keys: v.Keys}, r.stay.PropertyID, r.stay.ID)
	if err != nil {
		return err
	}
	kind := mail.Key
	if pins.IsEmpty() {
		kind = mail.KeyChanged // the stay was moved to a room without a lock
	}
	_, err = mail.Order(tx, v.Keys, v.Jobs, mail.Mail{PropertyID: r.stay.PropertyID, Kind: kind, ReservationID: r.stay.ID})
	return err
}

// stayKey is what a mail with the code of a stay says. The contentHash and room hashes are part of the mail's OnceKey.
type stayKey struct {
	hasPIN      bool
	atDesk      bool   // the guest opens the room with a key from the desk, see isKeyAtDesk; with a PIN always false
	contentHash string // keyed hash of the PINs and the room; two mails with the same hash have the same content
	room        string // keyed hash of the room
}

// keyOf returns what a mail with the code of a stay would say now.
func (m Mails) keyOf(tx *db.Tx, row *ent.Reservation) (stayKey, error) {
	pins, err := access.RevealPINs(access.Reconciler{Tx: tx, Keys: m.Keys}, row.PropertyID, row.ID)
	if err != nil {
		return stayKey{}, err
	}
	key := stayKey{hasPIN: !pins.IsEmpty()}
	if !key.hasPIN {
		in, err := property.Get(tx, row.PropertyID)
		if err != nil {
			return stayKey{}, err
		}
		plan, err := m.Reservations.Plan(tx, row, in)
		if err != nil {
			return stayKey{}, err
		}
		key.atDesk = isKeyAtDesk(plan)
	}
	room, err := roomName(tx, row)
	if err != nil {
		return stayKey{}, err
	}
	said := []string{row.ID, pins.PIN, room}
	for _, g := range pins.Gates {
		said = append(said, g.Name, g.PIN)
	}
	key.contentHash, key.room = hex.EncodeToString(m.Keys.MAC("keyMail", said...)[:12]), hex.EncodeToString(m.Keys.MAC("keyMail", row.ID, room)[:6])
	return key, nil
}

// isConfirmed reports whether every lock of a plan's doors has confirmed the code. Doors without a lock, and doors to which the stay has no
// right any more, do not count: with only these it is true. It is false without doors.
func isConfirmed(plan access.Plan) bool {
	for _, d := range plan.Doors {
		if !d.Left && d.Reason != access.NoLock && d.PIN != slot.Accepted && d.PIN != slot.Verified && d.PIN != slot.Used {
			return false
		}
	}
	return len(plan.Doors) > 0
}

// isKeyAtDesk reports whether no door of the room itself (gates do not count) has a lock, so that the guest needs a key from the desk. It
// ignores doors to which the stay has no right any more. It is false without such a door, and while the stay has no right to its doors.
func isKeyAtDesk(plan access.Plan) bool {
	atDesk := false
	for _, d := range plan.Doors {
		if d.Left || d.Kind == access.Gate {
			continue
		}
		if d.Reason != access.NoLock {
			return false
		}
		atDesk = true
	}
	return atDesk && plan.Window != nil
}

// mailAfter decides which mail with the code is due: [mail.Key] for the first with a PIN, [mail.KeyChanged], or "" for none. former is the
// OnceKey of the latest such mail, or "". It contains that mail's contentHash and room. Without a PIN a mail is due only after a move to a
// room without a lock: a lock that staff replace must not send the guest to the desk.
func (k stayKey) mailAfter(former string) mail.Kind {
	switch {
	case former == "" && k.hasPIN:
		return mail.Key
	case former == "", strings.Contains(former, "/"+k.contentHash+"/"), !k.hasPIN && (!k.atDesk || strings.HasSuffix(former, "/"+k.room)):
		return ""
	}
	return mail.KeyChanged
}
