package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Code is a code that belongs to no stay: of staff, for one use, or the backup code of a lock. Slots have its id in the
// column grant_id.
type Code struct{ ent.Schema }

func (Code) Annotations() []schema.Annotation { return table("codes", aboutStaff(privacy.Events)) }

func (Code) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("kind").Annotations(pseudonym).MaxRuneLen(16).Immutable().Comment("staff, oneTime or backup."),
		field.Bytes("sealed_holder").Annotations(sealed(personal)).Optional().Comment("The name of its holder, sealed with the property's key."),
		field.String("holder").Annotations(plain("Only of a code that a server before this version created, until the sweep has sealed it.")).MaxRuneLen(255).Default(""),
		field.String("lock_id").Annotations(row).MaxRuneLen(40).Default("").Immutable().Comment("The lock of a backup code; empty: the code has doors."),
		field.Strings("doors").Annotations(pseudonym).Immutable().Comment("The spaces and gates that the code opens."),
		field.Bool("all_rooms").Annotations(pseudonym).Default(false).Immutable().Comment("Every space with a lock, in addition to doors."),
		field.JSON("hours", []WeeklyHours{}).Annotations(pseudonym).Immutable().Comment("The weekly hours of the code; empty: it opens at any hour."),
		moment("not_before"),
		maybe("not_after"),
		field.Int("redraws").Annotations(pseudonym).Default(0).Comment("New PINs because a lock refused one as a duplicate."),
		maybe("used_at"),
		maybe("revoked_at"),
		field.String("end_reason").Annotations(pseudonym).MaxRuneLen(32).Default(""),
		maybe("ended_at"),
		maybe("released_at"),
		maybe("next_at"),
		field.String("created_by").Annotations(pseudonym).MaxRuneLen(64).Default("").Immutable(),
		maybe("read_at"),
		field.String("read_by").Annotations(pseudonym).MaxRuneLen(64).Default("").Comment("Who read its PIN last."),
		created(),
	}
}

func (Code) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "ended_at"), index.Fields("lock_id").Annotations(entsql.IndexWhere("lock_id <> ''")),
		index.Fields("next_at").Annotations(entsql.IndexWhere("next_at IS NOT NULL")),
		index.Fields("released_at").Annotations(entsql.IndexWhere("released_at IS NOT NULL")),
	}
}

// WeeklyHours are some days of the week and the hours of these, by the clocks of the property.
type WeeklyHours struct {
	Days []int  `json:"days"` // 1 Monday to 7 Sunday
	From string `json:"from"` // HH:MM
	To   string `json:"to"`   // HH:MM, up to 24:00; a time not after From is on the next day
}
