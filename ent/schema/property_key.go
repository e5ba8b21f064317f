package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"

	"latchkey.dev/internal/privacy"
)

// PropertyKey holds the data key of one property, sealed.
type PropertyKey struct{ ent.Schema }

func (PropertyKey) Annotations() []schema.Annotation {
	return table("property_keys", aboutThings(privacy.Deletion))
}

func (PropertyKey) Fields() []ent.Field {
	return []ent.Field{

		field.String("id").Annotations(row).MaxRuneLen(40).Immutable().Comment("The property; empty: the key of the installation."),
		field.Bytes("sealed").Annotations(sealed(secret)).Comment("Tink keyset under the key-encryption key."),
		created(),
	}
}
