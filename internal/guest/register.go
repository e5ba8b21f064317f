package guest

import (
	"encoding/json"
	"fmt"
	"time"

	entguest "latchkey.dev/ent/guest"
	entregister "latchkey.dev/ent/registerentry"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/watch"
)

// The guest register is what the law wants kept of guests after their stay: their official forms. An entry is made a day after the
// departure, or after a cancelation that came after the arrival, or by an erasure. It outlives the reservation. It is erased on the day
// that the form named to the guest. On that day the answers that are still stored with the stay are erased too. A form is open until it is
// closed: then the guest's row has the time of its erasure (EraseAt).

// NoShowRetention is how long after the departure the official form of a guest who never arrived is kept.
const NoShowRetention = 30 * 24 * time.Hour

// RegisterDelay is how long after the departure the official forms are closed. Late corrections of the dates arrive in this time.
const RegisterDelay = 24 * time.Hour

// officialEnd returns when the official form of a guest is erased, and whether it is in the register until then. ok is false if the law
// names no time. departure is in the property's zone. The form of a guest who never arrived is not in the register, and is erased
// NoShowRetention after the departure.
func officialEnd(law *rule.Rule, arrived bool, departure time.Time) (eraseAt time.Time, inRegister, ok bool) {
	last, ok := rule.KeptUntil(law, departure)
	if !ok {
		return time.Time{}, false, false
	}
	if !arrived {
		return departure.Add(NoShowRetention), false, true
	}
	y, m, d := last.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, departure.Location()), true, true
}

// arrived reports whether the guests of a stay have been in the house, also if the PMS canceled the stay afterwards.
func (p *Party) arrived() bool {
	switch access.State(p.Reservation.State) {
	case access.Started, access.Processed:
		return true
	case access.Canceled:
		return p.Reservation.ArrivedAt != nil
	}
	return false
}

// departure returns when the stay ends, in the property's zone. It ends with its cancelation, if that is before the planned end.
func (p *Party) departure() time.Time {
	end := p.Reservation.ToAt
	if at := p.Reservation.CanceledAt; at != nil && at.Before(end) {
		end = *at
	}
	return end.In(p.arrival.Location())
}

// keptLaw returns the name of the law under which answers of a party are saved now, or "" if that law names no retention time.
func (p *Party) keptLaw() string {
	if _, ok := p.KeptUntil(); !ok {
		return ""
	}
	return p.Law().Name
}

// officialForm is the form of a guest under one law. The property's own questions are not on it.
type officialForm struct {
	guest      Member
	law        *rule.Rule
	asks       []rule.Ask // asks has all fields that the law asks of the guest, and always the names
	answers    rule.Answers
	eraseAt    time.Time // eraseAt is when the answers are erased; only officialForms sets it
	inRegister bool      // inRegister means that the guest arrived, so that the form is kept in the register; only officialForms sets it
}

// officialForms returns the forms, open or closed, of the guests whose answers were last saved under a law that names a retention time.
// That law counts, not the present settings of the property.
func (p *Party) officialForms() []officialForm {
	var out []officialForm
	for _, m := range p.Members {
		found, ok := rule.Find(m.Row.Law)
		if m.Row.Law == "" || !ok {
			continue
		}
		f := p.officialForm(m, found)
		if f.eraseAt, f.inRegister, ok = officialEnd(f.law, p.arrived(), p.departure()); ok {
			out = append(out, f)
		}
	}
	return out
}

// officialForm returns what a rule puts on the official form of a guest. officialForms adds when it is erased.
func (p *Party) officialForm(m Member, found *rule.Rule) officialForm {
	settings := rule.Settings{Rule: found}
	return officialForm{
		guest: m, law: found.On(p.arrival), asks: rule.Fields(settings, ruleGuest(m), p.ruleParty()), answers: rule.OfficialAnswers(settings, ruleGuest(m), p.ruleParty()),
	}
}

// registerForm is the part of a register entry that is stored encrypted.
type registerForm struct {
	Number      string       `json:"number"`
	DepartureOn string       `json:"departureOn"`
	Role        string       `json:"role"`
	Answers     rule.Answers `json:"answers"`
	Signature   *signature   `json:"signature,omitempty"`
}

// registerPurpose returns the purpose of [keyring.Ring.Seal] for an entry of the guest register.
func registerPurpose(entryID string) string { return "registerEntry/" + entryID }

// CloseForms closes the open official forms of a stay: it stores for each form when it is erased, and puts the forms of guests who arrived
// into the register, unless they are empty. A guest whose law names no retention time loses the law. It does nothing before RegisterDelay
// after the departure, or if the reservation was removed.
func CloseForms(tx *db.Tx, keys *keyring.Ring, propertyID, reservationID string) error {
	p, _, err := ViewParty(tx, keys, propertyID, reservationID)
	if err != nil {
		return ignoreRemoved(err)
	}
	if p.departure().Add(RegisterDelay).After(tx.Now()) {
		return nil // the PMS changed the departure meanwhile, or took the cancelation back
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
		SetLaw("").Exec(tx.Context()) // no law of these guests requires that anything is kept
	if err != nil {
		return fmt.Errorf("close the official forms of a stay: %w", err)
	}
	return nil
}

// storeEntry replaces the register entry of a guest with the present form. It only deletes the entry if the form is empty, or not for the
// register.
func (p *Party) storeEntry(tx *db.Tx, keys *keyring.Ring, f officialForm) error {
	row := f.guest.Row
	_, err := tx.RegisterEntry.Delete().Where(entregister.PropertyID(row.PropertyID), entregister.GuestID(row.ID)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("replace an entry of the guest register: %w", err)
	}
	if !f.inRegister || len(f.answers) == 0 {
		return nil
	}
	form := registerForm{Number: p.Reservation.PmsNumber, DepartureOn: p.departure().Format(time.DateOnly), Role: row.Role, Answers: f.answers, Signature: f.guest.validSignature()}
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

// setEraseAt marks the official form of a guest as closed, and stores when its answers are erased.
func setEraseAt(tx *db.Tx, f officialForm) error {
	row := f.guest.Row
	err := tx.Guest.Update().Where(entguest.PropertyID(row.PropertyID), entguest.ID(row.ID)).SetEraseAt(f.eraseAt.UTC()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store when the official form of a guest ends: %w", err)
	}
	watch.Notify(tx, row.PropertyID, watch.Reservations, row.ReservationID)
	return nil
}

// EraseForms erases the answers and signatures of a stay's closed official forms whose retention time is over. For its other closed forms
// it stores the present end. It keeps answers that only the property asks, and the entries of the register: see [DeleteRegister]. It does
// nothing if the reservation was removed.
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
		watch.Notify(tx, propertyID, watch.Reservations, reservationID)
	}
	return nil
}

// ignoreRemoved returns nil for the error of a stay that was removed meanwhile, and other errors unchanged.
func ignoreRemoved(err error) error {
	if fault.Has(err, fault.ReservationNotFound) {
		return nil
	}
	return err
}

// DeleteRegister deletes at most limit register entries of all properties whose retention time is over at a time, and returns their number.
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
