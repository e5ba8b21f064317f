package migrate

import (
	"embed"

	"entgo.io/ent/dialect"
)

// Files holds the versioned migrations, NNNN_name.sql below the dialect's directory
// ("sqlite", "postgres"), the same numbers in both. They are written by make migration
// and applied by internal/db.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS

// Folder returns the name of the directory with a dialect's migrations: "sqlite" for what ent calls "sqlite3", otherwise the same name.
func Folder(name string) string {
	if name == dialect.SQLite {
		return "sqlite"
	}
	return name
}
