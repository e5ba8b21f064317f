package convert_test

import (
	"errors"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/fault"
)

func TestEtag(t *testing.T) {
	read := func() *propertyv1.CheckInSettings {
		return &propertyv1.CheckInSettings{Rule: "PT", InviteDays: 3, Texts: map[string]*propertyv1.LocalTexts{"de": {Address: "A"}, "fr": {Address: "B"}}, Limits: "English"}
	}
	seen := convert.Etag(read(), "limits")
	for _, c := range []struct {
		name, changed string
		change        func(*propertyv1.CheckInSettings)
	}{
		{"nothing", "", func(*propertyv1.CheckInSettings) {}},
		{"a field that does not count", "", func(m *propertyv1.CheckInSettings) { m.Limits, m.Etag = "Deutsch", "x" }},
		{"a text", "rule", func(m *propertyv1.CheckInSettings) { m.Rule = "ES" }},
		{"a number and a list", "inviteDays,oftenCountries", func(m *propertyv1.CheckInSettings) { m.InviteDays, m.OftenCountries = 0, []string{"PT"} }},
		{"an entry of a map", "texts", func(m *propertyv1.CheckInSettings) { m.Texts["fr"].Address = "C" }},
	} {
		stored := read()
		c.change(stored)
		err := convert.CheckEtag(seen, stored, "limits")
		if c.changed == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var f *fault.Fault
		if !errors.As(err, &f) || f.Reason != fault.Outdated || f.Meta["changed"] != c.changed || !strings.Contains(f.Message, strings.ReplaceAll(c.changed, ",", ", ")) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := convert.CheckEtag("", stored, "limits"); err != nil {
			t.Errorf("%s without an etag: %v", c.name, err)
		}
	}
	for _, wrong := range []string{"*", "AAAA", seen + "AAAA", strings.Repeat("x", 64)} {
		if err := convert.CheckEtag(wrong, read(), "limits"); !fault.Has(err, fault.Outdated) {
			t.Errorf("the etag %q: %v", wrong, err)
		}
	}
}
