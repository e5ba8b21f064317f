package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Act is one unlock command. A lock runs it once before its deadline, or not at all.
type Act struct{ ent.Schema }

func (Act) Annotations() []schema.Annotation {
	return table("acts", aboutGuests(privacy.Stay, privacy.Events).Keeps("it names a door and no guest"))
}

func (Act) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("lock_id").Annotations(row).MaxRuneLen(40).Immutable(),
		field.String("operation").Annotations(pseudonym).MaxRuneLen(16).Immutable(),
		field.String("actor").Annotations(pseudonym).MaxRuneLen(64).Immutable(),
		field.String("grant_id").Annotations(row).MaxRuneLen(40).Default("").Immutable().Comment("The grant whose SmartKey opened the door; empty: a person or a program of the property did."),
		field.String("state").Annotations(pseudonym).MaxRuneLen(16).Comment("stored, claimed, done, failed, expired or unknown."),
		field.String("result").Annotations(pseudonym).MaxRuneLen(32).Default(""),
		moment("deadline"),
		maybe("finished_at"),
		created(),
	}
}

func (Act) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "created_at"), index.Fields("lock_id", "created_at"),
		index.Fields("deadline").Annotations(entsql.IndexWhere("finished_at IS NULL")), // those that still run
		index.Fields("grant_id").Annotations(entsql.IndexWhere("grant_id <> ''")),
		index.Fields("created_at").Annotations(entsql.IndexWhere("grant_id = ''")), // those of staff, which end with the events
	}
}
