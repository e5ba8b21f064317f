package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Gate is the door of a common area.
type Gate struct{ ent.Schema }

func (Gate) Annotations() []schema.Annotation { return table("gates", aboutThings()) }

func (Gate) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("name").Annotations(none).MaxRuneLen(255),
		field.String("floor").Annotations(none).MaxRuneLen(64).Default(""),
		field.Strings("space_ids").Annotations(none).Comment("The spaces whose guests it lets in; empty: those of all."),
		created(),
	}
}

func (Gate) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "name"),
	}
}
