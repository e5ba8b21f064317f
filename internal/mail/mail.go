// Package mail orders mails, renders their texts, and sends them by a property's mail server, or stores them in the property's mailbox
// if it has none.
//
// A mail is a row without a text: who gets what kind of mail about which reservation. Its text, with links and PINs, exists only while
// the mail is sent, or sealed in the mailbox.
package mail

import (
	"context"
	"fmt"
	"strings"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/text"
)

// Kind is what a mail is about. Its texts in the catalogue begin with "mail." and the kind.
type Kind string

const (
	Invitation Kind = "invitation" // the guest can fill in the form
	Reminder   Kind = "reminder"   // the form is not finished, and the arrival is near
	RoomReady  Kind = "roomReady"  // the room became ready after the guest asked
	Key        Kind = "key"        // the stay has started: PIN and rooms
	KeyChanged Kind = "keyChanged" // another PIN or another room
	Departure  Kind = "departure"  // the law wants an answer before the guest leaves
	Companion  Kind = "companion"  // a companion's own link
	Link       Kind = "link"       // a new link, which a guest or staff asked for
	Message    Kind = "message"    // the property's message, which the guest has not read
	Erasure    Kind = "erasure"    // the guest's data will be erased
	Profile    Kind = "profile"    // a link to what the property keeps of a guest for the next stay
	Join       Kind = "join"       // the link with which a person of the staff joins the property
	Notices    Kind = "notices"    // the notices that a person of the staff gets by mail
	Staff      Kind = "staff"      // what staff must know: a check-in that stopped, a message that was not read
)

// Kinds are all kinds.
var Kinds = []Kind{Invitation, Reminder, RoomReady, Key, KeyChanged, Departure, Companion, Link, Message, Erasure, Profile, Join, Staff, Notices}

// HasLink reports whether mails of this kind contain a link that signs the guest in to a stay.
func (k Kind) HasLink() bool {
	return k != Staff && k != Erasure && k != Profile && k != Join && k != Notices
}

// HasPIN reports whether mails of this kind contain the stay's PIN.
func (k Kind) HasPIN() bool { return k == Key || k == KeyChanged }

// IsUrgent reports whether a person waits for mails of this kind: a guest for a code, a link or a room, or one who needs the staff.
func (k Kind) IsUrgent() bool { return k.HasPIN() || k == Link || k == RoomReady || k == Staff }

// NamesProfile reports whether mails of this kind say where a guest sees what the property keeps for the next stay.
func (k Kind) NamesProfile() bool { return k == Key || k == Erasure }

// State is how far the sending of a mail is.
type State string

const (
	// Waiting mails were not sent yet, or after their latest attempt it is certain that the mail server has not taken them.
	Waiting State = "waiting"
	// Sending is stored directly before the text is transmitted. A process that finds it later does not know whether the mail server took the
	// mail, and does not send it again: see [Row].
	Sending  State = "sending"
	Sent     State = "sent"
	InBox    State = "mailbox"  // in the mailbox of a property without a mail server
	Failed   State = "failed"   // given up
	Bounced  State = "bounced"  // this mail failed, and later ones to its address would not arrive either: see [StateAfter]
	Canceled State = "canceled" // the mail was no longer needed before it was sent
)

// Failure is why a mail was not sent.
type Failure string

const (
	FailedNoServer       Failure = "noServer" // the property has no mail server
	FailedConnection     Failure = "connection"
	FailedTLS            Failure = "tls"
	FailedAuthentication Failure = "authentication"
	FailedSender         Failure = "sender"    // the mail server refused the property's address
	FailedRecipient      Failure = "recipient" // the mail server refused the recipient's address; of a Waiting mail, perhaps only for now
	FailedRefused        Failure = "refused"   // the mail server refused the mail for another reason
	// FailedUnanswered means that the connection or the server ended while the text was transmitted.
	FailedUnanswered Failure = "unanswered"
	// FailedReturned means that the mail server took the mail and another one could not deliver it.
	FailedReturned Failure = "returned"
	// FailedAddress means that no known address reaches the guest.
	FailedAddress Failure = "noAddress"
	// FailedBefore means that this mail was not sent because a former mail to the address bounced.
	FailedBefore Failure = "bouncedBefore"
	// FailedInternal means that the mail could not be rendered or passed to a mail server for a day.
	FailedInternal Failure = "internal"
)

// StateAfter returns the final state of a mail after failure f: Bounced if later mails to the address would not arrive either, which is so
// after [FailedRecipient] and [FailedBefore]; otherwise Failed.
func StateAfter(f Failure) State {
	if f == FailedRecipient || f == FailedBefore {
		return Bounced
	}
	return Failed
}

// FailureText returns the message that says why a mail of a kind was not sent, and what to do about it. It is empty if nothing failed. kind
// is "" for a test of the mail server.
func FailureText(kind Kind, f Failure) message.Message {
	if f == "" {
		return message.Message{}
	}
	text := "mailFailure." + string(f)
	switch isRefused := f == FailedRecipient; {
	case kind == Staff && (isRefused || f == FailedBefore):
		text += "Staff" // staff must not ask a guest for another address because their own is wrong
	case isRefused && (kind == "" || kind == Join || kind == Notices || kind == Profile):
		text += "Other"
	}
	return message.Message{Kind: text}
}

// ProblemText returns why a mail was not sent, as [FailureText]. For a mail that will be tried again it does not ask staff for another
// address: many mail servers refuse the first mail of an unknown sender for some minutes.
func ProblemText(row *Row) message.Message {
	if State(row.State) == Waiting && Failure(row.Failure) == FailedRecipient {
		return message.Message{Kind: "mailFailure.recipientLater"}
	}
	return FailureText(Kind(row.Kind), Failure(row.Failure))
}

// Row is a mail as stored.
//
// No mail is sent twice: Sending is committed after the mail server has accepted sender and recipient and before the text is transmitted.
// The mail becomes Waiting again only if the server has certainly not taken it, such as after a temporary refusal of the text. If a later
// attempt finds a mail in Sending, the mail has failed as "unanswered", and staff decide whether to send it again.
type Row = ent.Mail

// Mail is a mail to order.
type Mail struct {
	PropertyID    string
	Kind          Kind
	ReservationID string
	GuestID       string // of a companion; empty: the booker
	// To is the recipient. Empty: the address of the guest when the mail is sent; for [Staff], the property's staffEmail.
	To string
	// OnceKey identifies the occasion of the mail, like an idempotency key: with the same key only one mail is ordered. It begins with the
	// id of an object of the property. Empty: each call orders a mail.
	OnceKey string
	// Params are the parameters of a mail to staff, of which "kind" names the text: see [StaffText]. No PIN and no guest data. Those of a mail
	// to join a property are from [JoinParams], and those of a link to a profile from [ProfileParams].
	Params map[string]string
	// AddressMAC is the keyed hash of the recipient. Empty: it is stored with the first attempt.
	AddressMAC []byte
}

// IsOrdered reports whether a mail was ordered for the occasion with a OnceKey, also if the mail was canceled or failed since.
func IsOrdered(view *db.Tx, propertyID, onceKey string) (bool, error) {
	ordered, err := view.Mail.Query().Where(entmail.PropertyID(propertyID), entmail.OnceKey(onceKey)).Exist(view.Context())
	if err != nil {
		return false, fmt.Errorf("look for a mail: %w", err)
	}
	return ordered, nil
}

// Order stores a mail and the job that sends it, in the transaction of the change that causes the mail. It returns the mail's id, or "" if
// it orders none: a mail with the same OnceKey exists, or the mail is for staff and the property has no staffEmail. It does not check
// whether the address reaches anyone.
func Order(tx *db.Tx, keys *keyring.Ring, queue *jobs.Queue, m Mail) (string, error) {
	if m.Kind == Staff && m.To == "" {
		settings, err := property.GetCheckInSettings(tx, m.PropertyID)
		if err != nil || settings.StaffEmail == "" {
			return "", err
		}
		m.To = settings.StaffEmail
	}
	if m.Kind == Staff {
		if err := StaffText(m.Params).Check(); err != nil {
			return "", fmt.Errorf("order a mail: %w", err)
		}
	}
	mailID := id.New(id.Mail)
	address, err := SealAddress(tx, keys, m.PropertyID, mailID, m.To)
	if err != nil {
		return "", err
	}
	if m.OnceKey != "" {
		if ordered, err := IsOrdered(tx, m.PropertyID, m.OnceKey); err != nil || ordered {
			return "", err
		}
	}
	create := tx.Mail.Create().SetID(mailID).SetPropertyID(m.PropertyID).SetKind(string(m.Kind)).SetReservationID(m.ReservationID).
		SetGuestID(m.GuestID).SetAddress(address).SetParameters(m.Params).SetState(string(Waiting)).SetCreatedAt(tx.Now())
	if m.OnceKey != "" {
		create.SetOnceKey(m.OnceKey)
	}
	if len(m.AddressMAC) > 0 {
		create.SetAddressMAC(m.AddressMAC)
	}
	if err := create.Exec(tx.Context()); err != nil {
		return "", fmt.Errorf("store a mail: %w", err)
	}
	return mailID, queue.Insert(tx, jobs.SendMail{PropertyID: m.PropertyID, MailID: mailID})
}

// SealAddress encrypts the recipient of a mail. For an empty address it returns an empty slice, which is not nil.
func SealAddress(tx *db.Tx, keys *keyring.Ring, propertyID, mailID, address string) ([]byte, error) {
	if address == "" {
		return []byte{}, nil
	}
	sealed, err := keys.Seal(tx.Context(), propertyID, addressPurpose(mailID), []byte(address))
	if err != nil {
		return nil, fmt.Errorf("seal the recipient of a mail: %w", err)
	}
	return sealed, nil
}

// Recipient decrypts the address of a mail. It returns "" if the address is not known yet, or was erased.
func Recipient(view *db.Tx, keys *keyring.Ring, row *Row) (string, error) {
	if len(row.Address) == 0 {
		return "", nil
	}
	raw, err := keys.Open(view.Context(), row.PropertyID, addressPurpose(row.ID), row.Address)
	if err != nil {
		return "", fmt.Errorf("open the recipient of a mail: %w", err)
	}
	return string(raw), nil
}

// SealReply encrypts what a mail server answered: it may repeat a part of the recipient's address. It returns nil for "".
func SealReply(ctx context.Context, keys *keyring.Ring, row *Row, reply string) ([]byte, error) {
	if reply == "" {
		return nil, nil
	}
	sealed, err := keys.Seal(ctx, row.PropertyID, replyPurpose(row.ID), []byte(reply))
	if err != nil {
		return nil, fmt.Errorf("seal the answer of a mail server: %w", err)
	}
	return sealed, nil
}

// OpenReply decrypts the stored answer of the mail server to a mail. It returns "" if none is stored.
func OpenReply(ctx context.Context, keys *keyring.Ring, row *Row) (string, error) {
	if len(row.Reply) == 0 {
		return "", nil
	}
	raw, err := keys.Open(ctx, row.PropertyID, replyPurpose(row.ID), row.Reply)
	if err != nil {
		return "", fmt.Errorf("open the answer of a mail server: %w", err)
	}
	return string(raw), nil
}

// replyPurpose returns the purpose of [keyring.Ring.Seal] for the answer of a mail server.
func replyPurpose(mailID string) string { return "mailReply/" + mailID }

// addressPurpose returns the purpose of [keyring.Ring.Seal] for the recipient of a mail.
func addressPurpose(mailID string) string { return "mail/" + mailID }

// Get returns a mail of a property, or a not-found fault.
func Get(view *db.Tx, propertyID, mailID string) (*Row, error) {
	row, err := view.Mail.Query().Where(entmail.PropertyID(propertyID), entmail.ID(mailID)).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, fault.New(fault.NotFound, fault.NotFoundReason, "there is no such mail at this property")
	}
	if err != nil {
		return nil, fmt.Errorf("load a mail: %w", err)
	}
	return row, nil
}

// Filter selects mails of a property. Its zero value selects all.
type Filter struct {
	ReservationID, State string
	After                string // After is the id of the last mail of the former page
	Limit                int
}

// List returns at most f.Limit mails of a property, newest first. With the limit 0 it returns all.
func List(view *db.Tx, propertyID string, f Filter) ([]*Row, error) {
	q := view.Mail.Query().Where(entmail.PropertyID(propertyID))
	if f.ReservationID != "" {
		q = q.Where(entmail.ReservationID(f.ReservationID))
	}
	if f.State != "" {
		q = q.Where(entmail.State(f.State))
	}
	if f.After != "" {
		q = q.Where(entmail.IDLT(f.After))
	}
	rows, err := q.Order(entmail.ByID(sql.OrderDesc())).Limit(f.Limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list mails: %w", err)
	}
	return rows, nil
}

// Mask shortens an address to its first letter and its domain, so that it may be shown: a…@example.com. It returns "" for a text that is no
// address.
func Mask(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 1 {
		return ""
	}
	for _, first := range address {
		return string(first) + "…" + address[at:]
	}
	return ""
}

// relays are domains of the addresses with which booking agencies hide those of their guests. Mails to them are filtered, lose their links,
// or are refused once the agency has closed the address.
var relays = []string{
	"guest.booking.com", "property.booking.com", "m.expediapartnercentral.com", "expediapartnercentral.com", "guest.expedia.com", "guest.airbnb.com", "reply.airbnb.com",
	"airbnb.com", "guest.agoda.com", "agoda-messaging.com", "messages.homeaway.com", "messages.vrbo.com", "guest.trip.com", "guest.hostelworld.com", "guest.hotelbeds.com",
	"guest.ctrip.com", "reply.tripadvisor.com", "guest.hrs.com", "guest.despegar.com", "guest.traveloka.com", "booking.com", "expedia.com", "hotels.com", "agoda.com", "vrbo.com",
}

// Reaches reports whether mails to an address reach the guest: it has a name and a domain, and is not an address of a booking agency.
func Reaches(address string) bool {
	name, domain, ok := splitAddress(address)
	return ok && name != "" && domain != "" && !isRelayDomain(domain)
}

// IsRelay reports whether an address is an agency's, which hides the guest's own.
func IsRelay(address string) bool {
	_, domain, ok := splitAddress(address)
	return ok && isRelayDomain(domain)
}

// splitAddress returns the parts of an address before and after the "@", in lower case. ok is false without an "@".
func splitAddress(address string) (name, domain string, ok bool) {
	return strings.Cut(text.FoldAddress(address), "@")
}

// isRelayDomain reports whether a domain is one of relays or a subdomain of one.
func isRelayDomain(domain string) bool {
	for _, relay := range relays {
		if domain == relay || strings.HasSuffix(domain, "."+relay) {
			return true
		}
	}
	return false
}
