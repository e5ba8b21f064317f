package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Idempotency remembers the answer to a call that carried an Idempotency-Key.
type Idempotency struct{ ent.Schema }

func (Idempotency) Annotations() []schema.Annotation {
	return table("idempotency_keys", aboutGuests(privacy.Expiry).Keeps("a repeated call must get the same answer; it has no booker and no guest"))
}

func (Idempotency) Fields() []ent.Field {
	return []ent.Field{

		field.Int64("id").Annotations(row),
		field.String("holder").Annotations(pseudonym).MaxRuneLen(64).Immutable().Comment("The integration or token that called."),
		field.String("method").Annotations(pseudonym).MaxRuneLen(128).Immutable(),
		field.String("key").Annotations(pseudonym).MaxRuneLen(255).Immutable(),
		field.Bytes("request_hash").Annotations(hashed(privacy.Pseudonym)).Immutable(),
		field.Bytes("answer").Annotations(sealed(privacy.Pseudonym)).Comment("The answer, sealed, without PIN and token. Empty: it had a secret, which is not kept."),
		field.String("property_id").Annotations(row).MaxRuneLen(40).Default("").Immutable(),
		moment("expires_at"),
		created(),
	}
}

func (Idempotency) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("holder", "method", "key", "property_id").Unique(), index.Fields("expires_at"),
	}
}
