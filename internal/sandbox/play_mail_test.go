package sandbox

import (
	"slices"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/mail"
)

// The mailbox names each kind of mail that the product has, and no other.
func TestMailboxNamesEachKind(t *testing.T) {
	for _, kind := range mail.Kinds {
		if row, _ := mailRowOf(&propertyv1.Mail{Kind: string(kind)}); row.Kind == "" || row.Kind == string(kind) {
			t.Errorf("the mailbox shows the kind %q without a name: add it to mailKinds", kind)
		}
	}
	for kind := range mailKinds {
		if !slices.Contains(mail.Kinds, mail.Kind(kind)) {
			t.Errorf("mailKinds has %q, which is no kind of mail", kind)
		}
	}
}

func TestMailsOfThePlayPage(t *testing.T) {
	for state, want := range map[string]struct {
		shown bool
		chip  string
	}{
		"mailbox": {true, ""}, "sent": {true, ""}, "waiting": {true, "waiting"}, "failed": {true, "failed"}, "bounced": {true, "bounced"}, "canceled": {false, ""},
	} {
		row, shown := mailRowOf(&propertyv1.Mail{Kind: "key", State: state})
		chip := ""
		if row.Chip != nil {
			chip = row.Chip.Text
		}
		if shown != want.shown || chip != want.chip || row.Kind != "Your key" || row.To == "" {
			t.Errorf("%s: %+v, shown %t", state, row, shown)
		}
	}
}
