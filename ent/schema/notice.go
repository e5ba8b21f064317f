package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Notice is a message to staff about something that a person must do.
type Notice struct{ ent.Schema }

func (Notice) Annotations() []schema.Annotation {
	return table("notices", aboutGuests(privacy.Erasure, privacy.Stay, privacy.Events))
}

func (Notice) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("kind").Annotations(pseudonym).MaxRuneLen(64).Immutable(),
		field.String("subject").Annotations(pseudonym).MaxRuneLen(64).Immutable().Comment("The id of the object that the notice is about."),
		field.JSON("parameters", map[string]any{}).Annotations(pseudonym).Optional().Comment("The parameters of its text, which the API renders."),
		field.String("text").Annotations(pseudonym).MaxRuneLen(1024).Immutable().Comment("The text of a notice that was stored without parameters, or empty."),
		field.String("once_key").Annotations(pseudonym).MaxRuneLen(400).Optional().Nillable().Unique().Comment("The notice is created once while its cause lasts."),
		maybe("read_at"),
		maybe("resolved_at"), // the problem ended
		created(),
	}
}

func (Notice) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "created_at"),
	}
}
