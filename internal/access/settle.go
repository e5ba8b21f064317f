package access

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	entgrant "latchkey.dev/ent/grant"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/space"
)

// Settler settles grants in one transaction.
type Settler struct {
	Tx   *db.Tx
	Keys *keyring.Ring
}

// SlotChange is new evidence about one slot.
type SlotChange struct {
	PropertyID, LockID, DoorID, GrantID string
	Before, After                       slot.Evidence
}

func (w Settler) settle(g *ent.Grant) error {
	p, err := w.Tx.Property.Get(w.Tx.Context(), g.PropertyID)
	if err != nil {
		return fmt.Errorf("load the property of a grant: %w", err)
	}
	rules, err := RulesOf(p)
	if err != nil {
		return err
	}
	_, err = Settle(w.Tx, w.Keys, g, rules)
	return err
}

// Expire settles grants whose window is over, at most limit, and says how many there were.
func Expire(w Settler, limit int) (int, error) {
	due, err := w.Tx.Grant.Query().Where(entgrant.EndedAtIsNil(), entgrant.NotAfterLTE(w.Tx.Now())).
		Order(entgrant.ByNotAfter()).Limit(limit).All(w.Tx.Context())
	if err != nil {
		return 0, fmt.Errorf("look for windows that are over: %w", err)
	}
	for _, g := range due {
		if err := w.settle(g); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// Shown is what may be shown of the codes of a stay to one who may read PINs.
type Shown struct {
	PIN   string
	Gates []GatePIN
}

// GatePIN is the code of one gate.
type GatePIN struct {
	ID, Name, PIN string
}

// PINs opens the codes of a stay. Empty without live access.
func PINs(w Settler, propertyID, reservationID string) (Shown, error) {
	g, err := latest(w.Tx, propertyID, reservationID)
	if err != nil || !live(g) {
		return Shown{}, err
	}
	c, err := codesOf(w.Tx, w.Keys, g, 0)
	if err != nil {
		return Shown{}, err
	}
	out := Shown{}
	if c.all != nil {
		if out.PIN, err = c.code(c.all); err != nil {
			return Shown{}, err
		}
	}
	return out, w.gatePINs(c, g, &out)
}

func (w Settler) gatePINs(c *codes, g *ent.Grant, out *Shown) error {
	run := &work{tx: w.Tx, keys: w.Keys, property: g.PropertyID, grant: g}
	held, err := run.held(nil)
	if err != nil {
		return err
	}
	names, err := run.names(held, nil)
	if err != nil {
		return err
	}
	for _, h := range held {
		d, ok := names[h.DoorID]
		p := c.at(h.DoorID)
		if !ok || d.Kind != Gate || !h.Present || p == nil {
			continue
		}
		code, err := c.code(p)
		if err != nil {
			return err
		}
		out.Gates = append(out.Gates, GatePIN{ID: d.ID, Name: d.Name, PIN: code})
	}
	return nil
}

// Part is a part of a key chain that can be drawn anew.
type Part string

// The parts, in the words of the wire.
const (
	PartPIN   Part = "pin"
	PartKey   Part = "ekey"
	PartGates Part = "gatesKeyChain"
)

// Reset draws parts of the codes of a stay anew and says which could not be: none can without live access.
func Reset(w Settler, propertyID, reservationID string, parts []Part) (failed []Part, err error) {
	g, err := latest(w.Tx, propertyID, reservationID)
	if err != nil {
		return nil, err
	}
	if !live(g) || !g.NotAfter.After(w.Tx.Now()) {
		return parts, nil
	}
	for _, p := range parts {
		switch p {
		case PartPIN:
			err = w.retire(g, "")
		case PartKey:
			g, err = w.Tx.Grant.UpdateOne(g).AddKeyGeneration(1).Save(w.Tx.Context())
		case PartGates:
			var ok bool
			if ok, err = w.redrawGates(g); err == nil && !ok {
				failed = append(failed, p)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return failed, w.settle(g)
}

// retire takes the PIN for all doors out of use; settling the grant draws the next.
func (w Settler) retire(g *ent.Grant, doorID string) error {
	_, err := w.Tx.Pin.Update().Where(entpin.PropertyID(g.PropertyID), entpin.GrantID(g.ID), entpin.DoorID(doorID), entpin.Retired(false)).
		SetRetired(true).Save(w.Tx.Context())
	return err
}

// redrawGates gives each gate of the stay a PIN of its own, drawn anew.
func (w Settler) redrawGates(g *ent.Grant) (bool, error) {
	p, err := w.Tx.Property.Get(w.Tx.Context(), g.PropertyID)
	if err != nil {
		return false, err
	}
	c, err := codesOf(w.Tx, w.Keys, g, p.PinLength)
	if err != nil {
		return false, err
	}
	gates, err := w.gatesOf(g, p)
	if err != nil || len(gates) == 0 {
		return false, err
	}
	for _, d := range gates {
		if err := c.retire(c.own[d.ID]); err != nil {
			return false, err
		}
		drawn, err := c.draw(d.ID, []pin.Rules{d.Lock.PIN})
		if errors.Is(err, pin.ErrImpossible) || errors.Is(err, pin.ErrTaken) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		c.own[d.ID] = drawn
	}
	return true, nil
}

// gatesOf lists the gates a grant opens.
func (w Settler) gatesOf(g *ent.Grant, p *ent.Property) ([]Door, error) {
	place, _, err := space.Resolve(w.Tx.Context(), w.Tx.Client, space.Request{PropertyID: g.PropertyID, OwnID: g.SpaceID})
	if err != nil || g.SpaceID == "" {
		return nil, err
	}
	doors, _, err := doorsOf(w.Tx, g.PropertyID, place, p.GatesAlone)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(doors, func(d Door) bool { return d.Kind != Gate || !d.wanted() }), nil
}

// Live says until when a stay has access; zero without.
func Live(tx *db.Tx, propertyID, reservationID string) (time.Time, error) {
	g, err := latest(tx, propertyID, reservationID)
	if err != nil || !live(g) {
		return time.Time{}, err
	}
	return g.NotAfter, nil
}
