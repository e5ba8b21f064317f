package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Integration is a partner app at a property.
type Integration struct{ ent.Schema }

func (Integration) Annotations() []schema.Annotation {
	return table("integrations", aboutThings(privacy.Deletion))
}

func (Integration) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("app_id").Annotations(row).MaxRuneLen(40).Optional().Nillable().Immutable().Comment("Absent for the built-in integration, which the api-keys of the property belong to."),
		field.String("name").Annotations(none).MaxRuneLen(255),
		field.Strings("scopes").Annotations(none),
		field.Bytes("signing_secret").Annotations(sealed(secret)).Optional().Comment("The secret that signs each call to the partner, sealed."),
		field.Bytes("previous_signing_secret").Annotations(sealed(secret)).Optional(),
		maybe("spaces_read_at"),
		maybe("spaces_tried_at"),
		field.Int("spaces_failures").Annotations(none).Default(0),
		maybe("disabled_at"),
		maybe("invitations_at"), // when staff let its guests be mailed
		created(),
	}
}

func (Integration) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "app_id").Unique(), index.Fields("app_id"),
	}
}
