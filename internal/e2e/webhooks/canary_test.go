package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/logtest"
)

// Webhooks that accept and refuse messages, and one that repeats the message in its error, leave no PIN and no name in a log, a job or
// another column.
func TestDeliveriesLeaveNothingReadable(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		log := &logtest.Buffer{}
		w := e2etest.Open(t, e2etest.Database(url), loopback, func(c *sandbox.Config) {
			c.Options.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		length := int32(8)
		_, err := propertyv1.NewPropertyServiceClient(w.Public).UpdateProperty(w.Staff(t.Context()), &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{PinLength: &length}})
		if err != nil {
			t.Fatal(err)
		}
		accepts, refuses := newReceiver(t), newReceiver(t)
		refuses.setAnswer(func(m message) int {
			if m.Body.Event == "reservationPinGenerated" {
				return http.StatusBadRequest
			}
			return http.StatusNoContent
		})
		register(t, w, w.Partner(), accepts.URL)
		refused := register(t, w, w.Partner(), refuses.URL)
		secrets := map[string]string{
			"the booker's first name": "Vornamenkanaria", "the booker's last name": "Nachnamenkanaria",
			"the booker's address": "buchungskanaria@example.com", "the booker's number": "+351912990113",
		}
		e2etest.PushReservation(t, w, "B-CANARY", map[string]any{"state": "started", "roomId": "R101", "booker": map[string]any{
			"firstName": secrets["the booker's first name"], "lastName": secrets["the booker's last name"],
			"email": secrets["the booker's address"], "mobile": secrets["the booker's number"],
		}})
		w.Await("the PIN is delivered and refused", func(ctx context.Context) (bool, error) {
			state, err := refused.state(ctx)
			return e2etest.ValueAt(state, "health.lastError") != nil && e2etest.ValueAt(state, "health.lastProblem.kind") != nil && len(accepts.received("reservationPinGenerated")) > 0, errors.Join(err, fmt.Errorf("%v", state))
		})
		w.Await("the access is delivered", func(context.Context) (bool, error) { return len(accepts.received("access.issued")) > 0, nil })
		pin := accepts.received("reservationPinGenerated")[0]
		secrets["the PIN"], _ = pin.Body.Data["pin"].(string)
		d, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		found, _ := dbtest.Text(t, d)
		found["the log"] = log.String()
		if !strings.Contains(found["reservations"], "B-CANARY") || !strings.Contains(found["webhooks"], refuses.URL) || !strings.Contains(found["river_job"], "webhook.deliver") ||
			!strings.Contains(found["the log"], refused.ID) || !strings.Contains(found["event_cursors"], refused.ID) {
			t.Fatal("the search does not find what is readable")
		}
		for what, value := range secrets {
			if len(value) < 8 || !strings.Contains(string(pin.Raw), value) {
				t.Fatalf("%s is %q, and the message %s", what, value, pin.Raw)
			}
			for where, text := range found {
				if at := strings.Index(strings.ToLower(text), strings.ToLower(value)); at >= 0 {
					t.Errorf("%s holds %s: %q", where, what, text[max(0, at-80):min(len(text), at+80)])
				}
			}
		}
	})
}
