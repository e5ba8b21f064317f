package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// EventCursor is the position up to which a subscriber has received events. The cursor of a subscriber names no subject. A subject
// whose delivery failed has a cursor of its own until its delivery succeeds. A subscriber is a part of the program or a webhook.
type EventCursor struct{ ent.Schema }

func (EventCursor) Annotations() []schema.Annotation { return table("event_cursors", aboutThings()) }

func (EventCursor) Fields() []ent.Field {
	return []ent.Field{

		field.Int64("id").Annotations(row),
		field.String("subscriber").Annotations(none).MaxLen(64).Immutable(),
		field.String("subject").Annotations(none).MaxRuneLen(40).Default("").Immutable(),
		field.Int64("position").Annotations(row),
		field.Int("attempts").Annotations(none).Default(0).Comment("Failed deliveries after the position."),
		maybe("retry_at"),
		text("reason", 64, none),
		field.String("webhook_id").Annotations(row).MaxRuneLen(40).Optional().Nillable().Immutable().Comment("The webhook that is the subscriber, so that its cursors go with it."),
		created(),
	}
}

func (EventCursor) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("subscriber", "subject").Unique(), index.Fields("webhook_id", "retry_at"),
	}
}
