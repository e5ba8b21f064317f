package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/lock/slot"
)

// Lock is a smart lock or a smart disc.
type Lock struct{ ent.Schema }

func (Lock) Annotations() []schema.Annotation { return table("locks", aboutThings()) }

func (Lock) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("name").Annotations(none).MaxRuneLen(255),
		field.Bool("named").Annotations(none).Default(false).Comment("Staff gave the lock its name; until then its bridge does."),
		field.String("kind").Annotations(none).MaxRuneLen(8).Default("lock").Comment("lock or disc."),
		field.String("bridge_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("address").Annotations(none).MaxRuneLen(255).Immutable().Comment("The address of the lock at the driver of its bridge."),
		field.String("model").Annotations(none).MaxRuneLen(255).Default(""),
		field.String("door_id").Annotations(row).MaxRuneLen(40).Optional().Nillable().Unique().Comment("The space or gate whose door has the lock."),
		field.Time("door_since").Annotations(row).Optional().Nillable().SchemaType(momentType).Comment("When the lock was put on this door, or taken off; unset: it was never moved."),
		field.JSON("capabilities", slot.Capabilities{}).Annotations(none),
		field.JSON("status", LockStatus{}).Annotations(none),
		field.Int64("generation").Annotations(none).Default(0).Comment("The last generation that was generated for a slot of this lock."),
		maybe("unreached_at"),
		maybe("reached_at"),
		maybe("offline_notified_at"),
		maybe("battery_notified_at"),
		maybe("clock_notified_at"),
		created(),
	}
}

func (Lock) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "id"), index.Fields("bridge_id", "address").Unique(),
		index.Fields("unreached_at").Annotations(entsql.IndexWhere("unreached_at IS NOT NULL")),
		index.Fields("offline_notified_at").Annotations(entsql.IndexWhere("offline_notified_at IS NOT NULL")),
	}
}
