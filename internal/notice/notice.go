// Package notice stores what the staff of a property must know.
package notice

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
)

// Notice informs the staff of a property of something that a person must do.
type Notice struct {
	PropertyID string
	Kind       string // in camelCase, such as mappingMissing
	Subject    string // id of the object it is about
	Text       string // what is wrong and what to do; never a PIN or a token
	// OnceKey identifies the problem. Staff are notified once until Settle ends the problem, or until the notice is
	// deleted because of its age. The key begins with an id of an object of the property, because it is unique in the
	// installation. Empty: every call creates a notice.
	OnceKey string
}

// maxText bounds the bytes of a notice's text.
const maxText = 1024

// Add creates a notice for the staff of a property.
func Add(tx *db.Tx, n Notice) error {
	ctx := tx.Context()
	if n.OnceKey != "" {
		if notified, err := IsOpen(tx, n.OnceKey); err != nil || notified {
			return err
		}
	}
	create := tx.Notice.Create().SetID(id.New(id.Notice)).SetPropertyID(n.PropertyID).SetKind(n.Kind).
		SetSubject(n.Subject).SetText(truncate(n.Text, maxText)).SetCreatedAt(tx.Now())
	if n.OnceKey != "" {
		create.SetOnceKey(n.OnceKey)
	}
	if err := create.Exec(ctx); err != nil {
		return fmt.Errorf("store a notice: %w", err)
	}
	return nil
}

// Renew is like Add, but updates the text of a notice that exists already: the text of the problem can change.
func Renew(tx *db.Tx, n Notice) error {
	changed, err := tx.Notice.Update().Where(notice.PropertyID(n.PropertyID), notice.OnceKey(n.OnceKey)).SetText(truncate(n.Text, maxText)).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("renew a notice: %w", err)
	}
	if changed > 0 {
		return nil
	}
	return Add(tx, n)
}

// IsOpen reports whether staff were notified of a problem that is not settled.
func IsOpen(tx *db.Tx, onceKey string) (bool, error) {
	found, err := tx.Notice.Query().Where(notice.OnceKey(onceKey)).Exist(tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for a notice: %w", err)
	}
	return found, nil
}

// Settle ends a problem. If it occurs again, staff are notified again.
func Settle(tx *db.Tx, onceKey string) error {
	err := tx.Notice.Update().Where(notice.OnceKey(onceKey)).ClearOnceKey().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("settle a notice: %w", err)
	}
	return nil
}

// Forget deletes notices created before a time, at most a given number, and returns how many. It also deletes
// notices of open problems: staff are notified again when such a problem is next detected.
func Forget(tx *db.Tx, before time.Time, most int) (int, error) {
	ids, err := tx.Notice.Query().Where(notice.CreatedAtLT(before)).Limit(most).IDs(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("look for old notices: %w", err)
	}
	n, err := tx.Notice.Delete().Where(notice.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("forget old notices: %w", err)
	}
	return n, nil
}

// Row is a notice as stored.
type Row = ent.Notice

// List returns notices of a property, newest first: at most size after the one with the id after.
func List(ctx context.Context, c *ent.Client, propertyID string, unreadOnly bool, size int, after string) ([]*ent.Notice, error) {
	q := c.Notice.Query().Where(notice.PropertyID(propertyID))
	if unreadOnly {
		q = q.Where(notice.ReadAtIsNil())
	}
	if after != "" {
		q = q.Where(notice.IDLT(after))
	}
	return q.Order(notice.ByID(sql.OrderDesc())).Limit(size).All(ctx)
}

// Unread returns the number of unread notices of a property.
func Unread(ctx context.Context, c *ent.Client, propertyID string) (int, error) {
	return c.Notice.Query().Where(notice.PropertyID(propertyID), notice.ReadAtIsNil()).Count(ctx)
}

// MarkRead marks notices of a property as read and returns how many were unread. Without ids it marks all.
func MarkRead(tx *db.Tx, propertyID string, ids ...string) (int, error) {
	update := tx.Notice.Update().Where(notice.PropertyID(propertyID), notice.ReadAtIsNil())
	if len(ids) > 0 {
		update = update.Where(notice.IDIn(ids...))
	}
	n, err := update.SetReadAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("mark notices: %w", err)
	}
	return n, nil
}

// truncate shortens a text to at most n bytes without splitting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
