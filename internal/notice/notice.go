// Package notice stores notices: problems that the staff of a property must know and act on.
package notice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Notice is a problem that needs the staff of a property.
type Notice struct {
	PropertyID string
	Kind       Kind
	Params     message.Params // Params are the parameters of the text; never a PIN or a token
	Subject    string         // Subject is the id of the object that the notice is about
	// OnceKey is a deduplication key that identifies the problem. Staff are notified once until Resolve ends the problem, SupersedeRead makes
	// room for another notice, or the notice is deleted because of its age. The key begins with an id of an object of the property, because
	// it is unique in the installation. With an empty key, every call of Add creates a notice.
	OnceKey string
}

// Add stores a notice, and notifies the property's streams. It does nothing if the OnceKey has an open problem already. It returns an error
// if the parameters are not exactly those of the kind's text.
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

// Renew is like Add, but a notice of the open problem gets the present parameters, and stays read or unread. If it has them already, nothing
// changes.
func Renew(tx *db.Tx, n Notice) error {
	row, err := tx.Notice.Query().Where(notice.PropertyID(n.PropertyID), notice.OnceKey(n.OnceKey)).Only(tx.Context())
	switch {
	case ent.IsNotFound(err):
		return Add(tx, n)
	case err != nil:
		return fmt.Errorf("look for a notice: %w", err)
	}
	if err := n.Kind.Message(n.Params).Check(); err != nil {
		return fmt.Errorf("renew a notice: %w", err)
	}
	if n.Params == nil {
		n.Params = message.Params{} // nil would mark a notice with a stored text
	}
	if message.Same(n.Params, row.Parameters) {
		return nil
	}
	if err := tx.Notice.UpdateOne(row).Where(notice.PropertyID(n.PropertyID)).SetParameters(n.Params).Exec(tx.Context()); err != nil {
		return fmt.Errorf("renew a notice: %w", err)
	}
	watch.Notify(tx, n.PropertyID, watch.Notices, row.ID)
	return nil
}

// SupersedeRead makes room for another notice of the problem with this OnceKey if staff have read the present one: Add and Renew then add
// one. It is for problems of which each occurrence is news, such as messages of a guest. The former notice stays in the list.
func SupersedeRead(tx *db.Tx, propertyID, onceKey string) error {
	n, err := tx.Notice.Update().Where(notice.PropertyID(propertyID), notice.OnceKey(onceKey), notice.ReadAtNotNil()).ClearOnceKey().Save(tx.Context())
	if err != nil {
		return fmt.Errorf("supersede a notice that was read: %w", err)
	}
	if n > 0 {
		watch.Notify(tx, propertyID, watch.Notices)
	}
	return nil
}

// Text renders a stored notice for a reader. Notices of old versions have a stored text instead of parameters.
func Text(n *Row, to message.Reader) string {
	if n.Parameters == nil {
		return n.Text
	}
	return to.Text(MessageOf(n))
}

// MessageOf returns the message of a stored notice that has parameters. A notice of an old version can lack parameters of the text of today:
// they render as "".
func MessageOf(n *Row) message.Message {
	params := message.Params{}
	for _, name := range Kinds[Kind(n.Kind)] {
		params[name] = nil
	}
	maps.Copy(params, n.Parameters)
	return Kind(n.Kind).Message(params)
}

// IsOpen reports whether the problem with this OnceKey has a notice and is not resolved.
func IsOpen(tx *db.Tx, onceKey string) (bool, error) {
	found, err := tx.Notice.Query().Where(notice.OnceKey(onceKey)).Exist(tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for a notice: %w", err)
	}
	return found, nil
}

// OpenOf returns the OnceKeys among onceKeys whose problem is open: the property has a notice of it, and it is not resolved.
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

// Resolve ends the problems with these OnceKeys, and notifies the property's streams. Their notices stay in the list, read or unread. If a
// problem occurs again, staff are notified again. It ignores keys without an open problem.
func Resolve(tx *db.Tx, propertyID string, onceKeys ...string) error {
	if len(onceKeys) == 0 {
		return nil
	}
	return resolve(tx, propertyID, notice.OnceKeyIn(onceKeys...))
}

// ResolveAbout ends the problems of one kind about one object, whose id is subject. It does not end notices without a OnceKey.
func ResolveAbout(tx *db.Tx, propertyID string, kind Kind, subject string) error {
	return resolve(tx, propertyID, notice.Kind(string(kind)), notice.Subject(subject), notice.OnceKeyNotNil())
}

// resolve marks all notices of a property that match all conditions as resolved now. The conditions must select open problems, by the
// OnceKey: resolve does not check it.
func resolve(tx *db.Tx, propertyID string, which ...predicate.Notice) error {
	n, err := tx.Notice.Update().Where(append(which, notice.PropertyID(propertyID))...).ClearOnceKey().SetResolvedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("resolve notices: %w", err)
	}
	if n > 0 {
		watch.Notify(tx, propertyID, watch.Notices)
	}
	return nil
}

// Forget deletes up to most notices that were created before a time, and returns their number. It also deletes notices of open problems:
// staff are notified again when such a problem is next detected.
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

// Filter selects notices of a property; the zero Filter selects all.
type Filter struct {
	UnreadOnly bool
	Without    []string // kinds that are left out
}

// query returns the database query for the notices of a property that match the filter.
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

// List returns at most size notices of a property, the newest first. after is the id of the last notice of the page before, or "".
func List(view *db.Tx, propertyID string, f Filter, size int, after string) ([]*ent.Notice, error) {
	q := f.query(view, propertyID)
	if after != "" {
		q = q.Where(notice.IDLT(after))
	}
	return q.Order(notice.ByID(sql.OrderDesc())).Limit(size).All(view.Context())
}

// Unread returns the number of unread notices of a property. It does not count the kinds in without.
func Unread(view *db.Tx, propertyID string, without []string) (int, error) {
	return Filter{UnreadOnly: true, Without: without}.query(view, propertyID).Aggregate(ent.Count()).Int(view.Context())
}

// mostOpen is the largest number that [CountOpen] returns. If more problems are open, it also returns that there are more.
const mostOpen = 200

// incidents are kinds that report something that happened once. Their notices do not count as open problems, resolved or not. Neither does
// the alarm of a jammed lock: see isJamAlarm.
var incidents = []Kind{LockTampered, Guessing, BackupCodeUsed, MailFailed, MailFailedOther}

// lockPrefix begins the ids of locks.
const lockPrefix = id.Lock + "_"

// isJamAlarm reports whether a notice is the alarm of a jammed lock, which nothing ends. A notice of the same kind about a stay ends when
// the bolt moves again.
func isJamAlarm(row *Row) bool {
	return Kind(row.Kind) == LockJammed && strings.HasPrefix(row.Subject, lockPrefix)
}

// calls are kinds with which a guest calls for help. Only a person can end such a problem, so a call is open until it is marked as read.
var calls = []Kind{CheckInHelp, KioskHelp}

// IsProblemOpen reports whether the problem of a notice is still open: it has a OnceKey and is not resolved. It is false for incidents. A
// guest's call for help is open until its notice is read.
func IsProblemOpen(row *Row) bool {
	if slices.Contains(calls, Kind(row.Kind)) {
		return row.ReadAt == nil
	}
	return row.OnceKey != nil && !slices.Contains(incidents, Kind(row.Kind)) && !isJamAlarm(row)
}

// CountOpen returns how many problems of a property are open, with read or unread notices, up to mostOpen. more means that there are
// further ones. It counts the same notices as [IsProblemOpen].
func CountOpen(view *db.Tx, propertyID string) (n int, more bool, err error) {
	ids, err := view.Notice.Query().Where(notice.PropertyID(propertyID), notice.Or(
		notice.And(notice.OnceKeyNotNil(), notice.KindNotIn(append(names(incidents), names(calls)...)...),
			notice.Not(notice.And(notice.Kind(string(LockJammed)), notice.SubjectHasPrefix(lockPrefix)))),
		notice.And(notice.ReadAtIsNil(), notice.KindIn(names(calls)...)),
	)).Limit(mostOpen + 1).IDs(view.Context())
	if err != nil {
		return 0, false, fmt.Errorf("count open problems: %w", err)
	}
	return min(len(ids), mostOpen), len(ids) > mostOpen, nil
}

// names returns kinds as the database stores them.
func names(kinds []Kind) (stored []string) {
	for _, k := range kinds {
		stored = append(stored, string(k))
	}
	return stored
}

// ListNew returns at most limit unread notices of these kinds whose problem is not resolved, also incidents, the oldest first. Their ids
// are above after and at most through.
func ListNew(view *db.Tx, propertyID string, kinds []string, after, through string, limit int) ([]*Row, error) {
	rows, err := view.Notice.Query().Where(notice.PropertyID(propertyID), notice.ReadAtIsNil(), notice.ResolvedAtIsNil(),
		notice.KindIn(kinds...), notice.IDGT(after), notice.IDLTE(through)).
		Order(notice.ByID()).Limit(limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list new notices: %w", err)
	}
	return rows, nil
}

// ListSince returns at most limit notices of these kinds, read or unread, that were created at a time or later and whose problem is not
// resolved, the oldest first. Their ids are above after.
func ListSince(view *db.Tx, propertyID string, kinds []string, since time.Time, after string, limit int) ([]*Row, error) {
	rows, err := view.Notice.Query().Where(notice.PropertyID(propertyID), notice.CreatedAtGTE(since), notice.ResolvedAtIsNil(),
		notice.KindIn(kinds...), notice.IDGT(after)).Order(notice.ByID()).Limit(limit).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the latest notices: %w", err)
	}
	return rows, nil
}

// LatestID returns the id of the newest notice of a property that was created at a time or before it, or "" if there is none.
func LatestID(view *db.Tx, propertyID string, until time.Time) (string, error) {
	ids, err := view.Notice.Query().Where(notice.PropertyID(propertyID), notice.CreatedAtLTE(until)).Order(notice.ByID(sql.OrderDesc())).Limit(1).IDs(view.Context())
	if err != nil {
		return "", fmt.Errorf("find the newest notice: %w", err)
	}
	if len(ids) == 0 {
		return "", nil
	}
	return ids[0], nil
}

// MarkRead marks notices of a property as read and returns how many of them were unread. Without ids it marks all. It does not resolve
// their problems.
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
