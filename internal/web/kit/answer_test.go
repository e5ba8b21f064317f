package kit

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/message"
)

// fill sets each field of a message, and of the messages in it, to its name, and returns the values.
func fill(m protoreflect.Message) (values []string) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		value := string(m.Descriptor().Name()) + "." + f.JSONName()
		switch {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("plate").MapKey(), protoreflect.ValueOfString(value))
		case f.IsList():
			m.Mutable(f).List().Append(protoreflect.ValueOfString(value))
		case f.Kind() == protoreflect.MessageKind:
			values = append(values, fill(m.Mutable(f).Message())...)
			continue
		default:
			m.Set(f, protoreflect.ValueOfString(value))
		}
		values = append(values, value)
	}
	return values
}

// A page shows every answer of a guest, also one to a question that is new in the API.
func TestAnswersAreWhole(t *testing.T) {
	person := &guestv1.Person{}
	want := fill(person.ProtoReflect())
	var got []string
	for _, f := range AnswersOf(person) {
		got = append(got, f.Value)
		if f.Field == "" && f.Label != "plate" || f.Field != "" && !message.Has("field."+f.Field) && !message.Has("staff.field."+f.Field) {
			t.Errorf("%+v has no label", f)
		}
		if f.Kind == "choice" && len(message.List(message.English, "choice."+f.Field+".")) == 0 {
			t.Errorf("%+v has no choices", f)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the answers are\n%q, want\n%q", got, want)
	}
	if none := AnswersOf(&guestv1.Person{}); len(none) > 0 {
		t.Errorf("no answer is %+v", none)
	}
}
