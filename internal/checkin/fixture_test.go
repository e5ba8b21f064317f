package checkin_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/pms"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

const (
	propertyID    = "prp_1"
	integrationID = "int_1"
)

// desk is a partner's PMS over HTTP. It counts the effects of checkIn by idempotency key.
type desk struct {
	*httptest.Server
	mu      sync.Mutex
	status  string // answer to getCheckInStatus
	answer  func(w http.ResponseWriter, r *http.Request, call int)
	asked   int
	onAsked func()   // runs before getCheckInStatus answers
	calls   []string // the key of each checkIn call
	id      string   // webhook-id of the last call
	bodies  []string
	effects map[string]int
}

func newDesk(t *testing.T) *desk {
	p := &desk{status: `{"owing":0,"owingCurrency":"EUR","roomReady":true}`, effects: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *desk) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	p.id = r.Header.Get("webhook-id")
	if r.URL.Path == "/status" {
		p.asked++
		status, onAsked := p.status, p.onAsked
		p.mu.Unlock()
		if onAsked != nil {
			onAsked()
		}
		if r.URL.Query().Get("reservationId") == "R1" && strings.HasPrefix(status, "{") {
			_, _ = io.WriteString(w, status)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	p.calls, p.bodies = append(p.calls, key), append(p.bodies, string(body))
	p.effects[key] = 1 // a repeat under the same key has no second effect
	call, answer := len(p.calls), p.answer
	p.mu.Unlock()
	if answer != nil {
		answer(w, r, call)
	}
}

func (p *desk) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *desk) lastCall() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id
}

func (p *desk) counts() (asked int, calls []string, effects int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, slices.Clone(p.calls), len(p.effects)
}

type fixture struct {
	*testing.T
	d       *db.DB
	clock   *clock.Fixed
	desk    *desk
	service *checkin.Service
	key     checkin.Key
	stays   reservation.Service
}

// each runs a test on every database with one reservation that arrives today and whose guest is complete.
func each(t *testing.T, f func(x *fixture)) {
	t.Helper()
	at := clock.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		x := &fixture{T: t, d: d, clock: at, desk: newDesk(t)}
		x.clock.Set(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
		keys := dbtest.Keys(t, d, propertyID)
		dbtest.InsertOnce(t, d, "properties", dbtest.Values{"id": propertyID, "name": "Miramar", "time_zone": "UTC"})
		dbtest.Insert(t, d, "integrations", dbtest.Values{"id": integrationID, "property_id": propertyID})
		x.stays = reservation.Service{Keys: keys}
		queue, err := jobs.Open(d, slog.New(slog.DiscardHandler))
		x.must(err)
		x.service = &checkin.Service{Queue: queue, DB: d, Keys: keys, Log: slog.New(slog.DiscardHandler), PMS: x.partner(true)}
		x.key = checkin.Key{PropertyID: propertyID, ReservationID: x.push(reservation.Patch{
			reservation.Number: "8790", reservation.LastName: "Silva", reservation.State: "confirmed",
			reservation.FromDate: "2026-11-21", reservation.ToDate: "2026-11-23",
		})}
		x.answer(map[string]string{"firstName": "Ana", "lastName": "Silva"})
		f(x)
	}, dbtest.Clock(at))
}

// answer saves the names of every guest of the party.
func (x *fixture) answer(names map[string]string) {
	x.Helper()
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
		p, err := guest.LoadParty(tx, x.service.Keys, propertyID, x.key.ReservationID)
		if err != nil {
			return err
		}
		for _, m := range p.Members {
			a := x.guest()
			if _, err := guest.SaveStep(tx, x.service.Keys, a, m.Row.ID, rule.NameStep, names); err != nil {
				return err
			}
		}
		return nil
	}))
}

// guest is the main guest's session.
func (x *fixture) guest() actor.Actor {
	return actor.Actor{Kind: actor.Guest, ID: "ses_1", PropertyID: propertyID, ReservationID: x.key.ReservationID, Origin: guest.OriginMail}
}

// partner returns the PMS behind the desk, with or without its endpoints.
func (x *fixture) partner(registered bool) func(ctx context.Context, propertyID, integrationID string) (checkin.PMS, error) {
	rules, err := pms.NewRules(pms.RulesOptions{Hosts: []string{strings.TrimPrefix(x.desk.URL, "http://")}})
	x.must(err)
	limits := pms.DefaultLimits()
	limits.Attempts, limits.FirstByte, limits.Total = 1, 300*time.Millisecond, 400*time.Millisecond
	client, err := pms.New(pms.Options{Rules: rules, Limits: limits})
	x.must(err)
	x.Cleanup(client.Close)
	target := func(action, path string) *pms.Target {
		if !registered {
			return nil
		}
		return &pms.Target{IntegrationID: integrationID, Action: action, URL: x.desk.URL + path, SigningSecrets: []string{"whsec_" + strings.Repeat("AAAA", 8)}}
	}
	return func(context.Context, string, string) (checkin.PMS, error) {
		return client.Partner(target(pms.GetCheckInStatus, "/status"), target(pms.CheckIn, "/checkIn"), nil), nil
	}
}

// push sends a change of the PMS and returns the reservation's id.
func (x *fixture) push(p reservation.Patch) (id string) {
	x.Helper()
	p[reservation.PMSID] = "R1"
	x.clock.Advance(time.Microsecond)
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
		stored, err := x.stays.Upsert(tx, reservation.Scope{PropertyID: propertyID, IntegrationID: integrationID}, p, nil)
		if err == nil {
			id = stored.Row.ID
		}
		return err
	}))
	return id
}

func (x *fixture) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// do runs a step and checks the stage that it returns.
func (x *fixture) do(what string, step func() (checkin.View, error), want checkin.Stage, stops ...checkin.StopReason) checkin.View {
	x.Helper()
	v, err := step()
	if err != nil {
		x.Fatalf("%s: %v", what, err)
	}
	x.is(what, v, want, stops...)
	return v
}

func (x *fixture) is(what string, v checkin.View, want checkin.Stage, stops ...checkin.StopReason) {
	x.Helper()
	var reasons []checkin.StopReason
	for _, s := range v.Stops {
		reasons = append(reasons, s.Reason)
	}
	if v.Stage != want || !slices.Equal(reasons, stops) {
		x.Fatalf("%s: %s %v, want %s %v", what, v.Stage, reasons, want, stops)
	}
}

func (x *fixture) get() (checkin.View, error) {
	return x.service.Get(x.d.View(x.Context()), x.key)
}

func (x *fixture) start() (checkin.View, error) { return x.service.Start(x.Context(), x.guest()) }

func (x *fixture) again() (checkin.View, error) { return x.service.AskAgain(x.Context(), x.guest()) }

func (x *fixture) confirm() (checkin.View, error) {
	return x.service.ConfirmDetails(x.Context(), x.guest())
}

func (x *fixture) complete() (checkin.View, error) { return x.service.Complete(x.Context(), x.guest()) }

// sweep resumes what is due, as the worker does, and returns how many check-ins were due.
func (x *fixture) sweep() int {
	x.Helper()
	changed, due, err := checkin.Due(x.d.View(x.Context()), 100)
	x.must(err)
	for _, k := range slices.Concat(changed, due) {
		x.must(x.service.Resume(x.Context(), k))
	}
	return len(changed) + len(due)
}

// begin brings the check-in to the press.
func (x *fixture) begin() {
	x.Helper()
	x.do("start", x.start, checkin.ConfirmDetails)
	x.do("confirm", x.confirm, checkin.Ready)
}

// notices returns the kinds of the open notices about the stay.
func (x *fixture) notices() []string {
	x.Helper()
	var kinds []string
	for _, n := range x.d.View(x.Context()).Notice.Query().AllX(x.Context()) {
		if n.OnceKey != nil && n.Subject == x.key.ReservationID && strings.HasPrefix(n.Kind, "checkIn") {
			kinds = append(kinds, n.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

func (x *fixture) wantNotices(what string, want ...string) {
	x.Helper()
	if diff := cmp.Diff(want, x.notices()); diff != "" {
		x.Errorf("%s: notices: %s", what, diff)
	}
}

func status(code int) func(w http.ResponseWriter, r *http.Request, call int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(code) }
}

// settings changes the rules of self check-in.
func (x *fixture) settings(c property.CheckInChange) {
	x.Helper()
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
		_, err := property.UpdateCheckInSettings(tx, propertyID, c)
		return err
	}))
}

func (x *fixture) clear(stage checkin.Stage, refused string) (v checkin.View, err error) {
	err = x.d.Write(x.Context(), func(tx *db.Tx) error {
		v, err = x.service.ClearStage(tx, x.key, stage, "Marta", refused)
		return err
	})
	return v, err
}

// sign draws the signature of the main guest.
func (x *fixture) sign() {
	x.Helper()
	x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
		p, err := guest.LoadParty(tx, x.service.Keys, propertyID, x.key.ReservationID)
		if err != nil {
			return err
		}
		a := x.guest()
		form, err := p.FormOf(a, p.Members[0].Row.ID)
		if err != nil {
			return err
		}
		s, err := p.Signature(form, tx.Now())
		if err == nil {
			_, err = guest.Sign(tx, x.service.Keys, a, p.Members[0].Row.ID, s.Shown, "0,0 200,100")
		}
		return err
	}))
}
