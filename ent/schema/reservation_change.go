package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// ReservationChange is an entry of the list of reservations by time of change. Each change appends an entry, and lists skip the
// older entries of a reservation until a sweep deletes them. An index on the time in the table of reservations would cost each
// change a deletion in the middle of the index.
type ReservationChange struct{ ent.Schema }

func (ReservationChange) Annotations() []schema.Annotation {
	return table("reservation_changes", aboutGuests(privacy.Superseded, privacy.Stay).Keeps("it names no guest"))
}

func (ReservationChange) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Annotations(row),
		property(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		moment("changed_at"), // updated_at of the reservation after the change: if the reservation has another by now, the entry is out of date
	}
}

func (ReservationChange) Indexes() []ent.Index {
	return []ent.Index{
		// The integration is last, so that a list of one integration skips the others without reading the table.
		index.Fields("property_id", "changed_at", "reservation_id", "integration_id").Unique().StorageKey("reservationchange_place"),
	}
}
