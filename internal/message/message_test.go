package message

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every language has the kinds of English with the same parameters, so no reader sees a missing text or value.
func TestLanguagesAreComplete(t *testing.T) {
	if len(Kinds(English)) < 90 {
		t.Errorf("English has only %d texts", len(Kinds(English)))
	}
	for _, language := range Languages() {
		if diff := cmp.Diff(Kinds(English), Kinds(language)); diff != "" {
			t.Errorf("English (-) and %s (+) differ:\n%s", language, diff)
		}
		if plurals[language] == nil {
			t.Errorf("%s has no rule for plurals", language)
		}
		for kind, text := range catalogues()[language] {
			for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
				if _, isTime := layouts[m[2]]; !isTime && m[2] != "" && m[2] != "day" && m[2] != "quote" {
					t.Errorf("%s: %s has the unknown format %q", language, kind, m[2])
				}
			}
			if rest := placeholder.ReplaceAllString(text, ""); text == "" || rest != clean(rest) {
				t.Errorf("%s: %s has a parameter that cannot be read: %s", language, kind, text)
			}
		}
	}
}

func clean(s string) string {
	out := []rune{}
	for _, r := range s {
		if r != '{' && r != '}' {
			out = append(out, r)
		}
	}
	return string(out)
}

func TestText(t *testing.T) {
	at := time.Date(2026, 11, 21, 23, 30, 5, 0, time.UTC)
	zone := time.FixedZone("", 3600)
	for _, test := range []struct {
		m    Message
		want string
	}{
		{Message{}, ""},
		{Message{Kind: "unknown.kind"}, "unknown.kind"},
		{Message{Kind: "late", Params: Params{"at": at}}, "This happened on 2026-11-22 00:30; the bridge could report it only now."},
		{Message{Kind: "late"}, "This happened on ?; the bridge could report it only now."},
		{Message{Kind: "jammed.lock", Params: Params{"lock": "A\n", "late": nil}}, `Lock "A\n" is jammed: its bolt does not move, and no code opens it. Check the lock at the door.`},
		{Message{Kind: "notice.endpointFailing", Params: Params{"app": "App", "failures": 1, "action": "getSpaces", "problem": "no {answer}"}},
			"App failed 1 call of getSpaces in a row (last: no {answer}). Ask its vendor to repair it."},
		{Message{Kind: "notice.arrivalAtRisk", Params: Params{"number": "N", "from": at, "fixes": []Message{
			{Kind: "fix.atDoor", Params: Params{"door": "Room 1", "problem": Message{Kind: "fix.noBridge"}}}, {Kind: "fix.more"},
		}}}, "Stay N, which begins 2026-11-22 00:30, may not open to its guest. Room 1: The lock has no bridge. Enrol one, or hand out a key. There is more: see the arrivals."},
		{Message{Kind: "conflicts.more", Params: Params{"count": int64(3)}}, "And 3 more."},
	} {
		if got := (Reader{Zone: zone}).Text(test.m); got != test.want {
			t.Errorf("%s: %q, want %q", test.m.Kind, got, test.want)
		}
		encoded, err := json.Marshal(test.m)
		if err != nil {
			t.Fatal(err)
		}
		var back Message
		if err := json.Unmarshal(encoded, &back); err != nil {
			t.Fatal(err)
		}
		if got := (Reader{Language: "xx", Zone: zone}).Text(back); got != test.want {
			t.Errorf("%s, stored as JSON: %q, want %q", test.m.Kind, got, test.want)
		}
	}
}

func TestSame(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	params := Params{"count": 3, "at": at, "what": Message{Kind: "late", Params: Params{"at": at}}, "all": []Message{{Kind: "fix.more"}}, "none": nil}
	stored, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var loaded Params
	if err := json.Unmarshal(stored, &loaded); err != nil {
		t.Fatal(err)
	}
	if !Same(params, loaded) {
		t.Errorf("%v and %v differ", params, loaded)
	}
	loaded["count"] = 4
	if Same(params, loaded) || Same(Params{}, nil) {
		t.Error("other parameters are the same")
	}
}
