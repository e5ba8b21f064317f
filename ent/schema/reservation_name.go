package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// ReservationName finds the reservations of a booker by name without storing the name: it is a keyed hash of the beginning of one
// word of the name. It is deleted with its reservation.
type ReservationName struct{ ent.Schema }

func (ReservationName) Annotations() []schema.Annotation {
	return table("reservation_names", aboutGuests(privacy.Erasure, privacy.Stay))
}

func (ReservationName) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").Annotations(row),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Bytes("token").Annotations(hashed(personal)).Immutable(),
	}
}

func (ReservationName) Indexes() []ent.Index {
	// The key of a token's hash belongs to the property, so the index needs no property. Tokens are random: each byte of their index
	// is written in a random place.
	return []ent.Index{index.Fields("token"), index.Fields("reservation_id")}
}
