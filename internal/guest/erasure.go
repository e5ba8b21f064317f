package guest

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	enterasure "latchkey.dev/ent/erasure"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
)

// An erasure is requested by the guest, or by staff for the guest, and can be withdrawn until it is done. A background sweep first mails
// the guest that the request was received. Later it erases the data, see [Erase]: not before that mail is sent, given up or an hour old,
// because the mail and its address are erased too, and for a guest in house not before the access ends.

const (
	// erasureWithin is how long after the request data are erased at the latest. For guests in house it begins at the end of their access.
	erasureWithin = 24 * time.Hour
	// erasureAlert is how long after the beginning of the 24 hours of erasureWithin staff are notified of an erasure that is not done.
	erasureAlert = 20 * time.Hour
	// ErasureRetention is how long the proof of an erasure is kept.
	ErasureRetention = 3 * 365 * 24 * time.Hour
)

// ByTheGuest is recorded as the requester if the guest requests the erasure. Staff are recorded by name.
const ByTheGuest = "guest"

var (
	errNotPending      = fault.New(fault.Precondition, fault.ErasureNotPending, "no erasure is pending for this guest")
	errReceiptNotFound = fault.New(fault.NotFound, fault.NotFoundReason, "the receipt is unknown: it is mistyped, or the proof of the erasure has expired")
)

// ErasureRow is an erasure as stored.
type ErasureRow = ent.Erasure

// Erasure is the state of an erasure that was requested, or what a request would do.
type Erasure struct {
	Row       *ErasureRow // nil: none was requested
	GuestID   string      // a companion; empty: the whole party and the booker
	DueAt     time.Time   // when the data are erased at the latest; zero after the erasure
	AfterStay bool        // the 24 hours of erasureWithin begin at the end of the access, which is still to come
	Law       string      // the country rule under which official forms are kept, or empty
	KeptUntil time.Time   // when the last official form is erased; zero: none is kept
	Zone      *time.Location
}

// KeptOn returns the last day on which official forms are kept, YYYY-MM-DD in the property's zone, or "".
func (e Erasure) KeptOn() string {
	if e.KeptUntil.IsZero() {
		return ""
	}
	return e.KeptUntil.In(e.Zone).Add(-time.Nanosecond).Format(time.DateOnly)
}

// Receipt returns the secret with which a person reads the state of the erasure, or "" if none was requested.
func (e Erasure) Receipt(keys *keyring.Ring) string {
	if e.Row == nil {
		return ""
	}
	return receiptOf(keys, e.Row.ID)
}

// receiptOf derives a secret from the id of an erasure. A link with the secret shows a person the state of the erasure. The secret itself
// is not stored.
func receiptOf(keys *keyring.Ring, erasureID string) string {
	return keys.DeriveToken(keyring.Receipt, erasureID)
}

// receiptMAC returns the keyed hash under which the secret of a receipt is stored and found.
func receiptMAC(keys *keyring.Ring, receipt string) []byte {
	return keys.MAC("erasureReceipt", receipt)
}

// covers reports whether an erasure of a companion, or of the whole party if guestID is empty, covers a guest.
func covers(guestID string, m Member) bool { return guestID == "" || m.Row.ID == guestID }

// keptForms returns the country rule that makes the property keep official forms the longest after an erasure, and until when; "" and zero:
// none is kept. guestID is the companion whose data are erased, or empty for the whole party.
func (p *Party) keptForms(guestID string) (law string, until time.Time) {
	for _, f := range p.officialForms() {
		if covers(guestID, f.guest) && f.inRegister && len(f.answers) > 0 && f.eraseAt.After(until) {
			law, until = f.law.Name, f.eraseAt
		}
	}
	return law, until
}

// erasureScope returns whose data a session may erase and export: a companion's own, or "" for the whole party. A session of two facts
// (booking number and name) gets errMailLinkOnly, because its user may be a stranger.
func erasureScope(a actor.Actor) (guestID string, err error) {
	if a.Origin != OriginMail {
		return "", errMailLinkOnly
	}
	return a.GuestID, nil
}

// ErasureOf returns the state of the pending erasure of a session's data, or with a nil Row what a request would do now. A session of two
// facts (booking number and name) gets errMailLinkOnly.
func ErasureOf(view *db.Tx, p *Party, a actor.Actor) (Erasure, error) {
	guestID, err := erasureScope(a)
	if err != nil {
		return Erasure{}, err
	}
	row, err := pendingErasure(view, a.PropertyID, a.ReservationID, guestID)
	if err != nil {
		return Erasure{}, err
	}
	return p.erasure(row, guestID, view.Now()), nil
}

// erasure describes a request that is not done. If row is nil, it describes what a request would do now. guestID is empty for the whole
// party.
func (p *Party) erasure(row *ErasureRow, guestID string, now time.Time) Erasure {
	requestedAt := now
	if row != nil {
		requestedAt = row.CreatedAt
	}
	plan := p.planErasure(requestedAt, now)
	e := Erasure{Row: row, GuestID: guestID, DueAt: plan.DueAt(), AfterStay: plan.AfterStay, Zone: p.arrival.Location()}
	e.Law, e.KeptUntil = p.keptForms(guestID)
	return e
}

// pendingErasure returns the erasure of a companion's data that is not done, or nil. guestID is empty for the whole party.
func pendingErasure(view *db.Tx, propertyID, reservationID, guestID string) (*ErasureRow, error) {
	row, err := view.Erasure.Query().Where(enterasure.PropertyID(propertyID), enterasure.ReservationID(reservationID),
		enterasure.GuestID(guestID), enterasure.FinishedAtIsNil()).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find an erasure: %w", err)
	}
	return row, nil
}

// PendingErasure returns an erasure of a property by its id, or nil if it is done, was withdrawn or is unknown.
func PendingErasure(view *db.Tx, propertyID, erasureID string) (*ErasureRow, error) {
	row, err := view.Erasure.Query().Where(enterasure.PropertyID(propertyID), enterasure.ID(erasureID), enterasure.FinishedAtIsNil()).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load an erasure: %w", err)
	}
	return row, nil
}

// ErasureOfMail returns the erasure that a mail confirms, or nil if it is done or was withdrawn.
func ErasureOfMail(view *db.Tx, keys *keyring.Ring, propertyID, reservationID, mailID string) (*Erasure, error) {
	row, err := view.Erasure.Query().Where(enterasure.PropertyID(propertyID), enterasure.ReservationID(reservationID), enterasure.MailID(mailID),
		enterasure.FinishedAtIsNil()).Only(view.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the erasure of a mail: %w", err)
	}
	e, err := DescribeErasure(view, keys, row)
	return &e, err
}

// RequestErasure requests the erasure of a session's data: those of a companion, or from the main guest those of the whole party. If a
// request is pending, it changes nothing and returns that one. A session of two facts (booking number and name) gets errMailLinkOnly.
// keepProfile, which a companion's session cannot set, excludes the answers that the property keeps for the main guest's next stay.
func RequestErasure(tx *db.Tx, keys *keyring.Ring, a actor.Actor, keepProfile bool) (Erasure, error) {
	guestID, err := erasureScope(a)
	if err != nil {
		return Erasure{}, err
	}
	return requestErasure(tx, keys, ErasureRow{
		PropertyID: a.PropertyID, ReservationID: a.ReservationID, GuestID: guestID, RequestedBy: ByTheGuest, KeepProfile: keepProfile && guestID == "",
	})
}

// RequestErasureFor requests the erasure of the data of a companion, or of a whole party if guestID is empty. by names the member of staff.
// With a whole party it includes the kept profile, if the stay uses one. If a request is pending, it changes nothing and returns that one.
func RequestErasureFor(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID, guestID, by string) (Erasure, error) {
	return requestErasure(tx, keys, ErasureRow{PropertyID: propertyID, ReservationID: reservationID, GuestID: guestID, RequestedBy: by})
}

// requestErasure stores a request and returns its state. If the guest has one that is not done, it stores none and returns the state of
// that one. If the stay uses no profile, the request leaves the profile out.
func requestErasure(tx *db.Tx, keys *keyring.Ring, asked ErasureRow) (Erasure, error) {
	p, _, err := ViewParty(tx, keys, asked.PropertyID, asked.ReservationID)
	if err != nil {
		return Erasure{}, err
	}
	if asked.GuestID != "" && !p.hasCompanion(asked.GuestID) {
		return Erasure{}, errGuestNotFound
	}
	if asked.GuestID == "" && !asked.KeepProfile { // a profile that the stay does not use is not erased, and the receipt must say so
		uses, err := p.UsesProfile(tx)
		if err != nil {
			return Erasure{}, err
		}
		asked.KeepProfile = !uses
	}
	row, err := pendingErasure(tx, asked.PropertyID, asked.ReservationID, asked.GuestID)
	if err == nil && row == nil {
		erasureID := id.New(id.Erasure)
		row, err = tx.Erasure.Create().SetID(erasureID).SetPropertyID(asked.PropertyID).SetReservationID(asked.ReservationID).SetGuestID(asked.GuestID).
			SetRequestedBy(asked.RequestedBy).SetKeepProfile(asked.KeepProfile).
			SetMAC(receiptMAC(keys, receiptOf(keys, erasureID))).SetCreatedAt(tx.Now()).Save(tx.Context())
	}
	if err != nil {
		return Erasure{}, fmt.Errorf("request an erasure: %w", err)
	}
	return p.erasure(row, asked.GuestID, tx.Now()), nil
}

// hasCompanion reports whether a guest is a companion of the party. It returns false for the main guest.
func (p *Party) hasCompanion(guestID string) bool {
	for _, m := range p.Members {
		if m.Row.ID == guestID {
			return m.Row.Role == Companion
		}
	}
	return false
}

// WithdrawErasure deletes the pending request for a session's guest, also one that staff made, and resolves the notice that the erasure is
// late. It returns errNotPending if there is no such request. A session of two facts (booking number and name) gets errMailLinkOnly.
func WithdrawErasure(tx *db.Tx, a actor.Actor) error {
	guestID, err := erasureScope(a)
	if err != nil {
		return err
	}
	row, err := pendingErasure(tx, a.PropertyID, a.ReservationID, guestID)
	if err != nil {
		return err
	}
	if row == nil {
		return errNotPending
	}
	if _, err := tx.Erasure.Delete().Where(enterasure.PropertyID(a.PropertyID), enterasure.ID(row.ID)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("withdraw an erasure: %w", err)
	}
	return notice.Resolve(tx, a.PropertyID, LateErasureKey(row))
}

// LateErasureKey returns the OnceKey of the notice that an erasure is late.
func LateErasureKey(row *ErasureRow) string { return notice.ErasureLate.Key(row.ID) }

// FindReceipt returns the state of the erasure that has a receipt, or errReceiptNotFound.
func FindReceipt(view *db.Tx, keys *keyring.Ring, receipt string) (Erasure, error) {
	if !keyring.IsToken(receipt, keyring.Receipt) {
		return Erasure{}, errReceiptNotFound
	}
	row, err := view.Erasure.Query().Where(enterasure.MAC(receiptMAC(keys, receipt))).Only(view.Context())
	if ent.IsNotFound(err) {
		return Erasure{}, errReceiptNotFound
	}
	if err != nil {
		return Erasure{}, fmt.Errorf("find the receipt of an erasure: %w", err)
	}
	return DescribeErasure(view, keys, row)
}

// DescribeErasure returns the state of a stored erasure, done or not.
func DescribeErasure(view *db.Tx, keys *keyring.Ring, row *ErasureRow) (Erasure, error) {
	if row.FinishedAt == nil {
		e, err := describePending(view, keys, row)
		if !fault.Has(err, fault.ReservationNotFound) {
			return e, err
		}
	}
	in, err := property.Get(view, row.PropertyID)
	if err != nil {
		return Erasure{}, err
	}
	e := Erasure{Row: row, GuestID: row.GuestID, Law: row.Law}
	if row.KeptUntil != nil {
		e.KeptUntil = *row.KeptUntil
	}
	if row.FinishedAt == nil { // the stay was removed; the sweep finishes the erasure
		e.DueAt = row.CreatedAt.Add(erasureWithin)
	}
	e.Zone, err = clock.Zone(in.TimeZone)
	return e, err
}

// describePending returns the state of an erasure that is not done. If the answers of the stay's guests cannot be read, it does not say
// which law keeps official forms: a list must show the other erasures too. For a removed reservation it returns the error
// fault.ReservationNotFound.
func describePending(view *db.Tx, keys *keyring.Ring, row *ErasureRow) (Erasure, error) {
	p, _, err := ViewParty(view, keys, row.PropertyID, row.ReservationID)
	if err == nil {
		return p.erasure(row, row.GuestID, view.Now()), nil
	}
	plan, in, err := planOf(view, row)
	if err != nil {
		return Erasure{}, err
	}
	zone, err := clock.Zone(in.TimeZone)
	return Erasure{Row: row, GuestID: row.GuestID, DueAt: plan.DueAt(), AfterStay: plan.AfterStay, Zone: zone}, err
}

// ErasurePage selects erasures of a property.
type ErasurePage struct {
	PendingOnly bool
	After       string // the id of the last erasure of the former page
	Limit       int
}

// ListErasures returns a page of the erasures of a property, the latest request first.
func ListErasures(view *db.Tx, keys *keyring.Ring, propertyID string, page ErasurePage) ([]Erasure, error) {
	q := view.Erasure.Query().Where(enterasure.PropertyID(propertyID))
	if page.PendingOnly {
		q.Where(enterasure.FinishedAtIsNil())
	}
	if page.After != "" {
		q.Where(enterasure.IDLT(page.After))
	}
	rows, err := q.Order(enterasure.ByID(sql.OrderDesc())).Limit(page.Limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list erasures: %w", err)
	}
	out := make([]Erasure, len(rows))
	for i, row := range rows {
		if out[i], err = DescribeErasure(view, keys, row); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ListPendingErasures returns erasures of all properties that are not done, in the order of their ids. after is the last id of the former
// page.
func ListPendingErasures(view *db.Tx, after string, limit int) ([]*ErasureRow, error) {
	rows, err := view.Erasure.Query().Where(enterasure.FinishedAtIsNil(), enterasure.IDGT(after)).Order(enterasure.ByID()).Limit(limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list pending erasures: %w", err)
	}
	return rows, nil
}

// AcknowledgeErasure records that an erasure was confirmed now, and by which mail. mailID is "" if no address is known.
func AcknowledgeErasure(tx *db.Tx, row *ErasureRow, mailID string) error {
	err := tx.Erasure.Update().Where(enterasure.PropertyID(row.PropertyID), enterasure.ID(row.ID)).SetMailID(mailID).SetConfirmedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("record the mail about an erasure: %w", err)
	}
	return nil
}

// DeleteErasures deletes proofs of erasures that were done more than ErasureRetention before a time, if the kept official forms are erased
// by then too. It deletes at most limit and returns their number.
func DeleteErasures(tx *db.Tx, before time.Time, limit int) (int, error) {
	done := before.Add(-ErasureRetention)
	ids, err := tx.Erasure.Query().Where(enterasure.FinishedAtLT(done), enterasure.Or(enterasure.KeptUntilIsNil(), enterasure.KeptUntilLT(before))).
		Limit(limit).IDs(tx.Context())
	if err == nil {
		_, err = tx.Erasure.Delete().Where(enterasure.IDIn(ids...)).Exec(tx.Context())
	}
	if err != nil {
		return 0, fmt.Errorf("delete old erasures: %w", err)
	}
	return len(ids), nil
}
