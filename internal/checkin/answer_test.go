package checkin_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/pms"
	"latchkey.dev/internal/test/porttest"
)

// Each answer of a PMS to checkIn either accepts, or ends the attempt, or keeps it open under its key because its effect is not known.
func TestOutcomeOfAnAnswer(t *testing.T) {
	const refusal = `{"error":{"code":9,"reason":"roomTaken","message":"the room is taken","status":409}}`
	says := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	hangs := func(r *http.Request) {
		_, _ = io.ReadAll(r.Body) // only then does the server notice that the client has gone
		<-r.Context().Done()
	}
	type row struct {
		answer http.HandlerFunc
		want   checkin.AttemptState
	}
	rows := map[string]row{
		"200 without a body":         {says(200, ""), checkin.AttemptAccepted},
		"201 with a reservation":     {says(201, `{"id":"R1"}`), checkin.AttemptAccepted},
		"202":                        {says(202, "queued"), checkin.AttemptAccepted},
		"204":                        {says(204, ""), checkin.AttemptAccepted},
		"200 with a page":            {says(200, "<html><body>Welcome</body></html>"), checkin.AttemptAccepted},
		"200 with a list":            {says(200, "[]"), checkin.AttemptAccepted},
		"200 with a number":          {says(200, "7"), checkin.AttemptAccepted},
		"200 with null":              {says(200, "null"), checkin.AttemptAccepted},
		"200 with half an object":    {says(200, `{"ok":`), checkin.AttemptAccepted},
		"200 without an error":       {says(200, `{"error":null}`), checkin.AttemptAccepted},
		"200 with an error":          {says(200, refusal), checkin.AttemptRefused},
		"400 that is too large":      {says(400, strings.Repeat("x", 2<<20)), checkin.AttemptRefused},
		"503 that is too large":      {says(503, strings.Repeat("x", 2<<20)), checkin.AttemptCalling},
		"200 that is too large":      {says(200, strings.Repeat("x", 2<<20)), checkin.AttemptCalling},
		"409 with an error":          {says(409, refusal), checkin.AttemptCalling},
		"headers that are too large": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 1<<20)) }, checkin.AttemptCalling},
		"no answer":                  {func(_ http.ResponseWriter, r *http.Request) { hangs(r) }, checkin.AttemptCalling},
		"200 that never ends": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			hangs(r)
		}, checkin.AttemptCalling},
		"200 that breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, checkin.AttemptCalling},
		"400 that breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(400)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, checkin.AttemptRefused},
		"200 in a broken encoding": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "not gzip")
		}, checkin.AttemptCalling},
		"200 that unpacks to too much": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, _ = io.WriteString(packed, strings.Repeat(" ", 8<<20))
			_ = packed.Close()
		}, checkin.AttemptCalling},
		"the connection closes": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, checkin.AttemptCalling},
		"it does not speak HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "220 mail.example.com ESMTP\r\n")
				_ = conn.Close()
			}
		}, checkin.AttemptCalling},
	}
	for want, codes := range map[checkin.AttemptState][]int{
		checkin.AttemptCalling: {408, 409, 425, 429, 500, 501, 502, 503, 504, 507, 599},
		checkin.AttemptRefused: {300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 415, 418, 422, 423, 426, 451, 499},
	} {
		for _, code := range codes {
			rows[strconv.Itoa(code)] = row{says(code, ""), want}
		}
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(row.answer)
			t.Cleanup(server.Close)
			if got := checkin.OutcomeOf(callCheckIn(t, server.URL)); got != row.want {
				t.Errorf("the attempt is %q, want %q", got, row.want)
			}
		})
	}
	t.Run("no server listens", func(t *testing.T) {
		if got := checkin.OutcomeOf(callCheckIn(t, "http://"+porttest.Reserve(t))); got != checkin.AttemptCalling {
			t.Errorf("the attempt is %q", got)
		}
	})
	if got := checkin.OutcomeOf(checkin.ErrNotRegistered); got != checkin.AttemptAtDesk {
		t.Errorf("not registered: the attempt is %q", got)
	}
}

// An error about one guest is no failure of the endpoint: three failures close the tablets for all guests.
func TestHealthOfAnAnswer(t *testing.T) {
	broken := []fault.Field{{Path: "roomReady", Reason: fault.Required, Message: "is required"}}
	for name, c := range map[string]struct {
		failure error
		fails   bool
	}{
		"success":                      {nil, false},
		"200 with an error":            {&pms.CallError{Cause: pms.CauseError, Status: 200, Reason: "blocked"}, false},
		"200 against the contract":     {&pms.CallError{Cause: pms.CauseContract, Status: 200, Violations: broken}, true},
		"200 that is too large":        {&pms.CallError{Cause: pms.CauseTooLarge, Status: 200}, true},
		"302":                          {&pms.CallError{Cause: pms.CauseStatus, Status: 302}, true},
		"401":                          {&pms.CallError{Cause: pms.CauseStatus, Status: 401}, true},
		"403":                          {&pms.CallError{Cause: pms.CauseStatus, Status: 403}, true},
		"404":                          {&pms.CallError{Cause: pms.CauseStatus, Status: 404}, false},
		"409":                          {&pms.CallError{Cause: pms.CauseStatus, Status: 409}, false},
		"500":                          {&pms.CallError{Cause: pms.CauseStatus, Status: 500}, true},
		"no answer in time":            {&pms.CallError{Cause: pms.CauseTimeout}, true},
		"answer that ends in the body": {&pms.CallError{Cause: pms.CauseNetwork, Status: 200}, true},
	} {
		if got, known := checkin.HealthOf(c.failure); got.Failed() != c.fails || !known {
			t.Errorf("%s: %+v, known %v", name, got, known)
		}
	}
	for name, failure := range map[string]error{
		"a breaker that is open": &pms.CallError{Cause: pms.CauseOpen},
		"too many calls":         &pms.CallError{Cause: pms.CauseBusy},
		"canceled":               &pms.CallError{Cause: pms.CauseCanceled},
		"no endpoint":            checkin.ErrNotRegistered,
		"a defect":               errors.New("boom"),
	} {
		if got, known := checkin.HealthOf(failure); known {
			t.Errorf("%s: %+v counts as a call", name, got)
		}
	}
}

// callCheckIn calls checkIn of a PMS once.
func callCheckIn(t *testing.T, url string) error {
	t.Helper()
	rules, err := pms.NewRules(pms.RulesOptions{Hosts: []string{strings.TrimPrefix(url, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	limits := pms.DefaultLimits()
	limits.Attempts, limits.FirstByte, limits.Total = 1, time.Second, 2*time.Second
	client, err := pms.New(pms.Options{Rules: rules, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	target := &pms.Target{IntegrationID: integrationID, Action: pms.CheckIn, URL: url, SigningSecrets: []string{"whsec_" + strings.Repeat("AAAA", 8)}}
	return client.Partner(nil, target, nil).CheckIn(t.Context(), "key_1", checkin.Disclosure{ReservationID: "R1"})
}
