package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// Node is a server process of an installation with PostgreSQL, as it last reported. It belongs to no property.
type Node struct{ ent.Schema }

func (Node) Annotations() []schema.Annotation { return table("nodes", aboutThings()) }

func (Node) Fields() []ent.Field {
	return []ent.Field{

		id(),
		moment("seen_at"),
		field.Int64("clock_ahead_ms").Annotations(none).Comment("How far its machine's clock is ahead of the database's."),
		created(),
	}
}
