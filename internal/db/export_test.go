package db

// Waiting is how many callers stand in SQLite's line.
func Waiting(d *DB) int { return len(d.engine.(*sqlite).group.queue) }
