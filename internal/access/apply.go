package access

import (
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// RulesOf reads the rules of access from a property.
func RulesOf(p *ent.Property) (Rules, error) {
	zone, err := clock.Zone(p.TimeZone)
	if err != nil {
		return Rules{}, fmt.Errorf("property %s: %w", p.ID, err)
	}
	return Rules{
		Zone:       zone,
		EarlyIn:    time.Duration(p.EarlyInMinutes) * time.Minute,
		LateOut:    time.Duration(p.LateOutMinutes) * time.Minute,
		PINLength:  p.PinLength,
		GatesAlone: p.GatesAlone,
	}, nil
}

// Apply has the locks of a stay come to hold what its state, dates and space ask for, and says what that is. It may run
// as often as one likes: what is as it shall be is left alone.
func Apply(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (Plan, error) {
	place, unplaced, err := space.Resolve(tx.Context(), tx.Client, s.Space)
	if err != nil {
		return Plan{}, err
	}
	var g *ent.Grant
	if !s.Fresh {
		if g, err = latest(tx, s.Space.PropertyID, s.ReservationID); err != nil {
			return Plan{}, err
		}
	}
	var opened time.Time
	if live(g) {
		opened = g.NotBefore
	}
	right := Decide(s, r, tx.Now(), opened)
	w := &work{tx: tx, keys: keys, rules: r, property: s.Space.PropertyID, reservation: s.ReservationID, right: right, place: place, unplaced: unplaced, grant: g}
	if err := w.grantFor(); err != nil {
		return Plan{}, err
	}
	return w.run()
}

// Show says what the access of a stay is, and changes nothing.
func Show(tx *db.Tx, keys *keyring.Ring, s Stay, r Rules) (Plan, error) {
	place, unplaced, err := space.Resolve(tx.Context(), tx.Client, s.Space)
	if err != nil {
		return Plan{}, err
	}
	g, err := latest(tx, s.Space.PropertyID, s.ReservationID)
	if err != nil {
		return Plan{}, err
	}
	var opened time.Time
	if live(g) {
		opened = g.NotBefore
	}
	w := &work{tx: tx, keys: keys, rules: r, property: s.Space.PropertyID, right: Decide(s, r, tx.Now(), opened), place: place, unplaced: unplaced, grant: g}
	doors, _, err := doorsOf(tx, w.property, place, r.GatesAlone)
	if err != nil {
		return Plan{}, err
	}
	f := Facts{Right: w.right, Unplaced: unplaced, Doors: doors, Ended: g != nil && !live(g)}
	if g == nil {
		return Describe(f), nil
	}
	held, err := w.held(doors)
	if err != nil {
		return Plan{}, err
	}
	if w.codes, err = codesOf(tx, keys, g, r.PINLength); err != nil {
		return Plan{}, err
	}
	return w.describe(f, held)
}

// Settle does for one grant what Apply does for a stay, from what the grant itself holds: after evidence came in, a door
// was given to another stay, or its window ended.
func Settle(tx *db.Tx, keys *keyring.Ring, g *ent.Grant, r Rules) (Plan, error) {
	w := &work{tx: tx, keys: keys, rules: r, property: g.PropertyID, reservation: g.ReservationID, grant: g}
	if live(g) {
		w.right = Right{Open: true, Window: Window{From: g.NotBefore, To: g.NotAfter}}
		if !g.NotAfter.After(tx.Now()) {
			w.right = Right{Reason: fault.WindowPast}
		} else if g.NotBefore.After(tx.Now()) {
			w.right.HeldBack, w.right.Reason = true, fault.WindowInFuture
		}
	} else {
		w.right = Right{Reason: fault.Reason(g.EndReason)}
	}
	if g.SpaceID != "" {
		place, _, err := space.Resolve(tx.Context(), tx.Client, space.Request{PropertyID: g.PropertyID, OwnID: g.SpaceID})
		if err != nil {
			return Plan{}, err
		}
		w.place = place
	}
	if err := w.grantFor(); err != nil {
		return Plan{}, err
	}
	return w.run()
}

func live(g *ent.Grant) bool { return g != nil && g.EndedAt == nil }

func latest(tx *db.Tx, propertyID, reservationID string) (*ent.Grant, error) {
	rows, err := tx.Grant.Query().Where(entgrant.PropertyID(propertyID), entgrant.ReservationID(reservationID)).
		Order(entgrant.ByID(sql.OrderDesc())).Limit(1).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the grant of a stay: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return rows[0], nil
}

// work is one run of Apply or Settle.
type work struct {
	tx          *db.Tx
	keys        *keyring.Ring
	rules       Rules
	property    string
	reservation string
	right       Right
	place       space.Place
	unplaced    fault.Reason
	grant       *ent.Grant
	codes       *codes
	issued      bool // the grant is new
	moved       bool // window, place or PIN of a grant that was there changed
	ended       bool // the grant ended in this run
	full        []string
}

// grantFor opens, changes or ends the grant, as the right says.
func (w *work) grantFor() error {
	switch {
	case w.right.Open && !live(w.grant):
		return w.open()
	case w.right.Open:
		return w.change()
	case live(w.grant):
		return w.end()
	}
	return nil
}

func (w *work) spaceID() string {
	if w.place.Space == nil {
		return ""
	}
	return w.place.Space.ID
}

func (w *work) open() (err error) {
	w.issued = true
	w.grant, err = w.tx.Grant.Create().SetID(id.New("grt")).SetPropertyID(w.property).SetReservationID(w.reservation).
		SetSpaceID(w.spaceID()).SetNotBefore(w.right.Window.From).SetNotAfter(w.right.Window.To).
		SetOpenKey(w.reservation).SetCreatedAt(w.tx.Now()).Save(w.tx.Context())
	if err != nil {
		return fmt.Errorf("open a grant: %w", err)
	}
	return nil
}

// change follows new dates or a new space. The PIN stays; SmartKeys of the old window no longer count.
func (w *work) change() (err error) {
	same := Window{w.grant.NotBefore, w.grant.NotAfter}.Same(w.right.Window)
	if same && w.grant.SpaceID == w.spaceID() {
		return nil
	}
	w.moved = true
	w.grant, err = w.tx.Grant.UpdateOne(w.grant).SetSpaceID(w.spaceID()).SetNotBefore(w.right.Window.From).
		SetNotAfter(w.right.Window.To).AddKeyGeneration(1).Save(w.tx.Context())
	if err != nil {
		return fmt.Errorf("change a grant: %w", err)
	}
	return nil
}

func (w *work) end() (err error) {
	w.ended = true
	w.grant, err = w.tx.Grant.UpdateOne(w.grant).SetEndedAt(w.tx.Now()).SetEndReason(string(w.right.Reason)).
		ClearOpenKey().AddKeyGeneration(1).Save(w.tx.Context())
	if err != nil {
		return fmt.Errorf("end a grant: %w", err)
	}
	return nil
}

// run reconciles the slots with the grant and describes the outcome.
func (w *work) run() (Plan, error) {
	doors, locks, err := doorsOf(w.tx, w.property, w.place, w.rules.GatesAlone)
	if err != nil {
		return Plan{}, err
	}
	facts := Facts{Right: w.right, Unplaced: w.unplaced, Doors: doors, Ended: w.grant != nil && !live(w.grant)}
	if w.grant == nil {
		return Describe(facts), nil
	}
	held, err := w.held(doors)
	if err != nil {
		return Plan{}, err
	}
	if w.right.Open {
		if held, err = w.prepare(doors, held); err != nil {
			return Plan{}, err
		}
	}
	steps := Reconcile(w.right, doors, view(held), w.pinAt)
	if err := w.take(steps, doors, locks, held); err != nil {
		return Plan{}, err
	}
	if len(steps) > 0 {
		if held, err = w.held(doors); err != nil {
			return Plan{}, err
		}
	}
	return w.conclude(facts, held, steps)
}

func (w *work) pinAt(doorID string) string {
	if w.codes == nil {
		return ""
	}
	return w.codes.idAt(doorID)
}

// prepare has a PIN ready for every door: a lock that refused one as a duplicate gets another.
func (w *work) prepare(doors []Door, held []occupied) ([]occupied, error) {
	var err error
	if w.codes, err = codesOf(w.tx, w.keys, w.grant, w.rules.PINLength); err != nil {
		return nil, err
	}
	if err := w.redraw(held); err != nil {
		return nil, err
	}
	if err := w.codes.cover(doors); err != nil {
		return nil, err
	}
	if w.codes.all != nil && w.grant.PinID != w.codes.all.ID {
		if w.grant, err = w.tx.Grant.UpdateOne(w.grant).SetPinID(w.codes.all.ID).Save(w.tx.Context()); err != nil {
			return nil, fmt.Errorf("name the PIN of a grant: %w", err)
		}
		body := map[string]any{"reservationId": w.reservation, "pinId": w.codes.all.ID}
		return held, event.Append(w.tx, event.Event{PropertyID: w.property, Subject: w.reservation, Kind: event.PINGenerated, Body: body})
	}
	return held, nil
}

// mostRedraws bounds how often a stay draws anew for locks that call each PIN a duplicate.
const mostRedraws = 5

// redraw retires a PIN that a lock refused as a duplicate: it is final for that PIN there, and trying again is no use.
func (w *work) redraw(held []occupied) error {
	if w.grant.Redraws >= mostRedraws {
		return nil
	}
	for _, h := range held {
		p := w.codes.at(h.DoorID)
		if !h.Present || p == nil || h.PIN != p.ID || h.Evidence != slot.Failed || h.Result != string(slot.Duplicate) {
			continue
		}
		if err := w.codes.retire(p); err != nil {
			return err
		}
		w.moved = true
		g, err := w.tx.Grant.UpdateOne(w.grant).AddRedraws(1).Save(w.tx.Context())
		if err != nil {
			return fmt.Errorf("count a redraw: %w", err)
		}
		w.grant = g
		return nil
	}
	return nil
}

// take carries the steps out. A lock without a free slot is no error: the plan says so and staff are told.
func (w *work) take(steps []Step, doors []Door, locks map[string]*ent.Lock, held []occupied) error {
	for _, s := range steps {
		var err error
		switch s.Verb {
		case Put:
			err = w.put(s.DoorID, locks[s.DoorID])
		case Change:
			err = w.alter(s, locks[s.DoorID], find(held, s.SlotID))
		case Clear:
			err = w.clear(find(held, s.SlotID))
		}
		if errors.Is(err, lock.ErrSlotsFull) {
			w.full = append(w.full, s.DoorID)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *work) at(doorID string) (lock.Place, bool, error) {
	p := w.codes.at(doorID)
	if p == nil {
		return lock.Place{}, false, nil
	}
	code, err := w.codes.code(p)
	return lock.Place{
		GrantID: w.grant.ID, DoorID: doorID, StaySpaceID: w.spaceID(), PIN: code, PINID: p.ID,
		NotBefore: w.right.Window.From, NotAfter: w.right.Window.To,
	}, true, err
}

func (w *work) put(doorID string, lk *ent.Lock) error {
	p, ok, err := w.at(doorID)
	if err != nil || !ok {
		return err
	}
	_, err = lock.Put(w.tx, w.keys, lk, p)
	return err
}

func (w *work) alter(s Step, lk *ent.Lock, h occupied) error {
	p, ok, err := w.at(s.DoorID)
	if err != nil {
		return err
	}
	if !ok {
		return w.clear(h)
	}
	_, err = lock.Change(w.tx, w.keys, lk, h.row, p)
	return err
}

func (w *work) clear(h occupied) error {
	lk, err := lock.Get(w.tx.Context(), w.tx.Client, w.property, h.LockID)
	if err != nil {
		return err
	}
	_, err = lock.Clear(w.tx, lk, h.row)
	return err
}
