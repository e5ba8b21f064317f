package guest

import (
	"context"

	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/reservation"
)

// Deps are the dependencies of the services for guests' pages. All but the functions about mails are required; without these, guests get no
// mails.
type Deps struct {
	DB           *db.DB
	Answers      *idem.Answers
	Keys         *keyring.Ring
	Reservations reservation.Service
	CheckIns     *checkin.Service
	// MailLink orders a mail with a new link. It returns false, and orders none, if a mail for the same o.Occasion, unless that is empty,
	// was ordered before.
	MailLink func(tx *db.Tx, o mail.LinkOrder) (bool, error)
	// MailProfile orders a mail with the link to a kept profile.
	MailProfile func(tx *db.Tx, propertyID, address, language string) error
	// MailAddress returns the address to which mails about a stay go, or "" if the guest gets none.
	MailAddress func(view *db.Tx, p *guest.Party) (string, error)
	// ReadyAddress returns the address for the mail that says that the room is ready, or "" if no mail is sent.
	ReadyAddress func(view *db.Tx, p *guest.Party) (string, error)
	// MailOutlet returns where the mails of a property go, such as to a mail server.
	MailOutlet func(view *db.Tx, propertyID string) (mail.Outlet, error)
}

// mailAddress returns the address for mails about a stay, or "" if the caller gets none, such as a companion.
func (d Deps) mailAddress(view *db.Tx, a actor.Actor, p *guest.Party) (string, error) {
	if d.MailAddress == nil || a.GuestID != "" { // a companion gets no mails about the stay
		return "", nil
	}
	return d.MailAddress(view, p)
}

// readyAddress returns the address for the mail that says that the room is ready, or "" if the caller gets none, such as a companion.
func (d Deps) readyAddress(view *db.Tx, a actor.Actor, p *guest.Party) (string, error) {
	if d.ReadyAddress == nil || a.GuestID != "" {
		return "", nil
	}
	return d.ReadyAddress(view, p)
}

// mailOutlet returns where the mails of a property go: to its mail server, or without one to the mailbox. In the demo, all go to the
// mailbox that guests read too.
func (d Deps) mailOutlet(view *db.Tx, propertyID string) (mail.Outlet, error) {
	if d.MailOutlet == nil {
		return mail.ToMailbox, nil
	}
	return d.MailOutlet(view, propertyID)
}

// callerGuest returns the guest's session that makes a call. The session must belong to a stay. It refuses all other callers.
func callerGuest(ctx context.Context) (actor.Actor, error) {
	a, ok := actor.From(ctx)
	if !ok || a.Kind != actor.Guest || a.PropertyID == "" || a.ReservationID == "" {
		return actor.Actor{}, credential.Refused()
	}
	return a, nil
}

// writeAsGuest runs a change of the caller's stay in one transaction, as [idem.Write] does. It refuses callers other than guests.
func writeAsGuest[R proto.Message](ctx context.Context, d Deps, change func(tx *db.Tx, a actor.Actor) (R, error)) (R, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		var none R
		return none, err
	}
	return idem.Write(ctx, d.Answers, func(tx *db.Tx) (R, error) { return change(tx, a) })
}
