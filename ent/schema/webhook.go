package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/message"
	"latchkey.dev/internal/privacy"
)

// Webhook is one address of a partner that receives events. Its cursors are event_cursors with its id as the subscriber.
type Webhook struct{ ent.Schema }

func (Webhook) Annotations() []schema.Annotation {
	return table("webhooks", aboutThings(privacy.Deletion))
}

func (Webhook) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("url").Annotations(none).MaxRuneLen(2048),
		field.Strings("kinds").Annotations(none).Comment("The kinds of events that it receives; all: every kind."),
		field.Bytes("secret").Annotations(sealed(secret)).Comment("The secret that signs each message, sealed."),
		field.Bytes("previous_secret").Annotations(sealed(secret)).Optional().Comment("The previous secret, which also signs until previous_until, sealed."),
		maybe("previous_until"),
		maybe("disabled_at"),
		field.String("disabled_reason").Annotations(none).MaxRuneLen(16).Default(""),
		field.Int("failures").Annotations(none).Default(0).Comment("Failed deliveries since the last successful one."),
		maybe("last_success_at"),
		maybe("last_failure_at"),
		field.String("last_error").Annotations(none).MaxRuneLen(1024).Default("").Comment("The last failure in English, for the partner."),
		field.JSON("last_problem", message.Message{}).Annotations(none).Optional().Comment("The last failure for staff, which the API renders; null: only last_error is known."),
		field.Int("given_up").Annotations(none).Default(0).Comment("The number of events that were given up."),
		maybe("given_up_at"),
		field.Int64("drained_by").Annotations(none).Default(0).Comment("The job that delivers its events now."),
		maybe("drained_until"),
		created(),
	}
}

func (Webhook) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("integration_id"), index.Fields("property_id"),
	}
}
