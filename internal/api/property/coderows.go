package property

import (
	"context"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
)

type codeRow = ent.Code

// codeFilter narrows and pages a list of codes.
type codeFilter struct {
	kind, lockID string // empty: any
	ended        bool   // include ended codes
	after        string // last id of the previous page
	limit        int
}

// listCodes returns the codes of a property, oldest first.
func listCodes(ctx context.Context, c *client, propertyID string, f codeFilter) ([]*codeRow, error) {
	q := c.Code.Query().Where(entcode.PropertyID(propertyID))
	if f.kind != "" {
		q.Where(entcode.Kind(f.kind))
	}
	if f.lockID != "" {
		q.Where(entcode.LockID(f.lockID))
	}
	if !f.ended {
		q.Where(entcode.EndedAtIsNil())
	}
	if f.after != "" {
		q.Where(entcode.IDGT(f.after))
	}
	return q.Order(entcode.ByID()).Limit(f.limit).All(ctx)
}
