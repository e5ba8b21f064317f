package pms

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/money"
)

// found writes violations as "path reason", which is what a partner acts on.
func found(fields []fault.Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, strings.TrimSpace(f.Path+" "+string(f.Reason)))
	}
	return out
}

const room = `{"id":"R1","type":"Room","name":"101","isPrivate":true,"isActive":true}`

func TestSpacesWithinTheContract(t *testing.T) {
	r1 := &pmsv1.Space{Id: "R1", Type: SpaceRoom, Name: "101", IsPrivate: true, IsActive: true}
	for name, c := range map[string]struct {
		body string
		want []*pmsv1.Space
	}{
		"bare list":         {"[" + room + "]", []*pmsv1.Space{r1}},
		"under data":        {`{"data":[` + room + `],"total":1}`, []*pmsv1.Space{r1}},
		"no rooms":          {`[]`, []*pmsv1.Space{}},
		"no rooms in data":  {`{"data":[]}`, []*pmsv1.Space{}},
		"byte order mark":   {"\xef\xbb\xbf[" + room + "]", []*pmsv1.Space{r1}},
		"white space":       {" \n[ " + room + " ]\t", []*pmsv1.Space{r1}},
		"unknown fields":    {`[{"colour":"red","id":"R1","type":"Room","name":"101","isPrivate":true,"isActive":true}]`, []*pmsv1.Space{r1}},
		"error is null":     {`{"error":null,"data":[]}`, []*pmsv1.Space{}},
		"null optionals":    {`[{"id":"R1","type":"Room","name":"101","isPrivate":true,"isActive":true,"parentId":null,"floor":null}]`, []*pmsv1.Space{r1}},
		"the same id twice": {"[" + room + "," + room + "]", []*pmsv1.Space{r1, r1}},
		"a bed, a dorm": {
			`[{"id":"B1","type":"Bed","name":"A","isPrivate":false,"isActive":false,"parentId":"D1","floor":"2nd"},{"id":"D1","type":"Dorm","name":"Ünï","isPrivate":false,"isActive":true,"floor":-1}]`,
			[]*pmsv1.Space{{Id: "B1", Type: SpaceBed, Name: "A", ParentId: proto.String("D1"), Floor: proto.String("2nd")}, {Id: "D1", Type: SpaceDorm, Name: "Ünï", IsActive: true, Floor: proto.String("-1")}},
		},
	} {
		got, violations := DecodeSpaces([]byte(c.body))
		if diff := cmp.Diff(c.want, got, protocmp.Transform()); diff != "" || violations != nil {
			t.Errorf("%s: %v %s", name, violations, diff)
		}
	}
}

func TestSpacesOutsideTheContract(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"empty":               {``, []string{"badJson"}},
		"html":                {`<html>502</html>`, []string{"badJson"}},
		"cut short":           {`[{"id":"R1"`, []string{"badJson"}},
		"more after the end":  {`[][]`, []string{"badJson"}},
		"broken UTF-8":        {"[\"\xff\"]", []string{"badFormat"}},
		"null":                {`null`, []string{"wrongType"}},
		"text":                {`"x"`, []string{"wrongType"}},
		"number":              {`1`, []string{"wrongType"}},
		"object without data": {`{}`, []string{"data required"}},
		"data in capitals":    {`{"Data":[]}`, []string{"data required"}},
		"data null":           {`{"data":null}`, []string{"wrongType"}},
		"data twice":          {`{"data":[],"data":[]}`, []string{"duplicate"}},
		"item null":           {`[null]`, []string{"[0] wrongType"}},
		"item a list":         {`[[]]`, []string{"[0] wrongType"}},
		"second item":         {"[" + room + `,"x"]`, []string{"[1] wrongType"}},
		"empty item": {`[{}]`, []string{
			"[0].id required", "[0].type required", "[0].name required", "[0].isPrivate required", "[0].isActive required",
		}},
		"names in capitals": {`[{"ID":"R1","type":"Room","name":"101","isPrivate":true,"isActive":true}]`, []string{"[0].id required"}},
		"wrong types": {`[{"id":1,"type":2,"name":null,"isPrivate":"true","isActive":1,"parentId":2,"floor":true}]`, []string{
			"[0].id wrongType", "[0].type wrongType", "[0].name wrongType", "[0].isPrivate wrongType", "[0].isActive wrongType",
			"[0].parentId wrongType", "[0].floor wrongType",
		}},
		"values": {fmt.Sprintf(`[{"id":"","type":"room","name":"a\u0000","isPrivate":true,"isActive":true,"parentId":"%s","floor":"%s"}]`,
			strings.Repeat("x", 129), strings.Repeat("9", 65)), []string{
			"[0].id tooShort", "[0].name notPrintable", "[0].type wrongValue", "[0].parentId tooLong", "[0].floor tooLong",
		}},
		"half a surrogate": {`[{"id":"\ud800","type":"Room","name":"101","isPrivate":true,"isActive":true}]`, []string{"[0].id notPrintable"}},
		"id twice":         {`[{"id":"R1","id":"R2","type":"Room","name":"101","isPrivate":true,"isActive":true}]`, []string{"[0] duplicate"}},
		"too many":         {"[" + strings.Repeat("0,", maxSpaces) + "0]", []string{"tooMany"}},
	} {
		got, violations := DecodeSpaces([]byte(c.body))
		if diff := cmp.Diff(c.want, found(violations)); diff != "" || got != nil {
			t.Errorf("%s: %v %s", name, got, diff)
		}
	}
	if _, violations := DecodeSpaces([]byte("[" + strings.Repeat("0,", 5000) + "0]")); len(violations) != maxViolations {
		t.Errorf("%d violations of 5001 wrong items are listed, want %d", len(violations), maxViolations)
	}
}

func TestStatusWithinTheContract(t *testing.T) {
	for body, want := range map[string]checkin.Status{
		`{"owing":12.5,"owingCurrency":"EUR","roomReady":true}`:      {Owing: money.Amount{Minor: 1250, Currency: "EUR"}, RoomReady: true},
		`{"owing":0,"owingCurrency":"EUR","roomReady":false}`:        {Owing: money.Amount{Currency: "EUR"}},
		`{"owing":0,"roomReady":true}`:                               {RoomReady: true},
		`{"owing":-0.00,"owingCurrency":null,"roomReady":true}`:      {RoomReady: true},
		`{"owing":-3,"owingCurrency":"JPY","roomReady":true,"x":{}}`: {Owing: money.Amount{Minor: -3, Currency: "JPY"}, RoomReady: true},
		`{"owing":1e2,"owingCurrency":"KWD","roomReady":true}`:       {Owing: money.Amount{Minor: 100000, Currency: "KWD"}, RoomReady: true},
	} {
		got, violations := DecodeStatus([]byte(body))
		if got != want || violations != nil {
			t.Errorf("%s: %+v %v, want %+v", body, got, violations, want)
		}
	}
}

func TestStatusOutsideTheContract(t *testing.T) {
	for body, want := range map[string][]string{
		``:            {"badJson"},
		`OK`:          {"badJson"},
		`[]`:          {"wrongType"},
		`{}`:          {"owing required", "roomReady required"},
		`{"data":{}}`: {"owing required", "roomReady required"},
		`{"owing":null,"owingCurrency":"EUR","roomReady":null}`:        {"owing wrongType", "roomReady wrongType"},
		`{"owing":"0","owingCurrency":"EUR","roomReady":"true"}`:       {"owing wrongType", "roomReady wrongType"},
		`{"Owing":0,"owingCurrency":"EUR","RoomReady":true}`:           {"owing required", "roomReady required"},
		`{"owing":1,"roomReady":true}`:                                 {"owingCurrency required"},
		`{"owing":1,"owingCurrency":"eur","roomReady":true}`:           {"owingCurrency wrongValue"},
		`{"owing":1,"owingCurrency":"EURO","roomReady":true}`:          {"owingCurrency tooLong"},
		`{"owing":1,"owingCurrency":978,"roomReady":true}`:             {"owingCurrency wrongType"},
		`{"owing":1,"owingCurrency":"ZZZ","roomReady":true}`:           {"owingCurrency wrongValue"},
		`{"owing":1.005,"owingCurrency":"EUR","roomReady":true}`:       {"owing outOfRange"},
		`{"owing":0.5,"owingCurrency":"JPY","roomReady":true}`:         {"owing outOfRange"},
		`{"owing":1e30,"owingCurrency":"EUR","roomReady":true}`:        {"owing outOfRange"},
		`{"owing":1,"owing":0,"owingCurrency":"EUR","roomReady":true}`: {"duplicate"},
	} {
		_, violations := DecodeStatus([]byte(body))
		if diff := cmp.Diff(want, found(violations)); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

func TestErrorsInAnAnswer(t *testing.T) {
	for body, want := range map[string]struct {
		reason, message string
		found           bool
	}{
		`{"error":{"reason":"noSuchRoom","message":"Room 7 is closed","code":5}}`: {"noSuchRoom", "Room 7 is closed", true},
		`{"error":{}}`:                        {"", "", true},
		`{"error":{"reason":7,"message":[]}}`: {"", "", true},
		`{"error":"room closed"}`:             {"", "room closed", true},
		`{"error":true}`:                      {"", "", true},
		`{"error":null}`:                      {"", "", false},
		`{"error":false}`:                     {"", "", false},
		`{"error":""}`:                        {"", "", false},
		`{"Error":{"message":"x"}}`:           {"", "", false},
		`[{"error":{}}]`:                      {"", "", false},
		`{"data":[]}`:                         {"", "", false},
		`OK`:                                  {"", "", false},
		``:                                    {"", "", false},
	} {
		got := DecodeError([]byte(body))
		if got.GetReason() != want.reason || got.GetMessage() != want.message || (got != nil) != want.found {
			t.Errorf("%s: %v, want %+v", body, got, want)
		}
	}
}

func TestSanitize(t *testing.T) {
	for text, want := range map[string]string{
		"Room  7\r\nis\x00 closed\u202e":               "Room 7 is closed",
		"no such token tok+secret/42=&?":               "no such token [token]",
		"GET /x?token=tok%2Bsecret%2F42%3D%26%3F":      "GET /x?token=[token]",
		strings.Repeat("ü", 60):                        strings.Repeat("ü", 49) + "…",
		strings.Repeat("ü", 50):                        strings.Repeat("ü", 50),
		"\xff\xfe":                                     "",
		"tok+secret/4":                                 "tok+secret/4",
		"\x1b[31mred\x1b[0m":                           "[31mred [0m",
		"two " + testToken + " and " + testToken + "!": "two [token] and [token]!",
	} {
		if got := sanitize(text, testToken, 50); got != want {
			t.Errorf("quote(%q) = %q, want %q", text, got, want)
		}
	}
}

// A token that is an ordinary word is masked once, and a very short one is not masked.
func TestSanitizeMasksOnce(t *testing.T) {
	for _, c := range []struct{ text, token, want string }{
		{"the token is wrong", "token", "the [token] is wrong"},
		{"token=to%2Fken and to/ken", "to/ken", "token=[token] and [token]"},
		{"tok%25 and tok%", "tok%", "[token] and [token]"},
		{"a room has a name", "a", "a room has a name"},
		{"room abc", "abc", "room abc"},
		{"room abcd", "abcd", "room [token]"},
	} {
		if got := sanitize(c.text, c.token, 50); got != c.want {
			t.Errorf("%q with the token %q: %q, want %q", c.text, c.token, got, c.want)
		}
	}
}

// A reason of the public list stays as it was sent, and any other loses the token.
func TestReasonsOfTheListAreNotMasked(t *testing.T) {
	for reason, want := range map[string]string{
		"reservationNotFound": "reservationNotFound", "spaceUnknown": "spaceUnknown", "reservationLost": "[token]Lost", "": "",
	} {
		if got := sanitizeReason(reason, "reservation"); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

func seeds(f *testing.F) {
	for _, s := range []string{
		"", "[]", "[" + room + "]", `{"data":[` + room + `]}`, `{"owing":12.5,"owingCurrency":"EUR","roomReady":true}`,
		`{"error":{"reason":"x","message":"y"}}`, `{"owing":1e999,"owingCurrency":"EUR","roomReady":true}`, "[[[[", `{"a":{"b":[{}]}}`, "\xef\xbb\xbf[]",
	} {
		f.Add([]byte(s))
	}
}

func FuzzDecodeSpaces(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		spaces, violations := DecodeSpaces(body)
		if (spaces == nil) == (violations == nil) {
			t.Fatalf("%d spaces and %v", len(spaces), violations)
		}
		for _, s := range spaces {
			known := s.GetType() == SpaceRoom || s.GetType() == SpaceBed || s.GetType() == SpaceDorm
			if s.GetId() == "" || !known || !utf8.ValidString(s.GetId()+s.GetName()+s.GetParentId()+s.GetFloor()) || utf8.RuneCountInString(s.GetId()) > maxIDLength {
				t.Fatalf("accepted %v", s)
			}
		}
	})
}

func FuzzDecodeStatus(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		status, violations := DecodeStatus(body)
		if violations != nil && status != (checkin.Status{}) {
			t.Fatalf("%+v with %v", status, violations)
		}
		if _, known := money.Decimals(status.Owing.Currency); status.Owing.Minor != 0 && !known {
			t.Fatalf("accepted %v", status)
		}
	})
}

func FuzzDecodeError(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if kept := sanitize(DecodeError(body).GetMessage(), testToken, 500); !utf8.ValidString(kept) || utf8.RuneCountInString(kept) > 500 || strings.ContainsAny(kept, "\r\n\x00") {
			t.Fatalf("kept %q", kept)
		}
	})
}
