package slot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestPINIsNeverPrinted(t *testing.T) {
	const pin = "048151"
	d := Desired{Generation: 1, Intent: Present, PIN: pin}
	op := Op{Kind: OpSet, PIN: pin}
	l := Lock{Op: op, Slots: []Slot{{Number: 1, Desired: d, Content: Content{Kind: Own, PIN: pin}}}}
	var out bytes.Buffer
	for _, v := range []any{PIN(pin), d, &d, op, l, []Desired{d}, map[string]PIN{"a": pin}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb, v)
		}
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		if err := json.NewEncoder(&out).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, leak := range []string{pin, fmt.Sprintf("%x", pin), "48151"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("output contains %q", leak)
		}
	}
}

func TestCheckPIN(t *testing.T) {
	nuki := Capabilities{PINMin: 6, PINMax: 6, Alphabet: "123456789", ForbiddenPrefixes: []string{"12"}, ForbiddenPatterns: []string{"777"}}
	for _, tt := range []struct {
		caps Capabilities
		pin  PIN
		want string
	}{
		{Capabilities{PINMin: 4, PINMax: 8}, "0451", ""},
		{Capabilities{PINMin: 4, PINMax: 8}, "045", "length"},
		{Capabilities{PINMin: 4, PINMax: 8}, "012345678", "length"},
		{Capabilities{}, "", "length"},
		{Capabilities{PINMin: 4}, "04a1", "alphabet"},
		{nuki, "345678", ""},
		{nuki, "345078", "alphabet"},
		{nuki, "129456", "prefix"},
		{nuki, "347779", "pattern"},
		{Capabilities{PINMin: 4, ForbiddenPatterns: []string{"("}}, "0451", "pattern"},
	} {
		if got := tt.caps.CheckPIN(tt.pin); got != tt.want {
			t.Errorf("CheckPIN(%q) = %q, want %q", string(tt.pin), got, tt.want)
		}
	}
}

// A retry of an operation that may still take effect is not pointless.
func TestFinalResultsTakeNoEffect(t *testing.T) {
	final := map[Result]bool{
		OK: false, NotConfirmed: false, LockOffline: false, Busy: false, Timeout: false, ClockUntrusted: false, LowPower: false, Jammed: false,
		Duplicate: true, Occupied: true, SlotsFull: true, InvalidFormat: true, Unsupported: true,
	}
	for _, r := range Results() {
		if want, ok := final[r]; !ok || r.Final() != want {
			t.Errorf("%s is final: %v, want %v", r, r.Final(), want)
		}
		if r.MayTakeEffect() && r.Final() {
			t.Errorf("%s may take effect and is final", r)
		}
	}
}

func TestLockDigest(t *testing.T) {
	rows := []DigestRow{
		{Slot: 1, Generation: 3, Observed: Observed{Generation: 3, Present: true, Evidence: Verified}},
		{Slot: 2, Generation: 1, Observed: Observed{Generation: 1, Evidence: Sent}},
	}
	base := LockDigest(rows)
	if base != LockDigest([]DigestRow{rows[1], rows[0]}) {
		t.Error("the order of rows matters")
	}
	if rows[0].Slot != 1 {
		t.Error("the argument was sorted in place")
	}
	later := []DigestRow{rows[0], rows[1]}
	later[0].Observed.At = noon
	if base != LockDigest(later) {
		t.Error("the time of an observation matters")
	}
	for name, change := range map[string]func(*DigestRow){
		"slot":       func(r *DigestRow) { r.Slot = 9 },
		"generation": func(r *DigestRow) { r.Generation++ },
		"observed":   func(r *DigestRow) { r.Observed.Generation-- },
		"present":    func(r *DigestRow) { r.Observed.Present = false },
		"evidence":   func(r *DigestRow) { r.Observed.Evidence = Accepted },
		"result":     func(r *DigestRow) { r.Observed.Result = Busy },
	} {
		other := []DigestRow{rows[0], rows[1]}
		change(&other[0])
		if LockDigest(other) == base {
			t.Errorf("%s does not matter", name)
		}
	}
}

func TestAssign(t *testing.T) {
	present := Desired{Intent: Present, PIN: "0451"}
	held := ServerSlot{Grant: "grt_1", Desired: Desired{Generation: 4, Intent: Present, PIN: "1111"}}
	for _, tt := range []struct {
		name  string
		s     ServerSlot
		grant string
		d     Desired
		ok    bool
		want  Desired
	}{
		{"free slot", ServerSlot{}, "grt_1", present, true, Desired{Generation: 1, Intent: Present, PIN: "0451"}},
		{"used before", ServerSlot{Desired: Desired{Generation: 7, Intent: Absent}}, "grt_1", present, true, Desired{Generation: 8, Intent: Present, PIN: "0451"}},
		{"own slot", held, "grt_1", present, true, Desired{Generation: 5, Intent: Present, PIN: "0451"}},
		{"own slot, removal drops the PIN", held, "grt_1", Desired{Intent: Absent, PIN: "0451"}, true, Desired{Generation: 5, Intent: Absent}},
		{"another's slot", held, "grt_2", present, false, Desired{}},
		{"foreign", ServerSlot{Foreign: true}, "grt_1", present, false, Desired{}},
		{"removal from a free slot", ServerSlot{}, "grt_1", Desired{Intent: Absent}, false, Desired{}},
		{"no grant", ServerSlot{}, "", present, false, Desired{}},
	} {
		got, ok := Assign(tt.s, tt.grant, tt.d)
		if ok != tt.ok || (ok && got.Desired != tt.want) {
			t.Errorf("%s: %v %v, want %v %v", tt.name, got.Desired, ok, tt.want, tt.ok)
		}
		if !ok && !cmp.Equal(got, tt.s) {
			t.Errorf("%s: refused and yet changed", tt.name)
		}
	}
}

func TestMarkSentDisclosesAFormerBridge(t *testing.T) {
	s, _ := Assign(ServerSlot{}, "grt_1", Desired{Intent: Present, PIN: "0451"})
	for _, step := range []struct {
		bridge string
		want   bool
	}{{"brg_1", false}, {"brg_1", false}, {"brg_2", true}, {"brg_2", true}} {
		var d Desired
		if s, d = MarkSent(s, step.bridge); d.MayHoldOwn != step.want {
			t.Errorf("to %s: claimed %v, want %v", step.bridge, d.MayHoldOwn, step.want)
		}
	}
}

// A bridge that reported a code and has no record of its slot has lost its store:
// it may have been restored from an old copy.
func TestMarkSentDisclosesEarlierReports(t *testing.T) {
	s, _ := Assign(ServerSlot{}, "grt_1", Desired{Intent: Present, PIN: "0451"})
	claimed := func(want bool) {
		t.Helper()
		var d Desired
		if s, d = MarkSent(s, "brg_1"); d.MayHoldOwn != want {
			t.Errorf("claimed %v, want %v", d.MayHoldOwn, want)
		}
	}
	claimed(false)
	claimed(false) // it may never have received it
	s, _ = ApplyReport(s, 1, Report{1, Observed{Generation: 1, Evidence: Sent}})
	claimed(true)
	s, _ = Assign(s, "grt_1", Desired{Intent: Absent})
	claimed(true)
	s, _ = ApplyReport(s, 1, Report{1, Observed{Generation: 2, Evidence: Accepted}})
	claimed(false)
	s, _ = Assign(s, "grt_2", Desired{Intent: Present, PIN: "0451"})
	claimed(false)
	claimed(false) // its report was about the former grant
}

func TestApplyReport(t *testing.T) {
	active := ServerSlot{Grant: "grt_1", SentTo: "brg_1", Desired: Desired{Generation: 2, Intent: Present, PIN: "0451"}}
	leaving := ServerSlot{Grant: "grt_1", SentTo: "brg_1", Desired: Desired{Generation: 3, Intent: Absent}}
	readable := leaving
	readable.ReadBack = true
	obs := func(g uint64, present bool, e Evidence, r Result) Observed {
		return Observed{Generation: g, Present: present, Evidence: e, Result: r}
	}
	for _, tt := range []struct {
		name    string
		s       ServerSlot
		epoch   uint64
		o       Observed
		changed bool
		status  Evidence
		grant   string
	}{
		{"accepted", active, 7, obs(2, true, Accepted, ""), true, Accepted, "grt_1"},
		{"verified", active, 7, obs(2, true, Verified, ""), true, Verified, "grt_1"},
		{"older generation", active, 7, obs(1, true, Verified, ""), false, Queued, "grt_1"},
		{"newer generation", active, 7, obs(3, true, Verified, ""), false, Queued, "grt_1"},
		{"older epoch", active, 6, obs(2, true, Verified, ""), false, Queued, "grt_1"},
		{"unconfirmed", active, 7, obs(2, false, Unconfirmed, Timeout), true, Unconfirmed, "grt_1"},
		{"refused", active, 7, obs(2, false, Failed, Duplicate), true, Failed, "grt_1"},
		{"removed", leaving, 7, obs(3, false, Accepted, ""), true, Removed, ""},
		{"cleared, to be read back", readable, 7, obs(3, false, Accepted, ""), true, Removed, "grt_1"},
		{"cleared and read back", readable, 7, obs(3, false, Verified, ""), true, Removed, ""},
		{"removal on its way", leaving, 7, obs(3, false, Sent, ""), true, Removing, "grt_1"},
		{"removal of the generation before", leaving, 7, obs(2, false, Verified, ""), false, Removing, "grt_1"},
	} {
		got, changed := ApplyReport(tt.s, 7, Report{Epoch: tt.epoch, Observed: tt.o})
		if changed != tt.changed || got.EvidenceAt(noon) != tt.status || got.Grant != tt.grant {
			t.Errorf("%s: changed %v status %s grant %q, want %v %s %q", tt.name, changed, got.EvidenceAt(noon), got.Grant, tt.changed, tt.status, tt.grant)
		}
		if again, twice := ApplyReport(got, 7, Report{Epoch: tt.epoch, Observed: tt.o}); twice || !cmp.Equal(again, got) {
			t.Errorf("%s: the same report again changes something", tt.name)
		}
	}
}

func TestApplyReportOfAForeignCode(t *testing.T) {
	s, _ := Assign(ServerSlot{}, "grt_1", Desired{Intent: Present, PIN: "0451"})
	s, _ = MarkSent(s, "brg_1")
	s, _ = ApplyReport(s, 1, Report{1, Observed{Generation: 1, Evidence: Failed, Result: Occupied}})
	s, _ = Assign(s, "grt_1", Desired{Intent: Absent})
	s, d := MarkSent(s, "brg_2")
	if d.MayHoldOwn {
		t.Error("a foreign slot is claimed")
	}
	s, _ = ApplyReport(s, 1, Report{1, Observed{Generation: 2, Evidence: Verified}})
	if s.Grant != "" || s.IsFree() {
		t.Errorf("grant %q free %v: the grant must leave and no other come", s.Grant, s.IsFree())
	}
}

func TestEvidenceIsNeverActiveAfterTheWindow(t *testing.T) {
	s := ServerSlot{
		Desired:  Desired{Generation: 1, Intent: Present, NotBefore: noon, NotAfter: noon.Add(time.Hour)},
		Observed: Observed{Generation: 1, Present: true, Evidence: Verified},
	}
	for at, want := range map[time.Time]Evidence{
		noon: Verified, noon.Add(time.Hour - 1): Verified, noon.Add(time.Hour): Removing,
	} {
		if got := s.EvidenceAt(at); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
	}
	if got := (ServerSlot{}).EvidenceAt(noon); got != Planned {
		t.Errorf("a slot never used is %s", got)
	}
}

// Whatever arrives in whatever order: the generation of a slot never goes back, and the server
// never believes in evidence of another generation.
func TestApplyReportUnderAnyReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s ServerSlot
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			before := s
			if rapid.Bool().Draw(t, "edit") {
				intent := rapid.SampledFrom([]Intent{Present, Absent}).Draw(t, "intent")
				s, _ = Assign(s, "grt_1", Desired{Intent: intent, PIN: "0451"})
			} else {
				s, _ = ApplyReport(s, 3, Report{
					Epoch: rapid.Uint64Range(2, 4).Draw(t, "epoch"),
					Observed: Observed{
						Generation: rapid.Uint64Range(0, 5).Draw(t, "generation"),
						Present:    rapid.Bool().Draw(t, "present"),
						Evidence:   rapid.SampledFrom([]Evidence{Sent, Accepted, Verified, Unconfirmed, Failed}).Draw(t, "evidence"),
					},
				})
			}
			if s.Desired.Generation < before.Desired.Generation {
				t.Fatal("the generation went back")
			}
			if s.Converged() && s.Observed.Generation != s.Desired.Generation {
				t.Fatal("converged on evidence of another generation")
			}
		}
	})
}
