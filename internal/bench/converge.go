package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/sandbox"
)

// Converge measures how long a change takes until the API reports that the bridge has read the new code back from the locks.
type Converge struct {
	Stays             int           // Stays is the number of measured stays, each with a check-in and a change of dates
	OtherChangesEvery time.Duration // interval between changes of other stays at the same bridge; must be positive
	Profile           string        // Profile is the lock profile of package sim
}

// Run measures the time from the API's answer to a change until the API reports every door of the stay as verified: the lock has the code
// with its window and was read back. The simulated locks answer at once. The benchmark polls the API, so the result includes one poll and
// the pause before it.
func (b Converge) Run(ctx context.Context) (_ *Result, err error) {
	if b.Stays <= 0 || b.OtherChangesEvery <= 0 {
		return nil, errors.New("converge: want at least one stay, and an interval between changes of other stays")
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := b.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	background, stop := context.WithCancel(ctx)
	var others backgroundStays
	others.start(background, f, b.OtherChangesEvery)
	defer others.all.Wait()
	defer stop()
	began := time.Now()
	for n := range b.Stays + warmStays {
		if err := f.measureStay(ctx, n, n >= warmStays); err != nil {
			return nil, err
		}
	}
	stop()
	others.all.Wait()
	if failed := others.failed.Load(); failed != nil {
		return nil, fmt.Errorf("a change of another stay: %w", *failed)
	}
	return b.result(f, float64(others.sent.Load())/time.Since(began).Seconds()), nil
}

// warmStays is the number of warm-up stays, which are not counted.
const warmStays = 5

// result summarizes the measured times. othersPerSecond is the rate of the changes of other stays.
func (b Converge) result(f *convergeWorld, othersPerSecond float64) *Result {
	all := append(append([]float64{}, f.checkIn...), f.dates...)
	r := &Result{Name: "converge", Unit: "ms", Rounds: 1}
	r.P50, r.P99 = quantile(all, 0.5), quantile(all, 0.99)
	r.Value = r.P99
	r.note("changes followed", float64(len(all)), "")
	r.note("changes of other stays, a second", othersPerSecond, "")
	r.note("after a check-in, p50", quantile(f.checkIn, 0.5), "ms")
	r.note("after a check-in, p99", quantile(f.checkIn, 0.99), "ms")
	r.note("after new dates, p50", quantile(f.dates, 0.5), "ms")
	r.note("after new dates, p99", quantile(f.dates, 0.99), "ms")
	r.note("new dates that were verified in the answer already", float64(f.atOnce), "")
	r.note("the longest", quantile(all, 1), "ms")
	r.note("one reading of the API, p50", quantile(f.reading, 0.5), "ms")
	r.atMost("p99 from the API's answer to verified, ms", r.P99, 1000)
	return r.finish()
}

// convergeWorld is a sandbox and the times measured in it.
type convergeWorld struct {
	world *sandbox.World
	log   *os.File
	conn  *grpc.ClientConn

	checkIn, dates []float64 // times in milliseconds
	reading        []float64 // duration of each poll in milliseconds
	atOnce         int       // number of changes of dates that the first poll reports as verified
}

// open starts a sandbox in dir and connects a gRPC client to it. The caller closes both with close.
func (b Converge) open(ctx context.Context, dir string) (_ *convergeWorld, err error) {
	f := &convergeWorld{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	o, log, err := serverOptions(dir)
	f.log = log
	if err != nil {
		return nil, err
	}
	f.world, err = sandbox.Build(ctx, sandbox.Config{Server: serverConfig(dir), Options: o, Dir: dir, WithoutStorage: true, Profile: b.Profile})
	if err != nil {
		return nil, err
	}
	f.conn, err = dial(f.world.Server.GRPCAddr())
	return f, err
}

// close closes what open has opened, also after an error of open.
func (f *convergeWorld) close() (err error) {
	if f.conn != nil {
		err = f.conn.Close()
	}
	if f.world != nil {
		err = errors.Join(err, f.world.Close())
	}
	if f.log != nil {
		err = errors.Join(err, f.log.Close())
	}
	return err
}

// push sends a change of a stay as the PMS and returns the time at which the answer arrived. It fails unless the service accepts the
// change.
func (f *convergeWorld) push(ctx context.Context, id string, fields map[string]any) (time.Time, error) {
	a, err := f.world.PMS.Push(ctx, id, fields)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("a change of %s was answered %d: %v", id, a.Status, a.Body["error"])
	}
	return time.Now(), err
}

// newStay returns the fields of a reservation that begins today. place is a room, or a bed and its room, as in spacesOfPMS.
func newStay(id string, place [2]string, nights int) map[string]any {
	out := map[string]any{
		"pmsNumber": id, "state": "confirmed", "booker": map[string]any{"lastName": "Lovelace"}, "roomId": place[0],
		"fromDate": time.Now().Format(time.DateOnly), "toDate": dateIn(nights),
	}
	if place[1] != "" {
		out["roomId"], out["bedId"] = place[1], place[0]
	}
	return out
}

// dateIn returns the date after a number of nights from today.
func dateIn(nights int) string { return time.Now().AddDate(0, 0, nights).Format(time.DateOnly) }

// measureStay books stay n, checks its guest in, moves the end of the stay, and checks the guest out. It records the times if keep is set;
// keep is false for a warm-up.
func (f *convergeWorld) measureStay(ctx context.Context, n int, keep bool) error {
	id := fmt.Sprintf("C-%d", n)
	if _, err := f.push(ctx, id, newStay(id, spacesOfPMS[0], 2)); err != nil {
		return err
	}
	in, _, err := f.changeAndWait(ctx, id, map[string]any{"state": "started"}, "issued", slot.Verified)
	if err != nil {
		return err
	}
	dates, reads, err := f.changeAndWait(ctx, id, map[string]any{"toDate": dateIn(5)}, "issued", slot.Verified)
	if err != nil {
		return err
	}
	if keep {
		f.checkIn, f.dates = append(f.checkIn, in), append(f.dates, dates)
		if reads == 1 {
			f.atOnce++
		}
	} else {
		f.reading = nil
	}
	_, _, err = f.changeAndWait(ctx, id, map[string]any{"state": "processed"}, "removed", slot.Removed)
	return err
}

// pollInterval is the time between two polls of the API.
const pollInterval = time.Millisecond

// changeAndWait sends a change of a stay and polls the API until the access plan of the stay has the status, and each of its doors the
// evidence. It fails after 30 seconds. took is in milliseconds from the answer to the change; reads is the number of polls.
func (f *convergeWorld) changeAndWait(ctx context.Context, id string, change map[string]any, status string, evidence slot.Evidence) (took float64, reads int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	answered, err := f.push(ctx, id, change)
	if err != nil {
		return 0, 0, err
	}
	as := metadata.AppendToOutgoingContext(ctx, "client-token", f.world.ClientToken, "access-token", f.world.AccessToken)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var plan *partnerv1.AccessPlan
	for reads = 1; ; reads++ {
		began := time.Now()
		found, err := partnerv1.NewReservationServiceClient(f.conn).FindReservation(as, &partnerv1.FindReservationRequest{PmsId: id, Extend: []string{"access"}})
		if ctx.Err() != nil {
			return 0, reads, fmt.Errorf("%s did not become %s: %v", id, evidence, plan)
		}
		if err != nil {
			return 0, reads, err
		}
		f.reading = append(f.reading, milliseconds(time.Since(began)))
		if plan = found.GetData().GetAccess(); planHas(plan, status, evidence) {
			return milliseconds(time.Since(answered)), reads, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// planHas reports whether an access plan has the status and at least one door, and every door has the evidence.
func planHas(p *partnerv1.AccessPlan, status string, evidence slot.Evidence) bool {
	for _, d := range p.GetDoors() {
		if d.GetPin() != string(evidence) {
			return false
		}
	}
	return p.GetStatus() == status && len(p.GetDoors()) > 0
}

// backgroundStays are stays that change during the measurement, at the same bridge and partly at the same lock.
type backgroundStays struct {
	all    sync.WaitGroup
	sent   atomic.Int64
	failed atomic.Pointer[error]
}

// start changes other stays in the background until ctx ends, one change at each interval: a booking, check-in, new dates or check-out. The
// first failed change is stored in failed; a failed change ends those at its place.
func (b *backgroundStays) start(ctx context.Context, f *convergeWorld, every time.Duration) {
	others := spacesOfPMS[1:]
	for i, place := range others {
		b.all.Go(func() {
			select {
			case <-time.After(every * time.Duration(i)):
			case <-ctx.Done():
			}
			t := time.NewTicker(every * time.Duration(len(others)))
			defer t.Stop()
			for n := 0; ; n++ {
				id := fmt.Sprintf("B-%d-%d", i, n/4)
				change := []map[string]any{newStay(id, place, 2), {"state": "started"}, {"toDate": dateIn(3 + rand.IntN(5))}, {"state": "processed"}}[n%4]
				select {
				case <-t.C:
				case <-ctx.Done():
					return
				}
				if _, err := f.push(ctx, id, change); err != nil && ctx.Err() == nil {
					b.failed.CompareAndSwap(nil, &err)
					return
				}
				b.sent.Add(1)
			}
		})
	}
}
