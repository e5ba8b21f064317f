package property

import (
	"testing"
	"time"

	"latchkey.dev/internal/property"
)

func TestRetentionOfAPropertyIsNotLongerThanTheInstallations(t *testing.T) {
	const installation = 400 * 24 * time.Hour
	for name, tt := range map[string]struct {
		change property.CheckInChange
		want   int
	}{
		"unchanged":   {property.CheckInChange{}, 0},
		"as long":     {property.CheckInChange{KeepStayDays: new(400), MessageDays: new(400)}, 0},
		"longer":      {property.CheckInChange{KeepStayDays: new(401), MessageDays: new(401)}, 2},
		"the default": {property.CheckInChange{KeepStayDays: new(0)}, 0},
	} {
		if got := retentionProblems(tt.change, installation); len(got) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
