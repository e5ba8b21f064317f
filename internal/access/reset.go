package access

import (
	"fmt"
	"slices"

	"latchkey.dev/internal/space"
)

// StayPINs are the PINs of a stay in clear, for callers who may read them.
type StayPINs struct {
	PIN   string // of the room or bed
	Gates []GatePIN
}

// GatePIN is the PIN of one gate.
type GatePIN struct {
	ID, Name, PIN string
}

// RevealPINs decrypts the PINs of a stay. They are empty without live access.
func RevealPINs(rec Reconciler, propertyID, reservationID string) (StayPINs, error) {
	run, err := rec.loadLive(propertyID, reservationID)
	if err != nil || run == nil {
		return StayPINs{}, err
	}
	held, err := run.loadHeld(run.doors)
	if err != nil {
		return StayPINs{}, err
	}
	left, err := run.formerDoors(heldCodes(held), nil, run.doors)
	if err != nil {
		return StayPINs{}, err
	}
	out, own := StayPINs{}, run.mainDoor()
	for _, h := range held {
		d := doorByID(run.doors, h.DoorID)
		if d.ID == "" {
			d = left[h.DoorID] // open until the new place is proven to open
		}
		switch {
		case !h.Present:
		case d.Kind == Gate:
			err = run.addGate(&out, d)
		case own == "":
			own = h.DoorID
		}
		if err != nil {
			return StayPINs{}, err
		}
	}
	if own == "" && len(out.Gates) == 0 {
		return out, nil
	}
	out.PIN, err = run.codeAt(own)
	return out, err
}

func (r *liveStay) addGate(to *StayPINs, d Door) error {
	code, err := r.codeAt(d.ID)
	if code != "" {
		to.Gates = append(to.Gates, GatePIN{ID: d.ID, Name: d.Name, PIN: code})
	}
	return err
}

// codeAt returns the PIN of a door, or empty.
func (r *liveStay) codeAt(doorID string) (string, error) {
	p := r.pins.pinAt(doorID)
	if p == nil {
		return "", nil
	}
	return r.pins.decrypt(p)
}

// liveStay is the live access of a stay with its PINs and doors.
type liveStay struct {
	*grantRun
	doors []Door
}

// loadLive loads the live access of a stay, or nil.
func (rec Reconciler) loadLive(propertyID, reservationID string) (*liveStay, error) {
	g, _, err := loadGrants(rec.Tx, propertyID, reservationID)
	if err != nil || !isLive(g) || !g.NotAfter.After(rec.Tx.Now()) {
		return nil, err
	}
	plain, err := rec.newRun(g)
	if err != nil {
		return nil, err
	}
	run := &liveStay{grantRun: plain}
	if g.SpaceID != "" {
		if run.place, _, err = resolvePlace(rec.Tx, space.Request{PropertyID: propertyID, OwnID: g.SpaceID}); err != nil {
			return nil, err
		}
	}
	f, err := run.loadFacts()
	if err != nil {
		return nil, err
	}
	run.doors = f.Doors
	run.pins, err = loadPINs(rec.Tx, rec.Keys, g, run.rules.PINLength)
	return run, err
}

// mainDoor returns the door whose PIN is the PIN of the stay: its room or bed, or the dorm of a bed without a lock.
func (r *liveStay) mainDoor() string {
	for _, d := range r.doors {
		if d.Kind != Gate && d.takesCode() {
			return d.ID
		}
	}
	return ""
}

// Part is a part of the access that can be reset.
type Part string

// The parts, as the API names them.
const (
	PartPIN   Part = "pin"
	PartKey   Part = "ekey"
	PartGates Part = "gatesKeyChain"
)

// Parts lists all parts.
var Parts = []Part{PartPIN, PartKey, PartGates}

// Reset replaces parts of the access of a stay, and returns the parts that it could not replace: all without live access, and
// those without a door that has a lock.
func Reset(rec Reconciler, propertyID, reservationID string, parts []Part) (failed []Part, err error) {
	run, err := rec.loadLive(propertyID, reservationID)
	if err != nil || run == nil {
		return parts, err
	}
	for _, p := range parts {
		ok := false
		switch p {
		case PartPIN:
			ok, err = run.resetPIN()
		case PartKey:
			ok, err = run.resetKey()
		case PartGates:
			ok, err = run.resetGates()
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			failed = append(failed, p)
		}
	}
	if len(failed) == len(parts) && !run.pins.drewPIN {
		return failed, nil
	}
	next, err := rec.newRun(run.grant)
	if err != nil {
		return nil, err
	}
	next.drewPIN = run.pins.drewPIN
	_, err = next.reconcileGrant()
	return failed, err
}

// resetPIN retires the PINs of all doors except gates with their own. The next reconciliation generates new ones.
func (r *liveStay) resetPIN() (bool, error) {
	own := r.mainDoor()
	if r.pins.pinAt(own) == nil || own == "" {
		return false, nil
	}
	if err := r.pins.retire(r.pins.shared); err != nil {
		return false, err
	}
	for _, d := range r.doors {
		if d.Kind == Gate {
			continue
		}
		if err := r.pins.retire(r.pins.perDoor[d.ID]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// resetKey invalidates the SmartKeys issued so far.
func (r *liveStay) resetKey() (bool, error) {
	if !slices.ContainsFunc(r.doors, Door.takesCode) {
		return false, nil
	}
	g, err := r.tx.Grant.UpdateOne(r.grant).AddKeyGeneration(1).Save(r.ctx())
	if err != nil {
		return false, fmt.Errorf("count a SmartKey: %w", err)
	}
	r.grant = g
	return true, nil
}

// resetGates gives each gate of the stay a new PIN of its own.
func (r *liveStay) resetGates() (bool, error) {
	gates := slices.DeleteFunc(slices.Clone(r.doors), func(d Door) bool { return d.Kind != Gate || !d.takesCode() })
	for _, d := range gates {
		if err := r.pins.generateForDoor(d); err != nil {
			return false, err
		}
		if r.pins.impossible[d.ID] {
			return false, nil
		}
	}
	return len(gates) > 0, nil
}
