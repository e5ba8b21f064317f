package guest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entregister "latchkey.dev/ent/registerentry"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/guest/drawing"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/property"
)

// Where the guest of an entry is: in house, or departed. The values are those of the API.
const (
	InHouse  = "inHouse"
	Departed = "departed"
)

// Entry is the official form of one guest: a closed one from the guest register, or an open one from the stay. The ID of an open one is the
// guest's.
type Entry struct {
	ID, Law, Number, Role  string
	ArrivalOn, DepartureOn string   // YYYY-MM-DD in the property's zone
	State                  string   // InHouse or Departed
	Fields                 []string // the fields that the law puts on a form, in the order of the law; only ReadRegister sets them
	Answers                rule.Answers
	SignedAt               time.Time // SignedAt is when the guest signed on a screen, or zero
	SVG                    string    // SVG is the signature as an image, or empty
	EraseAt                time.Time // EraseAt is zero if the law names no time
}

// RegisterRange selects a page of entries by the day of arrival, from First to Last (YYYY-MM-DD), both included. AfterOn and AfterID are
// the day and the id of the last entry of the page before, or empty. Limit is the size of the page.
type RegisterRange struct {
	First, Last      string
	AfterOn, AfterID string
	Limit            int
}

// RegisterPage is a page of entries. It can have fewer entries than the limit, or none, although another page follows. NextOn and NextID
// are the AfterOn and AfterID of the next page, or empty if there is none.
type RegisterPage struct {
	Entries        []Entry
	NextOn, NextID string
}

// registerKey is the sort key of an entry in the register: on is the day of arrival, and id that of the entry, or of the guest for an open
// form. closed is set for a closed form, reservationID for an open one.
type registerKey struct {
	on, id        string
	closed        *ent.RegisterEntry
	reservationID string
}

// compare orders keys as the register lists them: by the day of arrival, then by id.
func (k registerKey) compare(o registerKey) int {
	return cmp.Or(cmp.Compare(k.on, o.on), cmp.Compare(k.id, o.id))
}

// ReadRegister returns a page of the official forms of guests in the order of arrival. It appends an event with who reads them (by) and
// why.
func ReadRegister(tx *db.Tx, keys *keyring.Ring, propertyID string, r RegisterRange, by, reason string) (RegisterPage, error) {
	all, err := registerKeys(tx, propertyID, r)
	if err != nil {
		return RegisterPage{}, err
	}
	var page RegisterPage
	if len(all) > r.Limit {
		all = all[:r.Limit]
		page.NextOn, page.NextID = all[r.Limit-1].on, all[r.Limit-1].id
	}
	parties := map[string]*Party{}
	for _, k := range all {
		e, ok, err := readEntry(tx, keys, propertyID, k, parties)
		if err != nil {
			return RegisterPage{}, fmt.Errorf("open entry %s of the guest register: %w", k.id, err)
		}
		if ok {
			e.Fields = formFields(e.Law, e.ArrivalOn)
			page.Entries = append(page.Entries, e)
		}
	}
	return page, event.Append(tx, event.Event{
		PropertyID: propertyID, Subject: event.InternalSubject(propertyID), Kind: event.RegisterRead,
		Body: map[string]any{"by": by, "reason": reason, "firstArrivalOn": r.First, "lastArrivalOn": r.Last, "entries": len(page.Entries)},
	})
}

// formFields returns the fields that a country rule puts on an official form on a day of arrival, YYYY-MM-DD. It returns nil for an unknown
// rule.
func formFields(law, arrivalOn string) (fields []string) {
	found, ok := rule.Find(law)
	if !ok {
		return nil
	}
	day, err := time.Parse(time.DateOnly, arrivalOn)
	if err == nil {
		found = found.On(day)
	}
	for _, f := range found.FormFields() {
		fields = append(fields, string(f))
	}
	return fields
}

// registerKeys returns the sort keys of the entries of r that follow the former page, in the order of the register: those of all open
// forms, which are not in the register yet, and of at most Limit + 1 closed ones. More than Limit keys mean that there is a next page; the
// caller cuts the list. A closed entry whose form was opened again is left out, because the open form replaces it.
func registerKeys(view *db.Tx, propertyID string, r RegisterRange) ([]registerKey, error) {
	open, err := listOpenKeys(view, propertyID, r)
	if err != nil {
		return nil, err
	}
	closed, err := listClosedKeys(view, propertyID, r, open)
	if err != nil {
		return nil, err
	}
	last := registerKey{on: r.AfterOn, id: r.AfterID}
	all := append(slices.DeleteFunc(open, func(k registerKey) bool { return k.compare(last) <= 0 }), closed...)
	slices.SortFunc(all, registerKey.compare)
	return all, nil
}

// listClosedKeys returns the keys of the next closed forms, in order, up to one more than the limit. It omits those that are open again,
// because the PMS changed the stay.
func listClosedKeys(view *db.Tx, propertyID string, r RegisterRange, open []registerKey) (out []registerKey, err error) {
	isOpen := map[string]bool{}
	for _, k := range open {
		isOpen[k.id] = true
	}
	for {
		rows, err := view.RegisterEntry.Query().Where(entregister.PropertyID(propertyID), entregister.ArrivalOnGTE(r.First), entregister.ArrivalOnLTE(r.Last),
			entregister.Or(entregister.ArrivalOnGT(r.AfterOn), entregister.And(entregister.ArrivalOn(r.AfterOn), entregister.IDGT(r.AfterID)))).
			Order(entregister.ByArrivalOn(), entregister.ByID()).Limit(r.Limit + 1).All(view.Context())
		if err != nil {
			return nil, fmt.Errorf("list the guest register: %w", err)
		}
		for _, row := range rows {
			if !isOpen[row.GuestID] {
				out = append(out, registerKey{on: row.ArrivalOn, id: row.ID, closed: row})
			}
		}
		if len(out) > r.Limit || len(rows) <= r.Limit {
			return out[:min(len(out), r.Limit+1)], nil
		}
		r.AfterOn, r.AfterID = rows[r.Limit].ArrivalOn, rows[r.Limit].ID
	}
}

// listOpenKeys returns the keys of the forms that are not closed, from First to Last, of all pages and in no order.
func listOpenKeys(view *db.Tx, propertyID string, r RegisterRange) ([]registerKey, error) {
	prop, err := property.Get(view, propertyID)
	if err != nil {
		return nil, err
	}
	zone, err := clock.Zone(prop.TimeZone)
	if err != nil {
		return nil, err
	}
	first, firstErr := time.Parse(time.DateOnly, r.First)
	last, lastErr := time.Parse(time.DateOnly, r.Last)
	if err := errors.Join(firstErr, lastErr); err != nil {
		return nil, fmt.Errorf("read the days of arrival: %w", err)
	}
	begins, _ := clock.DayAt(first, zone)
	_, ends := clock.DayAt(last, zone)
	forms, err := listOpenForms(view, propertyID, begins, ends)
	if err != nil {
		return nil, err
	}
	var out []registerKey
	for _, f := range forms {
		out = append(out, registerKey{on: f.from.In(zone).Format(time.DateOnly), id: f.guestID, reservationID: f.reservationID})
	}
	return out, nil
}

// readEntry returns the entry of a key. It returns false if there is nothing to show: an open form without answers, or a guest who was
// removed. parties caches loaded parties, by reservation.
func readEntry(view *db.Tx, keys *keyring.Ring, propertyID string, k registerKey, parties map[string]*Party) (Entry, bool, error) {
	if k.closed != nil {
		e, err := decryptEntry(view, keys, k.closed)
		return e, true, err
	}
	p := parties[k.reservationID]
	if p == nil {
		var err error
		if p, _, err = ViewParty(view, keys, propertyID, k.reservationID); err != nil {
			return Entry{}, false, err
		}
		parties[k.reservationID] = p
	}
	i := slices.IndexFunc(p.Members, func(m Member) bool { return m.Row.ID == k.id })
	if i < 0 {
		return Entry{}, false, nil
	}
	return p.entryOfOpenForm(p.Members[i])
}

// entryOfOpenForm returns the register entry of a guest whose form is not closed, under the law of the saved answers, or else the
// property's. It returns false if there is no law, or if the guest has answered nothing of the form.
func (p *Party) entryOfOpenForm(m Member) (Entry, bool, error) {
	law := p.Rules.Rule
	if found, ok := rule.Find(m.Row.Law); ok && m.Row.Law != "" {
		law = found
	}
	f := p.officialForm(m, law)
	if law.Name == "none" || len(f.answers) == 0 {
		return Entry{}, false, nil
	}
	e := Entry{
		ID: m.Row.ID, Law: f.law.Name, Number: p.Reservation.PmsNumber, Role: m.Row.Role, ArrivalOn: p.arrival.Format(time.DateOnly),
		DepartureOn: p.departure().Format(time.DateOnly), State: Departed, Answers: f.answers,
	}
	if access.State(p.Reservation.State) == access.Started {
		e.State = InHouse
	}
	if at, _, ok := officialEnd(f.law, true, p.departure()); ok {
		e.EraseAt = at
	}
	return e, true, e.sign(m.validSignature())
}

// decryptEntry returns the register entry of a closed form.
func decryptEntry(view *db.Tx, keys *keyring.Ring, row *ent.RegisterEntry) (Entry, error) {
	raw, err := keys.Open(view.Context(), row.PropertyID, registerPurpose(row.ID), row.Form)
	var form registerForm
	if err = errors.Join(err, json.Unmarshal(raw, &form)); err != nil {
		return Entry{}, err
	}
	e := Entry{
		ID: row.ID, Law: row.Law, Number: form.Number, Role: form.Role, ArrivalOn: row.ArrivalOn, DepartureOn: form.DepartureOn, State: Departed,
		Answers: form.Answers, EraseAt: row.EraseAt,
	}
	return e, e.sign(form.Signature)
}

// sign adds a signature to the entry as an image; nil: there is none.
func (e *Entry) sign(s *signature) error {
	if s == nil {
		return nil
	}
	picture, err := drawing.Parse(s.Drawing)
	if err != nil {
		return err
	}
	e.SignedAt, e.SVG = s.At, picture.SVG()
	return nil
}
