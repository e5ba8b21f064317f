package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Guesses counts wrong PINs at the keypads of a lock or of a property. Its id is the lock's or the property's.
type Guesses struct{ ent.Schema }

func (Guesses) Annotations() []schema.Annotation { return table("guesses", aboutThings()) }

func (Guesses) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		moment("began_at"),
		field.Int("count").Annotations(none).Default(0).Comment("Wrong PINs since began_at."),
		field.Int("before").Annotations(none).Default(0).Comment("Wrong PINs in the time span before began_at."),
		maybe("alarmed_at"),
	}
}

func (Guesses) Indexes() []ent.Index {
	return []ent.Index{index.Fields("property_id")}
}
