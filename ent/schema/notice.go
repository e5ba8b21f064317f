package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Notice tells staff what needs a person.
type Notice struct{ ent.Schema }

func (Notice) Annotations() []schema.Annotation { return table("notices") }

func (Notice) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("kind").MaxRuneLen(64).Immutable(),
		field.String("subject").MaxRuneLen(64).Immutable().Comment("The id it is about."),
		field.JSON("parameters", map[string]any{}).Optional().Comment("Of its text, which the API renders."),
		field.String("text").MaxRuneLen(1024).Immutable().Comment("Of a notice from before there were parameters, or empty."),
		field.String("once_key").MaxRuneLen(400).Optional().Nillable().Unique().Comment("Told once while it stands."),
		maybe("read_at"),
		created(),
	}
}

func (Notice) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "created_at"),
	}
}
