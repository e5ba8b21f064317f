package e2e

import (
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/e2e/e2etest"
)

// The reader of protobuf counts the lists of a message in an array of this size.
const listsOfAMessage = 16

// TestEveryListOfARequestIsBounded holds the API to a limit for each list and map that a caller may send: the readers of
// requests stop at it. Bridges speak on a listener of their own.
func TestEveryListOfARequestIsBounded(t *testing.T) {
	t.Parallel()
	seen, lists := map[protoreflect.FullName]bool{}, 0
	for _, r := range e2etest.RPCs() {
		if r.Desc.Parent().FullName() == "latchkey.lock.v1.BridgeService" {
			continue
		}
		lists += unbounded(t, r.Desc.Input(), seen)
	}
	if lists < 10 {
		t.Errorf("only %d lists were found", lists)
	}
}

func unbounded(t *testing.T, md protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) (lists int) {
	if seen[md.FullName()] || md.ParentFile().Package() == "google.protobuf" {
		return 0
	}
	seen[md.FullName()] = true
	own := 0
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
		switch {
		case fd.IsMap() && rules.GetMap().GetMaxPairs() == 0:
			t.Errorf("the map %s has no max_pairs", fd.FullName())
		case fd.IsList() && rules.GetRepeated().GetMaxItems() == 0:
			t.Errorf("the list %s has no max_items", fd.FullName())
		}
		if fd.IsMap() || fd.IsList() {
			own++
		}
		if fd.Message() != nil {
			lists += unbounded(t, fd.Message(), seen)
		}
	}
	if own > listsOfAMessage {
		t.Errorf("%s has %d lists and maps", md.FullName(), own)
	}
	return lists + own
}
