package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// ReservationName finds the reservations of a booker by name, without holding the name: it is a keyed hash of the beginning
// of one word of it. It goes with its reservation.
type ReservationName struct{ ent.Schema }

func (ReservationName) Annotations() []schema.Annotation { return table("reservation_names") }

func (ReservationName) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		property(),
		field.String("reservation_id").MaxRuneLen(40).Immutable(),
		field.Bytes("token").Immutable(),
	}
}

func (ReservationName) Indexes() []ent.Index {
	// A token is keyed by its property, so that the index does without the property. Tokens are random: each byte of their index
	// is written in a random place.
	return []ent.Index{index.Fields("token"), index.Fields("reservation_id")}
}
