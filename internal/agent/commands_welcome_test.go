package agent

import (
	"runtime"
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver/sim"

	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
)

// TestCommandThatEndsDuringWelcome ends an unlock command while the first message of a session is handled. The server must get the
// command's result. Only a command that an earlier run of the bridge left has an unknown one.
func TestCommandThatEndsDuringWelcome(t *testing.T) {
	s := newSite(t, sim.Spec{Address: "front", Profile: sim.ZWave})
	b, r := s.bridge, s.bridge.commands
	rec, _, err := b.store.beginCommand("act_1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r.running["act_1"] = true
	b.outbox.open()
	reads := b.store.db.Stats().TxN
	r.mu.Lock() // the session waits here to learn which commands run
	welcomed := make(chan error, 1)
	go func() {
		m := &lockv1.ConnectResponse{Kind: &lockv1.ConnectResponse_Welcome{Welcome: &lockv1.Welcome{Epoch: 1, HeartbeatSeconds: 15}}}
		_, err := newSession(b, nil, nil).onWelcome(t.Context(), m, time.Millisecond)
		welcomed <- err
	}()
	for began := time.Now(); b.store.db.Stats().TxN == reads && time.Since(began) < 100*time.Millisecond; {
		runtime.Gosched()
	}
	rec.Outcome, rec.Result = outcomeDone, "ok"
	if err := b.store.endCommand(rec); err != nil {
		t.Fatal(err)
	}
	delete(r.running, "act_1")
	b.outbox.addCommand(rec)
	r.mu.Unlock()
	if err := <-welcomed; err != nil {
		t.Fatal(err)
	}
	if _, got := b.outbox.takeReports(); len(got) != 1 || got[0].Outcome != outcomeDone {
		t.Errorf("reported %+v, want the result %s", got, outcomeDone)
	}
}
