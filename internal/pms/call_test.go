package pms

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
)

// sequence answers with one status after the other; the last one stays.
func sequence(calls *atomic.Int32, body string, statuses ...int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		n := int(calls.Add(1))
		w.WriteHeader(statuses[min(n, len(statuses))-1])
		_, _ = io.WriteString(w, body)
	}
}

const goodAnswer = `{"owing":0,"roomReady":true,"data":[]}`

func TestRetries(t *testing.T) {
	for name, c := range map[string]struct {
		action, method string
		statuses       []int
		calls          int32
		ok             bool
	}{
		"getSpaces by GET":             {GetSpaces, "GET", []int{503, 502, 200}, 3, true},
		"getSpaces by POST":            {GetSpaces, "POST", []int{500, 429, 200}, 3, true},
		"getSpaces, three are enough":  {GetSpaces, "GET", []int{503}, 3, false},
		"getSpaces, a refusal":         {GetSpaces, "GET", []int{403, 200}, 1, false},
		"getCheckInStatus by GET":      {GetCheckInStatus, "GET", []int{503, 200}, 2, true},
		"getCheckInStatus by POST":     {GetCheckInStatus, "POST", []int{503, 200}, 1, false},
		"checkIn, not begun":           {CheckIn, "POST", []int{503, 429, 200}, 3, true},
		"checkIn, perhaps half done":   {CheckIn, "POST", []int{500, 200}, 1, false},
		"checkIn, refused":             {CheckIn, "POST", []int{409, 200}, 1, false},
		"checkIn, created":             {CheckIn, "", []int{201}, 1, true},
		"not implemented, for certain": {GetSpaces, "GET", []int{501, 200}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			limits := DefaultLimits()
			limits.Backoff, limits.MaxBackoff = time.Millisecond, 2*time.Millisecond
			z := newZoo(t, limits, sequence(&calls, goodAnswer, c.statuses...))
			target := z.target(c.action)
			target.Method = c.method
			if err := z.invoke(t, target); (err == nil) != c.ok || calls.Load() != c.calls {
				t.Errorf("%v after %d calls; want success %v after %d", err, calls.Load(), c.ok, c.calls)
			}
			seen, _ := z.calls()
			for _, r := range seen {
				if r.Header.Get(HeaderID) != seen[0].Header.Get(HeaderID) {
					t.Error("the call's id changed with a repetition")
				}
				if key := r.Header.Get(HeaderIdempotencyKey); c.action == CheckIn && (key != "key-1" || r.Header.Get(HeaderID) != key) || c.action != CheckIn && key != "" {
					t.Errorf("%s with idempotency key %q, id %q", c.action, key, r.Header.Get(HeaderID))
				}
			}
		})
	}
}

func TestBrokenConnectionIsRetriedOnlyIfSafe(t *testing.T) {
	for action, want := range map[string]int32{GetSpaces: 3, GetCheckInStatus: 3, CheckIn: 1} {
		var calls atomic.Int32
		z := raw(t, func(conn net.Conn) {
			calls.Add(1)
			says("")(conn)
		})
		if err := z.invoke(t, z.target(action)); err == nil || calls.Load() != want {
			t.Errorf("%s: %v after %d calls, want %d", action, err, calls.Load(), want)
		}
	}
}

// checkIn uses the connection of getCheckInStatus. If it breaks, the PMS may have started the call, so it is not repeated.
func TestCheckInUsesTheConnectionOfTheStatus(t *testing.T) {
	z := newZoo(t, quick(), func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"owing":0,"owingCurrency":"EUR","roomReady":true}`)
			return
		}
		panic(http.ErrAbortHandler)
	})
	if err := z.invoke(t, z.target(GetCheckInStatus)); err != nil {
		t.Fatal(err)
	}
	if err := z.invoke(t, z.target(CheckIn)); err == nil {
		t.Error("a call without an answer succeeded")
	}
	seen, _ := z.calls()
	if len(seen) != 2 || seen[0].RemoteAddr != seen[1].RemoteAddr {
		t.Errorf("%d calls, want 2 on one connection", len(seen))
	}
}

func TestLongRetryAfterIsNotRetried(t *testing.T) {
	for value, want := range map[string]time.Duration{"120": 2 * time.Minute, "999999": time.Hour, "soon": 0, "-5": 0} {
		z := newZoo(t, quick(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := z.client.Spaces(t.Context(), z.target(GetSpaces))
		e, ok := errors.AsType[*CallError](err)
		if !ok || e.RetryAfter != want {
			t.Errorf("Retry-After %s: %v", value, err)
		}
		if f, _ := fault.Of(err); f == nil || f.RetryAfter != want {
			t.Errorf("Retry-After %s does not reach the fault: %v", value, f)
		}
		if seen, _ := z.calls(); want > 0 && len(seen) != 1 {
			t.Errorf("Retry-After %s: %d calls", value, len(seen))
		}
	}
}

func TestErrorTextOmitsPartnersText(t *testing.T) {
	body := `{"error":{"code":9,"reason":"guestUnknown","message":"No Jane Doe\nwith token ` + testToken + `"}}`
	for _, status := range []int{200, 409, 500} {
		z := newZoo(t, quick(), reply(status, body))
		_, err := z.client.CheckInStatus(t.Context(), z.target(GetCheckInStatus), "R1")
		e, ok := errors.AsType[*CallError](err)
		if !ok || e.Reason != "guestUnknown" || e.Message != "No Jane Doe with token [token]" || e.Status != status {
			t.Fatalf("status %d: %+v", status, err)
		}
		f, ok := fault.Of(err)
		if !ok || f.Reason != checkin.PartnerError || f.Kind != fault.Precondition || f.Meta[checkin.MetaReason] != e.Reason || f.Meta[checkin.MetaMessage] != e.Message {
			t.Errorf("status %d: fault %+v", status, f)
		}
		if strings.Contains(err.Error()+f.Message+z.logs.String(), "Jane") {
			t.Errorf("the partner's text is in an error or a log: %v\n%s", err, z.logs)
		}
	}
}

func TestCheckInSendsOnlyTheDisclosure(t *testing.T) {
	z := newZoo(t, quick(), reply(204, ""))
	key := 0
	send := func(d checkin.Disclosure) string {
		key++
		if err := z.client.CheckIn(t.Context(), z.target(CheckIn), "k"+string(rune('0'+key)), d); err != nil {
			t.Fatal(err)
		}
		_, bodies := z.calls()
		return bodies[len(bodies)-1]
	}
	if got := send(checkin.Disclosure{ReservationID: "R1"}); got != `{"reservationId":"R1"}` {
		t.Errorf("sent %s", got)
	}
	want := `{"reservationId":"R1","mainCustomer":{"lastName":"Doe","passport":{"number":"X1"}},"companions":[{"firstName":"Jo"}]}`
	got := send(checkin.Disclosure{
		ReservationID: "R1", MainCustomer: &checkin.Person{LastName: "Doe", Passport: &checkin.Document{Number: "X1"}},
		Companions: []checkin.Person{{FirstName: "Jo"}},
	})
	if got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if strings.Contains(z.logs.String(), "Doe") {
		t.Error("a guest's name is in the log")
	}
}

func TestAny2xxCompletesTheCheckIn(t *testing.T) {
	for status, bodies := range map[int][]string{
		200: {"", "OK", "{}", "[]", `{"reservation":{}}`, "<html>", `{"error":null}`}, 201: {"{}"}, 202: {""}, 204: {""},
	} {
		for _, body := range bodies {
			z := newZoo(t, quick(), reply(status, body))
			if err := z.client.CheckIn(t.Context(), z.target(CheckIn), "k", checkin.Disclosure{ReservationID: "R1"}); err != nil {
				t.Errorf("%d %q: %v", status, body, err)
			}
		}
	}
}

func TestCallsThatCannotBePrepared(t *testing.T) {
	z := newZoo(t, quick(), reply(200, goodAnswer))
	for name, change := range map[string]func(t *Target){
		"another action":   func(t *Target) { t.Action = GetCheckInStatus },
		"unknown method":   func(t *Target) { t.Method = "DELETE" },
		"no secret":        func(t *Target) { t.SigningSecrets = nil },
		"bad secret":       func(t *Target) { t.SigningSecrets = []string{testSecret, "x"} },
		"line feed, token": func(t *Target) { t.Token = "a\nX: b" },
	} {
		target := z.target(GetSpaces)
		change(&target)
		_, err := z.client.Spaces(t.Context(), target)
		if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseSetting {
			t.Errorf("%s: %v", name, err)
		}
	}
	checkIn := z.target(CheckIn)
	checkIn.Method = "GET"
	if err := z.client.CheckIn(t.Context(), checkIn, "k", checkin.Disclosure{}); err == nil {
		t.Error("checkIn by GET is sent")
	}
	for _, key := range []string{"", "a.b", "a b", "ä", strings.Repeat("x", 129)} {
		if err := z.client.CheckIn(t.Context(), z.target(CheckIn), key, checkin.Disclosure{}); err == nil {
			t.Errorf("idempotency key %q is sent", key)
		}
	}
	if seen, _ := z.calls(); len(seen) != 0 {
		t.Errorf("%d calls went out", len(seen))
	}
}

// bed is an entry of a getSpaces answer. more are further members, with a comma first.
func bed(id, more string) string {
	return `{"id":"` + id + `","type":"Bed","name":"` + id + `","isPrivate":false,"isActive":true` + more + `}`
}

// notObjects returns the violations of a list whose first n entries are no objects.
func notObjects(n int) (places []string) {
	for i := range n {
		places = append(places, fmt.Sprintf("[%d] wrongType", i))
	}
	return places
}

func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		action string
		serve  http.HandlerFunc
		want   Report
		found  []string
	}{
		"spaces": {GetSpaces, reply(200, "["+room+"]"), Report{OK: true, Status: 200, Spaces: 1}, nil},
		"spaces with every fault named": {GetSpaces, reply(200, `[{"id":1,"type":"Hut","name":"x","isPrivate":true}]`),
			Report{Status: 200, Cause: CauseContract}, []string{"[0].id wrongType", "[0].isActive required", "[0].type wrongValue"}},
		"spaces that open conflicts": {GetSpaces, reply(200, "["+room+","+room+","+bed("B1", "")+","+bed("B2", `,"parentId":"R404"`)+","+bed("B3", `,"parentId":"B1"`)+"]"),
			Report{Status: 200, Cause: CauseContract, Spaces: 5}, []string{"[1].id alreadyExists", "[2].parentId required", "[3].parentId spaceNotFound", "[4].parentId spaceNotFound"}},
		"spaces with faults of both kinds": {GetSpaces, reply(200, "["+room+","+room+","+bed("B1", `,"parentId":"R404"`)+","+bed("B2", `,"parentId":7`)+`,{"id":"D1","type":"Hut","name":"x","isPrivate":true,"isActive":true},`+bed("B3", `,"parentId":"D1"`)+"]"),
			Report{Status: 200, Cause: CauseContract}, []string{"[1].id alreadyExists", "[2].parentId spaceNotFound", "[3].parentId wrongType", "[4].type wrongValue"}},
		"spaces, the room of a bed cannot be read": {GetSpaces, reply(200, `["R1",{"id":2},{"id":3},`+bed("B1", `,"parentId":"2"`)+","+bed("B1", "")+"]"),
			Report{Status: 200, Cause: CauseContract}, []string{
				"[0] wrongType", "[1].id wrongType", "[1].type required", "[1].name required", "[1].isPrivate required", "[1].isActive required",
				"[2].id wrongType", "[2].type required", "[2].name required", "[2].isPrivate required", "[2].isActive required",
				"[4].id alreadyExists", "[4].parentId required",
			}},
		"spaces with more faults than are listed": {GetSpaces, reply(200, "["+strings.Repeat("0,", maxViolations)+room+","+room+"]"),
			Report{Status: 200, Cause: CauseContract}, notObjects(maxViolations)},
		"spaces, no bed names a room":     {GetSpaces, reply(200, "["+bed("B1", "")+","+bed("B2", "")+"]"), Report{OK: true, Status: 200, Spaces: 2}, nil},
		"spaces, server error":            {GetSpaces, reply(500, ""), Report{Status: 500, Cause: CauseStatus}, nil},
		"spaces, redirect":                {GetSpaces, redirect(func(*http.Request) string { return "/x" }, 302), Report{Status: 302, Cause: CauseStatus}, nil},
		"status":                          {GetCheckInStatus, reply(200, `{"owing":0,"owingCurrency":"EUR","roomReady":true}`), Report{OK: true, Status: 200}, nil},
		"status, wrong types":             {GetCheckInStatus, reply(200, `{"owing":"0","owingCurrency":"EUR"}`), Report{Status: 200, Cause: CauseContract}, []string{"owing wrongType", "roomReady required"}},
		"status, unknown reservation":     {GetCheckInStatus, reply(404, `{"error":{"reason":"reservationNotFound"}}`), Report{OK: true, Status: 404, Reason: "reservationNotFound"}, nil},
		"status, 2xx with an error":       {GetCheckInStatus, reply(200, `{"error":{"message":"no such"}}`), Report{OK: true, Status: 200, PartnerMsg: "no such"}, nil},
		"status, nothing at this address": {GetCheckInStatus, reply(404, "not found"), Report{Status: 404, Cause: CauseStatus}, nil},
		"status, token refused":           {GetCheckInStatus, reply(401, `{"error":{"reason":"x"}}`), Report{Status: 401, Cause: CauseStatus, Reason: "x"}, nil},
		"check-in":                        {CheckIn, reply(422, `{"error":{"reason":"unknown"}}`), Report{OK: true, Status: 422, Reason: "unknown"}, nil},
		"check-in hangs":                  {CheckIn, hang, Report{Cause: CauseTimeout}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			z := newZoo(t, quick(), c.serve)
			got, err := z.client.Probe(t.Context(), z.target(c.action))
			if err != nil {
				t.Fatal(err)
			}
			if got.Latency <= 0 || got.Latency > bound || got.Action != c.action || got.OK != (got.Message == "") {
				t.Errorf("report %+v", got)
			}
			places := found(got.Violations)
			slices.Sort(places)
			slices.Sort(c.found)
			if diff := cmp.Diff(c.found, places); diff != "" {
				t.Error(diff)
			}
			if english, texts := got.Problems(), got.Texts(); len(english) != len(texts) {
				t.Errorf("%d problems, %d texts", len(english), len(texts))
			}
			for _, m := range got.Texts() {
				if err := m.Check(); err != nil {
					t.Error(err)
				}
			}
			got.Latency, got.Action, got.Message, got.Violations, got.Problem = 0, "", "", nil, message.Message{}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			seen, bodies := z.calls()
			if len(seen) != 1 {
				t.Errorf("%d calls, want one", len(seen))
			}
			if c.action == CheckIn && bodies[0] != `{"reservationId":"latchkey-test"}` {
				t.Errorf("a probe sent %s", bodies[0])
			}
		})
	}
	z := newZoo(t, quick(), hang)
	if _, err := z.client.Probe(t.Context(), z.target("openDoor")); err == nil {
		t.Error("an unknown action is probed")
	}
	bad := z.target(GetSpaces)
	bad.URL = "https://10.0.0.1/"
	if got, err := z.client.Probe(t.Context(), bad); err != nil || got.OK || got.Cause != CauseAddress || len(got.Violations) == 0 {
		t.Errorf("a refused address: %+v, %v", got, err)
	}
}
