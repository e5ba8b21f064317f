// Package bridgelink holds the live streams of bridges: who may open one, which one counts, what is told over it and what
// is heard.
//
// A Node holds the sessions of one process. A session is owned by the goroutine of its stream's handler: one select loop,
// one receiver beside it, a sender only while there is something to send, and one deferred undo. What reaches a session
// from elsewhere (a lock changed, open a door, you are superseded) is left in its mailbox.
package bridgelink

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
)

// ProtocolVersion is the one version of the control stream there is.
const ProtocolVersion = 1

// What one session may hold.
const (
	outboxMax  = 64 // messages that wait to be sent
	ordersMax  = 32 // acts that wait to be claimed or reported on
	batchMax   = 256
	doubtsMax  = 256
	messageMax = 1 << 20
)

// Config is what a Node needs. Learned may be nil.
type Config struct {
	DB        *db.DB
	Keys      *keyring.Ring
	Authority *lock.Authority
	Bus       *bus.Bus
	Logger    *slog.Logger
	// Learned is told, in the same transaction, of every slot whose evidence changed.
	Learned func(tx *db.Tx, learned []lock.EvidenceChange) error
	// Metrics takes the node's counters; nil: they are kept but not shown.
	Metrics prometheus.Registerer
	// Name tells nodes apart; drawn if empty.
	Name  string
	Clock clock.Clock // of the service, as bridges are told it

	// Intervals replace some of the usual ones, where they are not zero. Tests set them.
	Intervals Intervals

	pace    pace
	opening limits // of the sessions that are opened in the database
}

// Intervals are those of what a node does for the sessions that it holds.
type Intervals struct {
	Beat   time.Duration // between touches of the bridges in session, and heartbeats
	Look   time.Duration // between looks for sessions of nodes that died
	Outage time.Duration // the database is away when it did not answer for so long
	Settle time.Duration // after an outage, until bridges of other nodes are judged
	Deaf   time.Duration // between resyncs while the bus is away
}

func (p pace) with(i Intervals) pace {
	p.beat, p.forgotten, p.deaf = cmp.Or(i.Beat, p.beat), cmp.Or(i.Look, p.forgotten), cmp.Or(i.Deaf, p.deaf)
	p.outage, p.settle = cmp.Or(i.Outage, p.outage), cmp.Or(i.Settle, p.settle)
	return p
}

// pace is every duration of a session. Tests use shorter ones.
type pace struct {
	hello     time.Duration // until Hello has to be there
	beat      time.Duration // between heartbeats, both ways
	silence   time.Duration // unheard for so long: dead
	stuck     time.Duration // nothing could be sent for so long: dropped
	takeover  time.Duration // an older session is waited for so long at most
	retry     time.Duration // after the database failed
	sweep     time.Duration // between looks for what was wanted and not reported
	grace     time.Duration // after an act's deadline, for its report
	moving    time.Duration // an act waits so long for a bridge that was asked to leave
	follow    time.Duration // between looks for it
	revoked   time.Duration // between looks for bridges that were revoked
	forgotten time.Duration // between looks for sessions and acts of nodes that died
	outage    time.Duration // the database is away when it did not answer for so long
	settle    time.Duration // after an outage, until other nodes' bridges are judged: each has touched its own by then
	deaf      time.Duration // between resyncs while the bus is not connected
	resync    time.Duration // from a resync after a reconnect to the second
}

var production = pace{
	hello: 10 * time.Second, beat: 15 * time.Second, silence: 45 * time.Second, stuck: 10 * time.Second,
	takeover: 5 * time.Second, retry: time.Second, sweep: 10 * time.Minute, grace: 2 * time.Second,
	moving: lock.MoveTimeout, follow: 50 * time.Millisecond,
	revoked: 2 * time.Second, forgotten: 30 * time.Second,
	outage: 10 * time.Second, settle: 30 * time.Second, deaf: 10 * time.Second, resync: 2 * time.Second,
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
	if c.Learned == nil {
		c.Learned = func(*db.Tx, []lock.EvidenceChange) error { return nil }
	}
	if c.pace == (pace{}) {
		c.pace = production.with(c.Intervals)
	}
	if c.opening == (limits{}) {
		c.opening = openingLimits(c.DB.SQLite(), c.DB.Pool().Limit)
	}
	return c
}

// counters are what a node counts.
type counters struct {
	sessions  prometheus.Gauge
	ended     *prometheus.CounterVec // by cause
	refused   *prometheus.CounterVec // acts, by why; once each time that one is refused
	told      prometheus.Counter     // slots
	ignored   *prometheus.CounterVec // messages, by why
	unsealed  prometheus.Counter     // codes that did not open
	wakesLost prometheus.Counter
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
		refused:  count("acts_refused_total", "Acts that were told at once that they cannot be sent.", "cause"),
		ignored:  count("messages_ignored_total", "Messages of bridges that had no effect.", "cause"),
	}
	// They stand at 0 before the first, so that an alarm sees it come.
	for _, why := range []cause{superseded, revoked, outOfOrder, tooSlow, shuttingDown, noHeartbeat, disconnected, storeFailed, panicked, crowded} {
		c.ended.WithLabelValues(string(why))
	}
	for _, why := range []string{offline, "busy", "queueFull", "notClaimed", "sessionEnded", leaving, unreachable, late} {
		c.refused.WithLabelValues(why)
	}
	for _, why := range []string{"otherEpoch", "unknownKind", "invalid"} {
		c.ignored.WithLabelValues(why)
	}
	c.told = count("slots_told_total", "Slots told to bridges.").WithLabelValues()
	c.unsealed = count("codes_unreadable_total", "Codes that could not be opened for their bridge.").WithLabelValues()
	c.wakesLost = count("wakes_lost_total", "Wake-ups that could not be published.").WithLabelValues()
	if r != nil {
		r.MustRegister(c.sessions)
	}
	return c
}
