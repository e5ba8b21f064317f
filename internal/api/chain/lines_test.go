package chain

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// House rules, the address and directions may have several lines; other texts are a single line.
func TestTextsOfSeveralLines(t *testing.T) {
	lines, rule := "Quiet from 22:00.\r\nNo smoking.\nEnjoy.", "none\nDE"
	w := walker{deep: true}
	w.walkMessage((&propertyv1.UpdateCheckInSettingsRequest{Settings: &propertyv1.CheckInSettingsChange{
		HouseRules: &lines, Address: &lines, Directions: proto.String("a\x00b\nc"), Rule: &rule,
	}}).ProtoReflect())
	var got []string
	for _, f := range w.found {
		got = append(got, f.Path)
	}
	slices.Sort(got)
	if want := []string{"settings.directions", "settings.rule"}; !slices.Equal(got, want) {
		t.Errorf("refused %v, want %v", got, want)
	}
}
