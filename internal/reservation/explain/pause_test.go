package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/event"
	"latchkey.dev/internal/lock/slot"
)

func paused(minute int, door string, pause time.Duration) Event {
	return Event{At: at(minute), Kind: event.KeypadPaused, DoorID: door, LockID: "lck_of_" + door, Pause: pause}
}

func TestKeypadPauses(t *testing.T) {
	issued := Event{At: at(10), Kind: event.AccessIssued, Accessible: []string{room, gate}, Expected: []string{room, gate}}
	for name, tt := range map[string]struct {
		stored []Event
		want   []string
	}{
		"during the stay, also at a gate": {
			[]Event{issued, evidence(11, room, slot.Verified), evidence(11, gate, slot.Verified), paused(12, room, time.Minute), paused(13, gate, time.Minute)},
			[]string{"12 bridge keypadPaused Room 1", "13 bridge keypadPaused Front"},
		},
		"it begins before the code and ends after it":              {[]Event{paused(8, room, 5*time.Minute), issued}, []string{"8 bridge keypadPaused Room 1"}},
		"it ends when the code is issued":                          {[]Event{paused(8, room, 2*time.Minute), issued}, nil},
		"the code is known only after the pause is stored":         {[]Event{paused(8, room, 5*time.Minute), evidence(9, room, slot.Sent)}, []string{"8 bridge keypadPaused Room 1"}},
		"it begins after the code is removed":                      {[]Event{issued, evidence(11, room, slot.Verified), evidence(12, room, slot.Removed), paused(13, room, time.Minute)}, nil},
		"it is stored after the removal, and began before":         {[]Event{issued, evidence(11, room, slot.Verified), evidence(15, room, slot.Removed), paused(13, room, time.Minute)}, []string{"13 bridge keypadPaused Room 1"}},
		"at a door that the stay does not have":                    {[]Event{issued, paused(12, "spc_other", time.Minute)}, nil},
		"at the door of the stay, by a lock that left it long ago": {[]Event{issued, evidence(11, room, slot.Verified), with(paused(12, room, time.Minute), func(h *Event) { h.LockID = "lck_old" })}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, step := range kinds(Explain(stay(tt.stored...))) {
				if strings.Contains(step, "keypadPaused") {
					got = append(got, step)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheSentenceOfAPauseNamesItsLength(t *testing.T) {
	for pause, want := range map[time.Duration]string{
		time.Second: "1 second", 15 * time.Second: "15 seconds", 14*time.Second + 2: "15 seconds", time.Minute: "1 minute", 90 * time.Second: "90 seconds", 5 * time.Minute: "5 minutes",
	} {
		e := Explain(stay(Event{At: at(1), Kind: event.AccessIssued, Expected: []string{room}}, paused(2, room, pause)))
		last := e.Steps[len(e.Steps)-1]
		if want = "Wrong PINs were typed at Room 1, so its keypad refused every PIN for " + want + "."; english(last.Text) != want {
			t.Errorf("%s: %q, want %q", pause, english(last.Text), want)
		}
	}
}
