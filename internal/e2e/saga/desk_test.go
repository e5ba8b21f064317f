package saga

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"latchkey.dev/internal/pms"
	"latchkey.dev/internal/sandbox"
)

// moment is when the PMS stops to let a test kill the server.
type moment string

const (
	statusAsked    moment = "getCheckInStatus arrived"
	statusAnswered moment = "getCheckInStatus is answered"
	checkInAsked   moment = "checkIn arrived"
	checkInDone    moment = "checkIn has its effect"
	checkInSaid    moment = "checkIn is answered"
	startedSent    moment = "the PMS sends started"
	startedStored  moment = "started is acknowledged"
)

// desk is a PMS that records calls and effects by idempotency key, and repeats its updates until they are acknowledged.
type desk struct {
	*sandbox.PMS
	reach func(m moment, id string) // reach is called at each moment of a reservation

	mu      sync.Mutex
	calls   map[string][]string // calls has the idempotency key of each checkIn call of a reservation
	effects map[string][]string // effects has the keys that had an effect
	updates sync.WaitGroup
	ctx     context.Context
}

func newDesk(t *testing.T, spaces []sandbox.Space) (*desk, string) {
	d := &desk{PMS: sandbox.NewPMS("pms-secret", spaces), reach: func(moment, string) {}, calls: map[string][]string{}, effects: map[string][]string{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	d.ctx = ctx
	server := httptest.NewServer(d.observe(d.Handler()))
	t.Cleanup(func() {
		cancel()
		server.Close()
		d.updates.Wait()
		d.Close()
	})
	return d, server.URL
}

// observe records the calls and reaches the moments of each.
func (d *desk) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/check-in-status":
			id := r.URL.Query().Get("reservationId")
			d.reach(statusAsked, id)
			next.ServeHTTP(w, r)
			flush(w)
			d.reach(statusAnswered, id)
		case "/check-in":
			d.checkIn(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// checkIn lets the simulated PMS decide, and sends the change of the reservation once for each effect.
func (d *desk) checkIn(w http.ResponseWriter, r *http.Request, next http.Handler) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server was killed while it sent the call
	}
	var body struct {
		ReservationID string `json:"reservationId"`
	}
	_ = json.Unmarshal(raw, &body)
	id, key := body.ReservationID, r.Header.Get(pms.HeaderIdempotencyKey)
	d.mu.Lock()
	d.calls[id] = append(d.calls[id], key)
	d.mu.Unlock()
	d.reach(checkInAsked, id)

	before := d.CheckInCount(id)
	r.Body = io.NopCloser(bytes.NewReader(raw))
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	if d.CheckInCount(id) > before {
		d.mu.Lock()
		d.effects[id] = append(d.effects[id], key)
		d.mu.Unlock()
		d.reach(checkInDone, id)
		d.updates.Go(func() { d.sendStarted(id) })
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
	flush(w)
	d.reach(checkInSaid, id)
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// sendStarted sends the change of a reservation until the service acknowledges it.
func (d *desk) sendStarted(id string) {
	d.reach(startedSent, id)
	for d.ctx.Err() == nil {
		answer, err := d.Push(d.ctx, id, map[string]any{"state": "started"})
		if err == nil && answer.Status == http.StatusOK {
			d.reach(startedStored, id)
			return
		}
		select {
		case <-d.ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// seen returns the idempotency keys of the calls and of the effects of a reservation.
func (d *desk) seen(id string) (calls, effects []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls[id]), slices.Clone(d.effects[id])
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
