package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// service is a replacement of the service's REST API that records what the PMS sends.
func service(t *testing.T) (*PMS, chan map[string]any) {
	t.Helper()
	sent := make(chan map[string]any, 8)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		sent <- body
		writeJSON(w, http.StatusOK, map[string]any{"data": map[string]any{}})
	}))
	t.Cleanup(s.Close)
	p := NewPMS("secret", nil)
	t.Cleanup(p.Close)
	p.SetCredentials(s.URL, "c", "a")
	if _, err := p.Push(t.Context(), "B1", map[string]any{"pmsNumber": "1", "state": "confirmed"}); err != nil {
		t.Fatal(err)
	}
	<-sent
	return p, sent
}

func ask(p *PMS, ctx context.Context, method, path, body, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer secret")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w
}

func checkIn(t *testing.T, p *PMS, key string) *httptest.ResponseRecorder {
	return ask(p, t.Context(), "POST", "/check-in", `{"reservationId":"B1"}`, key)
}

func TestCheckInHasOneEffectPerKey(t *testing.T) {
	p, sent := service(t)
	for range 3 {
		if w := checkIn(t, p, "k1"); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	}
	if got := <-sent; got["state"] != "started" {
		t.Errorf("the PMS sent %v", got)
	}
	if n := p.CheckInCount("B1"); n != 1 {
		t.Errorf("%d effects of one key", n)
	}
	p.Close()
	if len(sent) > 0 {
		t.Errorf("the PMS sent a second update: %v", <-sent)
	}
}

// A refused check-in has no effect, and its key works once the reason is gone.
func TestPMSRefusesUnpaidAndUnreadyStays(t *testing.T) {
	p, sent := service(t)
	if _, err := p.SetOwing(t.Context(), "B1", 84); err != nil {
		t.Fatal(err)
	}
	<-sent
	if w := ask(p, t.Context(), "GET", "/check-in-status?reservationId=B1", "", ""); !strings.Contains(w.Body.String(), `"owing":84`) {
		t.Error(w.Body)
	}
	if w := checkIn(t, p, "k1"); w.Code != 422 || !strings.Contains(w.Body.String(), "owing") {
		t.Error(w.Code, w.Body)
	}
	if _, err := p.SetOwing(t.Context(), "B1", 0); err != nil {
		t.Fatal(err)
	}
	<-sent
	if err := p.SetRoomReady("B1", false); err != nil {
		t.Fatal(err)
	}
	if w := checkIn(t, p, "k1"); w.Code != 422 || !strings.Contains(w.Body.String(), "roomNotReady") {
		t.Error(w.Code, w.Body)
	}
	if err := p.SetRoomReady("B1", true); err != nil {
		t.Fatal(err)
	}
	if w := checkIn(t, p, "k1"); w.Code != 200 || p.CheckInCount("B1") != 1 {
		t.Error(w.Code, w.Body)
	}
}

func TestConducts(t *testing.T) {
	for c, want := range map[Conduct]struct {
		status int
		body   string
	}{Fails: {500, "pmsBroken"}, Lies: {200, "pmsBroken"}, Normal: {200, "roomReady"}, NoUpdate: {200, "roomReady"}} {
		p, _ := service(t)
		p.SetConduct("B1", c)
		if w := ask(p, t.Context(), "GET", "/check-in-status?reservationId=B1", "", ""); w.Code != want.status || !strings.Contains(w.Body.String(), want.body) {
			t.Errorf("%q: answered %d %s", c, w.Code, w.Body)
		}
	}
}

func TestNoUpdateSendsNothing(t *testing.T) {
	p, sent := service(t)
	p.SetConduct("B1", NoUpdate)
	if w := checkIn(t, p, "k1"); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	p.Close()
	if len(sent) > 0 || p.CheckInCount("B1") != 1 || p.Bookings()[0].Text("state") != "started" {
		t.Errorf("sent %d updates, %d effects, %v", len(sent), p.CheckInCount("B1"), p.Bookings())
	}
}

// A call that hangs ends with the caller's patience, and with the PMS.
func TestHangsEnds(t *testing.T) {
	p, _ := service(t)
	p.SetConduct("B1", Hangs)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan int)
	go func() { answered <- ask(p, ctx, "GET", "/check-in-status?reservationId=B1", "", "").Body.Len() }()
	cancel()
	if n := <-answered; n != 0 {
		t.Errorf("the PMS answered %d bytes", n)
	}
	p.Close()
	if n := ask(p, t.Context(), "GET", "/check-in-status?reservationId=B1", "", "").Body.Len(); n != 0 {
		t.Errorf("a closed PMS answered %d bytes", n)
	}
}
