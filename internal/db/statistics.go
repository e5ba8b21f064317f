package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Statistics for SQLite of indexes that begin with the property. An installation has few properties with many rows
// each.
const (
	rowsInTable    = 1_000_000
	rowsOfProperty = 50_000
	rowsOfPrefix   = 10 // rows for each longer prefix of such an index
)

// writeStatistics tells SQLite's query planner that a property has many rows. Without statistics it expects as few rows of a
// property as of a lock or a reservation. Since each statement names the property, for the sake of tenants, it then reads all
// rows of the property, where the index of the other column leads to a few. The statistics are fixed: the plans are the same
// in every installation and do not change as it grows. PostgreSQL gathers statistics by itself.
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

// statistics formats statistics as in sqlite_stat1: the rows of the table, then the rows that have one value of each
// prefix of the index's columns.
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
