package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(99 - i) // in any order
	}
	for _, tt := range []struct {
		name   string
		values []float64
		q      float64
		want   float64
	}{
		{"of none", nil, 0.5, 0},
		{"of one", []float64{7}, 0.99, 7},
		{"median of three", []float64{3, 1, 2}, 0.5, 2},
		{"median of two is the upper", []float64{1, 2}, 0.5, 2},
		{"p50", hundred, 0.5, 50},
		{"p99", hundred, 0.99, 99},
		{"the longest", hundred, 1, 99},
		{"the shortest", hundred, 0, 0},
	} {
		if got := quantile(tt.values, tt.q); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if hundred[0] != 99 {
		t.Error("the caller's values were put in order")
	}
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median: %v", got)
	}
}

func TestRatioIsANumber(t *testing.T) {
	if got := ratio(3, 2); got != 1.5 {
		t.Errorf("3 to 2 is %v", got)
	}
	if got := ratio(3, 0); got != 0 {
		t.Errorf("3 to 0 is %v", got)
	}
}

func TestRound(t *testing.T) {
	for v, want := range map[float64]float64{0.12349: 0.123, -0.0006: -0.001, 999.9994: 999.999, 1000.4: 1000, -2500.5: -2501} {
		if got := round(v); got != want {
			t.Errorf("%v became %v, want %v", v, got, want)
		}
	}
	if got := milliseconds(1500 * time.Microsecond); got != 1.5 {
		t.Errorf("1.5 ms are %v", got)
	}
}

// An aim is met or not by what was measured, whatever it is rounded to.
func TestChecks(t *testing.T) {
	r := &Result{}
	r.atLeast("reached", 0.4, 0.4)
	r.atLeast("just not reached", 0.39999, 0.4)
	r.atMost("kept", 3, 3)
	r.atMost("just not kept", 3.0001, 3)
	want := []Check{
		{"reached", 0.4, 0.4, true, true}, {"just not reached", 0.4, 0.4, true, false},
		{"kept", 3, 3, false, true}, {"just not kept", 3, 3, false, false},
	}
	if d := cmp.Diff(want, r.Checks); d != "" {
		t.Error(d)
	}
	var out bytes.Buffer
	r.finish().Write(&out)
	if passed, missed := strings.Count(out.String(), ": met"), strings.Count(out.String(), ": MISSED"); passed != 2 || missed != 2 {
		t.Errorf("%d met and %d missed in\n%s", passed, missed, &out)
	}
}

func TestResultIsPrinted(t *testing.T) {
	r := (&Result{Name: "one", Value: 12.3456, Unit: "ms", Baseline: 5, P50: 1.5, P99: 2.5, BaselineP50: 0.5, BaselineP99: 0.75, Rounds: 3}).finish()
	r.Cores = 2
	r.note("bridges", 1234.4, "")
	var out bytes.Buffer
	r.Write(&out)
	want := `one: 12.346 ms; floor 5; ratio 2.469 (medians of 3 rounds, 2 cores shared with the load)
  p50 1.5 ms, p99 2.5 ms; of the floor 0.5 ms, 0.75 ms
  bridges: 1234
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
	out.Reset()
	r.Baseline, r.Notes = 0, nil
	r.Write(&out)
	if d := cmp.Diff("one: 12.346 ms (2 cores shared with the load)\n  p50 1.5 ms, p99 2.5 ms\n", out.String()); d != "" {
		t.Error(d)
	}
}

// whole fails unless a result can be read by a program: every field is there, and is a number where it says so.
func whole(t *testing.T, r *Result) {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"value", "floor", "ratio", "p50", "p99", "floorP50", "floorP99", "rounds", "cores"} {
		if v, ok := fields[name].(float64); !ok || v < 0 {
			t.Errorf("%s: %s is %v", r.Name, name, fields[name])
		}
	}
	for _, name := range []string{"name", "unit"} {
		if v, _ := fields[name].(string); v == "" {
			t.Errorf("%s: no %s", r.Name, name)
		}
	}
	for _, name := range []string{"checks", "notes"} {
		all, _ := fields[name].([]any)
		if len(all) == 0 {
			t.Errorf("%s: no %s", r.Name, name)
		}
		for _, one := range all {
			if what, _ := one.(map[string]any)["what"].(string); what == "" {
				t.Errorf("%s: %s without a name: %v", r.Name, name, one)
			}
		}
	}
	if r.Rounds < 1 || r.Cores < 1 || r.P99 < r.P50 || r.BaselineP99 < r.BaselineP50 {
		t.Errorf("not consistent: %s", raw)
	}
	for _, c := range r.Checks { // what was rounded may look met where it is not
		if above := c.Value - c.Aim; math.Abs(above) > 0.001 && c.Passed != ((above > 0) == c.AtLeast) {
			t.Errorf("%s: %+v", r.Name, c)
		}
	}
}

func TestResultsOfTheFleet(t *testing.T) {
	baseline := &fleet{kilobytesPerStream: 40, took: []float64{1, 2, 3}, p99: []float64{3, 5, 4}}
	product := &fleet{kilobytesPerStream: 60, took: []float64{2, 4, 6}, p99: []float64{6, 20, 8}}
	r := Fleet{Bridges: 100, Rounds: 3}.result(baseline, product, 2)
	whole(t, r)
	if r.Ratio != 1.5 || r.P50 != 4 || r.P99 != 8 || r.BaselineP99 != 4 {
		t.Errorf("%+v", r)
	}
	want := []Check{
		{"memory, times the floor", 1.5, 1.6, false, true},
		{"p99 of an unlock command, ms: 3 times the floor and a commit", 8, 14, false, true},
	}
	if d := cmp.Diff(want, r.Checks); d != "" {
		t.Error(d)
	}
}

func TestResultOfGrowth(t *testing.T) {
	r := Growth{Few: 100, Many: 500}.result(bridgeCost{kilobyte: 50, durations: []float64{1, 2, 3}}, bridgeCost{kilobyte: 60, cpu: 4, durations: []float64{3, 4, 5}})
	whole(t, r)
	if c := r.Checks[0]; r.Value != 60 || r.P50 != 4 || c.Value != 1.2 || c.Passed {
		t.Errorf("%+v", r)
	}
	notes := map[string]float64{}
	for _, n := range r.Notes {
		notes[n.What] = n.Value
	}
	if notes["p50 of an act among many, of among few"] != 2 || notes["CPU of an idle bridge among many, of among few"] != 0 {
		t.Errorf("%v", notes)
	}
}

func TestResultOfADrain(t *testing.T) {
	k := &unlockLoad{failed: map[string]int{"Unavailable": 2, "denied": 1}, toDraining: 1}
	k.took[before], k.took[during], k.took[after] = []float64{5}, []float64{10, 300, 20}, []float64{5, 6}
	r := k.result()
	r.Value = 3
	whole(t, r.finish())
	if c := r.Checks[0]; c.Value != 3 || c.Passed || r.P50 != 20 {
		t.Errorf("%+v", r)
	}
	if n := r.Notes[0]; n.What != "unlocks that ended Unavailable" || n.Value != 2 {
		t.Errorf("%+v", n)
	}
	for _, n := range r.Notes {
		if n.What == "doors opened during the drain after more than 250 ms" && n.Value != 1 {
			t.Errorf("%+v", n)
		}
	}
}

func TestChangeLoadSendsNewReservationsAndChanges(t *testing.T) {
	for name, stored := range map[string]int{"none stored": 0, "some stored": 10} {
		d := &changeLoad{stored: stored}
		var own []int64
		known := map[string]bool{}
		changes := 0
		for range 1000 {
			c := d.nextChange(&own)
			if c.nights < 1 || c.number < 1 {
				t.Fatalf("%s: %+v", name, c)
			}
			if old := strings.HasPrefix(c.id, "old-"); old && (stored == 0 || c.number > int64(stored)) {
				t.Fatalf("%s: %+v is not stored", name, c)
			} else if old || known[c.id] {
				changes++
			}
			known[c.id] = true
		}
		if changes < 400 || changes > 600 {
			t.Errorf("%s: %d of 1000 are changes", name, changes)
		}
	}
}

func TestRESTAndGRPCSendTheSameChange(t *testing.T) {
	for number := range int64(len(spacesOfPMS)) {
		c := change{id: "x", number: number, nights: 3}
		var over struct {
			PmsMeta          struct{ ID, SpaceID, ParentSpaceID string }
			FromDate, ToDate string
		}
		if err := json.Unmarshal(c.restBody(), &over); err != nil {
			t.Fatal(err)
		}
		m := c.grpcRequest().GetReservation()
		p := m.GetPmsMeta()
		if over.PmsMeta.ID != p.GetId() || over.PmsMeta.SpaceID != p.GetSpaceId() || over.PmsMeta.ParentSpaceID != p.GetParentSpaceId() ||
			over.FromDate != m.GetFromDate() || over.ToDate != m.GetToDate() {
			t.Errorf("%+v and %v", over, m)
		}
	}
}

func TestPagesRefusesWhatItCannotMeasure(t *testing.T) {
	good := Pages{Guests: 1, Rounds: 1, Pause: time.Second, Span: time.Second}
	for name, change := range map[string]func(*Pages){
		"no guest": func(b *Pages) { b.Guests = 0 },
		"no round": func(b *Pages) { b.Rounds = 0 },
		"no pause": func(b *Pages) { b.Pause = 0 },
		"no span":  func(b *Pages) { b.Span = 0 },
	} {
		b := good
		change(&b)
		if _, err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "at least") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
