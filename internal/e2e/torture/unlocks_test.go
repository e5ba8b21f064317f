package torture

import (
	"testing"
	"time"
)

func TestJudgeUnlocks(t *testing.T) {
	at := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	order := func(called, answered float64, result string) unlock {
		return unlock{Lock: "L", Called: at(called), Answered: at(answered), Result: result}
	}
	repeated := order(0, 15, "unknown")
	repeated.Repeated = at(5)
	for name, tt := range map[string]struct {
		orders   []unlock
		openings []float64
		broken   int
	}{
		"one of one":                          {[]unlock{order(0, 1, "opened")}, []float64{0.5}, 0},
		"none of none":                        {nil, nil, 0},
		"twice":                               {[]unlock{order(0, 1, "opened")}, []float64{0.5, 0.6}, 1},
		"without an order":                    {nil, []float64{1}, 1},
		"before the order":                    {[]unlock{order(2, 3, "unknown")}, []float64{1}, 1},
		"after the deadline":                  {[]unlock{order(0, 12, "unknown")}, []float64{11.5}, 1},
		"just before the deadline":            {[]unlock{order(0, 12, "deadlineExceeded")}, []float64{9.9}, 0},
		"unknown need not open":               {[]unlock{order(0, 1, "unknown")}, nil, 0},
		"no answer may open":                  {[]unlock{order(0, 1, "")}, []float64{3}, 0},
		"answered opened and did not":         {[]unlock{order(0, 1, "opened")}, nil, 1},
		"opened only after it was said":       {[]unlock{order(0, 1, "opened")}, []float64{2}, 2},
		"nothing was sent, and it opened":     {[]unlock{order(0, 1, "bridgeOffline")}, []float64{2}, 1},
		"expired, and it opened":              {[]unlock{order(0, 1, "expired")}, []float64{0.5}, 1},
		"the sure one gets the opening":       {[]unlock{order(0, 5, "unknown"), order(1, 2, "opened")}, []float64{1.5}, 0},
		"two orders, two openings":            {[]unlock{order(0, 5, "unknown"), order(1, 2, "opened")}, []float64{1.5, 4}, 0},
		"two orders, three openings":          {[]unlock{order(0, 5, "unknown"), order(1, 2, "opened")}, []float64{1.5, 4, 4.1}, 1},
		"a certain one after an old unknown":  {[]unlock{order(0, 1, "unknown"), order(10.5, 11.8, "opened")}, []float64{10.9}, 0},
		"a repeat may open later":             {[]unlock{repeated}, []float64{14}, 0},
		"a repeat opens once":                 {[]unlock{repeated}, []float64{1, 14}, 1},
		"an early one is not kept for a late": {[]unlock{order(0, 1, "unknown"), order(9, 12, "unknown")}, []float64{9.5, 18}, 0},
	} {
		var openings []time.Time
		for _, s := range tt.openings {
			openings = append(openings, at(s))
		}
		if got := judgeUnlocks(tt.orders, openings); len(got) != tt.broken {
			t.Errorf("%s: %q; want %d", name, got, tt.broken)
		}
	}
}
