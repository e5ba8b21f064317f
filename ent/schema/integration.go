package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Integration is a partner app at a property.
type Integration struct{ ent.Schema }

func (Integration) Annotations() []schema.Annotation { return table("integrations") }

func (Integration) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("app_id").MaxRuneLen(40).Optional().Nillable().Immutable().Comment("Absent for the built-in integration, which the api-keys of the property belong to."),
		field.String("name").MaxRuneLen(255),
		field.Strings("scopes"),
		field.Bytes("signing_secret").Optional().Comment("Sealed; signs each call to the partner."),
		field.Bytes("previous_signing_secret").Optional(),
		maybe("spaces_read_at"),
		maybe("spaces_tried_at"),
		field.Int("spaces_failures").Default(0),
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
