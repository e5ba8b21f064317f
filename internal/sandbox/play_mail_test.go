package sandbox

import (
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

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
