package checkin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	entguest "latchkey.dev/ent/guest"
	entmail "latchkey.dev/ent/mail"
	"latchkey.dev/ent/schema"
	entstay "latchkey.dev/ent/stay"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
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
	if r.URL.Path == "/status" {
		p.asked++
		status, onAsked := p.status, p.onAsked
		p.mu.Unlock()
		if onAsked != nil {
			onAsked()
		}
		if strings.HasPrefix(status, "{") {
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
		return client.Partner(target(pms.GetCheckInStatus, "/status"), target(pms.CheckIn, "/checkIn")), nil
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
	for _, n := range x.d.Read().Notice.Query().AllX(x.Context()) {
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

func TestCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.do("before", x.get, checkin.NotStarted)
		x.begin()
		x.do("press", x.complete, checkin.Waiting)
		x.do("press twice", x.complete, checkin.Waiting)
		asked, calls, effects := x.desk.counts()
		if asked != 2 || len(calls) != 1 || effects != 1 {
			x.Errorf("asked %d times, called %v, %d effects", asked, calls, effects)
		}
		var body map[string]any
		if err := json.Unmarshal([]byte(x.desk.bodies[0]), &body); err != nil || len(body) != 1 || body["reservationId"] != "R1" {
			x.Errorf("checkIn sent %s", x.desk.bodies[0])
		}
		x.push(reservation.Patch{reservation.State: "started"})
		x.do("the PMS's change arrived", x.get, checkin.CheckedIn)
		x.sweep()
		v := x.do("after the sweep", x.get, checkin.CheckedIn)
		if v.Row.EndedBy != "guest" || v.Row.NextAskAt != nil {
			x.Errorf("stored: %+v", v.Row)
		}
		if x.sweep() != 0 {
			x.Error("a check-in that ended is still due")
		}
		x.wantNotices("all went well")
	})
}

func TestOwingIsPaid(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() { x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}` })
		v := x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		if got := v.Stops[0].Owing.String(); got != "84.00 EUR" {
			x.Errorf("owing %s", got)
		}
		x.wantNotices("owing", "checkInOwing")
		x.do("ask again", x.again, checkin.Stopped, checkin.StopOwing)
		x.wantNotices("still owing", "checkInOwing")
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
		x.clock.Advance(time.Second)
		x.push(reservation.Patch{reservation.Owing: 0.0, reservation.Currency: "EUR"})
		x.sweep()
		x.do("the PMS sent a change", x.get, checkin.ConfirmDetails)
		x.wantNotices("paid")
	})
}

func TestRoomIsAskedUntilReady(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":false}` })
		x.do("start", x.start, checkin.Stopped, checkin.StopRoomNotReady)
		if x.sweep() != 0 {
			x.Error("asked again at once")
		}
		x.clock.Advance(2 * time.Minute)
		x.sweep()
		if asked, _, _ := x.desk.counts(); asked != 2 {
			x.Errorf("asked %d times", asked)
		}
		x.desk.set(func() { x.desk.status = `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
		x.clock.Advance(2 * time.Minute)
		x.sweep()
		x.do("ready", x.get, checkin.ConfirmDetails)
		x.wantNotices("ready")
		x.clock.Advance(time.Hour)
		if x.sweep() != 0 {
			x.Error("asked although the room is ready")
		}
	})
}

// A call without a usable answer is repeated under its key, and never begins another attempt.
func TestNoAnswerIsRetriedUnderTheSameKey(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request, call int){
		"408": status(408), "409": status(409), "425": status(425), "429": status(429), "500": status(500), "503": status(503),
		"hangs":    func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() },
		"cuts off": func(http.ResponseWriter, *http.Request, int) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.desk.answer = func(w http.ResponseWriter, r *http.Request, call int) {
					if call < 3 {
						answer(w, r, call)
					}
				}
				x.begin()
				x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
				x.wantNotices("no answer", "checkInNoAnswer")
				x.do("press again", x.complete, checkin.Stopped, checkin.StopNoAnswer)
				if x.sweep() != 0 {
					x.Error("repeated at once")
				}
				x.clock.Advance(10 * time.Second)
				x.sweep()
				x.do("after the sweep", x.get, checkin.Waiting)
				x.wantNotices("accepted")
				if _, calls, effects := x.desk.counts(); len(calls) != 3 || effects != 1 {
					x.Errorf("called %v", calls)
				}
			})
		})
	}
}

func status(code int) func(w http.ResponseWriter, r *http.Request, call int) {
	return func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(code) }
}

// A refusal ends the attempt: the next press has another key.
func TestRefusalEndsTheAttempt(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request, call int){
		"400": status(400), "404": status(404), "302": status(302),
		"200 with an error": func(w http.ResponseWriter, _ *http.Request, _ int) {
			_, _ = io.WriteString(w, `{"error":{"code":9,"reason":"roomTaken","message":"the room is taken","status":409}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.desk.answer = func(w http.ResponseWriter, r *http.Request, call int) {
					if call == 1 {
						answer(w, r, call)
					}
				}
				x.begin()
				v := x.do("press", x.complete, checkin.Stopped, checkin.StopCheckInRefused)
				if v.Row.Refusal.Status == 0 {
					x.Errorf("the status of the answer is not stored: %+v", v.Row.Refusal)
				}
				x.wantNotices("refused", "checkInRefused")
				x.clock.Advance(time.Hour)
				if x.sweep() != 0 {
					x.Error("repeated without a press")
				}
				x.do("press again", x.complete, checkin.Waiting)
				if _, calls, _ := x.desk.counts(); len(calls) != 2 || calls[0] == calls[1] {
					x.Errorf("called %v", calls)
				}
			})
		})
	}
}

func TestNotRegistered(t *testing.T) {
	each(t, func(x *fixture) {
		x.service.PMS = x.partner(false)
		x.push(reservation.Patch{reservation.Owing: 5.0, reservation.Currency: "EUR"})
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		x.push(reservation.Patch{reservation.Owing: 0.0, reservation.Currency: "EUR"})
		x.do("paid", x.get, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.Ready)
		x.do("press", x.complete, checkin.AtDesk, checkin.StopAtDesk)
		x.wantNotices("at the desk", "checkInAtDesk")
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		v := x.do("the desk checked in", x.get, checkin.CheckedIn)
		if v.Row.EndedBy != "pms" {
			x.Errorf("ended by %s", v.Row.EndedBy)
		}
		x.wantNotices("checked in")
	})
}

func TestLate(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.do("press", x.complete, checkin.Waiting)
		x.clock.Advance(time.Minute)
		x.sweep()
		if v := x.do("a minute later", x.get, checkin.Waiting); !v.Late {
			x.Error("not late")
		}
		x.wantNotices("late", "checkInLate")
		if x.sweep() != 0 {
			x.Error("still due")
		}
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.do("the change arrived", x.get, checkin.CheckedIn)
		x.wantNotices("arrived")
	})
}

// The PMS may send the change before it answers checkIn, and may do so without a call from Latchkey.
func TestStartedEndsTheCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) {
			x.push(reservation.Patch{reservation.State: "started"})
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		v := x.do("press", x.complete, checkin.CheckedIn)
		if v.Row.EndedBy != "guest" {
			x.Errorf("ended by %q", v.Row.EndedBy)
		}
		x.clock.Advance(time.Hour)
		x.sweep()
		x.do("later", x.again, checkin.CheckedIn)
		if _, calls, _ := x.desk.counts(); len(calls) != 1 {
			x.Errorf("called %v after the change", calls)
		}
	})
}

func TestStartedBetweenAskAndCall(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.service.Interrupt(func(point string) error {
			if point == "after getCheckInStatus" {
				x.push(reservation.Patch{reservation.State: "started"})
			}
			return nil
		})
		x.do("press", x.complete, checkin.CheckedIn)
		if _, calls, _ := x.desk.counts(); len(calls) != 0 {
			x.Errorf("called %v", calls)
		}
	})
}

func TestCanceledAndTakenBack(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		if v := x.do("canceled", x.get, checkin.Ended); v.Row.EndedBy != "canceled" {
			x.Errorf("ended by %q", v.Row.EndedBy)
		}
		x.do("press", x.complete, checkin.Ended)
		x.push(reservation.Patch{reservation.State: "confirmed"})
		x.sweep()
		if v := x.do("taken back", x.get, checkin.NotStarted); v.Row.EndedBy != "" {
			x.Errorf("ended by %q", v.Row.EndedBy)
		}
		x.begin()
		x.do("press", x.complete, checkin.Waiting)
	})
}

// Of two guests who press at once, one calls.
func TestTwoGuestsRace(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := x.complete(); err != nil {
					x.Error(err)
				}
			})
		}
		all.Wait()
		x.do("afterwards", x.get, checkin.Waiting)
		if _, calls, effects := x.desk.counts(); len(calls) != 1 || effects != 1 {
			x.Errorf("called %v", calls)
		}
	})
}

var errCrash = errors.New("the process was killed")

// A crash at any point leaves a check-in that a sweep or the guest completes, with one effect at the PMS.
func TestCrash(t *testing.T) {
	for _, point := range []string{"before getCheckInStatus", "after getCheckInStatus", "before checkIn", "after checkIn"} {
		t.Run(point, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.begin()
				x.service.Interrupt(func(at string) error {
					if at == point {
						return errCrash
					}
					return nil
				})
				if _, err := x.complete(); !errors.Is(err, errCrash) {
					x.Fatalf("got %v", err)
				}
				x.service.Interrupt(nil)
				x.clock.Advance(30 * time.Second)
				x.sweep()
				if v, err := x.get(); err != nil || v.Stage == checkin.Ready {
					x.do("the guest presses again", x.complete, checkin.Waiting)
				}
				x.do("afterwards", x.get, checkin.Waiting)
				if _, _, effects := x.desk.counts(); effects != 1 {
					x.Errorf("%d effects", effects)
				}
			})
		})
	}
	t.Run("after the beginning", func(t *testing.T) {
		each(t, func(x *fixture) {
			x.service.Interrupt(func(string) error { return errCrash })
			if _, err := x.start(); !errors.Is(err, errCrash) {
				x.Fatalf("got %v", err)
			}
			x.service.Interrupt(nil)
			x.sweep()
			x.do("afterwards", x.get, checkin.ConfirmDetails)
		})
	})
}

func TestMissingAnswers(t *testing.T) {
	each(t, func(x *fixture) {
		x.push(reservation.Patch{reservation.Adults: 2})
		v := x.do("a companion without answers", x.start, checkin.Details)
		if len(v.Party.MissingGuestIDs) != 1 || v.Party.MissingGuestIDs[0] == "" {
			x.Errorf("missing %q", v.Party.MissingGuestIDs)
		}
		x.do("confirm too early", x.confirm, checkin.Details)
		x.do("press too early", x.complete, checkin.Details)
		x.answer(map[string]string{"firstName": "Jo", "lastName": "Silva"})
		x.do("all answered", x.confirm, checkin.Ready)
	})
}

func TestMinorAlone(t *testing.T) {
	each(t, func(x *fixture) {
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			return tx.Guest.Update().Where(entguest.PropertyID(propertyID)).SetChild(true).Exec(tx.Context())
		}))
		x.push(reservation.Patch{reservation.Adults: 0, reservation.Children: 1})
		x.do("start", x.start, checkin.Stopped, checkin.StopMinorAlone)
		x.do("press", x.complete, checkin.Stopped, checkin.StopMinorAlone)
		x.wantNotices("alone", "checkInMinorAlone")
	})
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

func TestStagesOfTheLaw(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{IdentityCheck: new("live"), Signature: new("paper"), StaffEmail: new("desk@example.com")})
		x.do("start", x.start, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.IdentityCheck, checkin.StopIdentityCheck)
		x.wantNotices("waits for staff", "checkInIdentityCheck")
		clear := func(stage checkin.Stage, refused string) func() (checkin.View, error) {
			return func() (checkin.View, error) { return x.clear(stage, refused) }
		}
		x.do("refuse", clear(checkin.IdentityCheck, "another person"), checkin.Stopped, checkin.StopStageRefused)
		x.wantNotices("refused", "checkInStageRefused")
		x.do("press", x.complete, checkin.Stopped, checkin.StopStageRefused)
		v := x.do("clear", clear(checkin.IdentityCheck, ""), checkin.Signature, checkin.StopSignature)
		if c := v.Row.Cleared; len(c) != 2 || c[0].By != "Marta" || c[0].Refused != "another person" || c[1].Refused != "" {
			x.Errorf("cleared: %+v", c)
		}
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		v = x.do("started", x.get, checkin.CheckedIn)
		if c := v.Row.Cleared; len(c) != 3 || c[2].By != "pms" || c[2].Stage != "signature" {
			x.Errorf("cleared by the PMS: %+v", c)
		}
		if _, err := x.clear(checkin.Signature, ""); !fault.Has(err, fault.StayEnded) {
			x.Errorf("cleared after the end: %v", err)
		}
		var kinds []string
		for _, m := range x.d.Read().Mail.Query().AllX(x.Context()) {
			kinds = append(kinds, m.Parameters["kind"])
		}
		slices.Sort(kinds)
		if diff := cmp.Diff([]string{"notice.checkInIdentityCheck", "notice.checkInSignature", "notice.checkInStageRefused"}, kinds); diff != "" {
			x.Errorf("mails to staff: %s", diff)
		}
	})
}

// A signature on a screen needs only the guest: staff get no notice, and nothing is recorded as cleared.
func TestSignatureOnAScreen(t *testing.T) {
	each(t, func(x *fixture) {
		x.settings(property.CheckInChange{Signature: new(guest.Drawn)})
		x.do("start", x.start, checkin.ConfirmDetails)
		x.do("confirm", x.confirm, checkin.Signature)
		x.wantNotices("waits for the guest")
		x.sign()
		x.do("signed", x.get, checkin.Ready)
		x.answer(map[string]string{"firstName": "Ana Maria"})
		x.do("changed after the signature", x.get, checkin.Signature)
		x.sign()
		x.do("signed again", x.get, checkin.Ready)
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		if v := x.do("started", x.get, checkin.CheckedIn); len(v.Row.Cleared) != 0 {
			x.Errorf("cleared: %+v", v.Row.Cleared)
		}
	})
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

// A payment that arrives while getCheckInStatus is answered is asked about again at once.
func TestPaymentDuringACall(t *testing.T) {
	each(t, func(x *fixture) {
		x.desk.set(func() {
			x.desk.status = `{"owing":84,"owingCurrency":"EUR","roomReady":true}`
			x.desk.onAsked = func() {
				x.clock.Advance(time.Second)
				x.push(reservation.Patch{reservation.Number: "paid"})
				x.clock.Advance(time.Second)
				x.desk.set(func() { x.desk.onAsked, x.desk.status = nil, `{"owing":0,"owingCurrency":"EUR","roomReady":true}` })
			}
		})
		x.do("start", x.start, checkin.Stopped, checkin.StopOwing)
		x.sweep()
		if asked, _, _ := x.desk.counts(); asked != 2 {
			x.Errorf("the PMS was asked %d times, want once more after the payment", asked)
		}
	})
}

// Each guest shares for themselves: the main guest's consent discloses nothing of a companion. What a call discloses is recorded once,
// also if the call is repeated.
func TestDisclosure(t *testing.T) {
	each(t, func(x *fixture) {
		x.push(reservation.Patch{reservation.Adults: 2})
		x.settings(property.CheckInChange{MandatoryGroups: &[]string{"identity"}})
		x.answer(map[string]string{"firstName": "Ana", "lastName": "Silva"})
		a := x.guest()
		var members []guest.Member
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			p, err := guest.LoadParty(tx, x.service.Keys, propertyID, x.key.ReservationID)
			if err != nil {
				return err
			}
			members = p.Members
			for _, m := range p.Members {
				_, err = guest.SaveStep(tx, x.service.Keys, a, m.Row.ID, rule.CitizenshipStep, map[string]string{"nationality": "PT"})
				if err != nil {
					return err
				}
			}
			return guest.SetSharing(tx, x.service.Keys, a, "", []string{"identity"}, false)
		}))
		x.begin()
		x.desk.answer = func(w http.ResponseWriter, _ *http.Request, call int) {
			if call == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
		x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		x.answer(map[string]string{"firstName": "Anna", "lastName": "Silva"}) // the first call may have arrived: its key keeps its body
		x.do("press again", x.complete, checkin.Waiting)
		if len(x.desk.bodies) != 2 {
			x.Errorf("%d calls", len(x.desk.bodies))
		}
		if n := x.d.Read().Stay.Query().Where(entstay.AttemptBodyNotNil()).CountX(x.Context()); n != 0 {
			x.Error("the body is kept after the PMS accepted")
		}
		want := `{"reservationId":"R1","mainCustomer":{"firstName":"Ana","lastName":"Silva","nationality":"PT"}}`
		for i, body := range x.desk.bodies {
			if body != want {
				x.Errorf("checkIn %d sent %s", i, body)
			}
		}
		rows := x.d.Read().Disclosure.Query().AllX(x.Context())
		if len(rows) != 1 || rows[0].GuestID != members[0].Row.ID || !slices.Equal(rows[0].Groups, []string{"identity"}) || rows[0].Why != "checkIn" ||
			rows[0].IntegrationID == "" || rows[0].ReservationID != x.key.ReservationID {
			x.Errorf("recorded: %+v", rows)
		}
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		x.clock.Advance(checkin.CanceledRetention + time.Hour)
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			_, err := checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
			return err
		}))
		if n := x.d.Read().Disclosure.Query().CountX(x.Context()); n != 0 {
			x.Errorf("%d disclosures are left after the erasure", n)
		}
	})
}

// The mail about the room is ordered once, also if the PMS fails in between.
func TestRoomReadyMail(t *testing.T) {
	each(t, func(x *fixture) {
		for _, status := range []string{`{"owing":0,"owingCurrency":"EUR","roomReady":false}`, "fails", `{"owing":0,"owingCurrency":"EUR","roomReady":true}`, `{"owing":0,"owingCurrency":"EUR","roomReady":false}`, `{"owing":0,"owingCurrency":"EUR","roomReady":true}`} {
			x.desk.set(func() { x.desk.status = status })
			if v, err := x.get(); err == nil && v.Stage == checkin.NotStarted {
				x.do("start", x.start, checkin.Stopped, checkin.StopRoomNotReady)
				continue
			}
			x.clock.Advance(2 * time.Minute)
			if x.sweep() == 0 {
				_, err := x.again()
				x.must(err)
			}
		}
		if n := x.d.Read().Mail.Query().Where(entmail.Kind("roomReady")).CountX(x.Context()); n != 1 {
			x.Errorf("%d mails about the room", n)
		}
	})
}

// An integration with many due check-ins does not keep those of another from the list.
func TestDueGivesEachIntegrationItsTurn(t *testing.T) {
	each(t, func(x *fixture) {
		due := func(integrationID string, number int, after time.Duration) {
			id := fmt.Sprintf("rsv_%s_%d", integrationID, number)
			dbtest.InsertOnce(x, x.d, "integrations", dbtest.Values{"id": integrationID, "property_id": propertyID})
			dbtest.Insert(x, x.d, "reservations", dbtest.Values{"id": id, "property_id": propertyID, "integration_id": integrationID, "pms_id": id})
			dbtest.Insert(x, x.d, "stays", dbtest.Values{"id": "sty_" + id, "property_id": propertyID, "reservation_id": id, "next_ask_at": x.clock.Now().Add(after)})
		}
		for i := range 5 {
			due("int_1", i, -time.Hour)
		}
		due("int_2", 0, -time.Second)
		due("int_2", 1, time.Second)
		_, got, err := checkin.Due(x.d.View(x.Context()), 3)
		x.must(err)
		var ids []string
		for _, k := range got {
			ids = append(ids, k.ReservationID)
		}
		if len(ids) != 3 || !slices.Contains(ids, "rsv_int_2_0") || slices.Contains(ids, "rsv_int_2_1") {
			x.Errorf("due: %v", ids)
		}
	})
}

// A companion takes no step of the check-in, whatever edge the companion uses.
func TestCompanionTakesNoStep(t *testing.T) {
	each(t, func(x *fixture) {
		companion := x.guest()
		companion.GuestID = "gst_2"
		staff := actor.Actor{Kind: actor.Staff, ID: "usr_1", PropertyID: propertyID, ReservationID: x.key.ReservationID}
		for name, step := range map[string]func(context.Context, actor.Actor) (checkin.View, error){
			"start": x.service.Start, "ask": x.service.AskAgain, "confirm": x.service.ConfirmDetails, "complete": x.service.Complete,
		} {
			for _, a := range []actor.Actor{companion, staff} {
				if _, err := step(x.Context(), a); !fault.Has(err, fault.MainGuestOnly) {
					x.Errorf("%s by %s: %v", name, a.Kind, err)
				}
			}
		}
		if asked, calls, _ := x.desk.counts(); asked+len(calls) != 0 {
			x.Errorf("asked %d times, called %v", asked, calls)
		}
		x.do("afterwards", x.get, checkin.NotStarted)
	})
}

// Staff read what a PMS says about an error. It may name the guest, so it is sealed, and deleted when the check-in ends.
func TestTextOfThePMSIsSealed(t *testing.T) {
	const text = "Ms Silva of 204 has an invoice"
	said := func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, `{"error":{"code":9,"reason":"silvaOwes","message":"`+text+`","status":409}}`)
	}
	stops := map[checkin.StopReason]func(x *fixture) checkin.View{
		checkin.StopPartnerError: func(x *fixture) checkin.View {
			x.desk.status = `{"error":{"code":9,"reason":"silvaOwes","message":"` + text + `","status":409}}`
			return x.do("ask again", x.again, checkin.Stopped, checkin.StopPartnerError)
		},
		checkin.StopCheckInRefused: func(x *fixture) checkin.View {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { said(w) }
			return x.do("press", x.complete, checkin.Stopped, checkin.StopCheckInRefused)
		},
		checkin.StopNoAnswer: func(x *fixture) checkin.View {
			x.desk.answer = func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusConflict); said(w) }
			return x.do("press", x.complete, checkin.Stopped, checkin.StopNoAnswer)
		},
	}
	for reason, stop := range stops {
		t.Run(string(reason), func(t *testing.T) {
			each(t, func(x *fixture) {
				x.begin()
				v := stop(x)
				facts, err := x.service.FactsOf(x.Context(), v, v.Stops[0])
				x.must(err)
				if facts.PartnerReason != "silvaOwes" || facts.PartnerMessage != text || facts.Status == 0 {
					x.Errorf("staff read %+v", facts)
				}
				stored := func() schema.StatusAnswer {
					row := x.d.Read().Stay.Query().Where(entstay.PropertyID(propertyID)).OnlyX(x.Context())
					raw, err := json.Marshal(row)
					x.must(err)
					if strings.Contains(string(raw), "ilva") {
						x.Errorf("stored in the open: %s", raw)
					}
					if row.Answer.Said != nil {
						return row.Answer
					}
					return row.Refusal
				}
				if len(stored().Said) == 0 {
					x.Error("the text is not stored")
				}
				x.push(reservation.Patch{reservation.State: "started"})
				x.sweep()
				if a := stored(); len(a.Said) != 0 {
					x.Error("the text is kept after the end")
				}
			})
		})
	}
}

// The answers of a canceled stay are kept for 30 days after the latest cancelation, whatever the state was before.
func TestEraseCanceled(t *testing.T) {
	type step struct {
		after time.Duration // since the step before
		state string        // the PMS sends it; empty: nothing changes
		erase int           // what the sweep erases then
	}
	const wait = checkin.CanceledRetention
	for name, steps := range map[string][]step{
		"canceled":                           {{time.Hour, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}, {0, "", 0}},
		"started, then canceled":             {{time.Hour, "started", 0}, {time.Hour, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}},
		"processed, then canceled":           {{time.Hour, "started", 0}, {time.Hour, "processed", 0}, {time.Hour, "canceled", 0}, {wait, "", 1}},
		"taken back":                         {{time.Hour, "canceled", 0}, {time.Hour, "confirmed", 0}, {wait, "", 0}},
		"canceled again at the end":          {{time.Hour, "canceled", 0}, {wait, "confirmed", 0}, {0, "canceled", 0}, {wait - time.Second, "", 0}, {time.Second, "", 1}},
		"canceled, and sent again unchanged": {{time.Hour, "canceled", 0}, {wait - time.Second, "canceled", 0}, {time.Second, "", 1}},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(x *fixture) {
				x.begin()
				for i, s := range steps {
					x.clock.Advance(s.after)
					if s.state != "" {
						x.push(reservation.Patch{reservation.State: s.state, reservation.ToDate: fmt.Sprintf("2027-11-%02d", 10+i)})
						x.sweep()
					}
					x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
						n, err := checkin.EraseCanceled(tx, tx.Now().Add(-wait), 10)
						if n != s.erase {
							x.Errorf("step %d: erased %d, want %d", i, n, s.erase)
						}
						return err
					}))
				}
			})
		})
	}
}

// The answers of a stay that was checked in or processed before it was canceled are erased too.
func TestEraseCanceledAfterCheckIn(t *testing.T) {
	each(t, func(x *fixture) {
		x.begin()
		x.push(reservation.Patch{reservation.State: "started"})
		x.sweep()
		x.push(reservation.Patch{reservation.State: "canceled"})
		x.sweep()
		x.clock.Advance(checkin.CanceledRetention + time.Hour)
		x.must(x.d.Write(x.Context(), func(tx *db.Tx) error {
			n, err := checkin.EraseCanceled(tx, tx.Now().Add(-checkin.CanceledRetention), 10)
			if n != 1 {
				x.Errorf("erased %d guests, want 1", n)
			}
			return err
		}))
	})
}
