package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Event is something that happened. It is stored in the transaction of the change.
type Event struct{ ent.Schema }

func (Event) Annotations() []schema.Annotation {
	return table("events", aboutGuests(privacy.Events, privacy.Stay).Keeps("it names no guest"))
}

func (Event) Fields() []ent.Field {
	return []ent.Field{

		field.Int64("id").Annotations(none),
		property(),
		field.String("subject").Annotations(pseudonym).MaxRuneLen(40).Immutable(),
		field.Int64("subject_sequence").Annotations(none).Immutable(),
		field.String("kind").Annotations(none).MaxRuneLen(64).Immutable(),
		field.JSON("body", map[string]any{}).Annotations(pseudonym).Immutable(),
		field.String("grant_id").Annotations(row).MaxLen(40).Optional().Nillable().Immutable().Comment("The access it was about, where that is not its subject."),
		moment("occurred_at"),
		field.Int64("position").Annotations(none).Optional().Nillable().Comment("The order in which subscribers receive it, which the dispatcher assigns after the commit; 0: internal, no subscriber receives it."),
		created(),
	}
}

func (Event) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("subject", "subject_sequence").Unique(), index.Fields("property_id", "id"),
		index.Fields("id").Annotations(entsql.IndexWhere("position IS NULL")),
		index.Fields("position").Unique().Annotations(entsql.IndexWhere("position > 0")),
		index.Fields("property_id", "position").Annotations(entsql.IndexWhere("position > 0")),
		index.Fields("grant_id", "id").Annotations(entsql.IndexWhere("grant_id IS NOT NULL")),
	}
}
