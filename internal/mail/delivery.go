package mail

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// Delivery is the state of a mail as the API and the pages show it to the guest.
type Delivery string

const (
	NoMail      Delivery = ""        // no mail was ordered, or it was canceled
	OnItsWay    Delivery = "waiting" // the mail will be sent, or is sent now
	Delivered   Delivery = "sent"    // the mail server took the mail, or the mail is in a mailbox that guests read
	InMailbox   Delivery = "held"    // the property has no mail server: the mail stays in its mailbox, which no guest reads
	Undelivered Delivery = "failed"
)

// Outlet is where the mails of a property go: to its mail server, or without one to the mailbox, a list of mails that is kept in the
// database.
type Outlet int

const (
	ToServer      Outlet = iota // to the property's mail server
	ToMailbox                   // to the mailbox of a property without a mail server, which only staff read
	ToOpenMailbox               // to the mailbox of a property without a mail server, which guests can read, as in the demo
)

// Reaches reports whether guests can read the mails.
func (o Outlet) Reaches() bool { return o != ToMailbox }

// OutletOf returns where the mails of a property go: to its mail server, or without one to the mailbox. open means that guests can read the
// mailbox, as in the demo.
func OutletOf(view *db.Tx, propertyID string, open bool) (Outlet, error) {
	row, err := loadSettings(view, propertyID)
	switch {
	case err != nil:
		return 0, err
	case row != nil && row.Host != "":
		return ToServer, nil
	case open:
		return ToOpenMailbox, nil
	}
	return ToMailbox, nil
}

// DeliveryOf returns what a page says about the delivery of a mail in a state, at a property whose mails go to o. A mail that still waits
// counts as InMailbox if it will only get there.
func DeliveryOf(s State, o Outlet) Delivery {
	switch {
	case s == InBox && o != ToOpenMailbox, s == Waiting && !o.Reaches():
		return InMailbox
	}
	switch s {
	case Waiting, Sending:
		return OnItsWay
	case Sent, InBox:
		return Delivered
	case Failed, Bounced:
		return Undelivered
	}
	return NoMail
}

// Latest returns the latest mail of some kinds about a stay, or nil. Canceled mails do not count. guestID is that of a companion, or empty
// for the mails to the booker.
func Latest(view *db.Tx, propertyID, reservationID, guestID string, kinds ...Kind) (*Row, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	row, err := view.Mail.Query().Where(entmail.PropertyID(propertyID), entmail.ReservationID(reservationID), entmail.GuestID(guestID),
		entmail.KindIn(names...), entmail.StateNEQ(string(Canceled))).Order(entmail.ByID(sql.OrderDesc())).First(view.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the latest mail about a stay: %w", err)
	}
	return row, nil
}

// HasBounced reports whether the latest mail to an address bounced; only mails that were sent or bounced count. addressMAC is the keyed
// hash of the address.
func HasBounced(view *db.Tx, propertyID string, addressMAC []byte) (bool, error) {
	row, err := view.Mail.Query().Where(entmail.PropertyID(propertyID), entmail.AddressMAC(addressMAC), entmail.StateIn(string(Sent), string(Bounced))).
		Order(entmail.ByID(sql.OrderDesc())).First(view.Context())
	if ent.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find whether mails to an address bounce: %w", err)
	}
	return row.State == string(Bounced), nil
}

// FirstWorking returns the first of some addresses that reaches a guest and whose latest mail did not bounce, or "" if none does. macOf
// returns the keyed hash of an address.
func FirstWorking(view *db.Tx, propertyID string, addresses []string, macOf func(address string) []byte) (string, error) {
	for _, address := range addresses {
		if !Reaches(address) {
			continue
		}
		bounced, err := HasBounced(view, propertyID, macOf(address))
		if err != nil {
			return "", err
		}
		if !bounced {
			return address, nil
		}
	}
	return "", nil
}

// LinkOrder is an order of a mail with a new link. It does not end former links.
type LinkOrder struct {
	PropertyID, ReservationID string
	GuestID                   string // of a companion; empty: the booker
	Renews                    bool   // the guest had a link before: a companion then gets a Link, not a Companion
	Address                   string // empty: the guest's address when the mail is sent
	// Occasion identifies why the mail is ordered: a second order with the same occasion sends no mail. Empty: each order sends one.
	Occasion string
}

// maxCompanionMails limits the mails with links to companions that the guests of one stay order within a day. It allows one for each guest
// of the largest party. Guests type the addresses, and can remove and add companions as often as they like.
const maxCompanionMails = 60

// CheckCompanionMails returns nil if the guests of a stay may order another mail with a link to a companion. It returns a fault if 60 such
// mails were ordered within 24 hours, canceled ones included.
func CheckCompanionMails(view *db.Tx, propertyID, reservationID string) error {
	n, err := view.Mail.Query().Where(entmail.PropertyID(propertyID), entmail.ReservationID(reservationID), entmail.GuestIDNEQ(""),
		entmail.KindIn(string(Companion), string(Link)), entmail.CreatedAtGT(view.Now().Add(-24*time.Hour))).Aggregate(ent.Count()).Int(view.Context())
	if err != nil {
		return fmt.Errorf("count the mails to the companions of a stay: %w", err)
	}
	if n >= maxCompanionMails {
		return fault.New(fault.Exhausted, fault.TooManyAttempts, "%d links were mailed to the companions of this stay within a day; try again tomorrow, or fill in their data here", n).Retry(time.Hour)
	}
	return nil
}
