package bridgelink

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
)

// What a bridge needs to work alone is sent to it, and what it did alone is reported.
func TestLaterWindowsAndOneTimeCodesAreSentAndReported(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			s := newSite(t, engine)
			n, address := s.node("nod_a")
			b := s.enrol("front")
			b.connect(address)
			lk := b.lock("front")
			row := s.put(n, lk, "cod_1", "123456")
			b.next()
			from := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
			hours := func(i int) slot.Window {
				return slot.Window{From: from.AddDate(0, 0, i), To: from.AddDate(0, 0, i).Add(2 * time.Hour)}
			}
			p := lock.DesiredCode{
				GrantID: "cod_1", DoorID: "spc_1", PIN: "123456", OneTimeID: "cod_1",
				NotBefore: hours(-1).From, NotAfter: hours(-1).To, LaterWindows: []slot.Window{hours(0), hours(1)},
			}
			s.write(n, func(tx *db.Tx) (err error) {
				row, err = lock.UpdateSlot(tx, s.keys, lk, row, p)
				return err
			})
			d := b.next().GetLockDelta().GetSlots()[0]
			if d.Generation != uint64(row.Generation) || d.Once != "cod_1" || !d.NotBefore.AsTime().Equal(p.NotBefore) || !d.NotAfter.AsTime().Equal(p.NotAfter) {
				t.Errorf("got %v", d)
			}
			var later []slot.Window
			for _, w := range d.Later {
				later = append(later, slot.Window{From: w.NotBefore.AsTime(), To: w.NotAfter.AsTime()})
			}
			if diff := cmp.Diff(p.LaterWindows, later); diff != "" {
				t.Error(diff)
			}
			report := func(o *lockv1.ObservedSlot) lock.EvidenceChange {
				o.Slot, o.Generation, o.Evidence, o.Result = d.Slot, d.Generation, "accepted", "ok"
				b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_SlotReport{SlotReport: &lockv1.SlotReport{Address: "front", Slots: []*lockv1.ObservedSlot{o}}}})
				return s.learn()
			}
			if l := report(&lockv1.ObservedSlot{Present: true, Window: 0}); l.After != slot.Sent || s.slotRow(l).UsedAt != nil {
				t.Errorf("of yesterday's window: %s, used %v, want sent", l.After, s.slotRow(l).UsedAt)
			}
			if l := report(&lockv1.ObservedSlot{Present: true, Window: 1}); l.After != slot.Accepted {
				t.Errorf("of today's window: %s, want accepted", l.After)
			}
			if l := report(&lockv1.ObservedSlot{Window: 1, Used: true}); l.After != slot.Removed || l.UsedAt.IsZero() || l.AtThisLock || s.slotRow(l).UsedAt != nil {
				t.Errorf("used, perhaps on another lock, and taken off: %s, used %v, here %v", l.After, l.UsedAt, s.slotRow(l).UsedAt)
			}
		})
	}
}
