// Package bridgelink serves the gRPC streams of bridges. It keeps one valid session per bridge, sends desired slots and unlock commands,
// and records the reports of bridges.
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

// ProtocolVersion is the version of the control stream. A bridge whose Hello has another version is refused.
const ProtocolVersion = 1

// Limits of one session and of one node's queues.
const (
	maxOutbox   = 64      // messages to the bridge that are not being sent yet; at this number the session reads no message, refuses unlock commands and queues no slots
	maxCommands = 32      // commands that wait to be claimed, and as many that wait for their result
	maxBatch    = 256     // events in one message of a bridge: more end the session; the limits of slots in a report derive from it
	maxRechecks = 256     // bridges that wait for a recheck, see Node.rechecks; further ones are not rechecked
	maxMessage  = 1 << 20 // bytes of one message
)

// Config is what a Node needs. Logger, OnEvidence, OnCapabilities, Metrics, Name, Clock and Intervals may be zero.
type Config struct {
	DB     *db.DB
	Keys   *keyring.Ring
	CA     *bridge.CA
	Bus    *bus.Bus
	Logger *slog.Logger
	// OnEvidence, unless nil, is called with every slot whose evidence changed, in the transaction that stores the change. Its error rolls
	// that back.
	OnEvidence func(tx *db.Tx, learned []lock.EvidenceChange) error
	// OnCapabilities, unless nil, is called with the doors whose locks have other capabilities than before, in the transaction that stores
	// them. Its error rolls that back.
	OnCapabilities func(tx *db.Tx, propertyID string, doors []string) error
	Metrics        prometheus.Registerer // Metrics registers the metrics of the node; nil: none are registered
	// Name identifies the node and must be unique among the nodes; empty: a random name.
	Name  string
	Clock clock.Clock // clock of the service; its time is sent to bridges

	// Intervals override the default intervals where they are not zero. Only tests set them.
	Intervals Intervals

	timings timings
	opening limits // limits how many sessions are opened in the database at the same time
}

// Intervals are the intervals and waits of a node's periodic work. Zero means the default.
type Intervals struct {
	Heartbeat   time.Duration // Heartbeat is the interval of heartbeats to bridges and of updates of bridges' last-seen times
	Sweep       time.Duration // Sweep is the interval of the cleanup after crashed nodes
	Outage      time.Duration // Outage is how long the database may be silent before it counts as down
	OutageGrace time.Duration // OutageGrace is the wait after a database outage before bridges of other nodes are marked offline
	BusResync   time.Duration // BusResync is the interval of resyncs while the message bus is disconnected
}

// withIntervals returns the timings with the intervals of i that are not zero.
func (p timings) withIntervals(i Intervals) timings {
	p.heartbeat, p.deadNodeSweep, p.busResync = cmp.Or(i.Heartbeat, p.heartbeat), cmp.Or(i.Sweep, p.deadNodeSweep), cmp.Or(i.BusResync, p.busResync)
	p.outage, p.outageGrace = cmp.Or(i.Outage, p.outage), cmp.Or(i.OutageGrace, p.outageGrace)
	return p
}

// timings are all timeouts and intervals of a session and its node. Tests use shorter ones.
type timings struct {
	hello         time.Duration // the bridge must send its Hello message within this time
	heartbeat     time.Duration // interval of heartbeats in both directions, and of storing which bridges are connected
	silence       time.Duration // a session that receives no message for this long ends
	stall         time.Duration // a session whose send does not complete for this long ends
	takeover      time.Duration // longest wait until an older session of the same bridge has ended
	retry         time.Duration // one duration with three uses: wait after a database error; longest wait until Goodbye is sent; longest reconnect delay in Drain
	slotSweep     time.Duration // interval of the comparison of desired and reported slots
	resultGrace   time.Duration // how long to wait for a command's result after its deadline
	move          time.Duration // how long a command waits for a bridge that moves to another node; then the bridge counts as offline
	moveCheck     time.Duration // interval of the queries for the new node of a moving bridge
	revokedCheck  time.Duration // interval of the queries for revoked bridges
	deadNodeSweep time.Duration // interval of the cleanup of sessions and commands of crashed nodes
	outage        time.Duration // the database counts as down when it has not answered for this long
	outageGrace   time.Duration // wait after a database outage before bridges of other nodes are marked offline, so that each node can first record its own bridges
	busResync     time.Duration // interval of resyncs while the message bus is disconnected
	secondResync  time.Duration // wait between the resync after a reconnect and its repetition
}

var defaultTimings = timings{
	hello: 10 * time.Second, heartbeat: 15 * time.Second, silence: 45 * time.Second, stall: 10 * time.Second,
	takeover: 5 * time.Second, retry: time.Second, slotSweep: 10 * time.Minute, resultGrace: 2 * time.Second,
	move: bridge.MoveTimeout, moveCheck: 50 * time.Millisecond,
	revokedCheck: 2 * time.Second, deadNodeSweep: 30 * time.Second,
	outage: 10 * time.Second, outageGrace: 30 * time.Second, busResync: 10 * time.Second, secondResync: 2 * time.Second,
}

// withDefaults returns the configuration with default values in place of zero fields. Metrics and OnCapabilities may stay nil. If timings
// is set, Intervals have no effect.
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

// counters are the metrics of a node.
type counters struct {
	sessions        prometheus.Gauge       // open sessions of this node
	ended           *prometheus.CounterVec // sessions that ended, by cause
	refused         *prometheus.CounterVec // unlock commands that were refused, by reason; a command that passes two nodes counts once
	slotsSent       prometheus.Counter     // desired slots that were sent
	ignored         *prometheus.CounterVec // messages of bridges that were ignored, by reason
	unreadableCodes prometheus.Counter     // codes that could not be decrypted, or not encrypted for their bridge
	lostWakes       prometheus.Counter     // notifications that could not be published to other nodes
}

// newCounters creates the metrics of a node and registers them with r, unless r is nil.
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
	// All label values exist from the start, so that an alert notices the first increment.
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
