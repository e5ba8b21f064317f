package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Conflict is a difference between a mapping and the partner's listing.
type Conflict struct{ ent.Schema }

func (Conflict) Annotations() []schema.Annotation {
	return table("conflicts", aboutThings(privacy.Events))
}

func (Conflict) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("kind").Annotations(none).MaxRuneLen(32).Immutable(),
		field.String("external_id").Annotations(row).MaxRuneLen(255).Immutable(),
		field.JSON("parameters", map[string]any{}).Annotations(pseudonym).Optional().Comment("The parameters of its text, which the API renders."),
		field.String("detail").Annotations(pseudonym).MaxRuneLen(1024).Default("").Comment("The text of a conflict that was stored without parameters, or empty."),
		field.Strings("reservation_ids").Annotations(pseudonym),
		moment("opened_at"),
		maybe("closed_at"),
		field.String("open_key").Annotations(none).MaxRuneLen(400).Optional().Nillable().Unique().Comment("integration/kind/external id while open: one at a time."),
	}
}

func (Conflict) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "closed_at"), index.Fields("integration_id", "closed_at"),
	}
}
