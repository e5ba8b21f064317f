package bridgelink

import (
	"log/slog"
	"testing"
	"time"

	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

// Bridges are marked offline only when the database has been up for a while: after a start, and after each outage.
func TestUptimeIsSteadySomeTimeAfterAnOutage(t *testing.T) {
	const outage, settle = 10 * time.Second, 30 * time.Second
	began := time.Now()
	for _, c := range []struct {
		what     string
		answered []time.Duration
		at       time.Duration
		steady   bool
	}{
		{"nothing was asked yet", nil, time.Hour, false},
		{"just started", []time.Duration{0}, 0, false},
		{"a while after the start", every(2*time.Second, 0, 30*time.Second), 30 * time.Second, true},
		{"now away", every(2*time.Second, 0, 60*time.Second), 71 * time.Second, false},
		{"just back", append(every(2*time.Second, 0, 60*time.Second), 126*time.Second), 126 * time.Second, false},
		{"the look comes before the first answer", every(2*time.Second, 0, 60*time.Second), 126 * time.Second, false},
		{"a while after an outage", append(every(2*time.Second, 0, 60*time.Second), every(2*time.Second, 126*time.Second, 156*time.Second)...), 156 * time.Second, true},
		{"slow, and not away", every(9*time.Second, 0, 90*time.Second), 95 * time.Second, true},
	} {
		var a uptime
		for _, at := range c.answered {
			a.recordAnswer(began.Add(at), outage)
		}
		if got := a.isSteady(began.Add(c.at), outage, settle); got != c.steady {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

func every(apart, from, to time.Duration) (all []time.Duration) {
	for at := from; at <= to; at += apart {
		all = append(all, at)
	}
	return all
}

// The node that holds the session marks a bridge online again that another node marked offline, without a new session.
func TestConnectedBridgeIsMarkedOnlineByTheNextHeartbeat(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		s.pace.heartbeat = 20 * time.Millisecond
		n, address := s.node("nod_a")
		b := s.enrol("front")
		b.connect(address)
		s.change(func(tx *db.Tx) error {
			lost := tx.Bridge.UpdateOneID(b.id).SetOnline(false).SetOfflineReason(string(bridge.NodeLost))
			return lost.SetLastSeenAt(tx.Now().Add(-2 * bridge.MaxSilence)).Exec(tx.Context())
		})
		s.until("the bridge is online", func() bool { return bridge.IsOnline(b.row(), time.Now()) })
		if br := b.row(); br.Epoch != int64(b.epoch) {
			t.Errorf("epoch %d after %d", br.Epoch, b.epoch)
		}
		done := s.unlocking(n, b.lock("front").ID, 5*time.Second)
		for m := b.next(); ; m = b.next() {
			if a := m.GetAct(); a != nil {
				b.acted(a.Id, lock.CommandDone)
				break
			}
		}
		if r := <-done; r.err != nil || r.out.State != lock.CommandDone {
			t.Errorf("an opening: %+v", r)
		}
	})
}

// A sweep that waited through an outage stores nothing: it would run before the other nodes record their bridges.
func TestSweepThatWaitedThroughAnOutageStoresNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *site) {
		n := &Node{cfg: Config{DB: s.db, timings: defaultTimings}, log: slog.New(slog.DiscardHandler)}
		b := s.enrol("front")
		online := func(yes bool) func(*db.Tx) error {
			return func(tx *db.Tx) error { return tx.Bridge.UpdateOneID(b.id).SetOnline(yes).Exec(tx.Context()) }
		}
		steady := uptime{lastAnswer: time.Now(), since: time.Now().Add(-time.Hour)}
		n.uptime = steady
		n.whileSteady(t.Context(), "marking it online", func(tx *db.Tx) error {
			n.uptime.lastAnswer = time.Now().Add(-time.Hour) // as if the change had waited for an hour
			return online(true)(tx)
		})
		if b.row().Online {
			t.Error("the change was stored")
		}
		n.uptime = steady
		n.whileSteady(t.Context(), "marking it online", online(true))
		if !b.row().Online {
			t.Error("a change without an outage was not stored")
		}
	})
}
