package agent

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/smartkey"
)

// TestStopWaitsForTheDoorOfAPhone stops the bridge while a phone opens a door directly. The bridge must journal the opening before the
// caller closes the driver and the store.
func TestStopWaitsForTheDoorOfAPhone(t *testing.T) {
	m := newMint(t, keyProperty)
	r, c := keyed(t, m)
	front := smartkey.DoorID("brg_1", "front")
	p := keyPhone(t)
	p.SetToken(m.token(p, grant{bridge: "brg_1", door: front, start: -time.Hour, end: time.Hour, index: 1}))
	pr, err := p.Present(c.greeting(), front, smartkey.Unlock, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.bridge.serveLocal(ctx, Local{Listener: l}) }()

	radio := r.bridge.workers["front"].radio
	if !radio.acquireFirst(t.Context()) { // the door opens only after the stop
		t.Fatal("the radio is not free")
	}
	request := httptest.NewRequest(http.MethodPost, "http://"+l.Addr().String()+localPresentation, bytes.NewReader(encoded(t, pr)))
	request.RequestURI = ""
	request.Header.Set("Content-Type", cborType)
	go func() {
		if resp, err := http.DefaultClient.Do(request); err == nil {
			_ = resp.Body.Close()
		}
	}()
	for waits := 0; waits == 0; runtime.Gosched() {
		radio.mu.Lock()
		waits = len(radio.first)
		radio.mu.Unlock()
	}
	cancel()
	time.AfterFunc(50*time.Millisecond, radio.release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	opened := 0
	err = r.bridge.store.forEachEntry(func(e journalEntry) {
		if e.Kind == driver.Opened && e.Reason == smartKeys {
			opened++
		}
	})
	if n := r.locks.UnlockCount("front"); err != nil || n != 1 || opened != 1 {
		t.Errorf("after the stop: opened %d times, journaled %d times, error %v; want once", n, opened, err)
	}
}
