package health

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A script is what happens, second by second: "10 lost" and so on. The links are checked every 15 seconds.
func TestLinkNotifications(t *testing.T) {
	flaps := func(from, times, every int) string {
		var b strings.Builder
		for i := range times {
			fmt.Fprintf(&b, "%d lost;%d back;", from+2*i*every, from+(2*i+1)*every)
		}
		return b.String()
	}
	for _, c := range []struct{ name, script, want string }{
		{"a loss", "10 lost", "10 trouble"},
		{"a short cut", "10 lost;12 back", "10 trouble,12 well"},
		{"said twice", "10 lost;11 lost;12 back;13 back", "10 trouble,12 well"},
		{"a return without a loss", "10 back", ""},
		{"flapping, in the end back", flaps(10, 50, 5), "10 trouble,15 well"},
		{"flapping, in the end lost", flaps(10, 50, 5) + "510 lost", "10 trouble,15 well,570 trouble"},
		{"lost while it flaps, and back for good", "10 lost;12 back;20 lost;200 back", "10 trouble,12 well,90 trouble,270 well"},
		{"two cuts far apart", "10 lost;12 back;1000 lost;1002 back", "10 trouble,12 well,1000 trouble,1002 well"},
		{"a loss that lasts, then one blink", "10 lost;300 back;310 lost;312 back", "10 trouble,300 well"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := map[int]string{}
			for e := range strings.SplitSeq(c.script, ";") {
				var at int
				var what string
				if n, _ := fmt.Sscanf(e, "%d %s", &at, &what); n == 2 {
					events[at] = what
				}
			}
			var l Link
			var notified []string
			for s := range 2000 {
				now := time.Unix(int64(s)+1, 0)
				notification := NoChange
				switch events[s] {
				case "lost":
					l, notification = l.Lost(now)
				case "back":
					l, notification = l.Restored(now)
				default:
					if s%15 == 0 {
						l, notification = l.Check(now)
					}
				}
				if notification != NoChange {
					notified = append(notified, fmt.Sprint(s, map[Notification]string{Down: " trouble", Up: " well"}[notification]))
				}
			}
			if got := strings.Join(notified, ","); got != c.want {
				t.Errorf("notified %q, want %q", got, c.want)
			}
		})
	}
}

func TestBatteryAndClocks(t *testing.T) {
	for _, c := range []struct {
		percents []int
		want     int
	}{
		{[]int{50, 30, 21}, 0},
		{[]int{21, 20, 21, 20, 21, 20}, 1},
		{[]int{20, 24, 20, 25, 20}, 3},
		{[]int{20, 100}, 2},
	} {
		notified, n := false, 0
		for _, p := range c.percents {
			if notification := Battery(notified, p); notification != NoChange {
				notified, n = notification == Down, n+1
			}
		}
		if n != c.want {
			t.Errorf("%v: notified %d times, want %d", c.percents, n, c.want)
		}
	}
	notified, n := false, 0
	for _, off := range []time.Duration{0, 59, 61, 59, 61, -70, 31, -30, 61} {
		if notification := Clock(notified, off*time.Second); notification != NoChange {
			notified, n = notification == Down, n+1
		}
	}
	if n != 3 {
		t.Errorf("the clock was notified %d times, want 3", n)
	}
}
