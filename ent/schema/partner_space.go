package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// PartnerSpace is one entry of the last good reading of getSpaces.
type PartnerSpace struct{ ent.Schema }

func (PartnerSpace) Annotations() []schema.Annotation { return table("partner_spaces") }

func (PartnerSpace) Fields() []ent.Field {
	return []ent.Field{

		field.Int("id"),
		property(),
		field.String("integration_id").MaxRuneLen(40).Immutable(),
		field.String("external_id").MaxRuneLen(255).Immutable(),
		field.String("type").MaxRuneLen(8),
		field.String("name").MaxRuneLen(255),
		field.String("parent_external_id").MaxRuneLen(255).Default(""),
		field.String("floor").MaxRuneLen(64).Default(""),
		field.Bool("is_private"),
		field.Bool("is_active"),
		maybe("gone_at"),
		moment("seen_at"),
	}
}

func (PartnerSpace) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("integration_id", "external_id").Unique(),
	}
}
