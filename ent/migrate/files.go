package migrate

import "embed"

// Files holds the versioned migrations, NNNN_name.sql below the dialect's directory
// ("sqlite", "postgres"), the same numbers in both. They are written by make migration
// and applied by internal/db.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
