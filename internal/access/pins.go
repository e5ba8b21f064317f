package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/lock/slot"
)

// pinSet are the PINs of one holder (a grant or a code of staff): one that doors share, and separate PINs for doors whose lock does not
// accept the shared one, and for gates whose PIN was reset.
type pinSet struct {
	Reconciler
	holder   Holder
	length   int    // length is the number of digits in the property's settings; 0: the locks decide
	sharedID string // sharedID is the id of the next shared PIN, which the row of a new grant names already; else empty
	// generator generates PINs inside the transaction, because only the stored row reserves a PIN. Its work is bounded.
	generator  pin.Generator
	shared     *ent.Pin
	perDoor    map[string]*ent.Pin
	digits     map[string]string // digits has, by PIN id, the digits of those PINs that the run generated or decrypted
	impossible map[string]bool   // impossible are the doors whose lock accepts no possible PIN
	hasRetired bool              // hasRetired means that replaced PINs are still reserved
}

// newPINSet returns an empty set of PINs for the holder.
func (run *Run) newPINSet() *pinSet {
	return &pinSet{
		Reconciler: run.Reconciler, holder: run.Holder, length: run.Rules.PINLength,
		perDoor: map[string]*ent.Pin{}, digits: map[string]string{}, impossible: map[string]bool{},
	}
}

// loadPINs loads the PINs of the holder, once in a run. It remembers them for the comparison at the end of the run.
func (run *Run) loadPINs() error {
	if run.pins != nil {
		return nil
	}
	rows, err := run.Tx.Pin.Read(run.Tx.Context(), "property_id = $1 AND "+run.pinColumn()+" = $2", run.PropertyID, run.ID)
	if err != nil {
		return fmt.Errorf("load PINs: %w", err)
	}
	run.pins = run.newPINSet()
	for _, p := range rows {
		switch {
		case p.Retired:
			run.pins.hasRetired = true
		case p.DoorID == "":
			run.pins.shared = p
		default:
			run.pins.perDoor[p.DoorID] = p
		}
	}
	run.before.PINs = run.pins.inUse()
	return nil
}

// maxRedraws bounds how often a holder's PINs are replaced because a lock refuses them as duplicates.
const maxRedraws = 5

// EnsurePINs generates and stores a PIN for every door that needs one, and replaces each PIN that a lock refused as a duplicate: that lock
// would refuse it again. It replaces at most maxRedraws PINs of a holder, which it counts in run.Redraws. A door for which no PIN is
// possible gets none, without an error.
func (run *Run) EnsurePINs() error {
	if err := run.loadPINs(); err != nil {
		return err
	}
	for _, h := range run.codes {
		p := run.pins.pinAt(h.DoorID)
		if run.Redraws >= maxRedraws || !h.Present || p == nil || h.PIN != p.ID || h.Evidence != slot.Failed || h.Result != string(slot.Duplicate) {
			continue
		}
		if err := run.redraw(h, p); err != nil {
			return err
		}
		run.Redraws++
	}
	return run.pins.ensure(run.doors)
}

// ensureKeptPINs generates a separate PIN for each door that a reservation only keeps during a move, which ensure does not know, if the door
// is about to get a PIN that its lock does not accept. If no PIN is possible, it changes nothing.
func (run *Run) ensureKeptPINs() error {
	for _, h := range run.codes {
		at := run.locks[h.LockID]
		if !h.Present || h.LockMoved || at.lock == nil || h.PIN == run.pins.pinIDAt(h.DoorID) || doorByID(run.doors, h.DoorID).ID != "" {
			continue
		}
		d := Door{ID: h.DoorID, Lock: at.toLock(run.Tx.Now())}
		fits, err := run.pins.fits(d)
		if err == nil && !fits {
			err = run.pins.generateForDoor(d)
			delete(run.pins.impossible, h.DoorID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// redraw replaces the PIN p, which the lock of the code h refused as a duplicate. It retires the PIN of a present door, and ensure generates
// the next one. A door that the holder only keeps, which ensure does not know, gets a separate PIN at once, or keeps p if none is possible.
func (run *Run) redraw(h heldSlot, p *ent.Pin) error {
	at := run.locks[h.LockID]
	if doorByID(run.doors, h.DoorID).ID != "" || at.lock == nil {
		return run.pins.retire(p)
	}
	err := run.pins.generateForDoor(Door{ID: h.DoorID, Lock: at.toLock(run.Tx.Now())})
	delete(run.pins.impossible, h.DoorID)
	return err
}

// inUse describes the PINs that are not retired, without their digits. The Length of a PIN that is not decrypted yet is 0.
func (c *pinSet) inUse() (all []PIN) {
	if c == nil {
		return nil
	}
	for _, p := range append(slices.Collect(maps.Values(c.perDoor)), c.shared) {
		if p != nil {
			all = append(all, PIN{ID: p.ID, Length: len(c.digits[p.ID])})
		}
	}
	return all
}

// ensure adds PINs to the set, and stores them, until each door that takes a code has one that its lock accepts. A door without a separate
// PIN uses the shared PIN if its lock accepts that, else it gets a separate one, and stays with separate ones. If no PIN is possible,
// ensure marks the door in c.impossible, without an error.
func (c *pinSet) ensure(doors []Door) error {
	locked := slices.DeleteFunc(slices.Clone(doors), func(d Door) bool { return !d.takesCode() })
	if c.shared == nil && len(locked) > 0 {
		p, err := c.generate("", locked) // the shared PIN: as many doors as possible accept it, the first doors first
		if err != nil && !errors.Is(err, errNoPIN) {
			return err
		}
		c.shared = p
	}
	for _, d := range locked {
		fits, err := c.fits(d)
		if err == nil && !fits {
			err = c.generateForDoor(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// generateForDoor generates a separate PIN for a door, and retires the separate PIN that the door had. If no PIN is possible, it only marks
// the door as impossible.
func (c *pinSet) generateForDoor(d Door) error {
	p, err := c.generate(d.ID, []Door{d})
	if errors.Is(err, errNoPIN) {
		c.impossible[d.ID] = true
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.retire(c.perDoor[d.ID]); err != nil {
		return err
	}
	c.perDoor[d.ID] = p
	delete(c.impossible, d.ID)
	return nil
}

// markImpossiblePINs marks the doors that take a code and have none, and whose lock does not accept the present PIN. A reading generates no
// PIN, but the last reconciliation found none for such a door.
func (run *Run) markImpossiblePINs() error {
	for _, d := range run.doors {
		if !d.takesCode() || slices.ContainsFunc(run.codes, func(h heldSlot) bool { return h.Present && h.DoorID == d.ID }) {
			continue
		}
		fits, err := run.pins.fits(d)
		if err != nil {
			return err
		}
		if !fits {
			run.pins.impossible[d.ID] = true
		}
	}
	return nil
}

// renewShared generates another shared PIN and retires the former one. It returns false, and keeps the former one, if no other PIN is
// possible that the lock of the door main accepts.
func (c *pinSet) renewShared(main Door, doors []Door) (bool, error) {
	others := slices.DeleteFunc(slices.Clone(doors), func(d Door) bool { return !d.takesCode() || d.ID == main.ID })
	p, err := c.generate("", append([]Door{main}, others...))
	if errors.Is(err, errNoPIN) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !pin.Satisfies(c.digits[p.ID], main.Lock.PIN) {
		return false, c.Tx.Pin.DeleteOneID(p.ID).Exec(c.Tx.Context())
	}
	err = c.retire(c.shared)
	c.shared = p
	delete(c.impossible, main.ID)
	return true, err
}

// fits reports whether the lock of a door accepts the door's current PIN. It is false if the door has no PIN.
func (c *pinSet) fits(d Door) (bool, error) {
	p := c.pinAt(d.ID)
	if p == nil {
		return false, nil
	}
	code, err := c.decrypt(p)
	return err == nil && pin.Satisfies(code, d.Lock.PIN), err
}

// errNoPIN means that the locks accept no PIN that is free.
var errNoPIN = errors.New("no PIN is possible")

// pinLength returns the number of digits of a PIN for these doors: the property's setting. If that is 0, it is pin.Longest if nothing slows
// guessing at one of the doors, else pin.Shortest.
func pinLength(setting int, doors []Door) int {
	switch {
	case setting > 0:
		return setting
	case slices.ContainsFunc(doors, func(d Door) bool { return d.Lock.Guessable }):
		return pin.Longest
	}
	return pin.Shortest
}

// generate generates and stores a PIN that satisfies as many of the doors as possible, the first doors first. The caller adds the PIN to
// the set. doorID is the door of a separate PIN; empty for the shared PIN. A unique index reserves the digits, so that they occur only once
// in the property. The error is errNoPIN if none is possible.
func (c *pinSet) generate(doorID string, doors []Door) (*ent.Pin, error) {
	rules := make([]pin.Rules, len(doors))
	for i, d := range doors {
		rules[i] = d.Lock.PIN
	}
	p := c.holder.newPIN(doorID, c.Tx.Now())
	if doorID == "" && c.sharedID != "" {
		p.ID, c.sharedID = c.sharedID, ""
	}
	code, err := c.generator.Generate(pinLength(c.length, doors), rules, func(code string) (bool, error) { return c.reserve(p, code) })
	if errors.Is(err, pin.ErrImpossible) || errors.Is(err, pin.ErrTaken) {
		return nil, errNoPIN
	}
	if err != nil {
		return nil, err
	}
	c.digits[p.ID] = code
	return p, nil
}

// reserve seals the digits code into the PIN p and stores p. It returns true, and stores nothing, if another PIN of the property has the
// same digits.
func (c *pinSet) reserve(p *ent.Pin, code string) (bool, error) {
	ctx := c.Tx.Context()
	sealed, err := c.Keys.Seal(ctx, p.PropertyID, purpose(p.ID), []byte(code))
	if err != nil {
		return false, fmt.Errorf("seal a PIN: %w", err)
	}
	p.MAC, p.Sealed = c.mac(code), sealed
	stored, err := c.Tx.Insert(entsql.Insert(entpin.Table).
		Columns(entpin.FieldID, entpin.FieldPropertyID, c.holder.pinColumn(), entpin.FieldDoorID, entpin.FieldMAC, entpin.FieldSealed, entpin.FieldCreatedAt).
		Values(p.ID, p.PropertyID, c.holder.ID, p.DoorID, p.MAC, p.Sealed, p.CreatedAt).
		OnConflict(entsql.ConflictColumns(entpin.FieldPropertyID, entpin.FieldMAC), entsql.DoNothing()))
	if err != nil {
		return false, fmt.Errorf("store a PIN: %w", err)
	}
	return stored == 0, nil
}

// purpose returns the associated data of a sealed PIN, which binds the ciphertext to the PIN's id.
func purpose(pinID string) string { return "pin/" + pinID }

// mac returns the keyed hash of a PIN's digits, by which a unique index finds PINs with equal digits in a property.
func (c *pinSet) mac(code string) []byte { return c.Keys.MAC("pin/"+c.holder.PropertyID, code) }

// decrypt returns the digits of a PIN, which it caches for the run.
func (c *pinSet) decrypt(p *ent.Pin) (string, error) {
	if code, ok := c.digits[p.ID]; ok {
		return code, nil
	}
	raw, err := c.Keys.Open(c.Tx.Context(), c.holder.PropertyID, purpose(p.ID), p.Sealed)
	if err != nil {
		return "", fmt.Errorf("open a PIN: %w", err)
	}
	c.digits[p.ID] = string(raw)
	return c.digits[p.ID], nil
}

// pinAt returns the PIN for a door, the separate one or else the shared one. It returns nil if none is generated or possible.
func (c *pinSet) pinAt(doorID string) *ent.Pin {
	if c == nil || c.impossible[doorID] {
		return nil
	}
	if p := c.perDoor[doorID]; p != nil {
		return p
	}
	return c.shared
}

// pinIDAt returns the id of the PIN for a door, or "" if none is generated or possible.
func (c *pinSet) pinIDAt(doorID string) string {
	if p := c.pinAt(doorID); p != nil {
		return p.ID
	}
	return ""
}

// retire marks a PIN as replaced and removes it from the set; p may be nil. Its digits stay reserved until no lock can hold them.
func (c *pinSet) retire(p *ent.Pin) error {
	if p == nil {
		return nil
	}
	if err := c.Tx.Pin.UpdateOne(p).SetRetired(true).Exec(c.Tx.Context()); err != nil {
		return fmt.Errorf("retire a PIN: %w", err)
	}
	c.hasRetired = true
	if p.DoorID == "" {
		c.shared = nil
	} else {
		delete(c.perDoor, p.DoorID)
	}
	return nil
}

// decryptAt returns the digits of the PIN for a door, or "" if none is generated or possible. The doorID "" means the shared PIN.
func (c *pinSet) decryptAt(doorID string) (string, error) {
	p := c.pinAt(doorID)
	if p == nil {
		return "", nil
	}
	return c.decrypt(p)
}

// RevealPINs decrypts the PINs of the holder: the PIN that doors share, or "", and by door id the separate PINs, never nil. It records no
// read.
func (run *Run) RevealPINs() (shared string, own map[string]string, err error) {
	if err := run.loadPINs(); err != nil {
		return "", nil, err
	}
	own = map[string]string{}
	for door := range run.pins.perDoor {
		if own[door], err = run.pins.decryptAt(door); err != nil {
			return "", nil, err
		}
	}
	shared, err = run.pins.decryptAt("")
	return shared, own, err
}

// ReleaseRetiredPINs deletes replaced PINs once every lock has confirmed the new PIN, or that it holds none. It does nothing before
// [Run.EnsurePINs] has loaded the PINs.
func (run *Run) ReleaseRetiredPINs() error {
	if run.pins == nil || !run.pins.hasRetired {
		return nil
	}
	for _, h := range run.codes {
		if h.Present && !h.isProven() || !h.Present && h.Evidence != slot.Removed {
			return nil
		}
	}
	return run.DeletePINs(entpin.Retired(true))
}

// DeletePINs deletes the PINs of the holder, or only those that match which, so that their digits can be used again. The caller must know
// that no lock holds them.
func (run *Run) DeletePINs(which ...predicate.Pin) error {
	which = append(which, entpin.PropertyID(run.PropertyID), predicate.Pin(entsql.FieldEQ(run.pinColumn(), run.ID)))
	if _, err := run.Tx.Pin.Delete().Where(which...).Exec(run.Tx.Context()); err != nil {
		return fmt.Errorf("release PINs: %w", err)
	}
	return nil
}
