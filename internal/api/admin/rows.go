package admin

import "latchkey.dev/ent"

// Aliases of the database models, so that no other file of this package imports them.
type (
	appRow   = ent.App
	tokenRow = ent.Token
)
