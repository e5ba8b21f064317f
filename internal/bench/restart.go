package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
)

// Restart measures how soon the bridges reconnect after a crash of the server.
type Restart struct {
	Bridges  int
	Downtime time.Duration // Downtime is how long no server runs
	Profile  string        // Profile is the file for a CPU profile of the server while the bridges reconnect; empty: none
}

// returnTimeout is the longest wait for the bridges to reconnect.
const returnTimeout = 2 * time.Minute

// Run kills a server with many connected bridges and starts it again. It measures when the bridges are connected again and how the API
// answers meanwhile. Before that, it measures the memory of idle bridges.
func (b Restart) Run(ctx context.Context, l Launch) (_ *Result, err error) {
	if b.Bridges <= warmUpBridges || b.Downtime < 0 {
		return nil, fmt.Errorf("fleet --restart: want more than %d bridges, and not less than 0 s away", warmUpBridges)
	}
	if err := checkOpenFileLimit(b.Bridges); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	began := time.Now()
	o := &owner{}
	if err := o.setUp(ctx, l, dir, b.Bridges); err != nil {
		return nil, err
	}
	enrolled := time.Since(began)
	s := &restartableServer{launch: l, dir: dir}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	kilobyte, err := b.measureMemory(ctx, s, o.tickets)
	if err != nil {
		return nil, err
	}
	r := &Result{Name: "fleet --restart", Unit: "s", Rounds: 1}
	if err := b.restart(ctx, s, o, r); err != nil {
		return nil, err
	}
	r.note("bridges", float64(b.Bridges), "")
	r.note("set up, with every bridge enrolled", enrolled.Seconds(), "s")
	r.atMost("memory of an idle bridge, kB", kilobyte, 100)
	return r.finish(), nil
}

// checkOpenFileLimit returns an error if the limit of open files is too low for the number of bridges.
func checkOpenFileLimit(bridges int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if need := uint64(bridges + 500); limit.Cur < need { // bridges is positive, so it fits
		return fmt.Errorf("fleet: %d bridges need %d open files in each process, and the limit is %d: raise it (ulimit -n %d)", bridges, need, limit.Cur, need)
	}
	return nil
}

// restartableServer is a server that can be killed and started again with the same data. Its addresses change.
type restartableServer struct {
	launch Launch
	dir    string
	part   *part
	at     Addresses
	bridge atomic.Pointer[string]          // address for bridges of the present server; nil before the first start
	front  atomic.Pointer[grpc.ClientConn] // client of the present server's API
}

// start starts the server, also again after kill, and stores its new addresses in bridge and front. It closes the client of the former
// server.
func (s *restartableServer) start(ctx context.Context) (err error) {
	if s.part, err = s.launch.start(ctx, "server"); err != nil {
		return err
	}
	if err := s.part.call(ctx, "Start", s.dir, &s.at); err != nil {
		return err
	}
	conn, err := dial(s.at.GRPC)
	if err != nil {
		return err
	}
	if old := s.front.Swap(conn); old != nil {
		_ = old.Close()
	}
	address := s.at.Bridge
	s.bridge.Store(&address)
	return nil
}

// kill kills the server as kill -9 does, and waits for its end.
func (s *restartableServer) kill() {
	_ = s.part.command.Process.Kill()
	_ = s.part.command.Wait()
	_ = s.part.caller.close()
	s.part = nil
}

// end stops the server for good. It does nothing if no server runs, such as after kill.
func (s *restartableServer) end() error {
	if c := s.front.Load(); c != nil {
		_ = c.Close()
	}
	return s.part.stop()
}

// measureCPU begins to measure the CPU time of the server and of this process, which simulates the bridges. The returned function ends the
// measurement and returns both. If profile names a file, the server writes a CPU profile to it.
func (s *restartableServer) measureCPU(ctx context.Context, profile string) (func() (server, bridges time.Duration, err error), error) {
	var before Use
	if err := s.part.call(ctx, "Usage", None{}, &before); err != nil {
		return nil, err
	}
	here := ownCPU()
	if profile != "" {
		if err := s.part.call(ctx, "Profile", profile, &None{}); err != nil {
			return nil, err
		}
	}
	return func() (server, bridges time.Duration, err error) {
		if profile != "" {
			if err := s.part.call(ctx, "Profile", "", &None{}); err != nil {
				return 0, 0, err
			}
		}
		var after Use
		err = s.part.call(ctx, "Usage", None{}, &after)
		return after.CPU - before.CPU, ownCPU() - here, err
	}, nil
}

// ownCPU returns the CPU time that this process has used.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0 // unreachable: getrusage fails only for invalid arguments
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// measureMemory connects every bridge once and returns the server's memory per bridge in kilobytes. Then it disconnects the bridges. It
// sets the addresses in tickets to that of the running server.
func (b Restart) measureMemory(ctx context.Context, s *restartableServer, tickets []ticket) (float64, error) {
	for i := range tickets {
		tickets[i].Address = *s.bridge.Load()
	}
	f := &fleet{part: s.part}
	err := f.connectBridges(ctx, tickets)
	_ = f.simFleet.close()
	return f.kilobytesPerStream, err
}

// restart kills and restarts the server, and waits until every bridge has reconnected. It adds what it measured to r.
func (b Restart) restart(ctx context.Context, s *restartableServer, o *owner, r *Result) error {
	riding, stop := context.WithCancel(ctx)
	flock := &returningBridges{served: s, welcomedAt: make([]atomic.Int64, b.Bridges)}
	defer flock.all.Wait()
	defer stop()
	for n, t := range o.tickets {
		flock.all.Go(func() { flock.keepConnected(riding, n, t) })
	}
	if _, err := flock.awaitAll(ctx, time.Now().Add(returnTimeout)); err != nil {
		return fmt.Errorf("before the server was killed: %w", err)
	}
	s.kill()
	flock.kills.Add(1)
	select {
	case <-time.After(b.Downtime):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	up := time.Now()
	cost, err := s.measureCPU(ctx, b.Profile)
	if err != nil {
		return err
	}
	results := make(chan callResults, 1)
	calling, enough := context.WithCancel(ctx)
	go func() { results <- callSteadily(calling, s, o) }()
	back, err := flock.awaitAll(ctx, up.Add(returnTimeout))
	enough()
	api := <-results
	if err != nil {
		return fmt.Errorf("after the server was back: %w", err)
	}
	server, bridges, err := cost()
	if err != nil {
		return err
	}
	sinceUp := make([]float64, len(back))
	for i, at := range back {
		sinceUp[i] = max(at.Sub(up).Seconds(), 0)
	}
	r.Value = quantile(sinceUp, 1)
	r.P50, r.P99 = quantile(api.took, 0.5), quantile(api.took, 0.99)
	r.note("calls of the API meanwhile", float64(len(api.took)), "")
	r.note("the server's CPU for a bridge that returns", milliseconds(server)/float64(b.Bridges), "ms")
	r.note("the simulated bridges' own", milliseconds(bridges)/float64(b.Bridges), "ms")
	r.atMost("99 % of the bridges back in session, s", quantile(sinceUp, 0.99), 20)
	r.atMost("all bridges back in session, s", r.Value, 30)
	r.atMost("the API's p99 meanwhile, ms", r.P99, 500)
	r.atMost("calls of the API that failed", float64(api.failed), 0)
	return nil
}

// returningBridges are simulated bridges that reconnect like the product's bridges.
type returningBridges struct {
	served     *restartableServer
	kills      atomic.Int64   // number of times the server was killed
	welcomedAt []atomic.Int64 // by bridge: twice the nanoseconds of its last Welcome, plus the lowest bit that kills had then; 0: none yet
	all        sync.WaitGroup
}

// Waits between connection attempts, the same as in internal/agent: random, from zero to a bound that doubles.
const (
	firstRetry = 250 * time.Millisecond
	maxRetry   = 10 * time.Second
)

// keepConnected keeps bridge n connected until ctx ends, also to a restarted server. t has its credentials. It waits as long as a stopping
// server requests, and otherwise backs off.
func (f *returningBridges) keepConnected(ctx context.Context, n int, t ticket) {
	for wait := firstRetry; ctx.Err() == nil; wait = min(2*wait, maxRetry) {
		t.Address = *f.served.bridge.Load()
		life := f.kills.Load()
		trying, cancel := context.WithTimeout(ctx, 15*time.Second)
		r, err := connectBridge(trying, t)
		cancel()
		if err == nil {
			f.welcomedAt[n].Store(time.Now().UnixNano()<<1 | life&1)
			wait = firstRetry
			keepAlive(ctx, r)
		}
		pause := clock.FullJitter(wait)
		if l := (*reconnectLater)(nil); errors.As(err, &l) {
			pause = l.after
		}
		clock.Sleep(ctx, pause)
	}
}

// keepAlive sends heartbeats on a connection until it or ctx ends, and then closes it.
func keepAlive(ctx context.Context, r *simBridge) {
	t := time.NewTicker(heartbeatInterval)
	defer t.Stop()
	defer func() { _ = r.close() }()
	for {
		select {
		case <-t.C:
			_ = r.sendHeartbeat()
		case <-r.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// awaitAll waits until all bridges are connected to the running server, and returns for each bridge when it connected, in the order of the
// bridges. It fails if a bridge is not connected by the time until.
func (f *returningBridges) awaitAll(ctx context.Context, until time.Time) ([]time.Time, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var back []time.Time
		life := f.kills.Load()
		for i := range f.welcomedAt {
			if at := f.welcomedAt[i].Load(); at != 0 && at&1 == life&1 {
				back = append(back, time.Unix(0, at>>1))
			}
		}
		if len(back) == len(f.welcomedAt) {
			return back, nil
		}
		if time.Now().After(until) {
			return nil, fmt.Errorf("%d of %d bridges are not in session after %v", len(f.welcomedAt)-len(back), len(f.welcomedAt), returnTimeout)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// callResults are the results of API calls.
type callResults struct {
	took   []float64 // duration of each call in milliseconds
	failed int
}

// callSteadily calls the API of the running server at a fixed rate until ctx ends, even if earlier calls are still running. With 200
// running calls it skips the next. It returns the durations, also those of failed calls, and the number of failures.
func callSteadily(ctx context.Context, s *restartableServer, o *owner) (out callResults) {
	const pace = 50 * time.Millisecond
	var mu sync.Mutex
	var all sync.WaitGroup
	defer all.Wait()
	t := time.NewTicker(pace)
	defer t.Stop()
	room := make(chan struct{}, 200)
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			all.Wait()
			return out
		case <-t.C:
		}
		select {
		case room <- struct{}{}:
		default: // too many calls are running; their long durations show that
			continue
		}
		all.Go(func() {
			defer func() { <-room }()
			began := time.Now()
			calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
			defer cancel()
			_, err := propertyv1.NewLockServiceClient(s.front.Load()).ListLocks(o.withToken(calling), &propertyv1.ListLocksRequest{PageSize: 20})
			mu.Lock()
			defer mu.Unlock()
			out.took = append(out.took, milliseconds(time.Since(began)))
			if err != nil {
				out.failed++
			}
		})
	}
}
