package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
)

// App is a partner app: one vendor of property management systems.
type App struct{ ent.Schema }

func (App) Annotations() []schema.Annotation { return table("apps", aboutThings()) }

func (App) Fields() []ent.Field {
	return []ent.Field{

		id(),
		field.String("name").Annotations(none).MaxRuneLen(255).Unique(),
		created(),
	}
}
