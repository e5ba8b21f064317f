package access

import (
	"fmt"
	"slices"

	"latchkey.dev/internal/space"
)

// Shown is what may be shown of the codes of a stay to one who may read PINs.
type StayPINs struct {
	PIN   string // of the room or bed
	Gates []GatePIN
}

// GatePIN is the code of one gate.
type GatePIN struct {
	ID, Name, PIN string
}

// PINs opens the codes of a stay. Empty without live access.
func RevealPINs(w Reconciler, propertyID, reservationID string) (StayPINs, error) {
	run, err := w.loadLive(propertyID, reservationID)
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
			d = left[h.DoorID] // open until the new place is known to be
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

// codeAt is the code of a door, empty if it has none.
func (r *liveStay) codeAt(doorID string) (string, error) {
	p := r.pins.pinAt(doorID)
	if p == nil {
		return "", nil
	}
	return r.pins.decrypt(p)
}

// running is the access of a stay that has some now, with its codes and doors.
type liveStay struct {
	*grantRun
	doors []Door
}

// running loads it; nil without live access.
func (w Reconciler) loadLive(propertyID, reservationID string) (*liveStay, error) {
	g, _, err := loadGrants(w.Tx, propertyID, reservationID)
	if err != nil || !isLive(g) || !g.NotAfter.After(w.Tx.Now()) {
		return nil, err
	}
	plain, err := w.newRun(g)
	if err != nil {
		return nil, err
	}
	run := &liveStay{grantRun: plain}
	if g.SpaceID != "" {
		if run.place, _, err = resolvePlace(w.Tx, space.Request{PropertyID: propertyID, OwnID: g.SpaceID}); err != nil {
			return nil, err
		}
	}
	f, err := run.loadFacts()
	if err != nil {
		return nil, err
	}
	run.doors = f.Doors
	run.pins, err = loadPINs(w.Tx, w.Keys, g, run.rules.PINLength)
	return run, err
}

// ownDoor is the door whose PIN is the PIN of the stay: its room's or bed's, or that of the dorm where the bed has none.
func (r *liveStay) mainDoor() string {
	for _, d := range r.doors {
		if d.Kind != Gate && d.takesCode() {
			return d.ID
		}
	}
	return ""
}

// Part is a part of a key chain that can be drawn anew.
type Part string

// The parts, in the words of the wire.
const (
	PartPIN   Part = "pin"
	PartKey   Part = "ekey"
	PartGates Part = "gatesKeyChain"
)

// Parts are all there are.
var Parts = []Part{PartPIN, PartKey, PartGates}

// Reset draws parts of the codes of a stay anew and says which could not be: none can without live access, and none of a
// door that has no lock.
func Reset(w Reconciler, propertyID, reservationID string, parts []Part) (failed []Part, err error) {
	run, err := w.loadLive(propertyID, reservationID)
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
	next, err := w.newRun(run.grant)
	if err != nil {
		return nil, err
	}
	next.drewPIN = run.pins.drewPIN
	_, err = next.reconcileGrant()
	return failed, err
}

// resetPIN takes the PINs of all doors but the gates' own out of use; settling the grant draws the next.
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

// resetKey has SmartKeys that were minted before no longer count.
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

// resetGates gives each gate of the stay a PIN of its own, drawn anew.
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
