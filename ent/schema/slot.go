package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Slot is the desired and the observed state of one place for a code on a lock. It is never deleted: its generation must not start again.
type Slot struct{ ent.Schema }

func (Slot) Annotations() []schema.Annotation { return table("slots", aboutThings(privacy.Superseded)) }

func (Slot) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("lock_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.Int("number").Annotations(row).Immutable(),
		field.Int64("generation").Annotations(none),
		field.Bool("present").Annotations(none).Comment("The lock must hold a code in the slot."),
		field.String("grant_id").Annotations(pseudonym).MaxRuneLen(40).Default("").Comment("The grant or code that has the slot; empty: the slot is free."),
		field.Int64("since").Annotations(none).Default(0).Comment("The first generation of the current grant. A typed code of an older generation belonged to another grant."),
		field.String("pin_id").Annotations(pseudonym).MaxRuneLen(40).Default(""),
		field.String("door_id").Annotations(row).MaxRuneLen(40).Default(""),
		field.String("stay_space_id").Annotations(row).MaxRuneLen(40).Default("").Comment("The space of the stay when the code was placed."),
		field.Bytes("pin").Annotations(sealed(secret)).Optional().Comment("The PIN, sealed for this slot and generation."),
		maybe("not_before"),
		maybe("not_after"),
		field.JSON("later", []SlotWindow{}).Annotations(none).Optional().Comment("The windows after the first one."),
		field.String("once").Annotations(pseudonym).MaxRuneLen(40).Default("").Comment("The id of a code for one use; empty: the code serves any number of times."),
		field.String("claimant").Annotations(none).MaxRuneLen(64).Default("").Comment("The enrolment of the bridge that received a code and has not reported its removal."),
		field.Bool("inherited").Annotations(none).Default(false).Comment("The slot may still hold a code that an earlier claimant wrote."),
		field.Bool("former").Annotations(none).Default(false).Comment("The lock may still hold the code of an older generation."),
		field.Bool("foreign").Annotations(none).Default(false).Comment("The slot holds a code that Latchkey did not set."),
		field.String("evidence").Annotations(none).MaxRuneLen(16),
		field.String("result").Annotations(none).MaxRuneLen(32).Default(""),
		field.String("rule").Annotations(none).MaxRuneLen(255).Default(""),
		field.Int64("seen_generation").Annotations(none).Default(0).Comment("The generation of the last report that counted."),
		field.Bool("seen_present").Annotations(none).Default(false),
		field.String("seen_evidence").Annotations(none).MaxRuneLen(16).Default(""),
		field.String("seen_result").Annotations(none).MaxRuneLen(32).Default(""),
		field.Int("seen_window").Annotations(none).Default(0).Comment("The window of the last report, counted from 0."),
		field.Bool("seen_used").Annotations(none).Default(false),
		field.Bool("seen_cleared").Annotations(none).Default(false),
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
