package partner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/reservation"
)

func ptr[T any](v T) *T { return &v }

func TestPatchOf(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	id := reservation.Patch{reservation.PMSID: "A"}
	full := &partnerv1.Reservation{
		Id: "rsv_1", State: "started", AdultCount: ptr(int32(0)), Owing: ptr(0.0), From: ptr("f"), RoomId: ptr(""),
		PmsMeta: &partnerv1.PmsMeta{Id: "A", SpaceId: ptr("s"), CompanionIds: []string{"c"}, UpdatedAt: timestamppb.New(at)},
		Booker:  &partnerv1.Booker{LastName: "L"}, Pin: ptr("1"), Stale: ptr(true),
	}
	for _, c := range []struct {
		name  string
		sent  *partnerv1.Reservation
		mask  []string
		want  reservation.Patch
		wrong int
	}{
		{"no mask: what is populated", full, nil, reservation.Patch{
			reservation.PMSID: "A", reservation.SpaceID: "s", reservation.CompanionIDs: []string{"c"}, reservation.PMSUpdatedAt: at, reservation.LastName: "L",
			reservation.State: "started", reservation.Adults: 0, reservation.Owing: 0.0, reservation.From: "f", reservation.RoomID: ""}, 0},
		{"a mask names what counts", full, []string{"state"}, reservation.Patch{reservation.PMSID: "A", reservation.State: "started"}, 0},
		{"named and not set is cleared", full, []string{"price", "child_count", "to_date", "booker.email", "pms_meta.group_id"}, reservation.Patch{
			reservation.PMSID: "A", reservation.Price: nil, reservation.Children: nil, reservation.ToDate: nil, reservation.Email: nil, reservation.GroupID: nil}, 0},
		{"a whole group", full, []string{"booker"}, reservation.Patch{reservation.PMSID: "A", reservation.FirstName: nil, reservation.LastName: "L", reservation.Email: nil, reservation.Mobile: nil}, 0},
		{"read-only fields are ignored", full, []string{"id", "access", "pin", "gates_pins.pin", "created_at", "stale"}, id, 0},
		{"unknown fields", full, []string{"colour", "pms_meta.colour", "booker.colour", "adult_count.colour", ""}, id, 5},
		{"nothing", &partnerv1.Reservation{}, nil, reservation.Patch{reservation.PMSID: nil}, 0},
		{"a time cleared", &partnerv1.Reservation{PmsMeta: &partnerv1.PmsMeta{Id: "A"}}, []string{"pms_meta.updated_at"}, reservation.Patch{reservation.PMSID: "A", reservation.PMSUpdatedAt: nil}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, wrong := patchOf(c.sent, &fieldmaskpb.FieldMask{Paths: c.mask})
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if len(wrong) != c.wrong {
				t.Errorf("wrong: %v", wrong)
			}
		})
	}
}

// Each field of the message is either writable by the PMS or read-only.
func TestEveryFieldIsWritableOrReadOnly(t *testing.T) {
	ours := map[string]bool{
		"id": true, "property_id": true, "hostel_id": true, "created_at": true, "updated_at": true, "access": true, "stale": true,
		"pin": true, "gates_pins": true, "space": true, "main_customer": true, "companions": true,
	}
	seen := 0
	var walk func(prefix string, d protoreflect.MessageDescriptor)
	walk = func(prefix string, d protoreflect.MessageDescriptor) {
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			path := prefix + string(f.Name())
			_, sendable := fields[path]
			switch {
			case messageFields[path] != nil:
				walk(path+".", f.Message())
			case sendable == ours[path]:
				t.Errorf("%s is sendable: %v, and ours: %v", path, sendable, ours[path])
			case sendable:
				seen++
			}
		}
	}
	walk("", (&partnerv1.Reservation{}).ProtoReflect().Descriptor())
	if seen != len(fields) {
		t.Errorf("%d of %d sendable fields are in the message", seen, len(fields))
	}
}
