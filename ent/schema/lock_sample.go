package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// LockSample is a reading of a lock that differs by a step from the one before: battery in percent, clock in milliseconds ahead, link 1 or 0.
type LockSample struct{ ent.Schema }

func (LockSample) Annotations() []schema.Annotation {
	return table("lock_samples", aboutThings(privacy.Events))
}

func (LockSample) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Annotations(row),
		property(),
		field.String("lock_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("kind").Annotations(none).MaxRuneLen(8).Immutable().Comment("battery, link or clock."),
		field.Int64("value").Annotations(none).Immutable(),
		moment("at"),
	}
}

func (LockSample) Indexes() []ent.Index {
	return []ent.Index{index.Fields("lock_id", "kind", "id"), index.Fields("at")}
}
