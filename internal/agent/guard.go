package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/bbolt"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/agent/keypad"
	"latchkey.dev/internal/lock/slot"
)

const (
	lockoutCheckEvery = 24 * time.Hour // somebody may change it at the lock
	lockoutRetryFirst = time.Minute
	lockoutWait       = 5 * time.Second // how long a call may hold the radio: an unlock command must not wait long behind it
	lockoutRetryMost  = 6 * time.Hour
	pauseTries        = 3
	pauseRetryAfter   = 2 * time.Second
	leastPause        = time.Second
	waitingStrikes    = 64 // more that come during one call to the lock are not counted
)

// guardRecord is what the bridge stores about wrong PINs at one lock.
type guardRecord struct {
	Strikes     keypad.Strikes `json:"strikes"`
	PausedUntil time.Time      `json:"pausedUntil,omitzero"` // the lock ends the pause by itself; if it did not answer, the pause is only possible
	Lockout     slot.Lockout   `json:"lockout"`              // as last read back; zero: it was not
	CheckedAt   time.Time      `json:"checkedAt,omitzero"`   // when the lock last answered about its lockout
}

// guard slows the guessing of PINs at one lock: it sets the lock's own lockout and reads it back, or pauses the keypad after
// wrong PINs. It works while the service is away. Its goroutine is the only one to touch rec.
//
// The bridge never ends a pause, and has no keypad paused whose lock does not end the pause by itself: a bridge that dies must
// not leave guests in front of a closed door.
type guard struct {
	owner  *owner
	rec    guardRecord
	wrong  chan time.Time
	failed time.Duration // the backoff after the last failure to set the lockout; 0: it did not fail
}

func newGuard(o *owner) (*guard, error) {
	g := &guard{owner: o, wrong: make(chan time.Time, waitingStrikes)}
	var err error
	if g.rec, err = o.bridge.store.loadGuard(o.lock.Address()); err != nil {
		return nil, fmt.Errorf("lock %s: %w", o.lock.Address(), err)
	}
	if o.lock.Capabilities().Lockout != slot.LockoutSettable { // the driver knew better once
		g.rec.Lockout = slot.Lockout{}
	}
	o.bridge.out.guarded(o.lock.Address(), g.rec)
	return g, nil
}

// struck counts a wrong PIN. It never waits.
func (g *guard) struck(at time.Time) {
	select {
	case g.wrong <- at:
	default:
	}
}

// run ends with ctx, or with the store's failure.
func (g *guard) run(ctx context.Context) error {
	due := time.NewTimer(never)
	defer due.Stop()
	if g.owner.lock.Capabilities().Lockout == slot.LockoutSettable { // a restart alone wakes no lock
		left := g.rec.CheckedAt.Add(lockoutCheckEvery).Sub(g.owner.bridge.clock.Now())
		due.Reset(min(max(left, 0), lockoutCheckEvery))
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-due.C:
			var again time.Duration
			again, err = g.setLockout(ctx)
			due.Reset(again)
		case at := <-g.wrong:
			err = g.count(ctx, at)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("lock %s: %w", g.owner.lock.Address(), err)
		}
	}
}

// call waits at most turn for the lock's radio, and then makes one call of at most lockoutWait.
func (g *guard) call(ctx context.Context, turn time.Duration, do func(context.Context) driver.Answer) driver.Answer {
	waiting, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	if !g.owner.radio.acquire(waiting) {
		return driver.Answer{Result: slot.Busy, Unsent: true}
	}
	defer g.owner.radio.release()
	ctx, cancel = context.WithTimeout(ctx, lockoutWait)
	defer cancel()
	return do(ctx)
}

// setLockout sets the lock's lockout and stores what the lock shows of it. It returns after how long to check again. A busy
// radio is not a failure of the lock and does not lengthen the backoff. Retries are spread: all locks of a radio start together.
func (g *guard) setLockout(ctx context.Context) (again time.Duration, err error) {
	var got slot.Lockout
	a := g.call(ctx, lockoutWait, func(ctx context.Context) (a driver.Answer) {
		got, a = g.owner.lock.SetLockout(ctx, slot.DesiredLockout)
		return a
	})
	log := g.owner.bridge.log.With("lock", g.owner.lock.Address())
	again = lockoutCheckEvery
	switch {
	case a.Result == slot.OK && got == slot.DesiredLockout:
		g.failed = 0
	case a.Result == slot.OK || a.Result == slot.Unsupported:
		g.failed = 0
		log.Warn("the lock does not keep the lockout after wrong PINs that was set", "result", a.Result, "attempts", got.Attempts, "pause", got.Pause)
	case a.Result == slot.Busy:
		return max(a.RetryAfter, lockoutRetryFirst) + rand.N(lockoutRetryFirst), nil
	default: // what was read back before still counts
		g.failed = min(max(2*g.failed, lockoutRetryFirst), lockoutRetryMost)
		return g.failed - rand.N(g.failed/4), nil
	}
	g.rec.Lockout, g.rec.CheckedAt = got, g.owner.bridge.clock.Now()
	return again, g.keep()
}

// count takes in a wrong PIN, and pauses the keypad where it is time to.
func (g *guard) count(ctx context.Context, at time.Time) error {
	if !g.owner.lock.Capabilities().KeypadPause {
		return nil
	}
	if now := g.owner.bridge.clock.Now(); at.IsZero() || at.After(now) {
		at = now
	}
	strikes, d := g.rec.Strikes.Add(at)
	g.rec.Strikes = strikes
	if err := g.keep(); err != nil {
		return err
	}
	if d == 0 {
		return nil
	}
	return g.pause(ctx, at.Add(d))
}

// pause pauses the keypad until a time. A lock that does not answer is asked a few times, each time for the remaining time.
// The pause is stored as possible as soon as one call may have taken effect.
func (g *guard) pause(ctx context.Context, until time.Time) error {
	b := g.owner.bridge
	var a driver.Answer
	for try := range pauseTries {
		if try > 0 && !sleep(ctx, pauseRetryAfter) {
			return nil
		}
		a = g.call(ctx, 2*g.owner.lifetime, func(ctx context.Context) driver.Answer {
			left := min(until.Sub(b.clock.Now()), keypad.Longest)
			if left < leastPause {
				return driver.Answer{Result: slot.Unsupported}
			}
			return g.owner.lock.PauseKeypad(ctx, left)
		})
		switch a.Result {
		case slot.OK:
			return g.paused(until)
		case slot.Unsupported:
			return nil
		}
		if a.Result.MayTakeEffect() && !a.Unsent && !g.rec.PausedUntil.Equal(until) {
			g.rec.PausedUntil = until
			if err := g.keep(); err != nil {
				return err
			}
		}
	}
	b.log.Warn("the keypad could not be paused after wrong PINs", "lock", g.owner.lock.Address(), "result", a.Result)
	return nil
}

// paused notes a pause and journals it. Until may be a little before the lock's own end: it began to count when the call arrived.
func (g *guard) paused(until time.Time) error {
	g.rec.PausedUntil = until
	if err := g.keep(); err != nil {
		return err
	}
	b := g.owner.bridge
	o := b.occurred(driver.Event{Address: g.owner.lock.Address(), Kind: driver.KeypadPaused, At: b.clock.Now()})
	o.Until = until.UTC()
	return b.keep(o)
}

// keep stores the record and has the service told of it.
func (g *guard) keep() error {
	address := g.owner.lock.Address()
	if err := g.owner.bridge.store.saveGuard(address, g.rec); err != nil {
		return fmt.Errorf("store wrong PINs: %w", err)
	}
	g.owner.bridge.out.guarded(address, g.rec)
	return nil
}

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

func (s *store) saveGuard(address string, rec guardRecord) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return s.writes.do(func(tx *bbolt.Tx) error { return tx.Bucket(guardsBucket).Put([]byte(address), raw) })
}
