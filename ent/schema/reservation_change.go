package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// ReservationChange says that a reservation was stored. Lists by time of change are read from here: rows come at the end of
// this table, or close to it, where an index of reservations by a time that moves with each change would take entries out of its midst.
type ReservationChange struct{ ent.Schema }

func (ReservationChange) Annotations() []schema.Annotation { return table("reservation_changes") }

func (ReservationChange) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		property(),
		field.String("integration_id").MaxRuneLen(40).Immutable(),
		field.String("reservation_id").MaxRuneLen(40).Immutable(),
		moment("changed_at"), // the updated_at of then: where the reservation has another, a later change stands for it
	}
}

func (ReservationChange) Indexes() []ent.Index {
	return []ent.Index{
		// The integration is last so that lists of one pass over the others without a look at the table.
		index.Fields("property_id", "changed_at", "reservation_id", "integration_id").Unique(),
	}
}
