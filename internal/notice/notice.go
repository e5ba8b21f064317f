// Package notice stores what the staff of a property must know.
package notice

import (
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/notice"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/watch"
)

// Notice informs the staff of a property of something that a person must do.
type Notice struct {
	PropertyID string
	Kind       Kind
	Params     message.Params // Params are the parameters of the text; never a PIN or a token
	Subject    string         // Subject is the id of the object that the notice is about
	// OnceKey identifies the problem. Staff are notified once until Settle ends the problem, or until the notice is
	// deleted because of its age. The key begins with an id of an object of the property, because it is unique in the
	// installation. Empty: every call creates a notice.
	OnceKey string
}

func Add(tx *db.Tx, n Notice) error {
	ctx := tx.Context()
	if err := n.Kind.Message(n.Params).Check(); err != nil {
		return fmt.Errorf("add a notice: %w", err)
	}
	if n.OnceKey != "" {
		if notified, err := IsOpen(tx, n.OnceKey); err != nil || notified {
			return err
		}
	}
	if n.Params == nil {
		n.Params = message.Params{} // Params must not be nil, because a nil value marks a notice with a stored text
	}
	create := tx.Notice.Create().SetID(id.New(id.Notice)).SetPropertyID(n.PropertyID).SetKind(string(n.Kind)).
		SetSubject(n.Subject).SetParameters(n.Params).SetText("").SetCreatedAt(tx.Now())
	if n.OnceKey != "" {
		create.SetOnceKey(n.OnceKey)
	}
	stored, err := create.Save(ctx)
	if err != nil {
		return fmt.Errorf("store a notice: %w", err)
	}
	watch.Notify(tx, n.PropertyID, watch.Notices, stored.ID)
	return nil
}

// Renew is like Add, but updates the parameters of a notice that exists already.
func Renew(tx *db.Tx, n Notice) error {
	if err := n.Kind.Message(n.Params).Check(); err != nil {
		return fmt.Errorf("add a notice: %w", err)
	}
	changed, err := tx.Notice.Update().Where(notice.PropertyID(n.PropertyID), notice.OnceKey(n.OnceKey)).SetParameters(n.Params).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("renew a notice: %w", err)
	}
	if changed > 0 {
		watch.Notify(tx, n.PropertyID, watch.Notices)
		return nil
	}
	return Add(tx, n)
}

func Text(n *Row, to message.Reader) string {
	if n.Parameters == nil {
		return n.Text
	}
	return to.Text(Kind(n.Kind).Message(n.Parameters))
}

// IsOpen reports whether staff were notified of a problem that is not resolved.
func IsOpen(tx *db.Tx, onceKey string) (bool, error) {
	found, err := tx.Notice.Query().Where(notice.OnceKey(onceKey)).Exist(tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for a notice: %w", err)
	}
	return found, nil
}

// OpenOf returns which problems of a property staff were notified of.
func OpenOf(tx *db.Tx, propertyID string, onceKeys []string) (map[string]bool, error) {
	rows, err := tx.Notice.Query().Where(notice.PropertyID(propertyID), notice.OnceKeyIn(onceKeys...)).Select(notice.FieldOnceKey).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("look for notices: %w", err)
	}
	open := map[string]bool{}
	for _, row := range rows {
		open[*row.OnceKey] = true
	}
	return open, nil
}

// Resolve ends problems of a property. If one occurs again, staff are notified again.
func Resolve(tx *db.Tx, propertyID string, onceKeys ...string) error {
	if len(onceKeys) == 0 {
		return nil
	}
	return resolve(tx, propertyID, notice.OnceKeyIn(onceKeys...))
}

// ResolveAbout resolves the notices of one kind about a subject.
func ResolveAbout(tx *db.Tx, propertyID string, kind Kind, subject string) error {
	return resolve(tx, propertyID, notice.Kind(string(kind)), notice.Subject(subject), notice.OnceKeyNotNil())
}

func resolve(tx *db.Tx, propertyID string, which ...predicate.Notice) error {
	n, err := tx.Notice.Update().Where(append(which, notice.PropertyID(propertyID))...).ClearOnceKey().Save(tx.Context())
	if err != nil {
		return fmt.Errorf("resolve notices: %w", err)
	}
	if n > 0 {
		watch.Notify(tx, propertyID, watch.Notices)
	}
	return nil
}

// Forget deletes notices created before a time, at most a given number, and returns how many. It also deletes
// notices of open problems: staff are notified again when such a problem is next detected.
func Forget(tx *db.Tx, before time.Time, most int) (int, error) {
	old, err := tx.Notice.Query().Where(notice.CreatedAtLT(before)).Limit(most).Select(notice.FieldID, notice.FieldPropertyID).All(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("look for old notices: %w", err)
	}
	ids := make([]string, len(old))
	for i, row := range old {
		ids[i] = row.ID
		watch.Notify(tx, row.PropertyID, watch.Notices)
	}
	n, err := tx.Notice.Delete().Where(notice.IDIn(ids...)).Exec(tx.Context())
	if err != nil {
		return 0, fmt.Errorf("forget old notices: %w", err)
	}
	return n, nil
}

// Row is a notice as stored.
type Row = ent.Notice

// Filter selects notices of a property.
type Filter struct {
	UnreadOnly bool
	Without    []string // kinds that are left out
}

func (f Filter) query(view *db.Tx, propertyID string) *ent.NoticeQuery {
	q := view.Notice.Query().Where(notice.PropertyID(propertyID))
	if f.UnreadOnly {
		q = q.Where(notice.ReadAtIsNil())
	}
	if len(f.Without) > 0 {
		q = q.Where(notice.KindNotIn(f.Without...))
	}
	return q
}

// List returns notices, the newest first.
func List(view *db.Tx, propertyID string, f Filter, size int, after string) ([]*ent.Notice, error) {
	q := f.query(view, propertyID)
	if after != "" {
		q = q.Where(notice.IDLT(after))
	}
	return q.Order(notice.ByID(sql.OrderDesc())).Limit(size).All(view.Context())
}

// Unread returns the number of unread notices of a property, without some kinds.
func Unread(view *db.Tx, propertyID string, without []string) (int, error) {
	return Filter{UnreadOnly: true, Without: without}.query(view, propertyID).Aggregate(ent.Count()).Int(view.Context())
}

// ListNew returns the unread notices of some kinds after one, the oldest first.
func ListNew(view *db.Tx, propertyID string, kinds []string, after, through string, limit int) ([]*Row, error) {
	rows, err := view.Notice.Query().Where(notice.PropertyID(propertyID), notice.ReadAtIsNil(), notice.KindIn(kinds...), notice.IDGT(after), notice.IDLTE(through)).
		Order(notice.ByID()).Limit(limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list new notices: %w", err)
	}
	return rows, nil
}

// LatestID returns the id of the newest notice of a property that was stored before a time, or "" if there is none.
func LatestID(view *db.Tx, propertyID string, before time.Time) (string, error) {
	ids, err := view.Notice.Query().Where(notice.PropertyID(propertyID), notice.CreatedAtLTE(before)).Order(notice.ByID(sql.OrderDesc())).Limit(1).IDs(view.Context())
	if err != nil {
		return "", fmt.Errorf("find the newest notice: %w", err)
	}
	if len(ids) == 0 {
		return "", nil
	}
	return ids[0], nil
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
	if n > 0 {
		watch.Notify(tx, propertyID, watch.Notices, ids...)
	}
	return n, nil
}
