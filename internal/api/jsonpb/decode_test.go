package jsonpb

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
)

func TestDecodeReadsWhatProtojsonReads(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"pmsMeta":{"id":"r-1","groupId":"g","companionIds":["a","b"],"updatedAt":"2026-11-20T15:00:00.123+01:00"},"pmsNumber":"17","state":"started"}`,
		`{"adultCount":2,"childCount":0,"price":10.50,"owing":0.1,"owingCurrency":"EUR"}`,
		`{"adultCount":2.0,"childCount":1e1,"price":-1e3}`,
		`{"booker":{"lastName":"Ærø \u00e5 \"quoted\" \ud83d\ude00","email":null},"from":"2026-11-20T15:00:00+01:00"}`,
		`{"pms_number":"snake","gates_pins":[{"gate_id":"g"}]}`,
		"\t{ \"pmsNumber\" :\r\n \"x\" , \"owing\" : 1 }\n",
		`{"booker":{}}`,
		`{"pmsMeta":{"companionIds":[]}}`,
	} {
		got, want := &partnerv1.Reservation{}, &partnerv1.Reservation{}
		r := &Report{}
		Decode([]byte(text), got.ProtoReflect(), r)
		if r.Fault != nil || len(r.errors) > 0 {
			t.Errorf("%s: %v %v", text, r.Fault, r.errors)
		}
		if err := protojson.Unmarshal([]byte(text), want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// House rules, the address and directions may have several lines; other texts are a single line.
func TestDecodeTextsOfSeveralLines(t *testing.T) {
	got, r := &propertyv1.UpdateCheckInSettingsRequest{}, &Report{}
	Decode([]byte(`{"settings":{"houseRules":"Quiet from 22:00.\r\nNo smoking.\nEnjoy.","directions":"a\u0000b\nc","rule":"none\nDE"}}`), got.ProtoReflect(), r)
	if want := "Quiet from 22:00.\r\nNo smoking.\nEnjoy."; got.GetSettings().GetHouseRules() != want {
		t.Errorf("house rules %q, want %q", got.GetSettings().GetHouseRules(), want)
	}
	var refused []string
	for _, e := range r.errors {
		refused = append(refused, e.Path)
	}
	slices.Sort(refused)
	if want := []string{"settings.directions", "settings.rule"}; !slices.Equal(refused, want) {
		t.Errorf("refused %v, want %v", refused, want)
	}
}

// A name may be empty. It is no index.
func TestDecodeNamesAValueWithAnEmptyName(t *testing.T) {
	r := &Report{}
	Decode([]byte(`{"settings":{"texts":{"byLanguage":{"":7}}}}`), (&propertyv1.UpdateCheckInSettingsRequest{}).ProtoReflect(), r)
	if len(r.errors) != 1 || r.errors[0].Path != "settings.texts.byLanguage." {
		t.Errorf("errors %v", r.errors)
	}
}

func TestDecodeSkipsUnknownNames(t *testing.T) {
	got := &partnerv1.Reservation{}
	r := &Report{}
	Decode([]byte(`{"x":{"y":[1,{"z":null}]},"pmsNumber":"1","booker":{"shoeSize":43},"\ud800":1}`), got.ProtoReflect(), r)
	if r.Fault != nil || len(r.errors) > 0 || got.GetPmsNumber() != "1" {
		t.Errorf("got %v, fault %v, errors %v", got, r.Fault, r.errors)
	}
	if diff := cmp.Diff([]string{"pms_number"}, r.Mask("")); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeNamesEveryWrongValue(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // path reason
	}{
		{`{"pmsNumber":17,"state":true,"adultCount":"2","owing":"1.5","booker":"Ann","pmsMeta":[],"gatesPins":{}}`,
			[]string{"pmsNumber wrongType", "state wrongType", "adultCount wrongType", "owing wrongType", "booker wrongType", "pmsMeta wrongType", "gatesPins wrongType"}},
		{`{"pmsMeta":{"updatedAt":"yesterday","companionIds":["a",2,null]},"createdAt":"2026-11-20T15:00:00"}`,
			[]string{"pmsMeta.updatedAt badFormat", "pmsMeta.companionIds[1] wrongType", "pmsMeta.companionIds[2] wrongType", "createdAt badFormat"}},
		{`{"adultCount":2.5,"childCount":99999999999,"price":1e999,"owing":-1e999}`,
			[]string{"adultCount wrongType", "childCount outOfRange", "price outOfRange", "owing outOfRange"}},
		{`{"adultCount":1e999999999,"childCount":0e999999999}`, []string{"adultCount outOfRange"}},
		{`{"adultCount":1e-1}`, []string{"adultCount wrongType"}},
		{`{"pmsNumber":"a\u0000b","sourceName":"\ud800"}`, []string{"pmsNumber notPrintable", "sourceName notPrintable"}},
		{"{\"pmsNumber\":\"\xff\xfe\",\"booker\":{\"lastName\":\"\\n\xc3\"}}", []string{"pmsNumber notPrintable", "booker.lastName notPrintable"}},
		{`{"pmsNumber":"1","pmsNumber":"2","pms_number":"3"}`, []string{"pmsNumber duplicate", "pmsNumber duplicate"}},
		{`{"gatesPins":[{"gateId":"1"},7,{"gateId":2}]}`, []string{"gatesPins[1] wrongType", "gatesPins[2].gateId wrongType"}},
		{`{"stale":"true"}`, []string{"stale wrongType"}},
		{`{"createdAt":"9999-12-31T23:59:59-01:00","updatedAt":"2026-11-20T15:00:00,5Z"}`, []string{"createdAt outOfRange", "updatedAt badFormat"}},
		{`{"createdAt":"2026-11-20T15:00:00+24:00","updatedAt":"2026-11-20T5:00:00Z"}`, []string{"createdAt badFormat", "updatedAt badFormat"}},
		{`{"createdAt":"2026-11-20t15:00:00z","updatedAt":"2026-11-20T15:00:00+00:60"}`, []string{"updatedAt badFormat"}},
	} {
		r := &Report{}
		Decode([]byte(c.text), (&partnerv1.Reservation{}).ProtoReflect(), r)
		if r.Fault != nil {
			t.Errorf("%s: %v", c.text, r.Fault)
		}
		var got []string
		for _, f := range r.TypeErrors("") {
			got = append(got, fmt.Sprintf("%s %s", f.Path, f.Reason))
			if f.Message == "" {
				t.Errorf("%s: %s has no message", c.text, f.Path)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

func TestDecodeSaysWhereBadJSONIs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\n  \"pmsNumber\": \"1\",\n  \"state\" \"x\"}", "line 3, column 11 (byte offset 32)"},
		{`{"pmsNumber":`, "ends too early"},
		{`[1]`, "not one JSON object"},
		{`null`, "not one JSON object"},
		{`"x"`, "not one JSON object"},
		{`{} {}`, "more after"},
		{`{}x`, "more after"},
		{`{"a":01}`, "line 1"},
		{`{'a':1}`, "line 1"},
		{`hello`, "line 1, column 1"},
		{"\xff", "line 1, column 1"},
	} {
		r := &Report{}
		Decode([]byte(c.text), (&partnerv1.Reservation{}).ProtoReflect(), r)
		if r.Fault == nil || r.Fault.Kind != fault.Invalid || r.Fault.Reason != fault.BadJSON || !strings.Contains(r.Fault.Message, c.want) {
			t.Errorf("%q: %v, want %q", c.text, r.Fault, c.want)
		}
	}
}

func TestDecodeAcceptsEmptyBodyAndByteOrderMark(t *testing.T) {
	for _, text := range []string{"", " \n", "\ufeff", "\ufeff{\"pmsNumber\":\"1\"}"} {
		r := &Report{}
		Decode([]byte(text), (&partnerv1.Reservation{}).ProtoReflect(), r)
		if r.Fault != nil || len(r.errors) > 0 {
			t.Errorf("%q: %v %v", text, r.Fault, r.errors)
		}
	}
}

func TestMask(t *testing.T) {
	r := &Report{}
	got := &partnerv1.Reservation{}
	Decode([]byte(`{"owing":null,"from":null,"booker":{"email":null,"lastName":"A"},"pmsMeta":{"id":"1","companionIds":["x"]},"gatesPins":null,"space":null}`), got.ProtoReflect(), r)
	want := []string{"owing", "from", "booker.email", "booker.last_name", "pms_meta.id", "pms_meta.companion_ids", "gates_pins", "space"}
	if diff := cmp.Diff(want, r.Mask("")); diff != "" {
		t.Error(diff)
	}
	if got.Owing != nil || got.Booker.Email != nil || got.Space != nil {
		t.Errorf("null left a value: %v", got)
	}
}

func TestEntriesHaveTheirOwnMasksAndErrors(t *testing.T) {
	r := &Report{}
	got := &partnerv1.BatchUpsertReservationsRequest{}
	Decode([]byte(`{"reservations": [{"pmsNumber":"1","owing":null} , 7,{"owing":"x","booker":{"lastName":"A\u0000"}},{}]}`), got.ProtoReflect(), r)
	if len(got.GetReservations()) != 4 || r.Len("reservations") != 4 {
		t.Fatalf("%d entries, %d in the report, want 4", len(got.GetReservations()), r.Len("reservations"))
	}
	for path, want := range map[string][]string{
		"":                 {"reservations"},
		"reservations[0]":  {"pms_number", "owing"},
		"reservations[1]":  nil,
		"reservations[2]":  {"owing", "booker.last_name"},
		"reservations[3]":  nil,
		"reservations[4]":  nil,
		"reservations[-1]": nil,
		"reservations":     nil,
	} {
		if diff := cmp.Diff(want, r.Mask(path)); diff != "" {
			t.Errorf("mask of %q: %s", path, diff)
		}
	}
	for prefix, want := range map[string]int{"reservations[0]": 0, "reservations[1]": 1, "reservations[2]": 2, "reservations": 3, "": 3, "reserv": 0} {
		if n := len(r.TypeErrors(prefix)); n != want {
			t.Errorf("%d errors below %q, want %d", n, prefix, want)
		}
	}
	for path, want := range map[string]string{
		"reservations[0]": `{"pmsNumber":"1","owing":null}`,
		"reservations[1]": `{"value":7}`,
		"reservations[3]": `{}`,
	} {
		sent, ok := r.Sent(path)
		wanted := &structpb.Struct{}
		if err := protojson.Unmarshal([]byte(want), wanted); err != nil {
			t.Fatal(err)
		}
		if !ok || !proto.Equal(sent, wanted) {
			t.Errorf("sent %s = %v, %v, want %s", path, sent, ok, want)
		}
	}
}

func TestSentReplacesInvalidText(t *testing.T) {
	r := &Report{}
	Decode([]byte("{\"reservations\":[{\"pmsNumber\":\"\xff\",\"\xfe\":1,\"a\":\"\\ud800\",\"n\":1e999}]}"), (&partnerv1.BatchUpsertReservationsRequest{}).ProtoReflect(), r)
	sent, ok := r.Sent("reservations[0]")
	if !ok {
		t.Fatal("nothing was kept")
	}
	if _, err := protojson.Marshal(sent); err != nil {
		t.Errorf("cannot be answered: %v", err)
	}
}

func TestNilReportIsEmpty(t *testing.T) {
	var r *Report
	if r.Mask("") != nil || r.TypeErrors("") != nil || r.Len("x") != 0 {
		t.Error("a call without a report has one")
	}
	if _, ok := r.Sent("x[0]"); ok {
		t.Error("a call without a report sent something")
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(`{"requestData":{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`)
	}
	for n, wrong := range map[int]bool{10: false, 200: true} {
		r := &Report{}
		Decode(deep(n), (&partnerv1.BatchFailure{}).ProtoReflect(), r)
		if r.Fault != nil || (len(r.errors) > 0) != wrong {
			t.Errorf("depth %d: %v %v", n, r.Fault, r.errors)
		}
	}
	r := &Report{}
	Decode([]byte(strings.Repeat(`{"a":`, 200_000)), (&partnerv1.Reservation{}).ProtoReflect(), r)
	if r.Fault == nil {
		t.Error("200,000 open objects are no fault")
	}
}

func TestErrorsAreBounded(t *testing.T) {
	r := &Report{}
	Decode([]byte(`{`+strings.Repeat(`"pmsNumber":1,`, 70_000)+`"pmsNumber":1}`), (&partnerv1.Reservation{}).ProtoReflect(), r)
	if len(r.errors) != maxErrors {
		t.Errorf("%d errors, want %d", len(r.errors), maxErrors)
	}
}

func TestNormalizeInteger(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "1": "1", "1.0": "1", "1.50e1": "15", "12e2": "1200", "100": "100", "-7.00": "-7",
		"0.0e99": "0", "1e-0": "1", "10e-1": "1", "9223372036854775807": "9223372036854775807",
	} {
		if got, ok := normalizeInteger(in); !ok || got != want {
			t.Errorf("plainInteger(%s) = %q, %v, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{"1.5", "1e-1", "", "x", "-", "1.", ".5x", "+1", "0x10"} {
		if got, ok := normalizeInteger(in); ok && in != "1." {
			t.Errorf("plainInteger(%s) = %q", in, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"pmsMeta":{"id":"r","updatedAt":"2026-11-20T15:00:00Z"},"owing":1.5,"adultCount":1.0,"booker":{"lastName":"\u00e5"}}`,
		`{"reservations":[{"owing":null},7,{"gatesPins":[{}]}],"updateMasks":["a,b"]}`,
		`{"failures":[{"requestData":{"a":[1,{"b":null}]}}]}`, "{\"pmsNumber\":\"\xff\"}", `{"a":`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, msg := range []proto.Message{&partnerv1.Reservation{}, &partnerv1.BatchUpsertReservationsRequest{}, &partnerv1.BatchOutcome{}, &structpb.Value{}} {
			r := &Report{}
			Decode(raw, msg.ProtoReflect(), r)
			if r.Fault != nil {
				continue
			}
			if _, err := proto.Marshal(msg); err != nil {
				t.Fatalf("read a message that protobuf cannot write: %v", err)
			}
			for i := range r.Len("reservations") {
				if s, ok := r.Sent(fmt.Sprintf("reservations[%d]", i)); ok {
					if _, err := protojson.Marshal(s); err != nil {
						t.Fatalf("entry %d cannot be answered: %v", i, err)
					}
				}
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	raw := []byte(`{"pmsMeta":{"id":"r-1","spaceId":"101","updatedAt":"2026-11-20T15:00:00Z"},"pmsNumber":"17","booker":{"firstName":"Ann","lastName":"Bo","email":"ann@example.org"},"state":"confirmed","from":"2026-11-20T15:00:00+01:00","to":"2026-11-22T10:00:00+01:00","adultCount":2,"owing":10.5,"owingCurrency":"EUR"}`)
	b.ReportAllocs()
	for b.Loop() {
		Decode(raw, (&partnerv1.Reservation{}).ProtoReflect(), &Report{})
	}
}

func BenchmarkProtojson(b *testing.B) {
	raw := []byte(`{"pmsMeta":{"id":"r-1","spaceId":"101","updatedAt":"2026-11-20T15:00:00Z"},"pmsNumber":"17","booker":{"firstName":"Ann","lastName":"Bo","email":"ann@example.org"},"state":"confirmed","from":"2026-11-20T15:00:00+01:00","to":"2026-11-22T10:00:00+01:00","adultCount":2,"owing":10.5,"owingCurrency":"EUR"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := protojson.Unmarshal(raw, &partnerv1.Reservation{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDecodeReportsUnknownNames(t *testing.T) {
	for text, want := range map[string][]string{
		`{"pmsNumber":"1"}`: nil,
		`{"zzz":null,"booker":{"shoe":44,"lastName":"A"},"gatesPins":[{"gate":{"x":1}}]}`: {"zzz", "booker.shoe", "gatesPins[0].gate"},
		`{"a\u0000b":1,"\ud800":2,"` + strings.Repeat("n", 100) + `":3}`:                  {"a?b", `\ud800`, strings.Repeat("n", 64)},
	} {
		r := &Report{}
		Decode([]byte(text), (&partnerv1.Reservation{}).ProtoReflect(), r)
		var got []string
		for _, f := range r.Unknown() {
			got = append(got, f.Path)
			if f.Reason != fault.Unsupported {
				t.Errorf("%s: %v", text, f)
			}
		}
		if !slices.Equal(got, want) || r.TypeErrors("") != nil || r.Fault != nil {
			t.Errorf("%s: got %q, want %q, besides %v %v", text, got, want, r.TypeErrors(""), r.Fault)
		}
	}
}

// The error for a misspelt field suggests the most similar field. The report suggests fields for the first maxSuggestions names only.
func TestUnknownNamesSuggestTheNearest(t *testing.T) {
	for body, want := range map[string][]string{
		`{"pmsNumbr":"1"}`:                           {`unknown field; did you mean "pmsNumber"?`},
		`{"pms_numbr":"1"}`:                          {`unknown field; did you mean "pmsNumber"?`},
		`{"adultsCount":1,"colour":"red"}`:           {`unknown field; did you mean "adultCount"?`, "unknown field"},
		`{"booker":{"lastname":"A","frstName":"B"}}`: {`unknown field; did you mean "lastName"?`, `unknown field; did you mean "firstName"?`},
		`{"pmsMeta":{"ids":"1"}}`:                    {`unknown field; did you mean "id"?`},
		`{"":1,"x":2}`:                               {"unknown field", "unknown field"},
	} {
		r := &Report{}
		Decode([]byte(body), (&partnerv1.Reservation{}).ProtoReflect(), r)
		var got []string
		for _, f := range r.Unknown() {
			got = append(got, f.Message)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	var body strings.Builder
	for i := range 2 * maxSuggestions {
		fmt.Fprintf(&body, `,"pmsNumber%d":1`, i)
	}
	r, suggested := &Report{}, 0
	Decode([]byte("{"+body.String()[1:]+"}"), (&partnerv1.Reservation{}).ProtoReflect(), r)
	for _, f := range r.Unknown() {
		if f.Message != "unknown field" {
			suggested++
		}
	}
	if suggested != maxSuggestions {
		t.Errorf("%d suggestions, want %d", suggested, maxSuggestions)
	}
}
