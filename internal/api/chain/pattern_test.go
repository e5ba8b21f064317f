package chain

import (
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "latchkey.dev/gen/latchkey/admin/v1"
	_ "latchkey.dev/gen/latchkey/guest/v1"
	_ "latchkey.dev/gen/latchkey/kiosk/v1"
	_ "latchkey.dev/gen/latchkey/property/v1"
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
