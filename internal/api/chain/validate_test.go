package chain

import (
	"slices"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "latchkey.dev/gen/latchkey/admin/v1"
	_ "latchkey.dev/gen/latchkey/guest/v1"
	_ "latchkey.dev/gen/latchkey/kiosk/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// The sender of a wrong value reads in words what is allowed, not a regular expression.
func TestPatternsHaveWords(t *testing.T) {
	used := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		eachMessage(f.Messages(), func(m protoreflect.MessageDescriptor) {
			for i := range m.Fields().Len() {
				rules, _ := proto.GetExtension(m.Fields().Get(i).Options(), validate.E_Field).(*validate.FieldRules)
				for _, r := range []*validate.FieldRules{rules, rules.GetRepeated().GetItems(), rules.GetMap().GetKeys(), rules.GetMap().GetValues()} {
					if p := r.GetString().GetPattern(); p != "" {
						used[p] = true
						if textOfPattern[p] == "" {
							t.Errorf("%s: say in textOfPattern what %s allows", m.Fields().Get(i).FullName(), p)
						}
					}
				}
			}
		})
		return true
	})
	for p := range textOfPattern {
		if !used[p] {
			t.Errorf("no field has the pattern %s", p)
		}
	}
}

func eachMessage(list protoreflect.MessageDescriptors, f func(protoreflect.MessageDescriptor)) {
	for i := range list.Len() {
		f(list.Get(i))
		eachMessage(list.Get(i).Messages(), f)
	}
}

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

// The error of a list that must be unique names the value that occurs twice.
func TestDuplicateIsNamed(t *testing.T) {
	for _, c := range []struct {
		events []string
		want   string
	}{
		{[]string{"access.issued", "door.opened", "lock.offline", "door.opened", "access.issued"}, `must not contain "door.opened" more than once`},
		{[]string{"access.issued", "door.opened"}, ""},
	} {
		found, err := Violations(protovalidate.GlobalValidator, nil, &partnerv1.UpsertWebhookRequest{Url: "https://pms.example/", Events: c.events}, "")
		if err != nil || len(found) > 1 || len(found) == 0 && c.want != "" {
			t.Fatal(found, err)
		}
		if len(found) == 1 && (found[0].Message != c.want || found[0].Path != "events" || found[0].Reason != fault.Duplicate) {
			t.Errorf("%v: %+v, want %q", c.events, found[0], c.want)
		}
	}
}
