package lock_test

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// smallBridge drives the lock "front" with the step function of real bridges, and outlives a restore of the server's database.
type smallBridge struct {
	*site
	record slot.Lock
	onLock map[uint32]slot.PIN
	sentUp int64 // the latest generation that this session sent
}

// sync opens a session and exchanges desired states and reports until no side has more.
func (b *smallBridge) sync() {
	b.t.Helper()
	open, err := b.greet(b.cert, bridge.Hello{Node: "nod_a", BootID: "boot", Clock: b.clock.Now()}, lock.LockReport{
		Address: "front", Capabilities: &b.caps, Status: &lock.Status{Online: true}, Digest: slot.LockDigest(b.record.DigestRows()),
	})
	b.must(err)
	b.epoch = open.Epoch
	id := open.Locks[0].ID
	b.sentUp = open.Locks[0].Generation
	if len(open.OutOfSync) > 0 {
		b.sentUp = -1
	}
	for range 5 {
		if !b.send(open, id) {
			return
		}
	}
	b.t.Fatal("the server sends without end")
}

// send sends the desired slots that the session has not sent, and the bridge answers. Without any it returns false.
func (b *smallBridge) send(open *lock.Session, id string) bool {
	b.t.Helper()
	all := b.sentUp < 0
	desired, err := lock.DesiredSlots(b.db.View(b.t.Context()), open, map[string]int64{id: b.sentUp})
	b.must(err)
	b.change(func(tx *db.Tx) (err error) { desired, err = lock.MarkSent(tx, open, desired); return err })
	b.sentUp = max(b.sentUp, 0)
	named := map[uint32]bool{}
	for _, d := range desired {
		w, err := d.Desired(b.t.Context(), b.keys)
		b.must(err)
		named[d.Number], b.sentUp = true, max(b.sentUp, d.Generation)
		b.step(slot.Event{Kind: slot.DesiredChanged, Slot: d.Number, Desired: w})
	}
	for _, s := range b.record.Slots {
		if all && !named[s.Number] {
			b.observed(s.Number, s.Observed)
		}
	}
	return len(desired) > 0 || all
}

// step applies an event and what follows from it: the lock does what it is asked, and the server gets the reports.
func (b *smallBridge) step(ev slot.Event) {
	b.t.Helper()
	for {
		b.clock.Advance(time.Minute)
		ev.At = b.clock.Now()
		next, actions := slot.Step(b.record, ev)
		b.record = next
		var op *slot.Op
		for _, a := range actions {
			switch a.Kind {
			case slot.ReportObserved:
				b.observed(a.Slot, a.Observed)
			case slot.StartOp:
				op = &a.Op
			}
		}
		if op == nil {
			return
		}
		ev = slot.Event{Kind: slot.Answered, Seq: op.Seq, Result: slot.OK}
		switch op.Kind {
		case slot.OpSet:
			b.onLock[op.Slot] = op.PIN
		case slot.OpClear:
			delete(b.onLock, op.Slot)
		case slot.OpRead:
			_, ev.Present = b.onLock[op.Slot]
		}
	}
}

func (b *smallBridge) observed(number uint32, o slot.Observed) {
	b.t.Helper()
	b.reportAs(&ent.Slot{Number: int(number)}, o)
}

// backUp copies the locks and slots, and returns what restores them.
func (s *site) backUp() (restore func()) {
	s.t.Helper()
	run := func(statements ...string) {
		s.change(func(tx *db.Tx) error {
			for _, statement := range statements {
				if _, err := tx.ExecContext(tx.Context(), statement); err != nil {
					return err
				}
			}
			return nil
		})
	}
	run("CREATE TABLE slots_copy AS SELECT * FROM slots", "CREATE TABLE generations_copy AS SELECT id, generation FROM locks")
	return func() {
		s.t.Helper()
		run("DELETE FROM slots", "INSERT INTO slots SELECT * FROM slots_copy",
			"UPDATE locks SET generation = (SELECT generation FROM generations_copy WHERE generations_copy.id = locks.id)",
			"DROP TABLE slots_copy", "DROP TABLE generations_copy")
	}
}

func (s *site) slots() []*ent.Slot {
	s.t.Helper()
	rows, err := s.db.View(s.t.Context()).Slot.Query().Where(entslot.PropertyID(s.propertyID)).Order(entslot.ByNumber()).All(s.t.Context())
	s.must(err)
	return rows
}

// After a restore of the database, the lock holds what the database desires, and the server says so: whatever was lost, and also if
// other codes were issued before the bridge connects.
func TestBridgeAndRestoredServerAgreeAgain(t *testing.T) {
	for _, tt := range []struct {
		name                string
		before, lost, after func(s *site, lk *ent.Lock)
		unsent              bool // the bridge is offline when the backup is made
		want                map[uint32]slot.PIN
	}{
		{name: "another code in a slot that was used for the first time",
			lost:  func(s *site, lk *ent.Lock) { s.mustPut(lk, "grt_y", "111111") },
			after: func(s *site, lk *ent.Lock) { s.mustPut(lk, "grt_z", "222222") },
			want:  map[uint32]slot.PIN{1: "222222"}},
		{name: "a code that was replaced",
			before: func(s *site, lk *ent.Lock) { s.mustPut(lk, "grt_y", "111111") },
			lost:   func(s *site, lk *ent.Lock) { s.mustUpdate(lk, s.slots()[0], "grt_y", "333333") },
			want:   map[uint32]slot.PIN{1: "111111"}},
		{name: "a code that was replaced and is replaced again",
			before: func(s *site, lk *ent.Lock) { s.mustPut(lk, "grt_y", "111111") },
			lost:   func(s *site, lk *ent.Lock) { s.mustUpdate(lk, s.slots()[0], "grt_y", "333333") },
			after:  func(s *site, lk *ent.Lock) { s.mustUpdate(lk, s.slots()[0], "grt_y", "222222") },
			want:   map[uint32]slot.PIN{1: "222222"}},
		{name: "a code that was removed",
			before: func(s *site, lk *ent.Lock) { s.mustPut(lk, "grt_y", "111111") },
			lost:   func(s *site, lk *ent.Lock) { s.clear(lk, s.slots()[0]) },
			want:   map[uint32]slot.PIN{1: "111111"}},
		{name: "a code in a slot that was free",
			before: func(s *site, lk *ent.Lock) { s.report(s.clear(lk, s.mustPut(lk, "grt_y", "111111")), slot.Verified) },
			lost: func(s *site, lk *ent.Lock) {
				s.caps.Slots = 1
				s.connect("front")
				s.mustPut(s.again(lk), "grt_x", "333333")
			},
			want: map[uint32]slot.PIN{}},
		{name: "a code in a slot that the database does not know",
			lost: func(s *site, lk *ent.Lock) { s.mustPut(lk, "grt_y", "111111") },
			want: map[uint32]slot.PIN{}},
		{name: "a code that was sent after the backup, and is removed before the bridge connects", unsent: true,
			before: func(s *site, lk *ent.Lock) {
				s.change(func(tx *db.Tx) error { return lock.CloseSession(tx, s.bridge.ID, s.epoch, bridge.Disconnected) })
				s.mustPut(lk, "grt_y", "111111")
			},
			after: func(s *site, lk *ent.Lock) { s.clear(lk, s.slots()[0]) },
			want:  map[uint32]slot.PIN{}},
		{name: "all of it in several slots",
			before: func(s *site, lk *ent.Lock) { s.mustPut(lk, "grt_a", "444444"); s.mustPut(lk, "grt_y", "111111") },
			lost: func(s *site, lk *ent.Lock) {
				s.mustUpdate(lk, s.slots()[1], "grt_y", "333333")
				s.mustPut(lk, "grt_x", "555555")
			},
			after: func(s *site, lk *ent.Lock) { s.mustUpdate(lk, s.slots()[0], "grt_a", "222222") },
			want:  map[uint32]slot.PIN{1: "222222", 2: "111111"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				b := &smallBridge{site: s, onLock: map[uint32]slot.PIN{}}
				s.caps.OpLifetime = time.Second
				b.record = slot.Lock{Caps: s.caps}
				lk := s.door()
				do := func(f func(*site, *ent.Lock)) {
					if f != nil {
						f(s, s.again(lk))
					}
				}
				do(tt.before)
				if !tt.unsent {
					b.sync()
				}
				restore := s.backUp()
				do(tt.lost)
				b.sync()
				s.clock.Advance(time.Minute)
				restore()
				do(tt.after)
				b.sync()
				if !maps.Equal(b.onLock, tt.want) {
					t.Errorf("the lock holds %v, want %v", pins(b.onLock), pins(tt.want))
				}
				for _, row := range s.slots() {
					want := slot.Removed
					if tt.want[uint32(row.Number)] != "" {
						want = slot.Verified
					}
					if row.Evidence != string(want) || row.Present != (want == slot.Verified) || row.Former {
						t.Errorf("slot %d: present %v, %s, former %v; want %s", row.Number, row.Present, row.Evidence, row.Former, want)
					}
				}
			})
		})
	}
}

func pins(m map[uint32]slot.PIN) map[uint32]string {
	out := map[uint32]string{}
	for n, pin := range m {
		out[n] = string(pin)
	}
	return out
}

// What no bridge can have received changes nothing.
func TestInventedGenerationsHaveNoEffect(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		for _, o := range []struct {
			number     int
			generation uint64
		}{{1, math.MaxUint64}, {1, math.MaxInt64}, {1, 1<<52 + 1}, {0, uint64(row.Generation) + 9}, {4, uint64(row.Generation) + 9}, {math.MaxInt32, 7}} {
			learned := s.reportAs(&ent.Slot{Number: o.number}, slot.Observed{Generation: o.generation, Present: true, Evidence: slot.Verified})
			if len(learned) != 0 {
				t.Errorf("slot %d generation %d: learned %v", o.number, o.generation, learned)
			}
		}
		if got := s.slots(); len(got) != 1 || !cmp.Equal(got[0].Generation, row.Generation) || s.again(lk).Generation != row.Generation {
			t.Errorf("%d slots, generation %d of the lock, want 1 and %d", len(got), s.again(lk).Generation, row.Generation)
		}
	})
}

// The codes of lost generations belong to no grant, those before still to theirs.
func TestLostGenerationsBelongToNoGrant(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		lk := s.door()
		row := s.mustPut(lk, "grt_a", "123456")
		lost := uint64(row.Generation) + 9
		learned := s.reportAs(row, slot.Observed{Generation: lost, Present: true, Evidence: slot.Verified})
		now := s.row(row.ID)
		if now.Generation != int64(lost)+1 || len(learned) != 1 || learned[0].After != slot.Queued {
			t.Fatalf("generation %d after %d, learned %+v", now.Generation, lost, learned)
		}
		for n, tt := range []struct {
			generation int64
			want       any
		}{{row.Generation, "grt_a"}, {int64(lost), nil}, {now.Generation, "grt_a"}} {
			if _, grant := s.opens(int64(1+n), row, "front", tt.generation); grant != tt.want {
				t.Errorf("generation %d: of %v, want %v", tt.generation, grant, tt.want)
			}
		}
	})
}

func (s *site) again(lk *ent.Lock) *ent.Lock {
	s.t.Helper()
	lk, err := lock.Get(s.db.View(s.t.Context()), s.propertyID, lk.ID)
	s.must(err)
	return lk
}

func (s *site) mustUpdate(lk *ent.Lock, row *ent.Slot, grant, pin string) {
	s.t.Helper()
	s.change(func(tx *db.Tx) error {
		_, err := lock.UpdateSlot(tx, s.keys, lk, row, s.placeOf(grant, pin))
		return err
	})
}
