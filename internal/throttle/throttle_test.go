package throttle

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestRestore(t *testing.T) {
	hourly := Within("hourly", time.Hour).After(5, time.Minute)
	counters := []Counter{{Limit: hourly, ID: "present"}, {Limit: hourly, ID: "past", Count: 3, Began: noon}, {Limit: hourly, ID: "unknown", Count: 3, Began: noon}}
	Restore(counters, []Counter{
		{ID: "past", Began: noon.Add(-time.Hour), Last: noon, Count: 9},
		{ID: "present", Began: noon.Add(-time.Hour + 1), Last: noon, Count: 7},
	}, noon)
	for i, want := range []int{7, 0, 0} {
		if c := counters[i]; c.Count != want || (want == 0) != c.Began.IsZero() {
			t.Errorf("%s: %d failures since %s, want %d", c.ID, c.Count, c.Began, want)
		}
	}
}

func TestWithFailure(t *testing.T) {
	c := Counter{Limit: Within("hourly", time.Hour).After(2, time.Minute).After(3, time.Hour)}
	for i, want := range []struct {
		at     time.Time
		wait   time.Duration
		begins bool
	}{
		{noon, 0, false},
		{noon.Add(time.Minute), time.Minute, true},
		{noon.Add(30 * time.Minute), 30 * time.Minute, false}, // the pause ends with the period
		{noon.Add(time.Hour), 0, false},                       // a new period
	} {
		c = c.WithFailure(want.at)
		if got := c.Wait(want.at); got != want.wait || c.StartsWaiting() != want.begins {
			t.Errorf("failure %d: waits %s, begins %v; want %s, %v", i+1, got, c.StartsWaiting(), want.wait, want.begins)
		}
	}
}

func TestInOrder(t *testing.T) {
	counters := []Counter{{ID: "b"}, {ID: "a"}}
	if ids := IDs(InOrder(counters)); ids[0] != "a" || ids[1] != "b" || counters[0].ID != "b" {
		t.Errorf("order %q of %q", ids, IDs(counters))
	}
}

func TestSiteOf(t *testing.T) {
	for network, want := range map[string]string{
		"2001:db8:1:2::/64": "2001:db8:1::/48", "192.0.2.7/32": "", "": "", "2001:db8::/32": "",
	} {
		if got := SiteOf(network); got != want {
			t.Errorf("SiteOf(%q) = %q, want %q", network, got, want)
		}
	}
}
