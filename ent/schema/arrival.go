package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Arrival is the result of the last arrival check of a reservation. Both have the same id.
type Arrival struct{ ent.Schema }

func (Arrival) Annotations() []schema.Annotation {
	return table("arrivals", aboutGuests(privacy.Stay).Keeps("it is about the room"))
}

func (Arrival) Fields() []ent.Field {
	return []ent.Field{
		id(),
		property(),
		moment("from_at"),
		field.Int("minutes").Annotations(pseudonym).Comment("The last check that was made: minutes before from_at."),
		field.String("verdict").Annotations(pseudonym).MaxLen(16).Comment("ready, atRisk or notReady."),
		moment("judged_at"),
		maybe("again_at"),
	}
}

func (Arrival) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id"), index.Fields("again_at").Annotations(entsql.IndexWhere("again_at IS NOT NULL")),
	}
}
