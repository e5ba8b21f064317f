package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is also what a part of a benchmark is, as the command bench part is in the product.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "part" {
		if err := RunPart(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func self() Launch { return Launch{os.Args[0], "part"} }

func TestInvalidBenchmarkSettingsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func() (*Result, error)
		want string
	}{
		{"no rounds", Ingest{Span: time.Second, Clients: 1}.on(t), "ingest: want"},
		{"no clients", Ingest{Span: time.Second, Rounds: 1}.on(t), "ingest: want"},
		{"no time", Ingest{Rounds: 1, Clients: 1}.on(t), "ingest: want"},
		{"fewer than no rows", Ingest{Rows: -1, Span: time.Second, Rounds: 1, Clients: 1}.on(t), "ingest: want"},
		{"no check-ins", func() (*Result, error) { return Latency{Rounds: 1}.Run(t.Context()) }, "latency: want"},
		{"no rounds of check-ins", func() (*Result, error) { return Latency{Samples: 1}.Run(t.Context()) }, "latency: want"},
		{"fewer reservations than rooms", func() (*Result, error) {
			return StaffPages{Rooms: 12, Reservations: 11, Bridges: 1, Samples: 1, Span: time.Second, Rounds: 1}.Run(t.Context())
		}, "pages --staff: want"},
		{"no stays", func() (*Result, error) { return Converge{OtherChangesEvery: time.Second}.Run(t.Context()) }, "converge: want"},
		{"no time between", func() (*Result, error) { return Converge{Stays: 1}.Run(t.Context()) }, "converge: want"},
		{"no arrivals", func() (*Result, error) { return Hostel{Span: 1, Pause: 1, Write: time.Minute}.Run(t.Context(), self()) }, "hostel: want"},
		{"more arrivals than beds", func() (*Result, error) {
			return Hostel{Arrivals: 61, Span: 1, Pause: 1, Write: time.Minute}.Run(t.Context(), self())
		}, "hostel: want"},
		{"few bridges", func() (*Result, error) {
			return Fleet{Bridges: warmUpBridges, Commands: 1, Rounds: 1}.Run(t.Context(), self())
		}, "fleet: want"},
		{"no acts", func() (*Result, error) { return Fleet{Bridges: warmUpBridges + 1, Rounds: 1}.Run(t.Context(), self()) }, "fleet: want"},
		{"few bridges to come back", func() (*Result, error) { return Restart{Bridges: warmUpBridges}.Run(t.Context(), self()) }, "fleet --restart: want"},
		{"back before it is away", func() (*Result, error) { return Restart{Bridges: 100, Downtime: -1}.Run(t.Context(), self()) }, "fleet --restart: want"},
		{"one bridge to move", func() (*Result, error) { return Drain{Bridges: 1, Unlocks: 1}.Run(t.Context(), self()) }, "fleet --drain: want"},
		{"no growth", func() (*Result, error) { return Growth{Few: 100, Many: 100, Commands: 1}.Run(t.Context(), self()) }, "fleet --growth: want"},
		{"more than there are files", func() (*Result, error) { return Restart{Bridges: 1 << 40}.Run(t.Context(), self()) }, "ulimit -n"},
		{"no such part", func() (*Result, error) { return nil, RunPart("other", os.Stdin, os.Stdout) }, `no part "other"`},
		{"no way to start one", func() (*Result, error) { _, err := Launch(nil).start(t.Context(), "world"); return nil, err }, "no way to start"},
	} {
		if _, err := tt.run(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func (b Ingest) on(t *testing.T) func() (*Result, error) {
	return func() (*Result, error) { return b.Run(t.Context(), self()) }
}

// Each benchmark that takes seconds runs with little work. The test does not check its speed.
func TestSmallRuns(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "profile")
	t.Cleanup(func() {
		if st, err := os.Stat(profile); err != nil || st.Size() == 0 {
			t.Errorf("the profile: %v", err)
		}
	})
	for name, run := range map[string]func() (*Result, error){
		"ingest":        Ingest{Rows: 1000, Span: 200 * time.Millisecond, Rounds: 1, Clients: 4, Profile: profile}.on(t),
		"ingest --grpc": Ingest{GRPC: true, Span: 200 * time.Millisecond, Rounds: 1, Clients: 4}.on(t),
		"latency":       func() (*Result, error) { return Latency{Samples: 2, Rounds: 1}.Run(t.Context()) },
		"hostel": func() (*Result, error) {
			return Hostel{Arrivals: 2, Span: time.Second, Pause: 500 * time.Millisecond, Write: time.Minute}.Run(t.Context(), self())
		},
		"pages --staff": func() (*Result, error) {
			return StaffPages{Rooms: 12, Reservations: 24, Bridges: 2, Samples: 1, Span: time.Second, Rounds: 1}.Run(t.Context())
		},
		"converge": func() (*Result, error) {
			return Converge{Stays: 2, OtherChangesEvery: time.Second, Profile: "nuki"}.Run(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := run()
			if err != nil {
				t.Fatal(err)
			}
			whole(t, r)
			if r.Name != name || r.Value <= 0 || r.P50 <= 0 {
				t.Errorf("%+v", r)
			}
			if baseline := name != "converge" && name != "hostel"; baseline != (r.Baseline > 0) || baseline != (r.Ratio > 0) || baseline != (r.BaselineP50 > 0) {
				t.Errorf("floor %v, ratio %v, p50 %v", r.Baseline, r.Ratio, r.BaselineP50)
			}
		})
	}
}

// What is started for the fleet answers, without waiting for the beats that its memory is measured between.
func TestBareServerSendsCommands(t *testing.T) {
	p, err := self().start(t.Context(), "bare")
	if err != nil {
		t.Fatal(err)
	}
	var at Bare
	if err := p.call(t.Context(), "Start", 3, &at); err != nil {
		t.Fatal(err)
	}
	if at.Front == "" || len(at.Tickets) != 3 {
		t.Errorf("%q, %d tickets", at.Front, len(at.Tickets))
	}
	var u Use
	if err := p.call(t.Context(), "Usage", None{}, &u); err != nil || u.Resident <= 0 || u.CPU <= 0 {
		t.Errorf("%+v %v", u, err)
	}
	if err := p.call(t.Context(), "Nothing", None{}, &None{}); err == nil || !strings.Contains(err.Error(), "Nothing in a part of the benchmark") {
		t.Errorf("an unknown call: %v", err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

func TestCommitsFloor(t *testing.T) {
	c, err := newCommits(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.measure(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for n, all := range got.all {
		if sum := got.parts["server"][n] + got.parts["stream"][n] + got.parts["bridge"][n]; sum != all || all <= 0 {
			t.Errorf("%v of %v", sum, all)
		}
	}
	if len(got.all) != 3 {
		t.Errorf("%d samples", len(got.all))
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}
