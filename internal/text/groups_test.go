package text

import (
	"strings"
	"testing"
)

func TestGroups(t *testing.T) {
	for digits, want := range map[string]string{
		"": "", "1234": "12 34", "12345": "123 45", "480271": "480 271", "1234567": "123 45 67", "12345678": "1234 5678", "123456789": "123 456 789",
	} {
		if got := strings.Join(Groups(digits), " "); got != want {
			t.Errorf("%s: %q, want %q", digits, got, want)
		}
	}
}
