package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/ent"
	entguest "latchkey.dev/ent/guest"
	entregister "latchkey.dev/ent/registerentry"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/drawing"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// The guest register is what the law wants kept of guests after their stay: their official forms. An entry is made a day after the
// departure and outlives the reservation. It is erased on the day that the form named to the guest. On that day the answers that are still
// stored with the stay are erased too.

// noShowRetention is how long the official form of a guest who never arrived is kept.
const noShowRetention = 30 * 24 * time.Hour

// RegisterDelay is how long after the departure the official forms are closed. Late corrections of the dates arrive in this time.
const RegisterDelay = 24 * time.Hour

// officialEnd returns when the official form of a guest is erased, and whether it is in the register until then. It returns false if the
// law names no time. departure is in the property's zone. No law wants the form of a person who never arrived.
func officialEnd(law *rule.Rule, state access.State, departure time.Time) (eraseAt time.Time, inRegister, ok bool) {
	last, ok := rule.KeptUntil(law, departure)
	if !ok {
		return time.Time{}, false, false
	}
	if state != access.Started && state != access.Processed {
		return departure.Add(noShowRetention), false, true
	}
	y, m, d := last.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, departure.Location()), true, true
}

// keptLaw returns the name of the law under which the answers of a party are saved, or "" if it names no time.
func (p *Party) keptLaw() string {
	if _, ok := p.KeptUntil(); !ok {
		return ""
	}
	return p.Law().Name
}

// officialForm is the form of a guest under the law of the latest save. The present settings of the property do not matter.
type officialForm struct {
	guest      Member
	law        *rule.Rule
	asks       []rule.Ask // asks has all fields that the law asks of the guest
	answers    rule.Answers
	eraseAt    time.Time
	inRegister bool
}

// officialForms returns the forms of a party that have an end by law.
func (p *Party) officialForms() []officialForm {
	departure, state := p.Reservation.ToAt.In(p.arrival.Location()), access.State(p.Reservation.State)
	var out []officialForm
	for _, m := range p.Members {
		found, ok := rule.Find(m.Row.Law)
		if m.Row.Law == "" || !ok {
			continue
		}
		settings := rule.Settings{Rule: found}
		f := officialForm{
			guest: m, law: found.On(p.arrival), asks: rule.Fields(settings, ruleGuest(m), p.ruleParty()), answers: rule.Official(settings, ruleGuest(m), p.ruleParty()),
		}
		if f.eraseAt, f.inRegister, ok = officialEnd(f.law, state, departure); ok {
			out = append(out, f)
		}
	}
	return out
}

// registerForm is an entry of the register in sealed form.
type registerForm struct {
	Number      string       `json:"number"`
	DepartureOn string       `json:"departureOn"`
	Role        string       `json:"role"`
	Answers     rule.Answers `json:"answers"`
	Signature   *signature   `json:"signature,omitempty"`
}

func registerPurpose(entryID string) string { return "registerEntry/" + entryID }

// StayKey names a stay.
type StayKey struct{ PropertyID, ReservationID string }

const (
	staysToClose = `SELECT DISTINCT g.property_id, g.reservation_id FROM guests AS g JOIN reservations AS r ON r.id = g.reservation_id AND r.property_id = g.property_id
	WHERE g.erase_at IS NULL AND g.law <> '' AND g.reservation_id > $1 AND r.to_at <= $2 ORDER BY g.reservation_id LIMIT $3`
	staysToErase = `SELECT DISTINCT g.property_id, g.reservation_id FROM guests AS g
	WHERE g.erase_at IS NOT NULL AND g.reservation_id > $1 AND g.erase_at <= $2 ORDER BY g.reservation_id LIMIT $3`
)

// StaysToClose lists stays of all properties whose official forms must be closed, by the id of the reservation and after a cursor.
func StaysToClose(view *db.Tx, after string, limit int) ([]StayKey, error) {
	return listStays(view, staysToClose, after, view.Now().Add(-RegisterDelay), limit)
}

// StaysToErase is StaysToClose for official forms whose time is over.
func StaysToErase(view *db.Tx, after string, limit int) ([]StayKey, error) {
	return listStays(view, staysToErase, after, view.Now(), limit)
}

func listStays(view *db.Tx, query string, args ...any) ([]StayKey, error) {
	list, err := db.ReadList(view, func(k *StayKey) []any { return []any{&k.PropertyID, &k.ReservationID} }, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list stays with official forms: %w", err)
	}
	return list, nil
}

// CloseForms stores the official forms of a stay in the register, and when they are erased.
func CloseForms(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string) error {
	p, _, err := ViewParty(tx, keys, propertyID, reservationID)
	if err != nil {
		return ignoreRemoved(err)
	}
	if p.Reservation.ToAt.Add(RegisterDelay).After(tx.Now()) {
		return nil // the PMS changed the departure meanwhile
	}
	for _, f := range p.officialForms() {
		if f.guest.Row.EraseAt != nil {
			continue
		}
		if err := p.storeEntry(tx, keys, f); err != nil {
			return err
		}
		if err := setEraseAt(tx, f); err != nil {
			return err
		}
	}
	err = tx.Guest.Update().Where(entguest.PropertyID(propertyID), entguest.ReservationID(reservationID), entguest.EraseAtIsNil(), entguest.LawNEQ("")).
		SetLaw("").Exec(tx.Context()) // a law that names no time any more
	if err != nil {
		return fmt.Errorf("close the official forms of a stay: %w", err)
	}
	return nil
}

// storeEntry replaces the entry of a guest.
func (p *Party) storeEntry(tx *db.Tx, keys *keyring.Ring, f officialForm) error {
	row := f.guest.Row
	_, err := tx.RegisterEntry.Delete().Where(entregister.PropertyID(row.PropertyID), entregister.GuestID(row.ID)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("replace an entry of the guest register: %w", err)
	}
	if !f.inRegister || len(f.answers) == 0 {
		return nil
	}
	form := registerForm{Number: p.Reservation.PmsNumber, DepartureOn: p.Reservation.ToAt.In(p.arrival.Location()).Format(time.DateOnly), Role: row.Role, Answers: f.answers, Signature: f.guest.signature}
	entryID := id.New(id.Register)
	raw, err := json.Marshal(form)
	if err == nil {
		raw, err = keys.Seal(tx.Context(), row.PropertyID, registerPurpose(entryID), raw)
	}
	if err == nil {
		err = tx.RegisterEntry.Create().SetID(entryID).SetPropertyID(row.PropertyID).SetGuestID(row.ID).SetLaw(f.law.Name).
			SetArrivalOn(p.arrival.Format(time.DateOnly)).SetForm(raw).SetEraseAt(f.eraseAt.UTC()).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return fmt.Errorf("store an entry of the guest register: %w", err)
	}
	return nil
}

func setEraseAt(tx *db.Tx, f officialForm) error {
	row := f.guest.Row
	err := tx.Guest.Update().Where(entguest.PropertyID(row.PropertyID), entguest.ID(row.ID)).SetEraseAt(f.eraseAt.UTC()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store when the official form of a guest ends: %w", err)
	}
	return nil
}

// EraseForms erases the answers of a stay's official forms whose time is over. Answers that only the property asks stay.
func EraseForms(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string) error {
	p, _, err := ViewParty(tx, keys, propertyID, reservationID)
	if err != nil {
		return ignoreRemoved(err)
	}
	for _, f := range p.officialForms() {
		if f.guest.Row.EraseAt == nil {
			continue
		}
		if f.eraseAt.After(tx.Now()) {
			if err := setEraseAt(tx, f); err != nil {
				return err
			}
			continue
		}
		for _, ask := range f.asks {
			delete(f.guest.Answers, ask.Field)
			delete(f.guest.by, ask.Field)
		}
		f.guest.signature = nil
		sealed, err := sealPerson(tx.Context(), keys, f.guest.Row, f.guest.person())
		if err != nil {
			return err
		}
		err = tx.Guest.Update().Where(entguest.PropertyID(propertyID), entguest.ID(f.guest.Row.ID)).
			SetPerson(sealed).SetLaw("").ClearEraseAt().Exec(tx.Context())
		if err != nil {
			return fmt.Errorf("erase the official form of a guest: %w", err)
		}
	}
	return nil
}

// ignoreRemoved ignores that a stay was removed meanwhile.
func ignoreRemoved(err error) error {
	if fault.Has(err, fault.ReservationNotFound) {
		return nil
	}
	return err
}

// DeleteRegister deletes entries of the register whose time is over before a time, at most limit, and returns their number.
func DeleteRegister(tx *db.Tx, before time.Time, limit int) (int, error) {
	ids, err := tx.RegisterEntry.Query().Where(entregister.EraseAtLTE(before)).Limit(limit).IDs(tx.Context())
	if err == nil {
		_, err = tx.RegisterEntry.Delete().Where(entregister.IDIn(ids...)).Exec(tx.Context())
	}
	if err != nil {
		return 0, fmt.Errorf("erase entries of the guest register: %w", err)
	}
	return len(ids), nil
}

// Entry is one entry of the guest register.
type Entry struct {
	ID, Law, Number, Role  string
	ArrivalOn, DepartureOn string // YYYY-MM-DD in the property's zone
	Answers                rule.Answers
	SignedAt               time.Time // SignedAt is when the guest signed on a screen, or zero
	SVG                    string    // SVG is the signature as an image, or empty
	EraseAt                time.Time
}

// RegisterRange selects entries by the day of arrival. AfterOn and AfterID are the day and the id of the last entry of the page before, or empty.
type RegisterRange struct {
	First, Last      string
	AfterOn, AfterID string
	Limit            int
}

// ReadRegister returns entries of the register in the order of arrival, and records who reads them and why.
func ReadRegister(tx *db.Tx, keys *keyring.Ring, propertyID string, r RegisterRange, by, reason string) ([]Entry, error) {
	q := tx.RegisterEntry.Query().Where(entregister.PropertyID(propertyID), entregister.ArrivalOnGTE(r.First), entregister.ArrivalOnLTE(r.Last),
		entregister.Or(entregister.ArrivalOnGT(r.AfterOn), entregister.And(entregister.ArrivalOn(r.AfterOn), entregister.IDGT(r.AfterID))))
	rows, err := q.Order(entregister.ByArrivalOn(), entregister.ByID()).Limit(r.Limit).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the guest register: %w", err)
	}
	out := make([]Entry, len(rows))
	for i, row := range rows {
		if out[i], err = openEntry(tx, keys, row); err != nil {
			return nil, fmt.Errorf("open entry %s of the guest register: %w", row.ID, err)
		}
	}
	return out, event.Append(tx, event.Event{
		PropertyID: propertyID, Subject: event.Inside(propertyID), Kind: event.RegisterRead,
		Body: map[string]any{"by": by, "reason": reason, "firstArrivalOn": r.First, "lastArrivalOn": r.Last, "entries": len(out)},
	})
}

func openEntry(view *db.Tx, keys *keyring.Ring, row *ent.RegisterEntry) (Entry, error) {
	raw, err := keys.Open(view.Context(), row.PropertyID, registerPurpose(row.ID), row.Form)
	var form registerForm
	if err = errors.Join(err, json.Unmarshal(raw, &form)); err != nil {
		return Entry{}, err
	}
	e := Entry{
		ID: row.ID, Law: row.Law, Number: form.Number, Role: form.Role, ArrivalOn: row.ArrivalOn, DepartureOn: form.DepartureOn, Answers: form.Answers, EraseAt: row.EraseAt,
	}
	if form.Signature == nil {
		return e, nil
	}
	picture, err := drawing.Parse(form.Signature.Drawing)
	if err != nil {
		return Entry{}, err
	}
	e.SignedAt, e.SVG = form.Signature.At, picture.SVG()
	return e, nil
}
