package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/message"
	"latchkey.dev/internal/privacy"
)

// Endpoint is one address of a partner that the service calls.
type Endpoint struct{ ent.Schema }

func (Endpoint) Annotations() []schema.Annotation {
	return table("endpoints", aboutThings(privacy.Deletion))
}

func (Endpoint) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("action").Annotations(none).MaxRuneLen(32).Immutable(),
		field.String("url").Annotations(none).MaxRuneLen(2048),
		field.String("method").Annotations(none).MaxRuneLen(8),
		field.Bytes("sealed_token").Annotations(sealed(secret)).Comment("The token that calls carry, sealed."),
		field.String("token_place").Annotations(none).MaxRuneLen(8),
		field.Int("failures").Annotations(none).Default(0),
		maybe("last_success_at"),
		maybe("last_failure_at"),
		field.String("last_error").Annotations(none).MaxRuneLen(1024).Default("").Comment("The last failure in English, for the partner."),
		field.JSON("last_problem", message.Message{}).Annotations(none).Optional().Comment("The last failure for staff, which the API renders; null: only last_error is known."),
		created(),
	}
}

func (Endpoint) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("integration_id", "action").Unique(),
	}
}
