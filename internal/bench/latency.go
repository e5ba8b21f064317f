package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/sandbox"
)

// Latency measures how long a check-in takes to reach the lock.
type Latency struct {
	Samples int // Samples is the number of check-ins in each round
	Rounds  int
}

// watchedAddress is the address of the measured lock. In the sandbox it is the name of the door.
const watchedAddress = "Room 101"

// Run measures the time from sending the PATCH with state "started" until the virtual lock, which answers at once, has the code. The
// baseline is the necessary work: a durable commit on each side and a round trip on a stream between them.
func (b Latency) Run(ctx context.Context) (_ *Result, err error) {
	if b.Samples < 1 || b.Rounds < 1 {
		return nil, errors.New("latency: want at least one check-in and one round")
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	baseline, err := newCommits(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, baseline.close()) }()
	p, err := newLatencyWorld(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()

	r := &Result{Name: "latency", Unit: "ms", Rounds: b.Rounds}
	var took, least []float64
	var medians, leastMedians []float64
	parts := map[string][]float64{}
	for n := range b.Rounds + 1 {
		some, err := baseline.measure(ctx, b.Samples)
		if err != nil {
			return nil, err
		}
		passed, err := p.measure(ctx, b.Samples)
		if err != nil {
			return nil, err
		}
		if n == 0 { // the first round is a warm-up
			continue
		}
		for what, values := range some.parts {
			parts[what] = append(parts[what], values...)
		}
		least, leastMedians = append(least, some.all...), append(leastMedians, median(some.all))
		took, medians = append(took, passed.locks...), append(medians, median(passed.locks))
		parts["answer"] = append(parts["answer"], passed.answers...)
	}
	r.Value, r.Baseline = median(medians), median(leastMedians)
	r.P50, r.P99, r.BaselineP50, r.BaselineP99 = quantile(took, 0.5), quantile(took, 0.99), quantile(least, 0.5), quantile(least, 0.99)
	r.note("the PATCH answered", median(parts["answer"]), "ms")
	r.note("of the floor: the server's commit", median(parts["server"]), "ms")
	r.note("of the floor: the bridge's commit", median(parts["bridge"]), "ms")
	r.note("of the floor: the stream's round trip", median(parts["stream"]), "ms")
	r.atMost("times the floor", r.Value/r.Baseline, 3)
	return r.finish(), nil
}

// latencyWorld is a sandbox that reports when one lock gets or loses a code.
type latencyWorld struct {
	world   *sandbox.World
	log     *os.File
	changes chan lockChange // changes of the watched lock
	count   int             // number of stays so far, for their ids
}

// newLatencyWorld starts a sandbox in dir, and reports the changes of the lock of watchedAddress. The caller closes it.
func newLatencyWorld(ctx context.Context, dir string) (_ *latencyWorld, err error) {
	p := &latencyWorld{changes: make(chan lockChange, 16)}
	o, log, err := serverOptions(dir)
	if err != nil {
		return nil, err
	}
	p.log = log
	p.world, err = sandbox.Build(ctx, sandbox.Config{
		Server: serverConfig(dir), Options: o, Dir: dir, WithoutStorage: true,
		WrapDriver: func(d driver.Driver) driver.Driver { return watchedDriver{d, p.changes} },
	})
	if err != nil {
		return nil, errors.Join(err, p.log.Close())
	}
	return p, nil
}

func (p *latencyWorld) close() error { return errors.Join(p.world.Close(), p.log.Close()) }

// lockChange is the time when a lock got a code (code is true) or lost it.
type lockChange struct {
	code bool
	at   time.Time
}

// checkInTimes are the times of one round in milliseconds: until the API's answer, and until the lock has the code.
type checkInTimes struct{ answers, locks []float64 }

// measure checks guests in to one room and out again, one after the other, and returns the times of the check-ins. Between them it waits
// until the locks have nothing left to do.
func (p *latencyWorld) measure(ctx context.Context, samples int) (checkInTimes, error) {
	var out checkInTimes
	today, later := time.Now().Format(time.DateOnly), time.Now().AddDate(0, 0, 2).Format(time.DateOnly)
	for range samples {
		p.count++
		id := fmt.Sprintf("L-%d", p.count)
		err := p.push(ctx, id, map[string]any{
			"pmsNumber": id, "state": "confirmed", "booker": map[string]any{"lastName": "Lovelace"}, "roomId": "R101", "fromDate": today, "toDate": later,
		})
		if err != nil {
			return out, err
		}
		sent := time.Now()
		if err := p.push(ctx, id, map[string]any{"state": "started"}); err != nil {
			return out, err
		}
		answered := time.Since(sent)
		at, err := p.awaitChange(ctx, true)
		if err != nil {
			return out, err
		}
		out.answers = append(out.answers, milliseconds(answered))
		out.locks = append(out.locks, milliseconds(at.Sub(sent)))
		if err := p.awaitStatus(ctx, id, "issued"); err != nil {
			return out, err
		}
		if err := p.push(ctx, id, map[string]any{"state": "processed"}); err != nil {
			return out, err
		}
		if _, err := p.awaitChange(ctx, false); err != nil {
			return out, err
		}
		if err := p.awaitStatus(ctx, id, "removed"); err != nil {
			return out, err
		}
	}
	return out, nil
}

// push makes the PMS push fields of a reservation, and returns an error unless the service accepts them.
func (p *latencyWorld) push(ctx context.Context, id string, fields map[string]any) error {
	a, err := p.world.PMS.Push(ctx, id, fields)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("a change was answered %d: %v", a.Status, a.Body["error"])
	}
	return err
}

// awaitStatus waits until the access plan of a stay has the status and the codes at all its doors are verified or removed. Then no work is
// left when the next stay begins. It fails after 30 seconds.
func (p *latencyWorld) awaitStatus(ctx context.Context, id, status string) error {
	return p.world.Await(ctx, "the locks of "+id+" settle", func(ctx context.Context) (bool, error) {
		a, err := p.world.PMS.Do(ctx, http.MethodGet, "/v1/reservations/find?extend=access&pmsId="+id, nil)
		if err != nil {
			return false, err
		}
		plan, _ := a.Data()["access"].(map[string]any)
		if plan["status"] != status {
			return false, nil
		}
		doors, _ := plan["doors"].([]any)
		for _, d := range doors {
			d, _ := d.(map[string]any)
			if e := d["pin"]; e != string(slot.Verified) && e != string(slot.Removed) {
				return false, nil
			}
		}
		return true, nil
	})
}

// awaitChange waits until the watched lock gets a code, or loses it if code is false, and returns the time. It fails after 30 seconds.
func (p *latencyWorld) awaitChange(ctx context.Context, code bool) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		select {
		case h := <-p.changes:
			if h.code == code {
				return h.at, nil
			}
		case <-ctx.Done():
			return time.Time{}, errors.New("the lock did not get its code, or did not lose it")
		}
	}
}

// watchedDriver is a driver that reports when the watched lock gets or loses a code.
type watchedDriver struct {
	driver.Driver
	changes chan<- lockChange
}

// Locks returns the locks of the wrapped driver. It replaces the watched lock by a watchedLock.
func (d watchedDriver) Locks(ctx context.Context) ([]driver.Lock, error) {
	all, err := d.Driver.Locks(ctx)
	for i, l := range all {
		if l.Address() == watchedAddress {
			all[i] = watchedLock{l, d.changes}
		}
	}
	return all, err
}

// watchedLock is a lock that reports when it gets or loses a code.
type watchedLock struct {
	driver.Lock
	changes chan<- lockChange
}

// report sends a successful operation of the lock to changes, and returns its answer a. code is true if the lock got a code. A failed
// operation is not sent.
func (l watchedLock) report(a driver.Answer, code bool) driver.Answer {
	if a.Result == slot.OK {
		l.changes <- lockChange{code, time.Now()}
	}
	return a
}

// Set sets a code at the wrapped lock, and reports that the lock got one if it answers OK, also if the slot had one before.
func (l watchedLock) Set(ctx context.Context, s driver.Setting) driver.Answer {
	return l.report(l.Lock.Set(ctx, s), true)
}

// Clear clears a slot of the wrapped lock, and reports that the lock lost its code if it answers OK, also if the slot was empty.
func (l watchedLock) Clear(ctx context.Context, number uint32) driver.Answer {
	return l.report(l.Lock.Clear(ctx, number), false)
}
