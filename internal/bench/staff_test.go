package bench

import (
	"testing"
	"time"
)

func TestMissedOnAPage(t *testing.T) {
	last := map[int]int{0: 3, 3: 12}
	for _, c := range []struct {
		page string
		want float64
	}{
		{"<b>Live 0-3</b> Live 3-12", 0},
		{"Live 0-2 Live 3-12", 1},
		{"Live 0-3 Live 3-1", 1},
		{"Live 3-12", 0},
		{"no stay", 2},
	} {
		if got := missedOn(c.page, last); got != c.want {
			t.Errorf("%s: %v, want %v", c.page, got, c.want)
		}
	}
}

// A third of the rooms has arrivals today, and each room's stays follow one another.
func TestStaysOfTheHotel(t *testing.T) {
	const rooms = 30
	today, arrivals := time.Now().Format(time.DateOnly), 0
	ends := map[any]any{}
	for n := range 10 * rooms {
		f := stayFields(n, rooms)
		if f["fromDate"] == today {
			arrivals++
			if f["state"] != "confirmed" {
				t.Errorf("stay %d arrives today and is %v", n, f["state"])
			}
		}
		if end, ok := ends[f["roomId"]]; ok && end != f["fromDate"] {
			t.Errorf("stay %d begins on %v, the one before it ends on %v", n, f["fromDate"], end)
		}
		ends[f["roomId"]] = f["toDate"]
	}
	if arrivals != rooms/staffNights {
		t.Errorf("%d arrivals today", arrivals)
	}
}
