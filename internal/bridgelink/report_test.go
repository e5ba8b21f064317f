package bridgelink

import (
	"context"
	"testing"
	"time"

	"latchkey.dev/ent/keystatus"
	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
)

// A caller who is answered that a door opened finds the same when they read the command.
func TestCommandIsUnknownIfItsReportIsNotStored(t *testing.T) {
	s := newSite(t, "sqlite")
	n, address := s.node("nod_a")
	b := s.enrol("front")
	b.connect(address)
	var o lock.UnlockCommand
	s.change(func(tx *db.Tx) (err error) {
		o, err = lock.StoreCommand(tx, lock.Node{}, s.propertyID, b.lock("front").ID, lock.PhoneActorPrefix+"phn_x", time.Now().Add(5*time.Second))
		return err
	})
	done := make(chan ending, 1)
	go func() {
		out, err := n.SendCommand(context.Background(), o)
		done <- ending{out, err}
	}()
	a := b.act()
	s.change(func(tx *db.Tx) error {
		_, err := tx.SQL().Exec("ALTER TABLE " + keystatus.Table + " RENAME TO gone") // the use of the SmartKey cannot be recorded
		return err
	})
	b.say(&lockv1.ConnectRequest{Kind: &lockv1.ConnectRequest_ActReport{ActReport: &lockv1.ActReport{
		Id: a.Id, Outcome: lock.CommandDone, Result: "ok", SmartkeyReason: "ok",
	}}})
	if r := <-done; r.err != nil || r.out.State != lock.CommandUnknown {
		t.Errorf("the answer is %+v", r)
	}
	if out, err := lock.GetCommand(s.db.View(t.Context()), s.propertyID, a.Id); err != nil || out.State == lock.CommandDone {
		t.Errorf("the command is %+v, %v", out, err)
	}
}
