package access

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/text"
)

// StayPINs are the decrypted PINs of a reservation, for callers who may read them.
type StayPINs struct {
	PIN string // PIN is the PIN of the room or bed, or the shared PIN if only gates take codes; "" if it opens no door
	// Gates has the PINs of the gates, and of each other door that PIN does not open: the dorm of a bed, or the old room until the new one
	// is proven to open.
	Gates []GatePIN
}

// IsEmpty reports whether no door has a PIN.
func (p StayPINs) IsEmpty() bool { return p.PIN == "" && len(p.Gates) == 0 }

// opensAGate reports whether the PIN of the reservation opens one of the gates.
func (p StayPINs) opensAGate() bool {
	return slices.ContainsFunc(p.Gates, func(g GatePIN) bool { return g.PIN == p.PIN })
}

// GatePIN is the PIN that opens a gate (a door that several spaces share), or another door with a PIN of its own.
type GatePIN struct {
	ID, Name, PIN string
}

// RevealPINs decrypts the PINs of a reservation, for a caller who may read them. They are empty unless the reservation has access, or
// access that begins later, to a door that takes codes. It does not record the read.
func RevealPINs(rec Reconciler, propertyID, reservationID string) (StayPINs, error) {
	run, err := rec.loadLive(propertyID, reservationID)
	if err != nil || run == nil {
		return StayPINs{}, err
	}
	left, err := run.loadFormerDoors(slotCodes(run.codes), nil)
	if err != nil {
		return StayPINs{}, err
	}
	out, own := StayPINs{}, run.mainDoor()
	var others []Door
	for _, h := range run.codes {
		d := doorByID(run.doors, h.DoorID)
		if d.ID == "" {
			d = left[h.DoorID] // the old door opens until the new door is proven to open
		}
		switch {
		case !h.Present:
		case d.Kind == Gate:
			err = run.addGate(&out, d)
		default:
			own, others = cmp.Or(own, h.DoorID), append(others, d)
		}
		if err != nil {
			return StayPINs{}, err
		}
	}
	if own == "" && len(out.Gates) == 0 {
		return out, nil
	}
	if out.PIN, err = run.pins.decryptAt(own); own == "" && !out.opensAGate() {
		out.PIN = "" // each gate has a PIN of its own
	}
	if err != nil {
		return StayPINs{}, err
	}
	return out, run.addOthers(&out, others)
}

// addOthers adds the PINs of those doors, which are no gates, that the PIN of the reservation does not open.
func (run *stayRun) addOthers(to *StayPINs, doors []Door) error {
	for _, d := range doors {
		code, err := run.pins.decryptAt(d.ID)
		if err != nil {
			return err
		}
		if d.ID != "" && code != "" && code != to.PIN {
			to.Gates = append(to.Gates, GatePIN{ID: d.ID, Name: text.FullName(d.Parent, d.Name), PIN: code})
		}
	}
	return nil
}

// PINVersion returns a text that changes with each new PIN of a reservation, or "" if the reservation has no access or no PIN.
func PINVersion(view *db.Tx, propertyID, reservationID string) (string, error) {
	ids, err := db.ReadList(view, func(id *string) []any { return []any{id} }, listPINs, propertyID, reservationID)
	if err != nil {
		return "", fmt.Errorf("list the PINs of a reservation: %w", err)
	}
	if len(ids) == 0 {
		return "", nil
	}
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return hex.EncodeToString(sum[:8]), nil
}

// addGate adds the PIN of the gate d to the PINs of the reservation, unless no PIN is possible there.
func (run *stayRun) addGate(to *StayPINs, d Door) error {
	code, err := run.pins.decryptAt(d.ID)
	if code != "" {
		to.Gates = append(to.Gates, GatePIN{ID: d.ID, Name: d.Name, PIN: code})
	}
	return err
}

// loadLive loads the access of a reservation with its doors, codes and PINs. It returns nil if the reservation has no access, or if its
// window is over; the window may begin later.
func (rec Reconciler) loadLive(propertyID, reservationID string) (*stayRun, error) {
	g, others, err := loadGrants(rec.Tx, propertyID, reservationID)
	if err != nil || !isLive(g) || !g.NotAfter.After(rec.Tx.Now()) {
		return nil, err
	}
	run, err := rec.loadGrantWith(g, others)
	if err != nil {
		return nil, err
	}
	if _, err := run.loadFacts(); err != nil {
		return nil, err
	}
	if err := run.loadPINs(); err != nil {
		return nil, err
	}
	return run, run.markImpossiblePINs()
}

// mainDoor returns the id of the door whose PIN counts as the PIN of the reservation: its room or bed, or the dorm of a bed without a lock.
// It returns "" if none of them takes codes.
func (run *stayRun) mainDoor() string {
	for _, d := range run.doors {
		if d.Kind != Gate && d.takesCode() {
			return d.ID
		}
	}
	return ""
}

// Part is a part of the access that can be reset by itself: PartPIN, PartKey or PartGates.
type Part string

// The parts, with their names in the API: the PIN of the room or bed, the SmartKeys, and the PINs of the gates.
const (
	PartPIN   Part = "pin"
	PartKey   Part = "ekey"
	PartGates Part = "gatesKeyChain"
)

var Parts = []Part{PartPIN, PartKey, PartGates}

// Reset replaces parts of the access of a reservation on request: its PIN, its gate PINs or its SmartKeys, and changes the codes on the
// locks. failed are the parts that it could not replace: all if the reservation has no access (access that begins later counts), those
// without a door that has a lock, and those for which no new PIN is possible.
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
	if len(failed) == len(parts) && len(run.delta().NewPINs) == 0 {
		return failed, nil
	}
	_, err = run.reconcile()
	return failed, err
}

// resetPIN replaces the PINs of all doors, also of those that the guest is leaving, except the separate PINs of gates. The next
// reconciliation generates a separate PIN for a door whose lock does not accept the new shared one; such a door loses its code if none is
// possible. resetPIN returns false, and replaces none, if no room or bed of the stay takes a code, or if no other PIN is possible for it.
func (run *stayRun) resetPIN() (bool, error) {
	own := run.mainDoor()
	if own == "" {
		return false, nil
	}
	if ok, err := run.pins.renewShared(doorByID(run.doors, own), run.doors); err != nil || !ok {
		return false, err
	}
	left, err := run.loadFormerDoors(slotCodes(run.codes), nil)
	if err != nil {
		return false, err
	}
	for _, d := range slices.AppendSeq(slices.Clone(run.doors), maps.Values(left)) {
		if d.Kind == Gate {
			continue
		}
		if err := run.pins.retire(run.pins.perDoor[d.ID]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// resetKey revokes the SmartKeys issued so far. It returns false, and revokes none, if no door of the reservation has a lock.
func (run *stayRun) resetKey() (bool, error) {
	if !slices.ContainsFunc(run.doors, Door.takesCode) {
		return false, nil
	}
	return true, run.save(run.Tx.Grant.UpdateOne(run.grant).AddKeyGeneration(1))
}

// resetGates generates a new separate PIN for each gate that takes codes. It returns false if there is no such gate, or if no new PIN is
// possible for one of them: that gate and those after it keep their PINs.
func (run *stayRun) resetGates() (bool, error) {
	gates := slices.DeleteFunc(slices.Clone(run.doors), func(d Door) bool { return d.Kind != Gate || !d.takesCode() })
	for _, d := range gates {
		if err := run.pins.generateForDoor(d); err != nil {
			return false, err
		}
		if run.pins.impossible[d.ID] {
			delete(run.pins.impossible, d.ID) // the gate keeps its PIN
			return false, nil
		}
	}
	return len(gates) > 0, nil
}
