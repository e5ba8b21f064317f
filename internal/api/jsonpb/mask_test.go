package jsonpb

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
)

func TestMasksOfAWholeRequest(t *testing.T) {
	mask := func(paths ...string) *fieldmaskpb.FieldMask { return &fieldmaskpb.FieldMask{Paths: paths} }
	for _, c := range []struct {
		text string
		want *fieldmaskpb.FieldMask
	}{
		{`{"reservation":{"pmsMeta":{"id":"Q"},"booker":{"email":null},"price":null}}`, mask("pms_meta.id", "booker.email", "price")},
		{`{"reservation":{"booker":null}}`, mask("booker")},
		{`{"reservation":{"booker":{"email":null}},"updateMask":"pmsNumber"}`, mask("pms_number")},
		{`{"updateMask":"","reservation":{"state":"started"}}`, mask("state")},
		{`{"reservation":null}`, nil},
		{`{}`, nil},
	} {
		var report Report
		got := &partnerv1.UpsertReservationRequest{}
		Decode([]byte(c.text), got.ProtoReflect(), &report)
		report.FillMasks(got.ProtoReflect())
		if !proto.Equal(got.GetUpdateMask(), c.want) && len(got.GetUpdateMask().GetPaths())+len(c.want.GetPaths()) > 0 {
			t.Errorf("%s: %v; want %v", c.text, got.GetUpdateMask(), c.want)
		}
	}
	var report Report
	got := &partnerv1.BatchUpsertReservationsRequest{}
	Decode([]byte(`{"updateMasks":["","state",""],"reservations":[{"price":null},{"price":null},{"booker":{"email":null}}]}`), got.ProtoReflect(), &report)
	report.FillMasks(got.ProtoReflect())
	want := []*fieldmaskpb.FieldMask{mask("price"), mask("state"), mask("booker.email")}
	if len(got.GetUpdateMasks()) != len(want) {
		t.Fatal(got)
	}
	for i, m := range got.GetUpdateMasks() {
		if !proto.Equal(m, want[i]) {
			t.Errorf("entry %d: %v; want %v", i, m, want[i])
		}
	}
}

// Masks that are fewer or more than the entries stay, so that the handler can refuse them.
func TestWrongNumberOfMasksStays(t *testing.T) {
	for text, want := range map[string]int{`["state"]`: 1, `["","",""]`: 3, `[]`: 2} {
		var report Report
		got := &partnerv1.BatchUpsertReservationsRequest{}
		Decode([]byte(`{"updateMasks":`+text+`,"reservations":[{"price":null},{"price":null}]}`), got.ProtoReflect(), &report)
		report.FillMasks(got.ProtoReflect())
		if n := len(got.GetUpdateMasks()); n != want {
			t.Errorf("%s: %d masks, want %d", text, n, want)
		}
	}
}

// Over REST the body is a field of the request, and the paths of its mask are relative to that field. A mask that the caller sent is ignored.
func TestMaskOfABodyThatIsAField(t *testing.T) {
	report := Report{Field: "reservation"}
	got := &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"state"}}}
	Decode([]byte(`{"pmsMeta":{"id":"Q"},"price":null}`), got.GetReservation().ProtoReflect(), &report)
	ClearMasks(got.ProtoReflect())
	report.FillMasks(got.ProtoReflect())
	if want := (&fieldmaskpb.FieldMask{Paths: []string{"pms_meta.id", "price"}}); !proto.Equal(got.GetUpdateMask(), want) {
		t.Errorf("%v; want %v", got.GetUpdateMask(), want)
	}
}

// A mask names fields as JSON or as the .proto files do.
func TestMaskTakesBothSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"adultCount": "adult_count", "adult_count": "adult_count", "pms_meta.space_id,pmsMeta.groupId,state": "pms_meta.space_id pms_meta.group_id state",
		"": "", "foo": "foo", "adult count": "wrong", "a,,b": "wrong", ",": "wrong", "_": "_", "a_b-c": "wrong", "a_b.": "wrong",
	} {
		var report Report
		got := &partnerv1.UpsertReservationRequest{}
		Decode([]byte(`{"updateMask":"`+text+`"}`), got.ProtoReflect(), &report)
		paths := strings.Join(got.GetUpdateMask().GetPaths(), " ")
		if len(report.TypeErrors("")) > 0 {
			paths = "wrong"
		}
		if paths != want {
			t.Errorf("%q: %q, want %q", text, paths, want)
		}
	}
}

// The form of a mask in JSON differs from its form in protobuf: the error for the protobuf form says which form is right.
func TestMaskInTheFormOfProtobufIsExplained(t *testing.T) {
	var report Report
	Decode([]byte(`{"updateMask":{"paths":["adult_count"]}}`), (&partnerv1.UpsertReservationRequest{}).ProtoReflect(), &report)
	if found := report.TypeErrors(""); len(found) != 1 || !strings.Contains(found[0].Message, `"adultCount,booker.email"`) {
		t.Error(found)
	}
}
