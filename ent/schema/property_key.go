package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// PropertyKey holds the data key of one property, sealed.
type PropertyKey struct{ ent.Schema }

func (PropertyKey) Annotations() []schema.Annotation { return table("property_keys") }

func (PropertyKey) Fields() []ent.Field {
	return []ent.Field{

		field.String("id").MaxRuneLen(40).Immutable().Comment("The property; empty for what belongs to none."),
		field.Bytes("sealed").Comment("Tink keyset under the key-encryption key."),
		created(),
	}
}
