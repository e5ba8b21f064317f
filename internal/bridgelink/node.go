package bridgelink

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

// Node holds the bridge sessions of one server process. Create it with New, start it with Run, and add it to a gRPC server with Register.
type Node struct {
	cfg      Config
	log      *slog.Logger
	counters *counters
	started  time.Time
	rechecks chan string // ids of bridges whose sessions must be compared with the database, because they may be revoked or superseded
	ready    func()      // called when Run has subscribed to the bus; never nil, and does nothing except in tests
	resyncs  resyncer
	uptime   uptime
	opening  *limiter // limits how many sessions are opened in the database at the same time

	mu       sync.Mutex
	sessions map[string][]*session // by bridge id: the open session, and sessions that are opening or ending
	draining bool                  // new sessions are refused, and bridges are asked to leave: see Drain
}

// New returns a node without sessions. Its periodic work begins with Run.
func New(cfg Config) *Node {
	cfg = cfg.withDefaults()
	return &Node{
		cfg: cfg, log: cfg.Logger, counters: newCounters(cfg.Metrics), started: time.Now(), sessions: map[string][]*session{},
		rechecks: make(chan string, maxRechecks), ready: func() {}, resyncs: newResyncer(), opening: newLimiter(cfg.opening),
	}
}

// sinceStart returns the time since the node started, which an adjustment of the wall clock does not change.
func (n *Node) sinceStart() time.Duration { return time.Since(n.started) }

// now returns the service's time for a message to a bridge.
func (n *Node) now() *timestamppb.Timestamp { return timestamppb.New(n.cfg.Clock.Now()) }

// Self describes this node to package lock, which stores it with unlock commands.
func (n *Node) Self() lock.Node { return lock.Node{Name: n.cfg.Name, Reaches: n.cfg.Bus.Connected} }

// openSession stores a new session of the bridge with the reports in its Hello, and returns it. keyHash is the hash of the public key of
// the bridge's certificate. It waits while many sessions are being opened, and returns errCrowded if that takes too long. It returns
// errHello for an invalid Hello; other errors are those of [lock.OpenSession].
func (n *Node) openSession(ctx context.Context, identity bridge.Identity, keyHash []byte, hello *lockv1.Hello) (*lock.Session, error) {
	reports, ok := helloReports(hello)
	if !ok {
		return nil, errHello
	}
	greeting := bridge.Hello{
		Node: n.cfg.Name, BootID: printable(hello.BootId, 64), Software: printable(hello.Software, 128), Clock: timeOf(hello.Clock),
		Keys: keysInHello(hello),
	}
	if err := n.opening.acquire(ctx); err != nil {
		return nil, err
	}
	defer n.opening.release()
	var open *lock.Session
	err := n.cfg.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if open, err = lock.OpenSession(tx, identity, keyHash, greeting, reports); err != nil {
			return err
		}
		return n.notifyCapabilities(tx, open.PropertyID, open.Doors)
	})
	return open, err
}

// notifyCapabilities calls the configuration's callback, if there is one, for the given doors. The caller passes only doors whose locks
// have other capabilities than before; with none it does nothing.
func (n *Node) notifyCapabilities(tx *db.Tx, propertyID string, doors []string) error {
	if len(doors) == 0 || n.cfg.OnCapabilities == nil {
		return nil
	}
	return n.cfg.OnCapabilities(tx, propertyID, doors)
}

// register adds a session, which then receives notifications about its bridge until unregister.
func (n *Node) register(bridgeID string, s *session) {
	n.mu.Lock()
	n.sessions[bridgeID] = append(n.sessions[bridgeID], s)
	n.mu.Unlock()
}

// unregister removes exactly this session. Other sessions of the same bridge stay.
func (n *Node) unregister(bridgeID string, s *session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rest := slices.DeleteFunc(n.sessions[bridgeID], func(o *session) bool { return o == s })
	if len(rest) == 0 {
		delete(n.sessions, bridgeID)
		return
	}
	n.sessions[bridgeID] = rest
}

// sessionsOf returns the sessions of a bridge on this node, also those that are opening or ending.
func (n *Node) sessionsOf(bridgeID string) []*session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sessions[bridgeID])
}

// endOlder ends all older sessions of the bridge of s, on this node and on the bridge's previous node, and waits a bounded time for their
// end.
func (n *Node) endOlder(s *session) {
	epoch := s.open.Epoch
	if before := s.open.PreviousNode; before != "" && before != n.cfg.Name {
		n.endOlderOn(before, s.open.BridgeID, epoch)
	}
	n.endOlderHere(s.open.BridgeID, epoch)
}

// endOlderHere ends the bridge's sessions on this node that have a lower epoch, and waits a bounded time for their end. Late writes of
// these sessions have no effect, because the database checks the epoch.
func (n *Node) endOlderHere(bridgeID string, epoch int64) {
	older := slices.DeleteFunc(n.sessionsOf(bridgeID), func(s *session) bool { return !s.mailbox.isOlder(epoch) })
	for _, s := range older {
		s.mailbox.end(superseded)
	}
	timer := time.NewTimer(n.cfg.timings.takeover)
	defer timer.Stop()
	for _, s := range older {
		select {
		case <-s.done:
		case <-timer.C:
			n.log.Warn("an older session of a bridge is slow to end", "bridge", bridgeID)
			return
		}
	}
}

// isDraining reports whether the node refuses new sessions because it shuts down.
func (n *Node) isDraining() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.draining
}

// Drain makes the node refuse new sessions and asks every bridge to connect to another node. The requests are spread over window, so that
// the bridges do not all reconnect at once. Drain returns when all have disconnected or ctx ends. Draining cannot be undone.
func (n *Node) Drain(ctx context.Context, window time.Duration) {
	n.mu.Lock()
	n.draining = true
	var all []*session
	for _, some := range n.sessions {
		all = append(all, some...)
	}
	n.mu.Unlock()
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	now := time.Now()
	for i, s := range all {
		s.mailbox.setDrainAt(now.Add(window * time.Duration(i) / time.Duration(len(all))))
	}
	for _, s := range all {
		select {
		case <-s.done:
		case <-ctx.Done():
			return
		}
	}
}

// Run does the node's periodic work until ctx ends, and then returns nil: it answers other nodes, records which bridges are connected, ends
// sessions of revoked bridges, and cleans up after crashed nodes. It fails only if it cannot subscribe to the bus.
func (n *Node) Run(ctx context.Context) error {
	stop, err := n.subscribe()
	if err != nil {
		return err
	}
	defer stop()
	stopResync, err := n.subscribeResync()
	if err != nil {
		return err
	}
	defer stopResync()
	n.ready()
	n.writeOrLog(ctx, "expiring commands of dead nodes", lock.EndAbandonedCommands)
	heartbeat, revoked, deadNodes, busResync := time.NewTicker(n.cfg.timings.heartbeat), time.NewTicker(n.cfg.timings.revokedCheck), time.NewTicker(n.cfg.timings.deadNodeSweep), time.NewTicker(n.cfg.timings.busResync)
	defer busResync.Stop()
	defer heartbeat.Stop()
	defer revoked.Stop()
	defer deadNodes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-heartbeat.C:
			n.recordSeen(ctx)
		case <-n.resyncs.connected:
			n.onReconnect(ctx, false)
		case <-n.resyncs.repeat:
			n.onReconnect(ctx, true)
		case <-n.resyncs.requested:
			n.resync(ctx)
		case <-busResync.C:
			if !n.cfg.Bus.Connected() {
				n.resync(ctx)
			}
		case id := <-n.rechecks:
			n.recheck(ctx, id)
		case <-revoked.C:
			n.endRevoked(ctx)
		case <-deadNodes.C:
			n.sweepDeadNodes(ctx)
		}
	}
}

// recordSeen stores which bridges have sent a message within timings.silence, in one transaction. It also ends the sessions of deleted
// bridges, in case the notification of the deletion was lost.
func (n *Node) recordSeen(ctx context.Context) {
	epochs := map[string]int64{}
	for id, s := range n.openSessions() {
		if epoch := s.mailbox.openEpoch(); epoch > 0 && n.sinceStart()-time.Duration(s.lastReceived.Load()) < n.cfg.timings.silence {
			epochs[id] = epoch
		}
	}
	if len(epochs) == 0 {
		return
	}
	n.writeOrLog(ctx, "recording which bridges are connected", func(tx *db.Tx) error { return lock.RecordHeartbeats(tx, n.cfg.Name, epochs) })
	for ids := range slices.Chunk(slices.Collect(maps.Keys(epochs)), 500) {
		missing, err := bridge.Missing(n.cfg.DB.View(ctx), ids)
		if err != nil {
			return // the next heartbeat queries again
		}
		for _, id := range missing {
			n.end(id, revoked)
		}
	}
}

// sweepDeadNodes ends commands of crashed nodes, and marks as offline the bridges of crashed nodes and those that did not reconnect after a
// drain. It skips bridges for a while after a database outage, because during the outage no node could record that its bridges are
// connected.
func (n *Node) sweepDeadNodes(ctx context.Context) {
	n.writeOrLog(ctx, "expiring commands of dead nodes", lock.EndAbandonedCommands)
	n.whileSteady(ctx, "marking silent bridges offline", lock.MarkSilentBridgesOffline)
	n.whileSteady(ctx, "marking bridges offline that did not reconnect", lock.MarkDrainedBridgesLost)
}

// whileSteady stores a change only if the database has answered without an outage for a while (see uptime), before the change and at its
// end. A change that began before an outage can wait through it, and would then run before the other nodes have recorded their bridges.
// what completes the log message "... failed".
func (n *Node) whileSteady(ctx context.Context, what string, fn func(*db.Tx) error) {
	steady := func() bool { return n.uptime.isSteady(time.Now(), n.cfg.timings.outage, n.cfg.timings.outageGrace) }
	if !steady() {
		return
	}
	n.writeOrLog(ctx, what, func(tx *db.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		if !steady() {
			return errOutageDuringSweep
		}
		return nil
	})
}

// writeOrLog stores a change, and records in uptime that the database answered. A failure is only logged, as "<what> failed", because a
// later run repeats the work. Only the goroutine of Run may call it.
func (n *Node) writeOrLog(ctx context.Context, what string, fn func(*db.Tx) error) {
	err := n.cfg.DB.Write(ctx, fn)
	switch {
	case err == nil:
		n.uptime.recordAnswer(time.Now(), n.cfg.timings.outage)
	case ctx.Err() == nil:
		n.log.Warn(what+" failed", "error", err)
	}
}

var errOutageDuringSweep = errors.New("the database was silent during the sweep; the next sweep decides")

// uptime records since when the database has answered this node without an outage. Run queries the database every two seconds. Only the
// goroutine of Run uses it.
type uptime struct {
	lastAnswer time.Time
	since      time.Time // end of the last database outage, or the first answer
}

// recordAnswer records that the database answered. A gap between two answers longer than outage counts as an outage.
func (a *uptime) recordAnswer(now time.Time, outage time.Duration) {
	if now.Sub(a.lastAnswer) > outage {
		a.since = now
	}
	a.lastAnswer = now
}

// isSteady reports whether the database has answered for at least grace since its last outage. An outage is a time longer than outage
// without an answer; the time before the first answer counts as one.
func (a *uptime) isSteady(now time.Time, outage, grace time.Duration) bool {
	return now.Sub(a.lastAnswer) <= outage && now.Sub(a.since) >= grace
}

// endRevoked ends the sessions of bridges that were revoked in the last ten minutes. It catches lost notifications. It also
// records in uptime that the database answered, and so must run often enough that no outage is seen between two calls.
func (n *Node) endRevoked(ctx context.Context) {
	ids, err := bridge.RevokedSince(n.cfg.DB.View(ctx), n.cfg.Clock.Now().Add(-10*time.Minute))
	if err != nil {
		if ctx.Err() == nil {
			n.log.Warn("querying revoked bridges failed", "error", err)
		}
		return
	}
	n.uptime.recordAnswer(time.Now(), n.cfg.timings.outage)
	for _, id := range ids {
		n.end(id, revoked)
	}
}

// end requests the end of all sessions of a bridge on this node. It does not wait.
func (n *Node) end(bridgeID string, why cause) {
	for _, s := range n.sessionsOf(bridgeID) {
		s.mailbox.end(why)
	}
}
