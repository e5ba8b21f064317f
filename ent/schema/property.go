package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Property is the tenant: a hotel or hostel.
type Property struct{ ent.Schema }

func (Property) Annotations() []schema.Annotation { return table("properties") }

func (Property) Fields() []ent.Field {
	return []ent.Field{

		id(),
		field.String("name").MaxRuneLen(255),
		field.String("time_zone").MaxRuneLen(64),
		field.String("check_in_time").MaxRuneLen(5).Default("15:00"),
		field.String("check_out_time").MaxRuneLen(5).Default("11:00"),
		field.Int("early_in_minutes").Default(0),
		field.Int("late_out_minutes").Default(0),
		field.Int("pin_length").Default(0).Comment("0: 8 for doors at whose locks nothing slows guessing, 6 elsewhere."),
		field.Bool("gates_alone").Default(false).Comment("A stay whose own door has no lock still gets the gates."),
		field.Bool("backup_codes").Default(false).Comment("Each lock on a door keeps two codes for when nothing else opens it."),
		field.String("owing_policy").MaxRuneLen(16).Default("block"),
		field.Int64("owing_threshold_minor").Default(0),
		created(),
	}
}

func (Property) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("name"),
	}
}
