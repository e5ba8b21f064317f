package repository_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"

	"latchkey.dev/ent/migrate/tables"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/privacy"
)

var writePrivacy = flag.Bool("write-privacy", false, "write the tables of docs/privacy.md")

// classifiedTable is a model with its annotations.
type classifiedTable struct {
	name    string
	rows    privacy.Table
	columns []classifiedColumn
}

type classifiedColumn struct {
	name string
	privacy.Field
}

func classified(t *testing.T) (all []classifiedTable) {
	t.Helper()
	for _, model := range schema.All {
		c := classifiedTable{}
		for _, a := range model.Annotations() {
			switch a := a.(type) {
			case entsql.Annotation:
				c.name = cmp.Or(c.name, a.Table)
			case privacy.Table:
				c.rows = a
			}
		}
		for _, f := range model.Fields() {
			c.columns = append(c.columns, classifiedColumn{f.Descriptor().Name, classOf(f)})
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b classifiedTable) int { return strings.Compare(a.name, b.name) })
	return all
}

func classOf(f ent.Field) (class privacy.Field) {
	for _, a := range f.Descriptor().Annotations {
		if of, ok := a.(privacy.Field); ok {
			class = of
		}
	}
	return class
}

// problems returns what is missing or contradicts itself in the annotations of a table.
func (c classifiedTable) problems() (list []string) {
	add := func(format string, values ...any) { list = append(list, c.name+fmt.Sprintf(format, values...)) }
	if c.rows.About == "" {
		add(": say what its rows are about")
	}
	if c.rows.About != privacy.Things && len(c.rows.Ends) == 0 {
		add(": say what ends its rows")
	}
	erased := slices.Contains(c.rows.Ends, privacy.Erasure)
	if c.rows.About == privacy.Guests && erased == (c.rows.Kept != "") {
		add(": an erasure on request ends its rows, or Kept says why not, and not both")
	}
	for _, f := range c.columns {
		switch {
		case f.Class == "" || f.Protection == "":
			add(".%s has no privacy class: add one of ent/schema/privacy.go", f.name)
		case (f.Class == privacy.Secret || f.Class == privacy.Document) && f.Protection == privacy.Plain:
			add(".%s: %s data must be sealed or hashed", f.name, f.Class)
		case f.Class == privacy.Personal && (f.Protection == privacy.Plain) != (f.Why != ""):
			add(".%s: seal personal data, or say why it is plain", f.name)
		case f.Class == privacy.Personal && f.Protection == privacy.Plain && c.rows.About == privacy.Guests && !staffNames[c.name+"."+f.name]:
			add(".%s: personal data of guests must be sealed", f.name)
		case (f.Class == privacy.Personal || f.Class == privacy.Document) && len(c.rows.Ends) == 0:
			add(".%s: say what ends personal data", f.name)
		}
	}
	return list
}

// staffNames are the columns of tables about guests that have names of staff.
var staffNames = map[string]bool{"messages.author": true, "stays.cleared": true, "erasures.requested_by": true}

// Every column has a class, and nothing personal of a guest is readable in the database or stays for ever.
func TestEveryColumnHasAPrivacyClass(t *testing.T) {
	all := classified(t)
	for _, c := range all {
		for _, p := range c.problems() {
			t.Error(p)
		}
	}
	for _, stored := range tables.Tables {
		if !slices.ContainsFunc(all, func(c classifiedTable) bool { return c.name == stored.Name }) {
			t.Errorf("the table %s is missing in schema.All", stored.Name)
		}
	}
}

func TestPrivacyProblems(t *testing.T) {
	personal := func(p privacy.Protection, why string) classifiedColumn {
		return classifiedColumn{"name", privacy.Field{Class: privacy.Personal, Protection: p, Why: why}}
	}
	erased := privacy.Table{About: privacy.Guests, Ends: []privacy.End{privacy.Erasure}}
	for name, tt := range map[string]struct {
		rows   privacy.Table
		column classifiedColumn
		want   int
	}{
		"sealed and erased":            {erased, personal(privacy.Sealed, ""), 0},
		"no class":                     {erased, classifiedColumn{name: "name"}, 1},
		"plain":                        {erased, personal(privacy.Plain, ""), 1},
		"plain with a reason":          {erased, personal(privacy.Plain, "a reason"), 1},
		"plain, of staff":              {privacy.Table{About: privacy.Staff, Ends: []privacy.End{privacy.Expiry}}, personal(privacy.Plain, "a reason"), 0},
		"a plain secret":               {erased, classifiedColumn{"pin", privacy.Field{Class: privacy.Secret, Protection: privacy.Plain}}, 1},
		"not erased, without reason":   {privacy.Table{About: privacy.Guests, Ends: []privacy.End{privacy.Stay}}, personal(privacy.Sealed, ""), 1},
		"erased, and says why not":     {erased.Keeps("a law"), personal(privacy.Sealed, ""), 1},
		"without a subject and end":    {privacy.Table{}, personal(privacy.Sealed, ""), 3},
		"a table about things, sealed": {privacy.Table{About: privacy.Things}, personal(privacy.Sealed, ""), 1},
	} {
		if got := (classifiedTable{"guests", tt.rows, []classifiedColumn{tt.column}}).problems(); len(got) != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// describe returns the lines of docs/privacy.md about the tables that have more than pseudonyms.
func describe(all []classifiedTable) string {
	var out strings.Builder
	out.WriteString("| table | about | columns | ends with | an erasure on request |\n|---|---|---|---|---|\n")
	for _, c := range all {
		byClass := map[string][]string{}
		for _, f := range c.columns {
			if f.Class == privacy.Personal || f.Class == privacy.Document || f.Class == privacy.Secret {
				key := string(f.Class) + ", " + string(f.Protection)
				byClass[key] = append(byClass[key], "`"+f.name+"`")
			}
		}
		if len(byClass) == 0 && c.rows.About != privacy.Guests {
			continue
		}
		columns := []string{}
		for _, class := range []privacy.Class{privacy.Personal, privacy.Document, privacy.Secret} {
			for _, protection := range []privacy.Protection{privacy.Sealed, privacy.Hashed, privacy.Plain} {
				key := string(class) + ", " + string(protection)
				if names := byClass[key]; len(names) > 0 {
					columns = append(columns, key+": "+strings.Join(names, ", "))
				}
			}
		}
		ends := make([]string, len(c.rows.Ends))
		for i, e := range c.rows.Ends {
			ends[i] = string(e)
		}
		erasure := c.rows.Kept
		if slices.Contains(c.rows.Ends, privacy.Erasure) {
			erasure = "erases"
		}
		if c.rows.About != privacy.Guests {
			erasure = "–"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", c.name, c.rows.About, cmp.Or(strings.Join(columns, "; "), "pseudonyms"), strings.Join(ends, "; "), erasure)
	}
	return out.String()
}

// docs/privacy.md ends with the tables of the database.
func TestPrivacyPageListsTheTables(t *testing.T) {
	const begin = "<!-- go test ./internal/test/repository -run Privacy -write-privacy -->\n\n"
	name := filepath.Join(root, "docs/privacy.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text, listed, ok := strings.Cut(string(page), begin)
	if !ok {
		t.Fatalf("%s has no line %q", name, begin)
	}
	want := describe(classified(t))
	if *writePrivacy {
		if err := os.WriteFile(name, []byte(text+begin+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if listed != want {
		t.Error("docs/privacy.md is out of date: run go test ./internal/test/repository -run Privacy -write-privacy")
	}
}
