package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Endpoint is one address of a partner that the service calls.
type Endpoint struct{ ent.Schema }

func (Endpoint) Annotations() []schema.Annotation { return table("endpoints") }

func (Endpoint) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("integration_id").MaxRuneLen(40).Immutable(),
		field.String("action").MaxRuneLen(32).Immutable(),
		field.String("url").MaxRuneLen(2048),
		field.String("method").MaxRuneLen(8),
		field.Bytes("sealed_token").Comment("Sealed."),
		field.String("token_place").MaxRuneLen(8),
		field.Int("failures").Default(0),
		maybe("last_success_at"),
		maybe("last_failure_at"),
		field.String("last_error").MaxRuneLen(1024).Default(""),
		created(),
	}
}

func (Endpoint) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("integration_id", "action").Unique(),
	}
}
