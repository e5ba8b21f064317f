package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Assumed row counts, for SQLite's statistics of indexes that begin with property_id. An installation has few properties with many rows
// each.
const (
	rowsInTable    = 1_000_000
	rowsOfProperty = 50_000 // rows with the same property, in the same table
	rowsOfPrefix   = 10     // rows with the same values in two or more of the first columns of an index
)

// writeStatistics makes SQLite's query planner assume that a property has many rows. Without statistics it assumes few, and then reads
// all rows of the property although another index leads to a few: each statement names the property, to keep tenants apart. The
// statistics are fixed, so that each installation has the same plans however it grows. PostgreSQL gathers statistics by itself.
func writeStatistics(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "ANALYZE sqlite_schema"); err != nil { // this ANALYZE creates the table sqlite_stat1
		return fmt.Errorf("prepare the statistics: %w", err)
	}
	indexes, err := propertyIndexes(ctx, tx)
	if err != nil {
		return fmt.Errorf("list the indexes of properties: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM sqlite_stat1"); err != nil {
		return fmt.Errorf("remove the former statistics: %w", err)
	}
	for _, i := range indexes {
		if _, err := tx.ExecContext(ctx, "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", i.table, i.name, i.statistics()); err != nil {
			return fmt.Errorf("store the statistics of %s: %w", i.name, err)
		}
	}
	return nil
}

// propertyIndex is an index whose first column is the property.
type propertyIndex struct {
	table, name string
	columns     int
	unique      bool
}

// statistics returns the assumed row counts of the index in the format of sqlite_stat1: the rows of the table, then for each prefix of
// the index's columns the rows that have the same values in it.
func (i propertyIndex) statistics() string {
	counts := []string{fmt.Sprint(rowsInTable), fmt.Sprint(rowsOfProperty)}
	for range i.columns - 1 {
		counts = append(counts, fmt.Sprint(rowsOfPrefix))
	}
	if i.unique {
		counts[len(counts)-1] = "1"
	}
	return strings.Join(counts, " ")
}

// propertyIndexes lists the indexes of an SQLite database whose first column is property_id.
func propertyIndexes(ctx context.Context, tx *sql.Tx) (found []propertyIndex, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT t.name, i.name, i."unique", (SELECT count(*) FROM pragma_index_info(i.name))
		FROM sqlite_schema AS t, pragma_index_list(t.name) AS i
		WHERE t.type = 'table' AND (SELECT name FROM pragma_index_info(i.name) WHERE seqno = 0) = 'property_id'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i propertyIndex
		if err := rows.Scan(&i.table, &i.name, &i.unique, &i.columns); err != nil {
			return nil, err
		}
		found = append(found, i)
	}
	return found, rows.Err()
}
