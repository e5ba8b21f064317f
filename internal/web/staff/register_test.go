package staff

import (
	"encoding/csv"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The file has the columns of the rule, one line a guest, and no cell that a spreadsheet runs.
func TestRegisterCSV(t *testing.T) {
	body, err := registerCSV([]*propertyv1.RegisterEntry{
		{ArrivalOn: "2026-11-02", Rule: "ES", Role: "main", Fields: []string{"firstName", "lastName", "sex"}, Person: &guestv1.Person{FirstName: "=1+1", LastName: "Müller; \"Ana\"", Mobile: "+351 912 345", FurtherNationalities: []string{"PT", "FR"}}},
		{ArrivalOn: "2026-11-03", Rule: "ES", Role: "companion", Fields: []string{"firstName", "lastName", "sex"}, Person: &guestv1.Person{FirstName: "@cmd", Sex: "f", Own: map[string]string{"car": "x"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(string(body), "\ufeff")
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || !ok || len(lines) != 3 {
		t.Fatalf("%v, mark %v, %d lines", err, ok, len(lines))
	}
	want := "arrivalOn departureOn state number role rule firstName lastName sex otherNationality mobile signedAt eraseAt"
	if got := strings.Join(lines[0], " "); got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	for column, values := range map[string][2]string{
		"firstName": {"'=1+1", "'@cmd"}, "lastName": {"Müller; \"Ana\"", ""}, "sex": {"", "f"}, "otherNationality": {"PT; FR", ""}, "mobile": {"+351 912 345", ""},
	} {
		for i, name := range lines[0] {
			if name == column && (lines[1][i] != values[0] || lines[2][i] != values[1]) {
				t.Errorf("%s: %q and %q, want %q", column, lines[1][i], lines[2][i], values)
			}
		}
	}
}

func TestPlainCell(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "Ana": "Ana", "-": "-", "+351 (0) 912": "+351 (0) 912", "=HYPERLINK(1)": "'=HYPERLINK(1)", "+A1": "'+A1", "-2+A1": "'-2+A1", "@x": "'@x", "\tx": "'\tx",
	} {
		if got := plainCell(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
