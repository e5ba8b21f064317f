package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Mapping connects a space of a partner to a space of the property.
type Mapping struct{ ent.Schema }

func (Mapping) Annotations() []schema.Annotation { return table("mappings", aboutThings()) }

func (Mapping) Fields() []ent.Field {
	return []ent.Field{

		field.Int("id").Annotations(row),
		property(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("external_id").Annotations(row).MaxRuneLen(255).Immutable(),
		field.String("space_id").Annotations(row).MaxRuneLen(40),
		field.String("name").Annotations(none).MaxRuneLen(255).Comment("The partner's name of the space when it was mapped."),
		field.String("type").Annotations(none).MaxRuneLen(8).Comment("The partner's type of the space when it was mapped."),
		field.String("parent_external_id").Annotations(none).MaxRuneLen(255).Optional().Comment("The partner's room of a bed when it was mapped; null or empty: it sent none."),
		created(),
	}
}

func (Mapping) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("integration_id", "external_id").Unique(), index.Fields("integration_id", "space_id").Unique(), index.Fields("space_id"),
	}
}
