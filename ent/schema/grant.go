package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Grant is the access of one stay: a window, a PIN and a SmartKey.
type Grant struct{ ent.Schema }

func (Grant) Annotations() []schema.Annotation {
	return table("grants", aboutGuests(privacy.Stay).Keeps("locks may hold its code"))
}

func (Grant) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("reservation_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("space_id").Annotations(row).MaxRuneLen(40).Default("").Comment("The space of the stay, through the mapping."),
		moment("placed_at"), // when it came to that space
		field.String("from_space_id").Annotations(row).MaxRuneLen(40).Default("").Comment("The space before the last move; empty: the stay has not moved."),
		moment("not_before"),
		moment("not_after"),
		field.String("pin_id").Annotations(row).MaxRuneLen(40).Default("").Comment("The PIN for all doors; empty where each has its own."),
		field.Int("redraws").Annotations(pseudonym).Default(0).Comment("New PINs because a lock refused one as a duplicate."),
		field.Int("key_generation").Annotations(pseudonym).Default(1).Comment("SmartKeys of a lower generation no longer count."),
		field.Bool("keyed").Annotations(pseudonym).Default(false).Comment("A phone got a token of it."),
		maybe("ended_at"),
		field.String("end_reason").Annotations(pseudonym).MaxRuneLen(32).Default(""),
		field.String("open_key").Annotations(pseudonym).MaxRuneLen(40).Optional().Nillable().Unique().Comment("The reservation while the grant is open: one at a time."),
		maybe("released_at"),
		created(),
	}
}

func (Grant) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("reservation_id"), index.Fields("property_id", "ended_at"), index.Fields("space_id", "ended_at"),
	}
}
