package staff

import (
	"strings"
	"testing"
)

// A reason is there, and fits into the audit log.
func TestWrongReason(t *testing.T) {
	for reason, want := range map[string]string{"": "staff.why.missing", "locked out": "", strings.Repeat("ä", maxReason): "", strings.Repeat("ä", maxReason+1): "problem.tooLong"} {
		if got := wrongReason(reason, "staff.why.missing"); got != want {
			t.Errorf("%q: %q, want %q", reason, got, want)
		}
		checkTexts(t, want)
	}
}
