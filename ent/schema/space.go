package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Space is a room, a dorm or a bed in one.
type Space struct{ ent.Schema }

func (Space) Annotations() []schema.Annotation { return table("spaces", aboutThings()) }

func (Space) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("type").Annotations(none).MaxRuneLen(8).Comment("Room, Bed or Dorm."),
		field.String("name").Annotations(none).MaxRuneLen(255),
		field.String("floor").Annotations(none).MaxRuneLen(64).Default(""),
		field.String("parent_id").Annotations(row).MaxRuneLen(40).Default("").Comment("The dorm of a bed."),
		field.Bool("is_private").Annotations(none),
		field.Bool("is_active").Annotations(none).Default(true),
		created(),
	}
}

func (Space) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "name"), index.Fields("property_id", "parent_id"),
	}
}
