package dbtest

import (
	"regexp"
	"slices"

	"entgo.io/ent/dialect/entsql"
	entschema "entgo.io/ent/dialect/sql/schema"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/privacy"
)

// TablesEndedBy returns the tables whose rows are deleted by an event such as an erasure, according to their privacy annotation.
func TablesEndedBy(end privacy.End) (names []string) {
	for _, model := range schema.All {
		name, ends := "", []privacy.End(nil)
		for _, a := range model.Annotations() {
			switch a := a.(type) {
			case entsql.Annotation:
				name = a.Table
			case privacy.Table:
				ends = a.Ends
			}
		}
		if slices.Contains(ends, end) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var change = regexp.MustCompile("^(?:DELETE FROM|UPDATE) [\"`]?(\\w+)")

// TablesChangedBy returns the tables whose rows the statements update or delete, including deletions by the cascade of a foreign key.
func TablesChangedBy(statements []string) (names []string) {
	for _, s := range statements {
		if m := change.FindStringSubmatch(s); m != nil && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	for i := 0; i < len(names); i++ {
		for _, other := range tables.Tables {
			cascades := func(k *entschema.ForeignKey) bool {
				return k.RefTable.Name == names[i] && k.OnDelete == entschema.Cascade
			}
			if slices.ContainsFunc(other.ForeignKeys, cascades) && !slices.Contains(names, other.Name) {
				names = append(names, other.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
