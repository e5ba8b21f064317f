package access

import (
	"errors"
	"fmt"

	"latchkey.dev/ent"
	entpin "latchkey.dev/ent/pin"
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
	size  int
	all   *ent.Pin
	own   map[string]*ent.Pin
	plain map[string]string // by the PIN's id
	none  map[string]bool   // doors for which no PIN can be drawn
}

// codesOf loads the codes of a grant.
func codesOf(tx *db.Tx, keys *keyring.Ring, g *ent.Grant, length int) (*codes, error) {
	c := &codes{
		tx: tx, keys: keys, grant: g, size: length,
		own: map[string]*ent.Pin{}, plain: map[string]string{}, none: map[string]bool{},
	}
	rows, err := tx.Pin.Query().Where(entpin.PropertyID(g.PropertyID), entpin.GrantID(g.ID), entpin.Retired(false)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the PINs of a grant: %w", err)
	}
	for _, p := range rows {
		if p.DoorID == "" {
			c.all = p
		} else {
			c.own[p.DoorID] = p
		}
	}
	return c, nil
}

// cover sees to it that every door has a PIN its lock takes: one for all if possible, else one a door.
func (c *codes) cover(doors []Door) error {
	if c.all == nil {
		if err := c.drawForAll(doors); err != nil {
			return err
		}
	}
	for _, d := range doors {
		if !d.wanted() || c.own[d.ID] != nil {
			continue
		}
		fits, err := c.fits(c.all, d)
		if err != nil {
			return err
		}
		if fits {
			continue
		}
		p, err := c.draw(d.ID, []pin.Rules{d.Lock.PIN})
		if errors.Is(err, pin.ErrImpossible) {
			c.none[d.ID] = true
			continue
		}
		if err != nil {
			return err
		}
		c.own[d.ID] = p
	}
	return nil
}

// drawForAll draws the PIN of the stay: for all doors at once, or else for as many as come first.
func (c *codes) drawForAll(doors []Door) error {
	var rules []pin.Rules
	for _, d := range doors {
		if d.wanted() {
			rules = append(rules, d.Lock.PIN)
		}
	}
	for n := len(rules); ; n-- {
		p, err := c.draw("", rules[:n])
		if errors.Is(err, pin.ErrImpossible) && n > 0 {
			continue
		}
		if err != nil {
			return err
		}
		c.all = p
		return nil
	}
}

func (c *codes) draw(doorID string, rules []pin.Rules) (*ent.Pin, error) {
	code, err := pin.Draw(nil, c.size, rules, c.taken)
	if err != nil {
		return nil, err
	}
	row := id.New("pin")
	sealed, err := c.keys.Seal(c.tx.Context(), c.grant.PropertyID, purpose(row), []byte(code))
	if err != nil {
		return nil, fmt.Errorf("seal a PIN: %w", err)
	}
	p, err := c.tx.Pin.Create().SetID(row).SetPropertyID(c.grant.PropertyID).SetGrantID(c.grant.ID).SetDoorID(doorID).
		SetMAC(c.mac(code)).SetSealed(sealed).SetCreatedAt(c.tx.Now()).Save(c.tx.Context())
	if err != nil {
		return nil, fmt.Errorf("store a PIN: %w", err)
	}
	c.plain[p.ID] = code
	return p, nil
}

func purpose(pinID string) string { return "pin/" + pinID }

func (c *codes) mac(code string) []byte { return c.keys.MAC("pin/"+c.grant.PropertyID, code) }

func (c *codes) taken(code string) (bool, error) {
	n, err := c.tx.Pin.Query().Where(entpin.PropertyID(c.grant.PropertyID), entpin.MAC(c.mac(code))).Count(c.tx.Context())
	return n > 0, err
}

func (c *codes) fits(p *ent.Pin, d Door) (bool, error) {
	code, err := c.code(p)
	return err == nil && pin.Satisfies(code, d.Lock.PIN), err
}

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
	if p := c.own[doorID]; p != nil {
		return p
	}
	if c.none[doorID] {
		return nil
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
	if err := c.tx.Pin.UpdateOne(p).SetRetired(true).Exec(c.tx.Context()); err != nil {
		return fmt.Errorf("retire a PIN: %w", err)
	}
	if p.DoorID == "" {
		c.all = nil
	} else {
		delete(c.own, p.DoorID)
	}
	return nil
}
