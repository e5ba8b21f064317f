package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// PartnerSpace is one entry of the last good reading of getSpaces.
type PartnerSpace struct{ ent.Schema }

func (PartnerSpace) Annotations() []schema.Annotation { return table("partner_spaces", aboutThings()) }

func (PartnerSpace) Fields() []ent.Field {
	return []ent.Field{

		field.Int("id").Annotations(row),
		property(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("external_id").Annotations(row).MaxRuneLen(255).Immutable(),
		field.String("type").Annotations(none).MaxRuneLen(8),
		field.String("name").Annotations(none).MaxRuneLen(255),
		field.String("parent_external_id").Annotations(row).MaxRuneLen(255).Default(""),
		field.String("floor").Annotations(none).MaxRuneLen(64).Default(""),
		field.Bool("is_private").Annotations(none),
		field.Bool("is_active").Annotations(none),
		maybe("gone_at"),
		moment("seen_at"),
	}
}

func (PartnerSpace) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("integration_id", "external_id").Unique(),
	}
}
