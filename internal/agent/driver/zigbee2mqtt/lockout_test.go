package zigbee2mqtt

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/test/z2mtest"
)

func TestLockoutIsWrittenOnlyIfItDiffers(t *testing.T) {
	t.Parallel()
	r := newRig(t, redialing(), z2mtest.Lock{Address: front, Name: "front", Users: 10, ReportsSuccessTimes: true, Lockout: true})
	sent := func() (reads, writes int) {
		for _, c := range r.z2m.Commands() {
			switch {
			case strings.Contains(c.Payload, `"read"`):
				reads++
			case strings.Contains(c.Payload, `"write"`):
				writes++
			}
			if c.Expiry == 0 {
				t.Errorf("%s can be delivered at any time", c.Payload)
			}
		}
		return reads, writes
	}
	l := r.lock(front)
	got, a := l.SetLockout(t.Context(), slot.DesiredLockout)
	if reads, writes := sent(); a.Result != slot.OK || got != slot.DesiredLockout || reads != 2 || writes != 1 {
		t.Fatalf("%s, the lock shows %+v after %d readings and %d writings", a.Result, got, reads, writes)
	}
	got, a = l.SetLockout(t.Context(), slot.DesiredLockout)
	if reads, writes := sent(); a.Result != slot.OK || got != slot.DesiredLockout || reads != 3 || writes != 1 {
		t.Errorf("a lock that keeps it already: %s, %+v, %d readings and %d writings in all", a.Result, got, reads, writes)
	}
	if got, a := l.SetLockout(t.Context(), slot.Lockout{Attempts: 5, Pause: time.Hour}); a.Result != slot.Unsupported || got != (slot.Lockout{}) {
		t.Errorf("an hour does not fit the attribute, and the answer is %s %+v", a.Result, got)
	}
}

// If the write of a lockout fails, SetLockout does not report the desired lockout.
func TestLostLockoutIsNotVerified(t *testing.T) {
	t.Parallel()
	r := newRig(t, redialing(), z2mtest.Lock{Address: front, Name: "front", Users: 10, ReportsSuccessTimes: true, Lockout: true})
	l := r.lock(front)
	before, a := l.SetLockout(t.Context(), slot.Lockout{Attempts: 10, Pause: 20 * time.Second}) // as it left the factory
	if a.Result != slot.OK {
		t.Fatal(a.Result)
	}
	r.z2m.IgnoreLockoutWrites(front)
	if got, _ := l.SetLockout(t.Context(), slot.DesiredLockout); got != before {
		t.Errorf("the lock shows %+v, it holds %+v", got, before)
	}
}

func TestLockoutOf(t *testing.T) {
	for raw, want := range map[string]*slot.Lockout{
		`{"wrongCodeEntryLimit":5,"userCodeTemporaryDisableTime":240}`: {Attempts: 5, Pause: 4 * time.Minute},
		`{"wrongCodeEntryLimit":5}`:                                    {Attempts: 5},
		`{"wrongCodeEntryLimit":500}`:                                  nil,
		`{"wrongCodeEntryLimit":"five"}`:                               nil,
		`null`:                                                         nil,
		`7`:                                                            nil,
		``:                                                             nil,
	} {
		got := parseLockout(json.RawMessage(raw))
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v, want %+v", raw, got, want)
		}
	}
}
