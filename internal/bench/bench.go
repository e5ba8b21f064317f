// Package bench measures the product. Most benchmarks compare it with a baseline: the least work that the machine needs for the same
// result, which the results call the floor. They measure both in each round, and compare the medians of the rounds. Everything runs on
// loopback, with its data in a temporary directory; some of the measured programs run in processes of their own: see [Launch].
package bench

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Result is the result of one benchmark.
type Result struct {
	Name        string  `json:"name"`
	Value       float64 `json:"value"`
	Unit        string  `json:"unit"`
	Baseline    float64 `json:"floor"` // Baseline is the value of the baseline in the same unit; 0: there is none
	Ratio       float64 `json:"ratio"` // Ratio is value divided by baseline; 0: there is no baseline
	P50         float64 `json:"p50"`   // P50 is the product's median time in milliseconds
	P99         float64 `json:"p99"`
	BaselineP50 float64 `json:"floorP50"`
	BaselineP99 float64 `json:"floorP99"`
	Rounds      int     `json:"rounds"`
	Cores       int     `json:"cores"` // Cores is the number of CPU cores, which all processes of the benchmark share
	Checks      []Check `json:"checks"`
	Notes       []Note  `json:"notes"`
}

// Check compares a measured number with its aim.
type Check struct {
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Aim     float64 `json:"aim"`
	AtLeast bool    `json:"atLeast"` // AtLeast means that the aim is a minimum; otherwise it is a maximum
	Passed  bool    `json:"met"`
}

// Note is an additional measured number.
type Note struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// atLeast adds a check: value, described by what, must not be less than aim. A missed aim is no error.
func (r *Result) atLeast(what string, value, aim float64) {
	r.Checks = append(r.Checks, Check{what, round(value), aim, true, value >= aim})
}

// atMost adds a check: value, described by what, must not be more than aim. A missed aim is no error.
func (r *Result) atMost(what string, value, aim float64) {
	r.Checks = append(r.Checks, Check{what, round(value), round(aim), false, value <= aim})
}

// note adds a measured number that has no aim to the result.
func (r *Result) note(what string, value float64, unit string) {
	r.Notes = append(r.Notes, Note{what, round(value), unit})
}

// finish computes the ratio, rounds all numbers and sets the number of cores. It returns r. The ratio is 0 without a baseline.
func (r *Result) finish() *Result {
	r.Ratio = round(ratio(r.Value, r.Baseline))
	for _, f := range []*float64{&r.Value, &r.Baseline, &r.P50, &r.P99, &r.BaselineP50, &r.BaselineP99} {
		*f = round(*f)
	}
	r.Cores = runtime.NumCPU()
	return r
}

// round rounds to three decimals, and a number of 1000 or more to an integer.
func round(v float64) float64 {
	if math.Abs(v) >= 1000 {
		return math.Round(v)
	}
	return math.Round(v*1000) / 1000
}

// Write prints a result as text.
func (r *Result) Write(w io.Writer) {
	if r.Baseline != 0 {
		fmt.Fprintf(w, "%s: %g %s; floor %g; ratio %g (medians of %d rounds, %d cores shared with the load)\n", r.Name, r.Value, r.Unit, r.Baseline, r.Ratio, r.Rounds, r.Cores)
		fmt.Fprintf(w, "  p50 %g ms, p99 %g ms; of the floor %g ms, %g ms\n", r.P50, r.P99, r.BaselineP50, r.BaselineP99)
	} else {
		fmt.Fprintf(w, "%s: %g %s (%d cores shared with the load)\n", r.Name, r.Value, r.Unit, r.Cores)
		fmt.Fprintf(w, "  p50 %g ms, p99 %g ms\n", r.P50, r.P99)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, "  "+strings.TrimSpace(fmt.Sprintf("%s: %g %s", n.What, n.Value, n.Unit)))
	}
	for _, c := range r.Checks {
		word, verdict := "at most", "met"
		if c.AtLeast {
			word = "at least"
		}
		if !c.Passed {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "  %s: %g, aim %s %g: %s\n", c.What, c.Value, word, c.Aim, verdict)
	}
}

// median returns the 0.5-quantile, which of an even number of values is the upper one in the middle.
func median(values []float64) float64 { return quantile(values, 0.5) }

// ratio returns a divided by b. It returns 0 if b is 0, because JSON has no infinity.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// quantile returns the q-quantile of unordered values, such as the median for 0.5 and the maximum for 1, or 0 if there are none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// milliseconds returns a duration as a number of milliseconds.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
