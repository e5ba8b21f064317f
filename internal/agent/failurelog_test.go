package agent

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// If a lock cannot be reached for half a day, only the beginning and the end are logged, not each try.
func TestUnreachableLockIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
		s.kill()
		var log bytes.Buffer
		lines := func() (out []string) {
			synctest.Wait()
			for l := range strings.Lines(log.String()) {
				if strings.Contains(l, "lock=front") {
					out = append(out, l)
				}
			}
			return out
		}
		ctx, cancel := context.WithCancel(context.Background())
		b, err := New(ctx, Config{Dir: s.dir, Driver: s.drv, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		b.store.db.NoSync = true
		s.bridge, s.cancel, s.done = b, cancel, make(chan error, 1)
		go func() { s.done <- b.runLocks(ctx) }()

		s.locks.SetOffline("front", true)
		s.want("front", 1, slot.Desired{Intent: slot.Present, PIN: "345671"})
		s.pass(12 * time.Hour)
		if all := lines(); len(all) != 1 || !strings.Contains(all[0], "result=lockOffline") {
			t.Errorf("while it is out of reach:\n%s", strings.Join(all, ""))
		}
		if h := b.lockHealth("front", ""); h.FailedTries < 100 || h.FailingSince.IsZero() {
			t.Errorf("%d failed tries since %v", h.FailedTries, h.FailingSince)
		}
		s.locks.SetOffline("front", false)
		s.pass(time.Hour)
		if all := lines(); len(all) != 2 || !strings.Contains(all[1], "succeeds again") || !strings.Contains(all[1], "was=lockOffline failed_tries=") {
			t.Errorf("when it is back:\n%s", strings.Join(all, ""))
		}
		if !s.opens("front", "345671") {
			t.Error("the code does not open")
		}
		if h := b.lockHealth("front", ""); h.FailedTries != 0 {
			t.Errorf("%d failed tries of a lock that works", h.FailedTries)
		}
	})
}
