package admin

import "latchkey.dev/ent"

// The rows that the domain answers with. The only place of this package that names the models.
type (
	appRow   = ent.App
	tokenRow = ent.Token
)
