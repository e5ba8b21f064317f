package lock_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/notice"
)

// moving is a lock that is put on doors and taken off, with the events and notices about its connection.
type moving struct {
	*site
	id string
}

func newMoving(s *site) moving {
	for _, gate := range []string{"gat_1", "gat_2"} {
		s.change(func(tx *db.Tx) error {
			return tx.Gate.Create().SetID(gate).SetPropertyID(s.propertyID).SetName(gate).SetSpaceIds([]string{}).Exec(tx.Context())
		})
	}
	return moving{s, s.door().ID}
}

func (m moving) report(online bool) {
	m.t.Helper()
	m.change(func(tx *db.Tx) error {
		_, _, err := lock.ApplyReports(tx, m.bridge.ID, m.epoch, []lock.LockReport{{Address: "front", Status: &lock.Status{Online: online}}})
		return err
	})
}

func (m moving) assign(door string) {
	m.t.Helper()
	m.change(func(tx *db.Tx) error { _, err := lock.AssignDoor(tx, m.propertyID, m.id, door); return err })
}

// wait passes time with heartbeats of the bridge, and checks the links each minute.
func (m moving) wait(d time.Duration) {
	m.t.Helper()
	for range int(d / time.Minute) {
		m.clock.Advance(time.Minute)
		m.touch("nod_a", m.epoch)
		m.change(func(tx *db.Tx) error { _, err := lock.CheckLinks(tx, "", 10); return err })
	}
}

// expect compares the doors of the events lock.offline so far, and whether the notice is open.
func (m moving) expect(what string, open bool, doors ...string) {
	m.t.Helper()
	var got []string
	for _, e := range m.events("lock.offline") {
		got = append(got, e.Body["doorId"].(string))
	}
	if diff := cmp.Diff(doors, got); diff != "" {
		m.t.Errorf("%s: doors that lost their lock: %s", what, diff)
	}
	n, err := m.db.View(m.t.Context()).Notice.Query().Where(entnotice.Kind(string(notice.LockUnreachable)), entnotice.ResolvedAtIsNil()).Count(m.t.Context())
	m.must(err)
	if (n == 1) != open || n > 1 {
		m.t.Errorf("%s: %d open notices", what, n)
	}
}

func TestOfflineLockIsPutOnADoor(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		m := newMoving(s)
		m.report(false)
		m.wait(time.Hour)
		m.expect("offline without a door", false)
		m.assign("gat_1")
		m.wait(14 * time.Minute)
		m.expect("at first", false, "gat_1")
		m.wait(2 * time.Minute)
		m.expect("offline on its door", true, "gat_1")
		m.assign("gat_2")
		m.expect("moved", false, "gat_1", "gat_2")
		m.wait(time.Hour)
		m.expect("offline on the other door", true, "gat_1", "gat_2")
		m.report(true)
		m.wait(time.Minute)
		m.expect("online again", false, "gat_1", "gat_2")
	})
}

func TestOfflineLockIsTakenOffItsDoor(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		m := newMoving(s)
		m.assign("gat_1")
		m.report(false)
		m.wait(time.Hour)
		m.expect("offline on its door", true, "gat_1")
		m.assign("")
		m.expect("taken off", false, "gat_1")
		m.report(true)
		m.wait(time.Hour)
		m.assign("gat_1")
		m.wait(time.Hour)
		m.expect("on the door again, and online", false, "gat_1")
		m.report(false)
		m.wait(time.Hour)
		m.expect("offline again", true, "gat_1", "gat_1")
	})
}

// A lock is put on a door while its bridge is away. Like the locks that were on doors before, it counts as disconnected until the bridge
// is back.
func TestLockOfALostBridgeIsPutOnADoor(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		m := newMoving(s)
		s.lose()
		m.assign("gat_1")
		m.expect("put on a door", false, "gat_1")
		if e := s.events("lock.offline"); e[0].Body["reason"] != string(bridge.NodeLost) {
			t.Errorf("the reason is %v", e[0].Body["reason"])
		}
		lk, err := lock.Get(s.db.View(t.Context()), s.propertyID, m.id)
		s.must(err)
		if lk.UnreachedAt == nil || lk.ReachedAt != nil {
			t.Errorf("lost at %v, back at %v", lk.UnreachedAt, lk.ReachedAt)
		}
		s.touch("nod_a", s.epoch)
		if lk, err = lock.Get(s.db.View(t.Context()), s.propertyID, m.id); err != nil || lk.ReachedAt == nil {
			t.Errorf("the lock did not come back with its bridge: %v", err)
		}
	})
}
