package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// ReservationChange is the place of a reservation in lists by time of change. New ones come at the end of this table, where an
// index of reservations by that time would have each change take an entry out of its midst. One that was left behind, because
// the reservation has another by now, is skipped and swept.
type ReservationChange struct{ ent.Schema }

func (ReservationChange) Annotations() []schema.Annotation { return table("reservation_changes") }

func (ReservationChange) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		property(),
		field.String("integration_id").MaxRuneLen(40).Immutable(),
		field.String("reservation_id").MaxRuneLen(40).Immutable(),
		moment("changed_at"), // the updated_at of then: where the reservation has another, this place was left behind
	}
}

func (ReservationChange) Indexes() []ent.Index {
	return []ent.Index{
		// The integration is last so that lists of one pass over the others without a look at the table.
		index.Fields("property_id", "changed_at", "reservation_id", "integration_id").Unique().StorageKey("reservationchange_place"),
	}
}
