package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"latchkey.dev/internal/clock"
)

// Growth compares the cost of one bridge in a large fleet with that in a small one.
type Growth struct {
	Few, Many int // Few and Many are the numbers of bridges in the two fleets; Many is larger
	Commands  int // Commands is the number of unlock commands while all bridges are connected
}

// idleSpan is how long the CPU time of idle bridges is measured. Each bridge sends two heartbeats in it.
const idleSpan = 2 * heartbeatInterval

// bridgeCost is the cost of one bridge in a fleet.
type bridgeCost struct {
	kilobyte  float64   // server memory per idle bridge, in units of 1000 bytes
	cpu       float64   // server CPU time per idle bridge, in microseconds per second
	durations []float64 // duration of each unlock command in milliseconds
}

// Run measures with few and then with many bridges. Each measurement has a new server.
func (b Growth) Run(ctx context.Context, l Launch) (*Result, error) {
	if b.Few <= warmUpBridges || b.Many <= b.Few || b.Commands < 1 {
		return nil, fmt.Errorf("fleet --growth: want more than %d bridges, then more than those, and at least one unlock command", warmUpBridges)
	}
	if err := checkOpenFileLimit(b.Many); err != nil {
		return nil, err
	}
	few, err := b.measure(ctx, l, b.Few)
	if err != nil {
		return nil, err
	}
	many, err := b.measure(ctx, l, b.Many)
	if err != nil {
		return nil, err
	}
	return b.result(few, many), nil
}

// result compares the cost of a bridge in the two fleets.
func (b Growth) result(few, many bridgeCost) *Result {
	r := &Result{Name: "fleet --growth", Unit: "kB/bridge", Rounds: 1, Value: many.kilobyte}
	r.P50, r.P99 = median(many.durations), quantile(many.durations, 0.99)
	for _, g := range []struct {
		bridges int
		bridgeCost
	}{{b.Few, few}, {b.Many, many}} {
		r.note(fmt.Sprintf("memory of each of %d bridges", g.bridges), g.kilobyte, "kB")
		r.note(fmt.Sprintf("server's CPU for each of %d idle bridges, a second", g.bridges), g.cpu, "µs")
		r.note(fmt.Sprintf("p50 of an act with %d connected", g.bridges), median(g.durations), "ms")
	}
	r.note("CPU of an idle bridge among many, of among few", ratio(many.cpu, few.cpu), "times")
	r.note("p50 of an act among many, of among few", ratio(median(many.durations), median(few.durations)), "times")
	r.atMost("memory of a bridge among many, of among few", ratio(many.kilobyte, few.kilobyte), 1.1)
	return r.finish()
}

// measure connects the bridges to a new server, measures, and stops the server.
func (b Growth) measure(ctx context.Context, l Launch, bridges int) (g bridgeCost, err error) {
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := Fleet{Bridges: bridges}.startProduct(ctx, l, dir)
	if err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	var before, after Use
	began := time.Now()
	if err := f.call(ctx, "Usage", None{}, &before); err != nil {
		return g, err
	}
	clock.Sleep(ctx, idleSpan)
	if err := f.call(ctx, "Usage", None{}, &after); err != nil {
		return g, err
	}
	g.cpu = float64((after.CPU - before.CPU).Microseconds()) / time.Since(began).Seconds() / float64(bridges)
	for _, keep := range []bool{false, true} {
		if err := f.measure(ctx, b.Commands, keep); err != nil {
			return g, err
		}
	}
	g.kilobyte, g.durations = f.kilobytesPerStream, f.took
	return g, nil
}
