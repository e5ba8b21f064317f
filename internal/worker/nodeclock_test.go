package worker

import (
	"testing"
	"time"
)

func TestOneWrongClockTakesItsNodeOutAndManyRaiseAnAlarm(t *testing.T) {
	const limit = 2 * time.Second
	right, wrong := 100*time.Millisecond, 5*time.Minute
	for _, c := range []struct {
		what   string
		ahead  time.Duration
		others []time.Duration
		want   string
	}{
		{"alone and right", right, nil, ""},
		{"at the limit", limit, []time.Duration{right}, ""},
		{"right among wrong ones", right, []time.Duration{wrong, -wrong}, ""},
		{"ahead, the others are right", wrong, []time.Duration{right, -right}, "unready"},
		{"behind, one other is right", -wrong, []time.Duration{right, wrong}, "unready"},
		{"all are wrong", wrong, []time.Duration{wrong, -wrong}, "degraded"},
		{"alone and wrong", -wrong, nil, "degraded"},
	} {
		v := judgeClock(c.ahead, limit, c.others)
		got := ""
		switch {
		case v.Unready != "" && v.Degraded == "":
			got = "unready"
		case v.Unready == "" && v.Degraded != "":
			got = "degraded"
		case v != ClockVerdict{}:
			got = "both"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
