package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/guest/rule"
)

func TestDisclose(t *testing.T) {
	all := rule.Answers{
		rule.FirstName: "Ana", rule.LastName: "Silva", rule.Nationality: "PT", rule.Email: "ana@example.com", rule.City: "Porto", rule.Country: "PT",
		rule.DocumentType: "passport", rule.DocumentNumber: "X1", rule.BirthDate: "1990-01-02", rule.BirthName: "Sousa", rule.SecondLastName: rule.None, rule.Postcode: rule.None, rule.OwnPrefix + "plate": "AA-00-AA",
	}
	names := rule.Answers{rule.FirstName: "Ana", rule.LastName: "Silva", rule.Nationality: "PT"}
	for name, c := range map[string]struct {
		shared, mandatory []string
		want              rule.Answers
	}{
		"nothing shared":                 {nil, []string{"identity", "contact", "home", "document", "birth"}, rule.Answers{}},
		"nothing mandatory":              {[]string{"identity", "contact", "home", "document", "birth"}, nil, rule.Answers{}},
		"shared and mandatory":           {[]string{"identity"}, []string{"identity"}, names},
		"shared, another mandatory":      {[]string{"contact"}, []string{"identity"}, rule.Answers{}},
		"more shared than mandatory":     {[]string{"identity", "document", "birth"}, []string{"identity"}, names},
		"more mandatory than shared":     {[]string{"identity"}, []string{"identity", "contact", "document"}, names},
		"an unknown group":               {[]string{"own", "payment"}, []string{"own", "payment"}, rule.Answers{}},
		"a document without its country": {[]string{"document"}, []string{"document"}, rule.Answers{rule.DocumentType: "passport", rule.DocumentNumber: "X1"}},
		"contact, home and birth": {[]string{"birth", "home", "contact"}, []string{"contact", "home", "birth"}, rule.Answers{
			rule.Email: "ana@example.com", rule.City: "Porto", rule.Country: "PT", rule.BirthDate: "1990-01-02",
		}},
	} {
		if diff := cmp.Diff(c.want, Disclose(all, c.shared, c.mandatory)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
