package torture

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// story is a log of the recent events of a stay, code or lock. The report of a violation contains it.
type story struct {
	mu    sync.Mutex
	lines []string
}

// maxStoryLines bounds a story; the oldest lines are dropped.
const maxStoryLines = 100

// add adds a line with the time of day, and with the seconds since began, the start of the run.
func (s *story) add(began time.Time, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	line := fmt.Sprintf("  %s (%6.1f s) ", formatClock(now), now.Sub(began).Seconds()) + fmt.Sprintf(format, args...)
	if s.lines = append(s.lines, line); len(s.lines) > maxStoryLines {
		s.lines = s.lines[len(s.lines)-maxStoryLines:]
	}
}

// String returns all lines.
func (s *story) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// maxDetailedReports is how many violations of the same rule are reported in detail. The others are only counted.
const maxDetailedReports = 3

// report collects the violations of rules.
type report struct {
	w  *world
	mu sync.Mutex
	n  map[string]int
}

// newReport returns a report without violations, which fails the test of w when one is added.
func newReport(w *world) *report { return &report{w: w, n: map[string]int{}} }

// add counts a violation of a rule and fails the test. It prints the details and the stories of the stays, codes and locks involved, for
// the first violations of the rule only.
func (r *report) add(rule, subject, details string, stories ...*story) {
	r.mu.Lock()
	r.n[rule]++
	n := r.n[rule]
	r.mu.Unlock()
	if n > maxDetailedReports {
		return
	}
	text := fmt.Sprintf("VIOLATION at %s (%.1f s): %s\n%s\n%s", formatClock(time.Now()), time.Since(r.w.began).Seconds(), rule, subject, details)
	for _, s := range stories {
		if s != nil {
			text += "\n" + s.String()
		}
	}
	r.w.t.Error(text)
}

// total returns the number of violations, and one line for each broken rule.
func (r *report) total() (total int, lines string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for rule, n := range r.n {
		total += n
		lines += fmt.Sprintf("\n  %d x %s", n, rule)
	}
	return total, lines
}
