package access

import (
	"errors"
	"fmt"
	"slices"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/access/pin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// codes are the live PINs of one grant: one for all doors, and one of its own for each door that cannot take that.
type codes struct {
	tx    *db.Tx
	keys  *keyring.Ring
	grant *ent.Grant
	size  int // digits that the property asks for; 0: as few as the locks allow to be safe, see pinLength
	// drawer draws inside the transaction, because the PIN's row is what makes it unique. Its work is bounded.
	drawer pin.Drawer
	all    *ent.Pin
	own    map[string]*ent.Pin
	plain  map[string]string // by the PIN's id
	none   map[string]bool   // doors for which no PIN can be drawn

	drew    bool // a PIN was drawn in this run
	short   bool // and it has fewer digits than are safe
	retired bool // there are PINs that were replaced, and are reserved still
}

// newCodes are those of a grant that has none yet.
func newCodes(tx *db.Tx, keys *keyring.Ring, g *ent.Grant, length int) *codes {
	return &codes{
		tx: tx, keys: keys, grant: g, size: length,
		own: map[string]*ent.Pin{}, plain: map[string]string{}, none: map[string]bool{},
	}
}

// codesOf loads the codes of a grant.
func codesOf(tx *db.Tx, keys *keyring.Ring, g *ent.Grant, length int) (*codes, error) {
	c := newCodes(tx, keys, g, length)
	rows, err := tx.Pin.Query().Where(entpin.PropertyID(g.PropertyID), entpin.GrantID(g.ID)).All(tx.Brief())
	if err != nil {
		return nil, fmt.Errorf("load the PINs of a grant: %w", err)
	}
	for _, p := range rows {
		switch {
		case p.Retired:
			c.retired = true
		case p.DoorID == "":
			c.all = p
		default:
			c.own[p.DoorID] = p
		}
	}
	return c, nil
}

// cover sees to it that every door that can be opened has a PIN its lock takes: one for all if possible, else one a door.
func (c *codes) cover(doors []Door) error {
	wanted := make([]Door, 0, len(doors))
	for _, d := range doors {
		if d.wanted() {
			wanted = append(wanted, d)
		}
	}
	if c.all == nil {
		if err := c.drawForAll(wanted); err != nil {
			return err
		}
	}
	for _, d := range wanted {
		fits, err := c.fits(d)
		if err == nil && !fits {
			err = c.drawFor(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drawForAll draws the PIN of the stay: for all doors at once, or for as many as can share one, the first ones first.
func (c *codes) drawForAll(wanted []Door) error {
	if len(wanted) == 0 {
		return nil
	}
	p, err := c.draw("", wanted)
	if errors.Is(err, errNone) {
		return nil
	}
	c.all = p
	return err
}

// drawFor gives a door a PIN of its own, in place of the one it had.
func (c *codes) drawFor(d Door) error {
	p, err := c.draw(d.ID, []Door{d})
	if errors.Is(err, errNone) {
		c.none[d.ID] = true
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.retire(c.own[d.ID]); err != nil {
		return err
	}
	c.own[d.ID] = p
	return nil
}

// fits says whether the PIN that a door has is one its lock takes.
func (c *codes) fits(d Door) (bool, error) {
	p := c.at(d.ID)
	if p == nil {
		return false, nil
	}
	code, err := c.code(p)
	return err == nil && pin.Satisfies(code, d.Lock.PIN), err
}

// errNone says that there is no PIN to be had: the rules of the locks leave none, or none that is free.
var errNone = errors.New("no PIN is possible")

// pinLength is the number of digits to draw for a PIN of these doors. A property that leaves it to the service, by 0, gets
// the most digits for doors at whose locks nothing slows guessing, and the fewest elsewhere.
func pinLength(setting int, doors []Door) int {
	switch {
	case setting > 0:
		return setting
	case slices.ContainsFunc(doors, func(d Door) bool { return d.Lock.Guessable }):
		return pin.Longest
	}
	return pin.Shortest
}

// draw draws a PIN for doors that can be opened, and reserves it: the row is its claim to be the only one of the property with
// these digits.
func (c *codes) draw(doorID string, doors []Door) (*ent.Pin, error) {
	rules := make([]pin.Rules, len(doors))
	for i, d := range doors {
		rules[i] = d.Lock.PIN
	}
	p := &ent.Pin{ID: id.New("pin"), PropertyID: c.grant.PropertyID, GrantID: c.grant.ID, DoorID: doorID, CreatedAt: c.tx.Now()}
	code, err := c.drawer.Draw(pinLength(c.size, doors), rules, func(code string) (bool, error) { return c.taken(p, code) })
	if errors.Is(err, pin.ErrImpossible) || errors.Is(err, pin.ErrTaken) {
		return nil, errNone
	}
	if err != nil {
		return nil, err
	}
	c.plain[p.ID] = code
	c.drew, c.short = true, c.short || len(code) < pin.Shortest
	return p, nil
}

// taken stores a PIN unless another of the property has its digits.
func (c *codes) taken(p *ent.Pin, code string) (bool, error) {
	ctx := c.tx.Brief()
	sealed, err := c.keys.Seal(ctx, p.PropertyID, purpose(p.ID), []byte(code))
	if err != nil {
		return false, fmt.Errorf("seal a PIN: %w", err)
	}
	p.MAC, p.Sealed = c.mac(code), sealed
	stored, err := c.tx.Insert(entsql.Insert(entpin.Table).
		Columns(entpin.FieldID, entpin.FieldPropertyID, entpin.FieldGrantID, entpin.FieldDoorID, entpin.FieldMAC, entpin.FieldSealed, entpin.FieldCreatedAt).
		Values(p.ID, p.PropertyID, p.GrantID, p.DoorID, p.MAC, p.Sealed, p.CreatedAt).
		OnConflict(entsql.ConflictColumns(entpin.FieldPropertyID, entpin.FieldMAC), entsql.DoNothing()))
	if err != nil {
		return false, fmt.Errorf("store a PIN: %w", err)
	}
	return stored == 0, nil
}

func purpose(pinID string) string { return "pin/" + pinID }

func (c *codes) mac(code string) []byte { return c.keys.MAC("pin/"+c.grant.PropertyID, code) }

func (c *codes) code(p *ent.Pin) (string, error) {
	if code, ok := c.plain[p.ID]; ok {
		return code, nil
	}
	raw, err := c.keys.Open(c.tx.Context(), c.grant.PropertyID, purpose(p.ID), p.Sealed)
	if err != nil {
		return "", fmt.Errorf("open a PIN: %w", err)
	}
	c.plain[p.ID] = string(raw)
	return c.plain[p.ID], nil
}

// at is the PIN a door shall have, nil if it can have none.
func (c *codes) at(doorID string) *ent.Pin {
	if c.none[doorID] {
		return nil
	}
	if p := c.own[doorID]; p != nil {
		return p
	}
	return c.all
}

func (c *codes) idAt(doorID string) string {
	if p := c.at(doorID); p != nil {
		return p.ID
	}
	return ""
}

// retire takes a PIN out of use. Its digits stay reserved until no lock can hold them.
func (c *codes) retire(p *ent.Pin) error {
	if p == nil {
		return nil
	}
	if err := c.tx.Pin.UpdateOne(p).SetRetired(true).Exec(c.tx.Brief()); err != nil {
		return fmt.Errorf("retire a PIN: %w", err)
	}
	c.retired = true
	if p.DoorID == "" {
		c.all = nil
	} else {
		delete(c.own, p.DoorID)
	}
	return nil
}

// forget frees the digits of PINs.
func (w *work) forget(which ...predicate.Pin) error {
	if _, err := w.tx.Pin.Delete().Where(append(which, entpin.PropertyID(w.property))...).Exec(w.ctx()); err != nil {
		return fmt.Errorf("release the PINs of a grant: %w", err)
	}
	return nil
}
