package bench

import "testing"

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
