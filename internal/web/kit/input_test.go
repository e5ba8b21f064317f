package kit

import (
	"slices"
	"testing"

	"latchkey.dev/internal/fault"
)

// The error summary lists the fields as the page does, whatever their order in the answer of the API.
func TestRefusedFieldsAreInTheOrderOfThePage(t *testing.T) {
	p := &Page{Words: Words{Lang: "en"}}
	f := fault.Fields(fault.Field{Path: "hours[1].to"}, fault.Field{Path: "other"}, fault.Field{Path: "hours[0].from"}, fault.Field{Path: "zone"}, fault.Field{Path: "name"})
	if !p.Refuse(f, []Input{{Name: "name"}, {Name: "zone"}, {Name: "hours"}}) {
		t.Fatal("no field is refused")
	}
	var got []string
	for _, w := range p.Wrong {
		got = append(got, w.ID)
	}
	if want := []string{"f-name", "f-zone", "f-hours", "f-hours"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
