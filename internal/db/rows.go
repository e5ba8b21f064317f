package db

import (
	"context"
	"errors"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// ReadOne scans the row that a statement returns, and reports whether there is one; of several rows, the last remains. Use it for the few
// statements on the critical path of a request: ent reads whole rows and takes several times as long and as much memory.
func (t *Tx) ReadOne(statement string, args []any, into ...any) (found bool, err error) {
	if err := t.ctx.Err(); err != nil {
		return false, err
	}
	ctx := t.ctx
	if t.unwatched {
		ctx = context.WithoutCancel(ctx)
	}
	rows, err := t.QueryContext(ctx, statement, args...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() && err == nil {
		found, err = true, rows.Scan(into...)
	}
	// PostgreSQL may report a serialization conflict only after the row.
	return found, errors.Join(err, rows.Err())
}

// ReadList runs a query and returns its rows, nil if there are none. columns returns pointers to the fields of a row into which the columns
// are scanned, in their order.
func ReadList[R any](t *Tx, columns func(row *R) []any, query string, args ...any) (list []R, err error) {
	rows, err := t.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var row R
		if err := rows.Scan(columns(&row)...); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	// PostgreSQL may report a serialization conflict only after the rows.
	return list, rows.Err()
}

// ReadIDs returns the ids that a query selects, nil if there are none.
func (t *Tx) ReadIDs(query string, args ...any) ([]string, error) {
	return ReadList(t, func(id *string) []any { return []any{id} }, query, args...)
}

// OrZero returns the value of a nullable column, or the zero value for nil.
func OrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// SetOrClear calls set with a time, or unset if the time is zero. It serves ent's setters of nullable columns.
func SetOrClear[U any](t time.Time, set func(time.Time) U, unset func() U) {
	if t.IsZero() {
		unset()
		return
	}
	set(t)
}

// Insert runs an INSERT, such as one with ON CONFLICT, and returns the number of rows that it inserted or updated: 0 if a conflict made it
// do nothing. It replaces ent's generated upserts, which made the generated code a third larger.
func (t *Tx) Insert(b *entsql.InsertBuilder) (int64, error) {
	b.SetDialect(dialect.Postgres) // SQLite also accepts PostgreSQL's placeholders and quotes
	query, args, err := b.QueryErr()
	if err != nil {
		return 0, err
	}
	result, err := t.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
