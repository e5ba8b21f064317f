package guest

import (
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/message"
)

// The heading of a page of the form asks for what the page asks for.
func TestStepTitle(t *testing.T) {
	for _, c := range []struct {
		step   string
		fields []string
		other  bool
		want   string
	}{
		{"name", []string{"firstName"}, false, "form.name"},
		{"name", []string{"firstName"}, true, "form.name.other"},
		{"birth", []string{"birthDate", "birthPlace"}, false, "form.birth"},
		{"birth", []string{"birthDate", "sex"}, false, "form.birth.date"},
		{"birth", []string{"sex"}, true, "form.birth.sex"},
	} {
		step := &guestv1.FormStep{Name: c.step}
		for _, f := range c.fields {
			step.Fields = append(step.Fields, &guestv1.FormField{Name: f})
		}
		if got := stepTitle(step, c.other); got != c.want || !message.Has(got) {
			t.Errorf("%s %v: %s, not %s", c.step, c.fields, got, c.want)
		}
	}
}
