package torture

import (
	"testing"
	"time"
)

func TestJudgeExplanation(t *testing.T) {
	at := func(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }
	verified := step{At: at(1), Actor: "lock", Kind: "codeVerified", Door: "D", Evidence: "verified"}
	opened := func(s float64, door string) step {
		return step{At: at(s), Actor: "guest", Kind: "doorOpened", Door: door, Evidence: "used"}
	}
	removed := step{At: at(9), Actor: "lock", Kind: "codeRemoved", Door: "D", Evidence: "removed"}
	elsewhere := removed
	elsewhere.Evidence = ""
	pressed := func(s float64, door string) opening { return opening{At: at(s), Door: door, MustBeReported: true} }
	open := map[string]string{"D": "used"}
	for name, tt := range map[string]struct {
		e, before explanation
		openings  []opening
		complete  bool
		broken    int
	}{
		"as it was":                      {e: explanation{open, []step{verified, opened(2, "D")}, false}, openings: []opening{pressed(2, "D")}, complete: true},
		"at another time":                {e: explanation{open, []step{verified, opened(40, "D")}, false}, openings: []opening{pressed(2, "D")}, broken: 1},
		"at another time, and missing":   {e: explanation{open, []step{verified, opened(40, "D")}, false}, openings: []opening{pressed(2, "D")}, complete: true, broken: 2},
		"at another door":                {e: explanation{open, []step{verified, opened(2, "E")}, false}, openings: []opening{pressed(2, "D")}, broken: 1},
		"at a lock that is on no door":   {e: explanation{open, []step{verified, opened(2, "D")}, false}, openings: []opening{{At: at(2), EarlierDoors: []string{"E", "D"}}}},
		"at a lock that never was there": {e: explanation{open, []step{verified, opened(2, "D")}, false}, openings: []opening{{At: at(2), EarlierDoors: []string{"E"}}}, broken: 1},
		"twice for one":                  {e: explanation{open, []step{verified, opened(2, "D"), opened(2.1, "D")}, false}, openings: []opening{pressed(2, "D")}, broken: 1},
		"the same step twice":            {e: explanation{open, []step{verified, verified}, false}, broken: 1},
		"not reported yet":               {e: explanation{open, []step{verified}, false}, openings: []opening{pressed(2, "D")}},
		"never reported":                 {e: explanation{open, []step{verified}, false}, openings: []opening{pressed(2, "D")}, complete: true, broken: 1},
		"lost with the bridge":           {e: explanation{open, []step{verified}, false}, openings: []opening{{At: at(2), Door: "D", MustBeReported: true, MayBeLost: true}}, complete: true},
		"owner unknown":                  {e: explanation{open, []step{verified}, false}, openings: []opening{{At: at(2), Door: "D"}}, complete: true},
		"truncated":                      {e: explanation{open, []step{verified}, true}, before: explanation{open, []step{opened(2, "D")}, false}, openings: []opening{pressed(2, "D")}, complete: true},
		"rewritten":                      {e: explanation{open, []step{verified, opened(3, "D")}, false}, before: explanation{open, []step{verified, opened(2, "D")}, false}, openings: []opening{pressed(2, "D")}, broken: 1},
		"visitors are forgotten":         {e: explanation{open, []step{verified}, false}, before: explanation{open, []step{verified, {At: at(2), Kind: "otherCodeDenied", Door: "D"}}, false}, broken: 1},
		"a loss is forgotten":            {e: explanation{open, []step{verified}, false}, before: explanation{open, []step{verified, {At: at(2), Kind: "lockOffline", Door: "D"}}, false}, broken: 1},
		"a loss is moved":                {e: explanation{open, []step{verified, {At: at(2), Kind: "lockOffline", Door: "D"}}, false}, before: explanation{open, []step{verified, {At: at(3), Kind: "lockOffline", Door: "D"}}, false}, broken: 1},
		"the booking was changed since":  {e: explanation{open, []step{verified, {At: at(3), Kind: "bookingChanged"}}, false}, before: explanation{open, []step{verified, {At: at(2), Kind: "bookingChanged"}}, false}},
		"grown":                          {e: explanation{open, []step{verified, opened(2, "D")}, false}, before: explanation{open, []step{verified}, false}, openings: []opening{pressed(2, "D")}},
		"out of order":                   {e: explanation{open, []step{opened(2, "D"), verified}, false}, openings: []opening{pressed(2, "D")}, broken: 1},
		"the last step says removed":     {e: explanation{open, []step{verified, removed}, false}, broken: 1},
		"a clearing at another door":     {e: explanation{open, []step{verified, elsewhere}, false}},
		"removed, and the door is, too":  {e: explanation{map[string]string{"D": "removed"}, []step{verified, removed}, false}},
		"removed, and set again after":   {e: explanation{open, []step{removed, {At: at(10), Kind: "codeVerified", Door: "D", Evidence: "verified"}}, false}},
		"two openings in their own time": {e: explanation{open, []step{verified, opened(2, "D"), opened(3, "D")}, false}, openings: []opening{pressed(2, "D"), pressed(3, "D")}, complete: true},
	} {
		if got := judgeExplanation(tt.e, tt.before, tt.openings, tt.complete); len(got) != tt.broken {
			t.Errorf("%s: %q; want %d", name, got, tt.broken)
		}
	}
}
