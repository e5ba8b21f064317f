package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/keypad"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/lock/slot"
)

const (
	lockoutCheckEvery  = 24 * time.Hour  // interval of lockout checks; a person can change the lockout at the lock
	lockoutRetryMin    = time.Minute     // first wait after a failed lockout call; each further failure doubles it, up to lockoutRetryMax
	lockoutCallTimeout = 5 * time.Second // timeout of a call, short because an unlock command must not wait long for the radio
	lockoutRetryMax    = 6 * time.Hour   // longest wait after a failed call to set the lockout
	pauseTries         = 3               // number of calls that try to pause a keypad
	pauseRetryAfter    = 2 * time.Second // wait between two calls that try to pause a keypad
	minPause           = time.Second     // a shorter pause is not worth a call
	maxQueuedWrongPINs = 64              // further wrong PINs during one call to the lock are not counted
)

// guardRecord is what the bridge stores about wrong PINs at one lock.
type guardRecord struct {
	Strikes     keypad.Strikes `json:"strikes"`              // Strikes counts the wrong PINs
	PausedUntil time.Time      `json:"pausedUntil,omitzero"` // PausedUntil is when the lock ends the keypad's pause; if the lock did not answer, the pause is only possible
	Lockout     slot.Lockout   `json:"lockout"`              // Lockout is the lockout as last read back; zero: unknown
	CheckedAt   time.Time      `json:"checkedAt,omitzero"`   // CheckedAt is when the lock last answered about its lockout
}

// keypadGuard slows down PIN guessing at one lock, also without the server. It sets the lock's own lockout and reads it back, or it pauses
// the keypad after wrong PINs. It pauses only keypads whose lock ends the pause by itself, because a bridge that crashes must not leave
// guests in front of a closed door. Only the guard's goroutine uses rec.
type keypadGuard struct {
	worker     *lockWorker
	rec        guardRecord
	wrongPINs  chan time.Time
	retryDelay time.Duration // backoff after the last failure to set the lockout; 0: it did not fail
}

// newKeypadGuard creates the guard of a worker's lock with its stored record, and puts the record into the outbox. A stored lockout is
// forgotten if the driver can no longer set it. The guard does nothing until run.
func newKeypadGuard(w *lockWorker) (*keypadGuard, error) {
	g := &keypadGuard{worker: w, wrongPINs: make(chan time.Time, maxQueuedWrongPINs)}
	var err error
	if g.rec, err = w.bridge.store.loadGuard(w.lock.Address()); err != nil {
		return nil, fmt.Errorf("lock %s: %w", w.lock.Address(), err)
	}
	if w.lock.Capabilities().Lockout != slot.LockoutSettable { // forget a lockout that an earlier driver version set and this one cannot check
		g.rec.Lockout = slot.Lockout{}
	}
	w.bridge.outbox.setGuard(w.lock.Address(), g.rec)
	return g, nil
}

// recordWrongPIN passes the time of a wrong PIN to the guard's goroutine. It never blocks: if too many are waiting, it drops this one.
func (g *keypadGuard) recordWrongPIN(at time.Time) {
	select {
	case g.wrongPINs <- at:
	default:
	}
}

// run counts wrong PINs, if the keypad can be paused, and checks the lock's own lockout daily, if it can be set. It ends with nil when ctx
// ends, or with an error when the store fails.
func (g *keypadGuard) run(ctx context.Context) error {
	due := time.NewTimer(never)
	defer due.Stop()
	if g.worker.lock.Capabilities().Lockout == slot.LockoutSettable {
		// Setting the lockout wakes the lock, so a restarted bridge waits until the next check is due.
		left := g.rec.CheckedAt.Add(lockoutCheckEvery).Sub(g.worker.bridge.clock.Now())
		due.Reset(min(max(left, 0), lockoutCheckEvery))
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			var next time.Duration
			next, err = g.setLockout(ctx)
			due.Reset(next)
		case at := <-g.wrongPINs:
			err = g.onWrongPIN(ctx, at)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("lock %s: %w", g.worker.lock.Address(), err)
		}
	}
}

// withRadio waits for the lock's radio, at most turn, and then runs do, a call to the lock, for at most lockoutCallTimeout. It answers Busy
// if the radio did not become free.
func (g *keypadGuard) withRadio(ctx context.Context, turn time.Duration, do func(context.Context) driver.Answer) driver.Answer {
	waiting, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	if !g.worker.radio.acquire(waiting) {
		return driver.Answer{Result: slot.Busy, Unsent: true}
	}
	defer g.worker.radio.release()
	ctx, cancel = context.WithTimeout(ctx, lockoutCallTimeout)
	defer cancel()
	return do(ctx)
}

// setLockout sets [slot.DesiredLockout] at the lock, which then refuses PINs for a time after wrong ones, and stores the setting that the
// lock reports. A lock that reports another setting or does not support it is only logged. next is the wait until the next check or retry.
// err is only a failure of the store. A busy radio does not lengthen the backoff, because it is not a failure of the lock. Retries are
// randomized, because all locks of a radio start together.
func (g *keypadGuard) setLockout(ctx context.Context) (next time.Duration, err error) {
	var got slot.Lockout
	a := g.withRadio(ctx, lockoutCallTimeout, func(ctx context.Context) (a driver.Answer) {
		got, a = g.worker.lock.SetLockout(ctx, slot.DesiredLockout)
		return a
	})
	log := g.worker.bridge.log.With("lock", g.worker.lock.Address())
	next = lockoutCheckEvery
	switch {
	case a.Result == slot.OK && got == slot.DesiredLockout:
		g.retryDelay = 0
	case a.Result == slot.OK || a.Result == slot.Unsupported:
		g.retryDelay = 0
		log.Warn("the lock did not accept the lockout after wrong PINs", "result", a.Result, "attempts", got.Attempts, "pause", got.Pause)
	case a.Result == slot.Busy:
		return max(a.RetryAfter, lockoutRetryMin) + clock.FullJitter(lockoutRetryMin), nil
	default: // the lockout that was read back earlier stays stored
		g.retryDelay = min(max(2*g.retryDelay, lockoutRetryMin), lockoutRetryMax)
		return g.retryDelay - clock.FullJitter(g.retryDelay/4), nil
	}
	g.rec.Lockout, g.rec.CheckedAt = got, g.worker.bridge.clock.Now()
	return next, g.save()
}

// onWrongPIN counts a wrong PIN that was typed at the time at, and pauses the keypad if there were too many. A zero time, or one in the
// future, means now. It does nothing for a lock whose keypad cannot be paused. Only a failure of the store is an error.
func (g *keypadGuard) onWrongPIN(ctx context.Context, at time.Time) error {
	if !g.worker.lock.Capabilities().KeypadPause {
		return nil
	}
	if now := g.worker.bridge.clock.Now(); at.IsZero() || at.After(now) {
		at = now
	}
	strikes, d := g.rec.Strikes.Add(at)
	g.rec.Strikes = strikes
	if err := g.save(); err != nil {
		return err
	}
	if d == 0 {
		return nil
	}
	return g.pauseKeypad(ctx, at.Add(d))
}

// pauseKeypad pauses the keypad until a time, and journals that. If the lock fails, it retries a few times with the remaining time, and
// then only logs the failure. It ends silently if less than minPause remains, or if the lock answers Unsupported. It stores the pause as
// soon as one call may have taken effect. Only a failure of the store is an error.
func (g *keypadGuard) pauseKeypad(ctx context.Context, until time.Time) error {
	b := g.worker.bridge
	var a driver.Answer
	for try := range pauseTries {
		if try > 0 && !clock.Sleep(ctx, pauseRetryAfter) {
			return nil
		}
		a = g.withRadio(ctx, 2*g.worker.lifetime, func(ctx context.Context) driver.Answer {
			left := min(until.Sub(b.clock.Now()), keypad.Longest)
			if left < minPause {
				return driver.Answer{Result: slot.Unsupported}
			}
			return g.worker.lock.PauseKeypad(ctx, left)
		})
		switch a.Result {
		case slot.OK:
			return g.onPaused(until)
		case slot.Unsupported:
			return nil
		}
		if a.Result.MayTakeEffect() && !a.Unsent && !g.rec.PausedUntil.Equal(until) {
			g.rec.PausedUntil = until
			if err := g.save(); err != nil {
				return err
			}
		}
	}
	b.log.Warn("pausing the keypad after wrong PINs failed", "lock", g.worker.lock.Address(), "result", a.Result)
	return nil
}

// onPaused stores that the lock has paused its keypad until a time, and journals it for the server. The lock may end the pause slightly
// later.
func (g *keypadGuard) onPaused(until time.Time) error {
	g.rec.PausedUntil = until
	if err := g.save(); err != nil {
		return err
	}
	b := g.worker.bridge
	e := b.newEntry(driver.Event{Address: g.worker.lock.Address(), Kind: driver.KeypadPaused, At: b.clock.Now()})
	e.Until = until.UTC()
	return b.appendEntry(e)
}

// save stores the guard's record and reports it to the server.
func (g *keypadGuard) save() error {
	address := g.worker.lock.Address()
	if err := g.worker.bridge.store.saveGuard(address, g.rec); err != nil {
		return fmt.Errorf("store the count of wrong PINs: %w", err)
	}
	g.worker.bridge.outbox.setGuard(address, g.rec)
	return nil
}

// loadGuard returns the stored guard record of a lock, or a zero record if nothing is stored.
func (s *store) loadGuard(address string) (rec guardRecord, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		raw := tx.Bucket(guardsBucket).Get([]byte(address))
		if raw == nil {
			return nil
		}
		return json.Unmarshal(raw, &rec)
	})
	return rec, err
}

// saveGuard stores the guard record of a lock durably, in place of the earlier one.
func (s *store) saveGuard(address string, rec guardRecord) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return s.writes.update(func(tx *bbolt.Tx) error { return tx.Bucket(guardsBucket).Put([]byte(address), raw) })
}
