package staff

import (
	"net/url"
	"strings"
	"testing"
)

// What was typed comes back on the page of the form and nowhere else, for the same person, without secrets.
func TestTypedReason(t *testing.T) {
	f := &typedForm{Path: "/app/reservations/rsv_1/reveal", Values: url.Values{"reason": {"late"}}}
	open := &typedForm{Path: "/app/reservations/rsv_1/open", Values: url.Values{"reason": {"late"}, "door": {"dor_1"}}}
	for _, c := range []struct {
		typed *typedForm
		field string
		want  string
	}{{nil, "why-reveal", ""}, {f, "why-reveal", "late"}, {f, "why-replace", ""}, {open, "why-dor_1", "late"}, {open, "why-dor_2", ""}, {open, "why-open", ""}} {
		if got := (&page{typed: c.typed}).TypedReason(c.field); got != c.want {
			t.Errorf("%s: %q, want %q", c.field, got, c.want)
		}
	}
	for _, name := range typedNames {
		for _, secret := range []string{"pin", "password", "code", "secret", "key", "token", "link", "credential"} {
			if strings.Contains(name, secret) {
				t.Errorf("%s is kept", name)
			}
		}
	}
}
