package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Grant is the access of one stay: a window, a PIN and a SmartKey.
type Grant struct{ ent.Schema }

func (Grant) Annotations() []schema.Annotation { return table("grants") }

func (Grant) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("reservation_id").MaxRuneLen(40).Immutable(),
		field.String("space_id").MaxRuneLen(40).Default("").Comment("The space of the stay, through the mapping."),
		moment("placed_at"), // when it came to that space
		field.String("from_space_id").MaxRuneLen(40).Default("").Comment("The space it had before; empty: none."),
		moment("not_before"),
		moment("not_after"),
		field.String("pin_id").MaxRuneLen(40).Default("").Comment("The PIN for all doors; empty where each has its own."),
		field.Int("redraws").Default(0).Comment("New PINs because a lock refused one as a duplicate."),
		field.Int("key_generation").Default(1).Comment("SmartKeys of a lower generation no longer count."),
		field.Bool("keyed").Default(false).Comment("A phone got a token of it."),
		maybe("ended_at"),
		field.String("end_reason").MaxRuneLen(32).Default(""),
		field.String("open_key").MaxRuneLen(40).Optional().Nillable().Unique().Comment("The reservation while the grant is open: one at a time."),
		maybe("released_at"),
		created(),
	}
}

func (Grant) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("reservation_id"), index.Fields("property_id", "ended_at"), index.Fields("space_id", "ended_at"),
	}
}
