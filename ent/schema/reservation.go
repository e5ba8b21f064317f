package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Reservation is a booking of one room or bed. Only the PMS changes it, except how far staff extended its access.
type Reservation struct{ ent.Schema }

func (Reservation) Annotations() []schema.Annotation {
	return table("reservations", aboutGuests(privacy.Erasure, privacy.Stay))
}

func (Reservation) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("integration_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("pms_id").Annotations(row).MaxRuneLen(255).Immutable(),
		text("pms_group_id", 255, row),
		text("pms_space_id", 255, row),
		text("pms_parent_space_id", 255, row),
		field.Strings("pms_companion_ids").Annotations(pseudonym).Optional(),
		maybe("pms_updated_at"),
		field.String("pms_number").Annotations(pseudonym).MaxRuneLen(255),
		field.Bytes("booker").Annotations(sealed(personal)).Comment("Names, email and mobile of who booked, sealed with the property's key."),
		maybe("erased_at"), // when the booker and the companions were erased: changes of the PMS do not restore them
		field.String("state").Annotations(pseudonym).MaxRuneLen(16),
		maybe("canceled_at"), // since when the state is canceled
		maybe("arrived_at"),  // when the PMS first said that the guests are in house; a cancelation keeps it, another state than that clears it
		text("from_date", 10, pseudonym),
		text("to_date", 10, pseudonym),
		moment("from_at"),
		moment("to_at"),
		maybe("extended_to"), // until when staff let the guests stay beyond to_at; the PMS's next change of the dates or the end of the stay clears it
		field.Int("adult_count").Annotations(pseudonym).Optional().Nillable(),
		field.Int("child_count").Annotations(pseudonym).Optional().Nillable(),
		field.Int64("price_minor").Annotations(pseudonym).Optional().Nillable(),
		field.Int64("owing_minor").Annotations(pseudonym).Optional().Nillable(),
		text("owing_currency", 3, pseudonym),
		text("source_name", 255, pseudonym),
		text("channel_manager", 255, pseudonym),
		text("channel_number", 255, pseudonym),
		text("folded_number", 255, pseudonym), // the number without spaces in upper case, if it mixes cases or has spaces
		text("folded_channel_number", 255, pseudonym),
		text("own_space_id", 40, row),
		field.String("space_key").Annotations(pseudonym).MaxRuneLen(255).Default("").Comment("The partner's id of the space that is mapped: the bed or room, else its parent."),
		created(),
		moment("updated_at"),
		field.Time("plan_due_at").Annotations(row).Optional().Nillable().SchemaType(momentType).Comment("When the access has to be planned again after a change of the property; unset: it is planned."),
	}
}

func (Reservation) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("integration_id", "pms_id").Unique(),
		index.Fields("from_at", "property_id"),
		index.Fields("property_id", "pms_number"),
		index.Fields("property_id", "channel_number").Annotations(entsql.IndexWhere("channel_number IS NOT NULL")),
		index.Fields("property_id", "folded_number").Annotations(entsql.IndexWhere("folded_number IS NOT NULL")),
		index.Fields("property_id", "folded_channel_number").Annotations(entsql.IndexWhere("folded_channel_number IS NOT NULL")),
		index.Fields("integration_id", "pms_group_id").Annotations(entsql.IndexWhere("pms_group_id IS NOT NULL")),
		index.Fields("plan_due_at").Annotations(entsql.IndexWhere("plan_due_at IS NOT NULL")),
		index.Fields("canceled_at").Annotations(entsql.IndexWhere("canceled_at IS NOT NULL")),
		index.Fields("property_id", "to_at").Annotations(entsql.IndexWhere("state = 'started' OR state = 'processed'")), // departures
		index.Fields("property_id", "state").Annotations(entsql.IndexWhere("state = 'started'")),
	}
}
