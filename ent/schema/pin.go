package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"latchkey.dev/internal/privacy"
)

// Pin is a code that a lock may hold. The row is deleted when no lock can hold the code any more. Only then can the code be
// generated again.
type Pin struct{ ent.Schema }

func (Pin) Annotations() []schema.Annotation {
	return append(table("pins", aboutGuests(privacy.Stay).Keeps("locks may hold the PIN")),
		entsql.Checks(map[string]string{"pins_one_owner": "((grant_id IS NULL) <> (code_id IS NULL))"}))
}

func (Pin) Fields() []ent.Field {
	return []ent.Field{

		id(),
		property(),
		field.String("grant_id").Annotations(row).MaxRuneLen(40).Optional().Immutable().Comment("NULL: the PIN belongs to a code."),
		field.String("code_id").Annotations(row).MaxRuneLen(40).Optional().Immutable().Comment("NULL: the PIN belongs to a grant."),
		field.String("door_id").Annotations(row).MaxRuneLen(40).Default("").Immutable().Comment("Empty: for all doors of the grant."),
		field.Bytes("mac").Annotations(hashed(secret)).Immutable().Comment("Keyed hash under the property."),
		field.Bytes("sealed").Annotations(sealed(secret)).Immutable(),
		field.Bool("retired").Annotations(pseudonym).Default(false).Comment("A newer PIN replaced it at its doors; reserved until no lock can hold it."),
		created(),
	}
}

func (Pin) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("property_id", "mac").Unique(), index.Fields("grant_id"),
		index.Fields("code_id").Annotations(entsql.IndexWhere("code_id IS NOT NULL")), // most PINs belong to a grant
	}
}
