package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
)

// A failure blocks only its subject: other stays go on, and the failed events arrive later, once each and in order.
func TestAFailureBlocksItsSubjectOnly(t *testing.T) {
	w := e2etest.Open(t, loopback)
	r := newReceiver(t)
	h := register(t, w, w.Partner(), r.URL, "access.issued", "access.updated", "access.removed")
	tries := 0
	r.setAnswer(func(m message) int {
		if !strings.Contains(string(m.Raw), "B-BAD") {
			return http.StatusNoContent
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if tries++; tries == 1 {
			return http.StatusTemporaryRedirect // a redirect is a failure
		}
		return http.StatusNoContent
	})
	push := func(pmsID, state, room string) {
		e2etest.PushReservation(t, w, pmsID, map[string]any{"state": state, "roomId": room})
	}
	push("B-BAD", "started", "R101")
	push("B-GOOD", "started", "R102")
	w.Await("the other stay's access arrives, and the failing one waits", func(ctx context.Context) (bool, error) {
		state, err := h.state(ctx)
		if err != nil {
			return false, err
		}
		failing, _ := e2etest.ValueAt(state, "backlog.failingSubjects").(float64)
		good := slices.ContainsFunc(r.received("access.issued"), func(m message) bool { return m.Body.Data["pmsId"] == "B-GOOD" })
		return good && failing == 1, fmt.Errorf("%v", state)
	})
	push("B-BAD", "processed", "R101")
	w.Await("the events of the failing stay arrive after the retry", func(context.Context) (bool, error) {
		return slices.ContainsFunc(r.received("access.removed"), func(m message) bool { return m.Body.Data["pmsId"] == "B-BAD" }), nil
	})
	last, seen := map[string]int64{}, map[string]bool{}
	for _, m := range r.received("access.issued", "access.updated", "access.removed") {
		if m.Body.Sequence <= last[m.Body.Subject] || seen[m.ID] {
			t.Errorf("%s: %s %d after %d", m.Body.Subject, m.Body.Event, m.Body.Sequence, last[m.Body.Subject])
		}
		last[m.Body.Subject], seen[m.ID] = m.Body.Sequence, true
	}
	all := r.attempts()
	bad := slices.IndexFunc(all, func(m message) bool { return strings.Contains(string(m.Raw), "B-BAD") })
	again := slices.IndexFunc(all[bad+1:], func(m message) bool { return m.ID == all[bad].ID })
	if again < 0 || all[bad].Header.Get("webhook-timestamp") == all[bad+1+again].Header.Get("webhook-timestamp") {
		t.Errorf("the retry has not the same id and a new time")
	}
}

// A webhook that answers 410 is disabled, and staff are notified.
func TestGoneDisables(t *testing.T) {
	w := e2etest.Open(t, loopback)
	r := newReceiver(t)
	r.setAnswer(func(message) int { return http.StatusGone })
	h := register(t, w, w.Partner(), r.URL, "access.issued")
	e2etest.PushReservation(t, w, "B-1", map[string]any{"state": "started", "roomId": "R101"})
	w.Await("the webhook is disabled", func(ctx context.Context) (bool, error) {
		state, err := h.state(ctx)
		return err == nil && state["disabledReason"] == "gone", errors.Join(err, fmt.Errorf("%v", state))
	})
	o, err := w.Do(t.Context(), w.Owner(), http.MethodGet, "/v1/property/notices?pageSize=50", nil)
	if err != nil || !strings.Contains(string(o.Raw), "webhookGone") {
		t.Errorf("no notice: %v %s", err, o.Raw)
	}
	e2etest.PushReservation(t, w, "B-2", map[string]any{"state": "started", "roomId": "R102"})
	other := newReceiver(t)
	register(t, w, w.Partner(), other.URL, "access.issued")
	e2etest.PushReservation(t, w, "B-3", map[string]any{"state": "started", "roomId": "R103"})
	w.Await("another webhook gets the events from then on", func(context.Context) (bool, error) { return len(other.received()) > 0, nil })
	if n := len(r.attempts()); n != 1 {
		t.Errorf("%d messages to a webhook that is gone", n)
	}
	if o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/webhooks", map[string]any{"id": h.ID, "enabled": true}); err != nil || o.Data()["enabled"] != true {
		t.Errorf("enable again: %v %v", o, err)
	}
}

// The answer to a failed test says why in English and in the language of the caller.
func TestProblemOfATest(t *testing.T) {
	w := e2etest.Open(t, loopback)
	r := newReceiver(t)
	h := register(t, w, w.Partner(), r.URL)
	r.setAnswer(func(message) int { return http.StatusTeapot })
	german := w.Partner().WithHeader("Accept-Language", "de")
	o, err := w.Do(t.Context(), german, http.MethodPost, "/v1/webhooks/"+h.ID+":test", map[string]any{})
	if err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	problem, _ := o.Data()["problem"].(map[string]any)
	if o.Data()["ok"] != false || problem["kind"] == nil || problem["text"] == o.Data()["error"] || problem["text"] == "" {
		t.Errorf("%v", o.Data())
	}
	r.setAnswer(func(message) int { return http.StatusOK })
	if o, err := w.Do(t.Context(), w.Partner(), http.MethodPost, "/v1/webhooks/"+h.ID+":test", map[string]any{}); err != nil || o.Data()["problem"] != nil {
		t.Errorf("a problem of a test that succeeded: %v, %v", o, err)
	}
}

// Messages have a signature of both secrets until the overlap ends, and of one after a rotation without overlap.
func TestRotationSignsWithBothSecrets(t *testing.T) {
	w := e2etest.Open(t, loopback)
	r := newReceiver(t)
	h := register(t, w, w.Partner(), r.URL)
	rotate := func(body map[string]any) string {
		o, err := w.Do(t.Context(), w.Partner(), http.MethodPost, "/v1/webhooks/"+h.ID+"/signingSecret:rotate", body)
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		return string(secretPattern.Find(o.Raw))
	}
	test := func() message {
		o, err := w.Do(t.Context(), w.Partner(), http.MethodPost, "/v1/webhooks/"+h.ID+":test", map[string]any{})
		if err != nil || o.Data()["ok"] != true {
			t.Fatal(o, err, o.Data())
		}
		all := r.received("test")
		return all[len(all)-1]
	}
	second := rotate(map[string]any{})
	if m := test(); verify(t, m, h.Secret) != nil || verify(t, m, second) != nil {
		t.Error("during the overlap one of the secrets does not verify")
	}
	third := rotate(map[string]any{"overlapMinutes": 0})
	if m := test(); verify(t, m, third) != nil || verify(t, m, second) == nil {
		t.Error("after a rotation without overlap the new secret does not verify, or the old one does")
	}
}

// Addresses that the server may not call are refused, and an address that is refused later is not called.
func TestPrivateAddressesAreRefused(t *testing.T) {
	w := e2etest.Open(t)
	for _, url := range []string{"https://127.0.0.1/", "https://10.0.0.1/x", "http://pms.example.com/", "https://169.254.169.254/", "https://pms.example.com:22/", "https://localhost/", ""} {
		o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/webhooks", map[string]any{"url": url})
		if err != nil || o.HTTP != http.StatusBadRequest || o.Fields["url"] == "" {
			t.Errorf("%q: %v %v", url, o, err)
		}
	}
	for i := range 11 {
		o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/webhooks", map[string]any{"url": fmt.Sprintf("https://pms.example.com/%d", i), "enabled": false})
		if err != nil || o.OK() != (i < 10) {
			t.Errorf("webhook %d: %v %v", i, o, err)
		}
	}
	o, err := w.Do(t.Context(), w.Partner(), http.MethodPatch, "/v1/webhooks", map[string]any{"url": "https://pms.example.com/0", "events": []string{"access.issued"}})
	if err != nil || !o.OK() || strings.Contains(string(o.Raw), "whsec_") {
		t.Errorf("the same URL again: %v %v", o, err)
	}
	noPINs := e2etest.ConnectApp(t, w, "No PINs", "webhooks:write")
	o, err = w.Do(t.Context(), noPINs, http.MethodPatch, "/v1/webhooks", map[string]any{"url": "https://pms.example.com/", "events": []string{"reservationPinGenerated"}})
	if err != nil || o.HTTP != http.StatusForbidden || o.Reason != "scopeMissing" {
		t.Errorf("PINs without the scope: %v %v", o, err)
	}
}

// A webhook gets nothing about the reservations of another integration, and no PIN without the scope. No PIN of a message is in the
// database files, although the message was sent.
func TestOthersAndPINsStayInside(t *testing.T) {
	w := e2etest.Open(t, loopback)
	own, foreign := newReceiver(t), newReceiver(t)
	register(t, w, w.Partner(), own.URL)
	register(t, w, e2etest.ConnectApp(t, w, "Other PMS", "webhooks:write", "reservations:read"), foreign.URL)
	e2etest.PushReservation(t, w, "B-1", map[string]any{"state": "started", "roomId": "R101"})
	w.Await("the code is verified", func(context.Context) (bool, error) { return len(own.received("credential.verified")) > 0, nil })
	for _, m := range foreign.attempts() {
		t.Errorf("the other integration got %s", m.Raw)
	}
	pin, _ := own.received("reservationPinGenerated")[0].Body.Data["pin"].(string)
	for _, m := range own.received() {
		if m.Body.Event != "reservationPinGenerated" && strings.Contains(string(m.Raw), `"`+pin+`"`) {
			t.Errorf("%s has the PIN: %s", m.Body.Event, m.Raw)
		}
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(w.Server.SocketPath()), "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(raw), `"pin":"`+pin) {
			t.Errorf("%s has the PIN", f)
		}
	}
}

var secretPattern = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`)
