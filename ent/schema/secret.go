package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"latchkey.dev/internal/privacy"
)

// Secret is a named secret of the installation, sealed, such as the key of the CA for bridges.
type Secret struct{ ent.Schema }

func (Secret) Annotations() []schema.Annotation {
	return table("secrets", aboutThings(privacy.Superseded))
}

func (Secret) Fields() []ent.Field {
	return []ent.Field{

		field.String("id").Annotations(row).MaxRuneLen(64).Immutable(),
		field.Bytes("sealed").Annotations(sealed(secret)),
		created(),
	}
}
