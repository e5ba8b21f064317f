// Package schema holds the models, one file each. What is derived from other rows is not stored.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"latchkey.dev/internal/privacy"
)

// id is the typed, sortable identifier of every model except the counters.
func id() ent.Field {
	return field.String("id").Annotations(row).MaxRuneLen(40).Immutable()
}

// property is the tenant. Every query names it.
func property() ent.Field {
	return field.String("property_id").Annotations(none).MaxRuneLen(40).Immutable()
}

// moment is an instant in UTC with microseconds, the same in both databases.
func moment(name string) ent.Field {
	return field.Time(name).Annotations(row).SchemaType(momentType)
}

// maybe is a moment that may be absent.
func maybe(name string) ent.Field {
	return field.Time(name).Annotations(row).Optional().Nillable().SchemaType(momentType)
}

var momentType = map[string]string{dialect.SQLite: "datetime", dialect.Postgres: "timestamptz(6)"}

// text is a string that may be absent, which differs from empty.
func text(name string, most int, class privacy.Field) ent.Field {
	return field.String(name).Annotations(class).MaxRuneLen(most).Optional().Nillable()
}

func table(name string, rows privacy.Table) []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: name}, rows}
}

func created() ent.Field {
	return field.Time("created_at").Annotations(row).Immutable().Default(func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }).SchemaType(momentType)
}
