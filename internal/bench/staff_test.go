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

func TestNumbering(t *testing.T) {
	for _, tt := range []struct {
		name    string
		numbers []int32
		want    numbering
	}{
		{"in order", []int32{1, 2, 3}, numbering{last: 3}},
		{"a gap", []int32{1, 4}, numbering{last: 4, lost: 2}},
		{"the first is missing", []int32{2}, numbering{last: 2, lost: 1}},
		{"again", []int32{1, 2, 2, 1, 3}, numbering{last: 3, twice: 2}},
	} {
		var n numbering
		for _, number := range tt.numbers {
			n.add(number)
		}
		if n != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, n, tt.want)
		}
	}
}

// Each question has one answer, so a guest's stream has twice as many messages as the guest sent.
func TestTally(t *testing.T) {
	d := &frontDesk{asked: map[int]*numbering{1: {last: 2}, 2: {last: 1, twice: 1}}}
	chats := []*chat{{bed: 1, sent: 2, counts: numbering{last: 4}}, {bed: 2, sent: 2, counts: numbering{last: 3, lost: 1}}, {bed: 3}}
	if sent, lost, twice := tally(chats, d); sent != 8 || lost != 3 || twice != 1 {
		t.Errorf("%d sent, %d lost, %d twice", sent, lost, twice)
	}
}
