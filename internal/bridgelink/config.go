// Package bridgelink serves the control streams of bridges. It decides which session of a bridge counts, sends desired slots and
// unlock commands, and records what bridges report.
package bridgelink

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
)

// ProtocolVersion is the version of the control stream.
const ProtocolVersion = 1

// Bounds of one session and of one node's queues.
const (
	maxOutbox   = 64 // messages waiting to be sent
	maxCommands = 32 // commands waiting to be claimed or for their result
	maxBatch    = 256
	maxRechecks = 256
	maxMessage  = 1 << 20
)

// Config is what a Node needs. OnEvidence may be nil.
type Config struct {
	DB     *db.DB
	Keys   *keyring.Ring
	CA     *bridge.CA
	Bus    *bus.Bus
	Logger *slog.Logger
	// OnEvidence is called, in the same transaction, with every slot whose evidence changed.
	OnEvidence func(tx *db.Tx, learned []lock.EvidenceChange) error
	// Metrics registers the node's counters; nil: they are not exported.
	Metrics prometheus.Registerer
	// Name identifies the node; random if empty.
	Name  string
	Clock clock.Clock // the service's clock, which is sent to bridges

	// Intervals override the default ones where they are not zero. Tests set them.
	Intervals Intervals

	timings timings
	opening limits // of sessions that are being opened in the database
}

// Intervals of a node's periodic work.
type Intervals struct {
	Heartbeat   time.Duration // between heartbeats, and between writes of when bridges were last seen
	Sweep       time.Duration // between sweeps for sessions of nodes that died
	Outage      time.Duration // the database counts as down when it has not answered for this long
	OutageGrace time.Duration // after an outage, until bridges of other nodes may be marked offline
	BusResync   time.Duration // between resyncs while the bus is down
}

func (p timings) withIntervals(i Intervals) timings {
	p.heartbeat, p.deadNodeSweep, p.busResync = cmp.Or(i.Heartbeat, p.heartbeat), cmp.Or(i.Sweep, p.deadNodeSweep), cmp.Or(i.BusResync, p.busResync)
	p.outage, p.outageGrace = cmp.Or(i.Outage, p.outage), cmp.Or(i.OutageGrace, p.outageGrace)
	return p
}

// timings are all durations of a session and its node. Tests use shorter ones.
type timings struct {
	hello         time.Duration // the bridge must send Hello within this time
	heartbeat     time.Duration // between heartbeats, in both directions
	silence       time.Duration // without any message, the session is dead
	stall         time.Duration // without a completed send, the session is dropped
	takeover      time.Duration // the longest wait for an older session of the same bridge to end
	retry         time.Duration // after the database failed
	slotSweep     time.Duration // between comparisons of desired and reported slots
	resultGrace   time.Duration // after a command's deadline, to wait for its result
	move          time.Duration // how long a command waits for a bridge that moves to another node
	moveCheck     time.Duration // between two looks for the node of a moving bridge
	revokedCheck  time.Duration // between queries for revoked bridges
	deadNodeSweep time.Duration // between sweeps for sessions and commands of nodes that died
	outage        time.Duration // the database counts as down when it has not answered for this long
	outageGrace   time.Duration // after an outage, until bridges of other nodes may be marked offline: by then each node has recorded its own
	busResync     time.Duration // between resyncs while the bus is down
	secondResync  time.Duration // from the resync after a reconnect to its repetition
}

var defaultTimings = timings{
	hello: 10 * time.Second, heartbeat: 15 * time.Second, silence: 45 * time.Second, stall: 10 * time.Second,
	takeover: 5 * time.Second, retry: time.Second, slotSweep: 10 * time.Minute, resultGrace: 2 * time.Second,
	move: bridge.MoveTimeout, moveCheck: 50 * time.Millisecond,
	revokedCheck: 2 * time.Second, deadNodeSweep: 30 * time.Second,
	outage: 10 * time.Second, outageGrace: 30 * time.Second, busResync: 10 * time.Second, secondResync: 2 * time.Second,
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Name == "" {
		c.Name = id.New("nod")
	}
	if c.Clock == nil {
		c.Clock = clock.System
	}
	if c.OnEvidence == nil {
		c.OnEvidence = func(*db.Tx, []lock.EvidenceChange) error { return nil }
	}
	if c.timings == (timings{}) {
		c.timings = defaultTimings.withIntervals(c.Intervals)
	}
	if c.opening == (limits{}) {
		c.opening = openingLimits(c.DB.SQLite(), c.DB.Pool().Limit)
	}
	return c
}

type counters struct {
	sessions        prometheus.Gauge
	ended           *prometheus.CounterVec // by cause
	refused         *prometheus.CounterVec // commands, by reason; each refusal counts once
	slotsSent       prometheus.Counter     // slots
	ignored         *prometheus.CounterVec // messages, by reason
	unreadableCodes prometheus.Counter     // codes that could not be unsealed
	lostWakes       prometheus.Counter
}

func newCounters(r prometheus.Registerer) *counters {
	count := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "latchkey", Subsystem: "bridge", Name: name, Help: help}, labels)
		if r != nil {
			r.MustRegister(v)
		}
		return v
	}
	c := &counters{
		sessions: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "latchkey", Subsystem: "bridge", Name: "sessions", Help: "Bridges connected to this node."}),
		ended:    count("sessions_ended_total", "Sessions that ended.", "cause"),
		refused:  count("acts_refused_total", "Unlock commands that were refused because they cannot be sent.", "cause"),
		ignored:  count("messages_ignored_total", "Messages of bridges that had no effect.", "cause"),
	}
	// Counters exist from the start, so that an alert sees the first increment.
	for _, why := range []cause{superseded, revoked, outOfOrder, tooSlow, shuttingDown, noHeartbeat, disconnected, storeFailed, panicked, crowded} {
		c.ended.WithLabelValues(string(why))
	}
	for _, why := range []string{offline, "busy", "queueFull", "notClaimed", "sessionEnded", leaving, nodeUnreachable, tooLate} {
		c.refused.WithLabelValues(why)
	}
	for _, why := range []string{"otherEpoch", "unknownKind", "invalid"} {
		c.ignored.WithLabelValues(why)
	}
	c.slotsSent = count("slots_told_total", "Slots sent to bridges.").WithLabelValues()
	c.unreadableCodes = count("codes_unreadable_total", "Codes that could not be unsealed for their bridge.").WithLabelValues()
	c.lostWakes = count("wakes_lost_total", "Wake-ups that could not be published.").WithLabelValues()
	if r != nil {
		r.MustRegister(c.sessions)
	}
	return c
}
