package jsonpb

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

// mebibyte repeats a list entry as often as it fits into the largest body.
func mebibyte(before, entry, after string) []byte {
	n := (1<<20 - len(before) - len(after)) / (len(entry) + 1)
	return []byte(before + strings.Repeat(entry+",", n-1) + entry + after)
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestDecodeBoundsLists(t *testing.T) {
	for _, c := range []struct {
		name string
		raw  []byte
		into proto.Message
		path string
	}{
		{"messages", mebibyte(`{"reservations":[`, `{}`, `]}`), &partnerv1.BatchUpsertReservationsRequest{}, "reservations"},
		{"text", mebibyte(`{"pmsMeta":{"companionIds":[`, `""`, `]}}`), &partnerv1.Reservation{}, "pmsMeta.companionIds"},
		{"wrong entries", mebibyte(`{"spaces":[`, `7`, `]}`), &propertyv1.BatchCreateSpacesRequest{}, "spaces"},
		{"a list within a list", mebibyte(`{"reservations":[{"gatesPins":[`, `{}`, `]}]}`), &partnerv1.BatchUpsertReservationsRequest{}, "reservations[0].gatesPins"},
	} {
		r := &Report{}
		Decode([]byte(`{}`), c.into.ProtoReflect(), r) // plans are made once
		used := allocated(func() { Decode(c.raw, c.into.ProtoReflect(), r) })
		last := fault.Field{}
		if len(r.errors) > 0 {
			last = r.errors[len(r.errors)-1]
		}
		if r.Fault != nil || last.Path != c.path || last.Reason != fault.TooMany {
			t.Errorf("%s: %v, last of %d errors %+v", c.name, r.Fault, len(r.errors), last)
		}
		if used > 1<<20 {
			t.Errorf("%s: %d bytes were allocated for a body of %d", c.name, used, len(c.raw))
		}
	}
}

func TestAListUpToItsLimitIsRead(t *testing.T) {
	for n, wrong := range map[int]bool{100: false, 101: true} {
		r, got := &Report{}, &partnerv1.Reservation{}
		Decode([]byte(`{"pmsMeta":{"companionIds":[`+strings.Repeat(`"a",`, n-1)+`"b"],"id":"after"}}`), got.ProtoReflect(), r)
		if r.Fault != nil || (len(r.errors) > 0) != wrong || got.GetPmsMeta().GetId() != "after" || len(got.GetPmsMeta().GetCompanionIds()) != 100 {
			t.Errorf("%d: %v %v, %d entries", n, r.Fault, r.errors, len(got.GetPmsMeta().GetCompanionIds()))
		}
	}
}

func TestListsInAQueryAreBounded(t *testing.T) {
	r, got := &Report{}, &partnerv1.GetReservationRequest{}
	Query("extend="+strings.Repeat("pin,", 1000), got.ProtoReflect(), nil, r)
	if len(got.GetExtend()) != 8 || len(r.query) != 1 || r.query[0].Reason != fault.TooMany {
		t.Errorf("%d entries, %v", len(got.GetExtend()), r.query)
	}
}

// TestSentIsBounded sends an invalid entry with hundreds of thousands of values.
func TestSentIsBounded(t *testing.T) {
	r := &Report{}
	Decode(mebibyte(`{"reservations":[{"pmsNumber":7,"x":[`, `{}`, `]}]}`), (&partnerv1.BatchUpsertReservationsRequest{}).ProtoReflect(), r)
	var values int
	used := allocated(func() {
		s, ok := r.Sent("reservations[0]")
		if !ok || s.GetFields()["pmsNumber"].GetNumberValue() != 7 {
			t.Errorf("sent: %v", ok)
		}
		values = len(s.GetFields()["x"].GetListValue().GetValues())
	})
	if values == 0 || values > maxValues || used > 16<<20 {
		t.Errorf("%d values, %d bytes", values, used)
	}
}

func repeated(entry string) []byte { return []byte(strings.Repeat(entry, (1<<20)/len(entry))) }

func within(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

func TestMeasureFindsOversizedLists(t *testing.T) {
	companions := func(n int) []byte { return within(4, []byte(strings.Repeat("\x2a\x00", n))) } // pms_meta with n empty ids
	for _, c := range []struct {
		name string
		raw  []byte
		of   proto.Message
		want []string
	}{
		{"messages", repeated("\x0a\x00"), &partnerv1.BatchUpsertReservationsRequest{}, []string{"reservations"}},
		{"text below", companions(1000), &partnerv1.Reservation{}, []string{"pmsMeta.companionIds"}},
		{"a list of a list", slices.Concat(within(1, nil), within(1, companions(1000))), &partnerv1.BatchUpsertReservationsRequest{}, []string{"reservations[1].pmsMeta.companionIds"}},
		{"a message in parts", []byte(strings.Repeat(string(companions(20)), 20)), &partnerv1.Reservation{}, []string{"pmsMeta.companionIds"}},
		{"packed numbers", within(1, repeated("\x01")), &propertyv1.WeeklyHours{}, []string{"days"}},
		{"slightly too long", companions(150), &partnerv1.Reservation{}, nil},
		{"no protobuf", []byte("\xff\xff"), &partnerv1.Reservation{}, nil},
		// Decoding builds what is before the malformed byte.
		{"malformed at the end", append(repeated("\x0a\x00"), 0xff), &partnerv1.BatchUpsertReservationsRequest{}, []string{"reservations"}},
		{"malformed below", within(4, append([]byte(strings.Repeat("\x2a\x00", 1000)), 0xff)), &partnerv1.Reservation{}, []string{"pmsMeta.companionIds"}},
		{"malformed after a nested list", append(companions(1000), 0xff), &partnerv1.Reservation{}, []string{"pmsMeta.companionIds"}},
		{"malformed after a message in parts", append([]byte(strings.Repeat(string(companions(20)), 20)), 0xff), &partnerv1.Reservation{}, []string{"pmsMeta.companionIds"}},
	} {
		var got []string
		for _, f := range Measure(c.raw, c.of.ProtoReflect().Descriptor()).Oversized {
			got = append(got, f.Path)
			if f.Reason != fault.TooMany {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestMeasureAllocatesNothing(t *testing.T) {
	batch := &partnerv1.BatchUpsertReservationsRequest{}
	for range 100 {
		batch.Reservations = append(batch.Reservations, &partnerv1.Reservation{PmsMeta: &partnerv1.PmsMeta{Id: "r", CompanionIds: []string{"a", "b"}}, GatesPins: []*partnerv1.GatePin{{}}})
	}
	raw, err := proto.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	var size Size
	if n := testing.AllocsPerRun(100, func() { size = Measure(raw, batch.ProtoReflect().Descriptor()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if size.Entries != 400 || len(size.Oversized) > 0 {
		t.Errorf("measured %+v", size)
	}
}

// FuzzMeasure compares the count with what decoding finds.
func FuzzMeasure(f *testing.F) {
	f.Add([]byte("\x0a\x06\x22\x04\x2a\x00\x2a\x00"))
	f.Add([]byte("\x0a\x00\x0a\x00\x12\x03\x0a\x01a"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := &partnerv1.BatchUpsertReservationsRequest{}
		if proto.Unmarshal(raw, m) != nil {
			return
		}
		if got, want := Measure(raw, m.ProtoReflect().Descriptor()), entries(m.ProtoReflect()); len(got.Oversized) == 0 && got.Entries != want {
			t.Errorf("%x: %d entries, want %d", raw, got.Entries, want)
		}
	})
}

func entries(m protoreflect.Message) (n int) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsList():
			n += v.List().Len()
			for i := 0; fd.Message() != nil && i < v.List().Len(); i++ {
				n += entries(v.List().Get(i).Message())
			}
		case fd.Message() != nil && !fd.IsMap():
			n += entries(v.Message())
		}
		return true
	})
	return n
}
