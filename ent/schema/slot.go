package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Slot is the desired and the observed state of one place for a code on a lock. It is never deleted: its generation must not start again.
type Slot struct{ ent.Schema }

func (Slot) Annotations() []schema.Annotation { return table("slots") }

func (Slot) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("lock_id").MaxRuneLen(40).Immutable(),
		field.Int("number").Immutable(),
		field.Int64("generation"),
		field.Bool("present").Comment("The lock must hold a code in the slot."),
		field.String("grant_id").MaxRuneLen(40).Default("").Comment("The grant or code that has the slot; empty: the slot is free."),
		field.Int64("since").Default(0).Comment("The first generation of the current grant: a code typed of an older one was another's."),
		field.String("pin_id").MaxRuneLen(40).Default(""),
		field.String("door_id").MaxRuneLen(40).Default(""),
		field.String("stay_space_id").MaxRuneLen(40).Default("").Comment("The space of the stay when the code was placed."),
		field.Bytes("pin").Optional().Comment("Sealed under (slot, generation)."),
		maybe("not_before"),
		maybe("not_after"),
		field.JSON("later", []SlotWindow{}).Optional().Comment("The windows that follow."),
		field.String("once").MaxRuneLen(40).Default("").Comment("The id of a code for one use; empty: the code serves any number of times."),
		field.String("claimant").MaxRuneLen(64).Default("").Comment("The enrolment of the bridge that received a code and has not reported its removal."),
		field.Bool("inherited").Default(false).Comment("An earlier claimant's code may still be there."),
		field.Bool("former").Default(false).Comment("The lock may still hold the code of an older generation."),
		field.Bool("foreign").Default(false).Comment("The lock holds a code there that Latchkey did not set."),
		field.String("evidence").MaxRuneLen(16),
		field.String("result").MaxRuneLen(32).Default(""),
		field.String("rule").MaxRuneLen(255).Default(""),
		field.Int64("seen_generation").Default(0).Comment("The generation of the last report that counted."),
		field.Bool("seen_present").Default(false),
		field.String("seen_evidence").MaxRuneLen(16).Default(""),
		field.String("seen_result").MaxRuneLen(32).Default(""),
		field.Int("seen_window").Default(0).Comment("The window of the last report, counted from 0."),
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
