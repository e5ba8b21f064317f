// Package webhooks tests the delivery of events to partners: order, signatures, failures and what leaves the server.
package webhooks

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// loopback lets webhooks use loopback addresses, which the default rules refuse.
func loopback(c *sandbox.Config) { c.Server.Partner.Allow = []string{"127.0.0.1"} }

// message is what a receiver got.
type message struct {
	ID     string
	Header http.Header
	Raw    []byte
	Body   struct {
		Event    string         `json:"event"`
		Subject  string         `json:"subject"`
		Sequence int64          `json:"sequence"`
		Data     map[string]any `json:"data"`
	}
}

// receiver is a webhook of a partner.
type receiver struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	got      []message
	answered []message
	// answer decides about a message; nil: 204.
	answer func(m message) int
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{t: t}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return // the server was killed
	}
	m := message{ID: req.Header.Get("webhook-id"), Header: req.Header.Clone(), Raw: raw}
	if err := json.Unmarshal(raw, &m.Body); err != nil {
		r.t.Errorf("a message is not JSON: %v", err)
	}
	r.mu.Lock()
	r.got = append(r.got, m)
	answer := r.answer
	r.mu.Unlock()
	status := http.StatusNoContent
	if answer != nil {
		status = answer(m)
	}
	if status < 300 {
		r.mu.Lock()
		r.answered = append(r.answered, m)
		r.mu.Unlock()
	}
	if status/100 == 3 {
		w.Header().Set("Location", r.URL+"/elsewhere")
	}
	w.WriteHeader(status)
	if status >= 400 { // an error that repeats the message, as those of some frameworks
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": string(raw)}})
	}
}

func (r *receiver) setAnswer(answer func(m message) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// received returns the messages of some kinds that were answered with success; no kinds: all.
func (r *receiver) received(kinds ...string) (out []message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ofKinds(r.answered, kinds)
}

// attempts returns all messages, also those that were refused.
func (r *receiver) attempts(kinds ...string) []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ofKinds(r.got, kinds)
}

func ofKinds(all []message, kinds []string) (out []message) {
	for _, m := range all {
		if len(kinds) == 0 || strings.Contains(strings.Join(kinds, " ")+" ", m.Body.Event+" ") {
			out = append(out, m)
		}
	}
	return out
}

// verify checks the signature of a message with the library's verifier, which also checks the time.
func verify(t testing.TB, m message, secret string) error {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return hook.Verify(m.Raw, m.Header)
}

// hook is a registered webhook.
type hook struct {
	w      *e2etest.World
	caller e2etest.Caller
	ID     string
	Secret string
}

// register registers a webhook of a partner.
func register(t testing.TB, w *e2etest.World, caller e2etest.Caller, url string, events ...string) *hook {
	t.Helper()
	o, err := w.Do(t.Context(), caller, http.MethodPatch, "/v1/webhooks", map[string]any{"url": url, "events": events})
	if err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	var answer struct {
		SigningSecret string `json:"signingSecret"`
	}
	if err := json.Unmarshal(o.Raw, &answer); err != nil || !strings.HasPrefix(answer.SigningSecret, "whsec_") {
		t.Fatalf("%v %s", err, o.Raw)
	}
	return &hook{w: w, caller: caller, ID: o.Data()["id"].(string), Secret: answer.SigningSecret}
}

// state returns the webhook as its partner sees it.
func (h *hook) state(ctx context.Context) (map[string]any, error) {
	o, err := h.w.Do(ctx, h.caller, http.MethodGet, "/v1/webhooks", nil)
	if err != nil || !o.OK() {
		return nil, err
	}
	list, _ := o.Data()["list"].([]any)
	for _, each := range list {
		if one := each.(map[string]any); one["id"] == h.ID {
			return one, nil
		}
	}
	return nil, nil
}

// A partner registers a webhook and gets the events of a stay, signed and in order, with the PIN in one message only.
func TestEventsOfAStayArrive(t *testing.T) {
	w := e2etest.Open(t, loopback)
	r := newReceiver(t)
	h := register(t, w, w.Partner(), r.URL+"/hook")
	a := e2etest.PushReservation(t, w, "B-1", map[string]any{"state": "started", "roomId": "R101"})
	stayID, _ := a.Data()["id"].(string)
	w.Await("the PIN and the access arrive", func(context.Context) (bool, error) {
		return len(r.received("reservationPinGenerated")) > 0 && len(r.received("access.issued")) > 0, nil
	})
	for _, m := range r.received() {
		if err := verify(t, m, h.Secret); err != nil {
			t.Errorf("%s: %v", m.Body.Event, err)
		}
	}
	pin := r.received("reservationPinGenerated")[0]
	digits, _ := pin.Body.Data["pin"].(string)
	if pin.Body.Data["id"] != stayID || len(digits) < 4 || !strings.HasSuffix(pin.Body.Data["webAppUrl"].(string), "/g/stays/"+stayID) {
		t.Errorf("reservationPinGenerated: %v", pin.Body.Data)
	}
	if e2etest.ValueAt(pin.Body.Data, "pmsMeta.id") != "B-1" || e2etest.ValueAt(pin.Body.Data, "booker.lastName") != "Lovelace" {
		t.Errorf("reservationPinGenerated is not the reservation: %s", pin.Raw)
	}
	issued := r.received("access.issued")[0]
	if issued.Body.Subject != stayID || issued.Body.Data["pmsId"] != "B-1" || strings.Contains(string(issued.Raw), digits) {
		t.Errorf("access.issued: %s", issued.Raw)
	}
}
