package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Slot is the desired and the observed state of one place for a code on a lock. It is never deleted: its generation must not start anew.
type Slot struct{ ent.Schema }

func (Slot) Annotations() []schema.Annotation { return table("slots") }

func (Slot) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("lock_id").MaxRuneLen(40).Immutable(),
		field.Int("number").Immutable(),
		field.Int64("generation"),
		field.Bool("present").Comment("A code shall sit there."),
		field.String("grant_id").MaxRuneLen(40).Default("").Comment("Whose it is, as long as it is not free."),
		field.Int64("since").Default(0).Comment("From this generation on nobody else had it: what was typed of these was the grant's."),
		field.String("pin_id").MaxRuneLen(40).Default(""),
		field.String("door_id").MaxRuneLen(40).Default(""),
		field.String("stay_space_id").MaxRuneLen(40).Default("").Comment("The space of the stay when the code was placed."),
		field.Bytes("pin").Optional().Comment("Sealed under (slot, generation)."),
		maybe("not_before"),
		maybe("not_after"),
		field.JSON("later", []SlotWindow{}).Optional().Comment("The windows that follow."),
		field.String("once").MaxRuneLen(40).Default("").Comment("The code for one use; empty: it serves on."),
		field.String("claimant").MaxRuneLen(64).Default("").Comment("The enrolment of the bridge that a code was handed to and that has not said it is gone."),
		field.Bool("inherited").Default(false).Comment("An earlier claimant's code may still be there."),
		field.Bool("former").Default(false).Comment("The lock may still hold the code of an older generation."),
		field.Bool("foreign").Default(false).Comment("The lock holds a code there that is not ours."),
		field.String("evidence").MaxRuneLen(16),
		field.String("result").MaxRuneLen(32).Default(""),
		field.String("rule").MaxRuneLen(255).Default(""),
		field.Int64("seen_generation").Default(0).Comment("The generation of the last report that counted."),
		field.Bool("seen_present").Default(false),
		field.String("seen_evidence").MaxRuneLen(16).Default(""),
		field.String("seen_result").MaxRuneLen(32).Default(""),
		field.Int("seen_window").Default(0).Comment("Of the windows, from 0, the one that the last report spoke of."),
		field.Bool("seen_used").Default(false),
		field.Bool("seen_cleared").Default(false),
		maybe("seen_at"),
		maybe("used_at"),
		moment("changed_at"),
	}
}

// SlotWindow is a time in which a code opens.
type SlotWindow struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

func (Slot) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("lock_id", "number").Unique(), index.Fields("grant_id"), index.Fields("property_id"),
	}
}
