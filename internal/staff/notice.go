// Package staff is about the people who run a property: its settings, their credentials, and
// the notices that ask for their attention.
package staff

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

// Notice tells the staff of a property what needs a person.
type Notice struct {
	PropertyID string
	Kind       string // camelCase, such as mappingMissing
	Subject    string // the id it is about
	Text       string // for people: what is wrong and what to do; no PIN, no token
	// OnceKey names the condition. While it stands, which is until Settle, it is told once, as long as
	// notices are kept, also when somebody has read it. It begins with an id of the property's own, since it is
	// unique in the installation. Empty: each call tells anew.
	OnceKey string
}

// maxText is how many bytes of text a notice keeps.
const maxText = 1024

// Notify tells the staff of a property something.
func Notify(tx *db.Tx, n Notice) error {
	ctx := tx.Context()
	if n.OnceKey != "" {
		if told, err := Notified(tx, n.OnceKey); err != nil || told {
			return err
		}
	}
	create := tx.Notice.Create().SetID(id.New(id.Notice)).SetPropertyID(n.PropertyID).SetKind(n.Kind).
		SetSubject(n.Subject).SetText(cut(n.Text, maxText)).SetCreatedAt(tx.Now())
	if n.OnceKey != "" {
		create.SetOnceKey(n.OnceKey)
	}
	if err := create.Exec(ctx); err != nil {
		return fmt.Errorf("store a notice: %w", err)
	}
	return nil
}

// Renew is Notify for a condition whose text changes while it stands: a notice that staff have already gets the new text.
func Renew(tx *db.Tx, n Notice) error {
	changed, err := tx.Notice.Update().Where(notice.PropertyID(n.PropertyID), notice.OnceKey(n.OnceKey)).SetText(cut(n.Text, maxText)).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("renew a notice: %w", err)
	}
	if changed > 0 {
		return nil
	}
	return Notify(tx, n)
}

// Notified reports whether staff were notified of a condition that has not been settled since.
func Notified(tx *db.Tx, onceKey string) (bool, error) {
	told, err := tx.Notice.Query().Where(notice.OnceKey(onceKey)).Exist(tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for a notice: %w", err)
	}
	return told, nil
}

// Settle says that a condition no longer stands: should it come back, it is told again.
func Settle(tx *db.Tx, onceKey string) error {
	err := tx.Notice.Update().Where(notice.OnceKey(onceKey)).ClearOnceKey().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("settle a notice: %w", err)
	}
	return nil
}

// ForgetNotices removes notices from before a moment, at most so many, and says how many. Also of
// what still stands: that is told again when it next comes up.
func ForgetNotices(tx *db.Tx, before time.Time, most int) (int, error) {
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

// Page says which part of a list is wanted: at most Size entries after the one with this id.
type Page struct {
	Size  int
	After string
}

// Notices lists the notices of a property, newest first.
func Notices(ctx context.Context, c *ent.Client, propertyID string, unreadOnly bool, p Page) ([]*ent.Notice, error) {
	q := c.Notice.Query().Where(notice.PropertyID(propertyID))
	if unreadOnly {
		q = q.Where(notice.ReadAtIsNil())
	}
	if p.After != "" {
		q = q.Where(notice.IDLT(p.After))
	}
	return q.Order(notice.ByID(sql.OrderDesc())).Limit(p.Size).All(ctx)
}

// Unread counts the notices of a property that nobody has read.
func Unread(ctx context.Context, c *ent.Client, propertyID string) (int, error) {
	return c.Notice.Query().Where(notice.PropertyID(propertyID), notice.ReadAtIsNil()).Count(ctx)
}

// MarkRead marks notices of a property as read and says how many were not before; without
// ids, all of them.
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

// cut shortens a text to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
