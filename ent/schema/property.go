package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Property is the tenant: a hotel or hostel.
type Property struct{ ent.Schema }

func (Property) Annotations() []schema.Annotation { return table("properties", aboutThings()) }

func (Property) Fields() []ent.Field {
	return []ent.Field{

		id(),
		field.String("name").Annotations(none).MaxRuneLen(255),
		field.String("time_zone").Annotations(none).MaxRuneLen(64),
		field.String("check_in_time").Annotations(none).MaxRuneLen(5).Default("15:00"),
		field.String("check_out_time").Annotations(none).MaxRuneLen(5).Default("11:00"),
		field.Int("early_in_minutes").Annotations(none).Default(0),
		field.Int("late_out_minutes").Annotations(none).Default(0),
		field.Int("pin_length").Annotations(none).Default(0).Comment("0: 8 for doors at whose locks nothing slows guessing, 6 elsewhere."),
		field.Bool("gates_alone").Annotations(none).Default(false).Comment("A stay whose own door has no lock still gets the gates."),
		field.Bool("backup_codes").Annotations(none).Default(false).Comment("Each lock on a door keeps two codes for when nothing else opens it."),
		field.String("owing_policy").Annotations(none).MaxRuneLen(16).Default("block"),
		field.Int64("owing_threshold_minor").Annotations(none).Default(0),
		field.Bool("access_step_up").Annotations(none).Default(true).Comment("Staff must sign in again (step up) before they open doors or change or show access."),
		created(),
		maybe("deleting_at"),
	}
}

func (Property) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("name"),
	}
}
