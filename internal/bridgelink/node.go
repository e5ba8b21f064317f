package bridgelink

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

// Node holds the bridges' sessions of one process. Make it with New, have Run run, and register its Service.
type Node struct {
	cfg      Config
	log      *slog.Logger
	counters *counters
	began    time.Time
	doubts   chan string // bridges whose standing has to be looked at
	ready    func()      // told when Run hears the other nodes; for tests
	resyncs  resyncer
	answers  answers  // of Run alone
	opening  *limiter // of sessions that are opened in the database

	mu       sync.Mutex
	sessions map[string][]*session // by bridge: the one that counts, those on their way in, those on their way out
	draining bool
}

// New makes a node. It does nothing until Run.
func New(cfg Config) *Node {
	cfg = cfg.withDefaults()
	return &Node{
		cfg: cfg, log: cfg.Logger, counters: newCounters(cfg.Metrics), began: time.Now(), sessions: map[string][]*session{},
		doubts: make(chan string, doubtsMax), ready: func() {}, resyncs: newResyncer(), opening: newLimiter(cfg.opening),
	}
}

// since is a clock that no one can set.
func (n *Node) since() time.Duration { return time.Since(n.began) }

func (n *Node) timestamp() *timestamppb.Timestamp { return timestamppb.New(n.cfg.Clock.Now()) }

// Context has changes made under it wake bridges, here and elsewhere, and claim acts for the sessions here.
func (n *Node) Context(ctx context.Context) context.Context {
	return lock.WithNode(lock.WithWaker(ctx, n.Wake), lock.Node{Name: n.cfg.Name, Reaches: n.cfg.Bus.Connected})
}

func (n *Node) openSession(ctx context.Context, who lock.Identity, shown []byte, hello *lockv1.Hello) (*lock.Session, error) {
	heard, ok := heardHello(hello)
	if !ok {
		return nil, errHello
	}
	greeting := lock.Hello{
		Node: n.cfg.Name, BootID: printable(hello.BootId, 64), Software: printable(hello.Software, 128), Clock: when(hello.Clock), Locks: heard,
		Keys: heldKeys(hello),
	}
	if err := n.opening.acquire(ctx); err != nil {
		return nil, err
	}
	defer n.opening.release()
	var open *lock.Session
	err := n.cfg.DB.Write(ctx, func(tx *db.Tx) (err error) {
		open, err = lock.OpenSession(tx, who, shown, greeting)
		return err
	})
	return open, err
}

// enter has a session hear of wake-ups.
func (n *Node) enter(bridgeID string, s *session) {
	n.mu.Lock()
	n.sessions[bridgeID] = append(n.sessions[bridgeID], s)
	n.mu.Unlock()
}

// leave takes this very session out, never another of the same bridge.
func (n *Node) leave(bridgeID string, s *session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rest := slices.DeleteFunc(n.sessions[bridgeID], func(o *session) bool { return o == s })
	if len(rest) == 0 {
		delete(n.sessions, bridgeID)
		return
	}
	n.sessions[bridgeID] = rest
}

func (n *Node) of(bridgeID string) []*session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.sessions[bridgeID])
}

// supersede ends every older session of the same bridge, here and on the node that held it, and waits for it.
func (n *Node) supersede(s *session) {
	epoch := s.open.Epoch
	s.box.opened(epoch)
	if before := s.open.PreviousNode; before != "" && before != n.cfg.Name {
		n.cutElsewhere(before, s.open.BridgeID, epoch)
	}
	n.cutOlder(s.open.BridgeID, epoch)
}

// cutOlder ends the bridge's sessions here below an epoch and waits for them, within bounds: what they still do has no
// effect in any case.
func (n *Node) cutOlder(bridgeID string, epoch int64) {
	timer := time.NewTimer(n.cfg.pace.takeover)
	defer timer.Stop()
	for _, o := range n.of(bridgeID) {
		if !o.box.older(epoch) {
			continue
		}
		o.box.cut(superseded)
		select {
		case <-o.over:
		case <-timer.C:
			n.log.Warn("an older session of a bridge is slow to end", "bridge", bridgeID)
			return
		}
	}
}

// refuses says whether new sessions are turned away, because the node is about to leave.
func (n *Node) refuses() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.draining
}

// Drain asks every bridge to connect elsewhere, spread over window so that they do not all come back at once, and
// returns when they have left or ctx ends.
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
		s.box.drainAt(now.Add(window * time.Duration(i) / time.Duration(len(all))))
	}
	for _, s := range all {
		select {
		case <-s.over:
		case <-ctx.Done():
			return
		}
	}
}

// jitter is a random duration between half of d and d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// Run does what belongs to no session: it listens to the other nodes, notes who was heard, looks for bridges that were
// revoked, and for what dead nodes left behind. It returns when ctx ends.
func (n *Node) Run(ctx context.Context) error {
	stop, err := n.listen()
	if err != nil {
		return err
	}
	defer stop()
	stopResync, err := n.listenResync()
	if err != nil {
		return err
	}
	defer stopResync()
	n.ready()
	n.try(ctx, "looking for forgotten acts", lock.EndAbandonedCommands)
	beat, revoked, forgotten, deaf := time.NewTicker(n.cfg.pace.beat), time.NewTicker(n.cfg.pace.revoked), time.NewTicker(n.cfg.pace.forgotten), time.NewTicker(n.cfg.pace.deaf)
	defer deaf.Stop()
	defer beat.Stop()
	defer revoked.Stop()
	defer forgotten.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			n.touch(ctx)
		case <-n.resyncs.connected:
			n.reconnected(ctx, false)
		case <-n.resyncs.again:
			n.reconnected(ctx, true)
		case <-n.resyncs.asked:
			n.resync(ctx)
		case <-deaf.C:
			if !n.cfg.Bus.Connected() {
				n.resync(ctx)
			}
		case id := <-n.doubts:
			n.recheck(ctx, id)
		case <-revoked.C:
			n.cutRevoked(ctx)
		case <-forgotten.C:
			n.tidy(ctx)
		}
	}
}

// touch notes in one change which bridges were heard of late.
func (n *Node) touch(ctx context.Context) {
	epochs := map[string]int64{}
	for id, s := range n.openSessions() {
		if epoch := s.box.open(); epoch > 0 && n.since()-time.Duration(s.heard.Load()) < n.cfg.pace.silence {
			epochs[id] = epoch
		}
	}
	if len(epochs) == 0 {
		return
	}
	n.try(ctx, "noting which bridges were heard", func(tx *db.Tx) error { return lock.RecordHeartbeats(tx, n.cfg.Name, epochs) })
}

// tidy ends what dead nodes left behind. Bridges are left alone until the database has answered for a while: before that no
// node could note that its bridges are heard, and bridges that a node asked to leave could not connect to another.
func (n *Node) tidy(ctx context.Context) {
	n.try(ctx, "looking for forgotten acts", lock.EndAbandonedCommands)
	if !n.answers.steady(time.Now(), n.cfg.pace.outage, n.cfg.pace.settle) {
		return
	}
	n.try(ctx, "looking for silent bridges", lock.MarkSilentBridgesOffline)
	n.try(ctx, "looking for bridges that did not come back", lock.MarkDrainedBridgesLost)
}

func (n *Node) try(ctx context.Context, what string, fn func(*db.Tx) error) {
	err := n.cfg.DB.Write(n.Context(ctx), fn)
	switch {
	case err == nil:
		n.answers.note(time.Now(), n.cfg.pace.outage)
	case ctx.Err() == nil:
		n.log.Warn(what+" failed", "error", err)
	}
}

// answers is when the database answered this node. Run asks it every other second.
type answers struct {
	last  time.Time
	since time.Time // it has answered without an outage since then
}

// note notes an answer. The time before it was an outage if there was none for so long.
func (a *answers) note(now time.Time, outage time.Duration) {
	if now.Sub(a.last) > outage {
		a.since = now
	}
	a.last = now
}

// steady reports whether the database answers now, and has for long enough that every node could write to it.
func (a *answers) steady(now time.Time, outage, settle time.Duration) bool {
	return now.Sub(a.last) <= outage && now.Sub(a.since) >= settle
}

// cutRevoked ends sessions of bridges that were shut out or enrolled anew, should the wake-up for it have been lost.
func (n *Node) cutRevoked(ctx context.Context) {
	gone, err := lock.RevokedSince(ctx, n.cfg.DB.Read(), n.cfg.Clock.Now().Add(-10*time.Minute))
	if err != nil {
		if ctx.Err() == nil {
			n.log.Warn("looking for revoked bridges failed", "error", err)
		}
		return
	}
	n.answers.note(time.Now(), n.cfg.pace.outage)
	for _, id := range gone {
		n.cut(id, revoked)
	}
}

func (n *Node) cut(bridgeID string, why cause) {
	for _, s := range n.of(bridgeID) {
		s.box.cut(why)
	}
}
