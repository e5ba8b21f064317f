package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Idempotency remembers the answer to a call that carried an Idempotency-Key.
type Idempotency struct{ ent.Schema }

func (Idempotency) Annotations() []schema.Annotation { return table("idempotency_keys") }

func (Idempotency) Fields() []ent.Field {
	return []ent.Field{

		field.Int64("id"),
		field.String("holder").MaxRuneLen(64).Immutable().Comment("The integration or token that called."),
		field.String("method").MaxRuneLen(128).Immutable(),
		field.String("key").MaxRuneLen(255).Immutable(),
		field.Bytes("request_hash").Immutable(),
		field.Bytes("answer").Comment("Sealed; without PIN and token. Empty where it showed a secret that is not kept."),
		field.String("property_id").MaxRuneLen(40).Default("").Immutable(),
		moment("expires_at"),
		created(),
	}
}

func (Idempotency) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("holder", "method", "key").Unique(), index.Fields("expires_at"),
	}
}
