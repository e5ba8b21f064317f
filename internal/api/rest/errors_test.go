package rest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/fault"
)

// envelope is the error as a partner's client reads it.
type envelope struct {
	Error *struct {
		Code      int
		Title     string
		Message   string
		Status    int
		Reason    string
		RequestID string `json:"requestId"`
		Details   []struct {
			Type       string `json:"@type"`
			Reason     string
			Domain     string
			RetryDelay string
			RequestID  string `json:"requestId"`
			Fields     []struct {
				Field, Description, Reason string
			} `json:"fieldViolations"`
			Violations []struct{ Subject string }
		}
	}
}

func readEnvelope(t *testing.T, resp *http.Response) envelope {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e envelope
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if err := d.Decode(&e); err != nil || e.Error == nil {
		t.Fatalf("no envelope: %v: %s", err, raw)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("content type %q", ct)
	}
	if e.Error.RequestID == "" || e.Error.RequestID != resp.Header.Get("X-Request-Id") {
		t.Errorf("request id %q, header %q", e.Error.RequestID, resp.Header.Get("X-Request-Id"))
	}
	if e.Error.Status != resp.StatusCode {
		t.Errorf("status %d in the body, %d in the answer", e.Error.Status, resp.StatusCode)
	}
	return e
}

func (e envelope) fields() []string {
	var out []string
	for _, d := range e.Error.Details {
		if d.Type == "type.googleapis.com/google.rpc.BadRequest" {
			for _, f := range d.Fields {
				out = append(out, f.Field+" "+f.Reason)
			}
		}
	}
	return out
}

func TestEnvelopeOfEveryKindOfFault(t *testing.T) {
	for _, c := range []struct {
		fault  *fault.Fault
		status int
		code   int
		title  string
		reason string
	}{
		{fault.New(fault.Invalid, fault.DatesNotValid, "m"), 400, 3, "INVALID_ARGUMENT", "datesNotValid"},
		{fault.New(fault.Invalid, fault.IdempotencyKeyReused, "m"), 400, 3, "INVALID_ARGUMENT", "idempotencyKeyReused"},
		{fault.New(fault.Unauthenticated, fault.InvalidCredentials, "m"), 401, 16, "UNAUTHORIZED", "invalidCredentials"},
		{fault.New(fault.Denied, fault.NotShared, "m"), 403, 7, "PERMISSION_DENIED", "notShared"},
		{fault.New(fault.NotFound, fault.ReservationNotFound, "m"), 404, 5, "NOT_FOUND", "reservationNotFound"},
		{fault.New(fault.MethodNotAllowed, "", "m"), 501, 12, "UNIMPLEMENTED", "methodNotAllowed"},
		{fault.New(fault.Exists, fault.IdempotencyInFlight, "m"), 409, 6, "ALREADY_EXISTS", "idempotencyInFlight"},
		{fault.New(fault.Aborted, fault.EtagMismatch, "m"), 409, 10, "ABORTED", "etagMismatch"},
		{fault.New(fault.Precondition, "owing", "m"), 409, 9, "FAILED_PRECONDITION", "owing"},
		{fault.New(fault.Exhausted, fault.BodyTooLarge, "m"), 413, 8, "RESOURCE_EXHAUSTED", "bodyTooLarge"},
		{fault.New(fault.Exhausted, fault.RateLimited, "m"), 429, 8, "RESOURCE_EXHAUSTED", "rateLimited"},
		{fault.New(fault.Unavailable, "", "m"), 503, 14, "UNAVAILABLE", "unavailable"},
		{fault.New(fault.Deadline, "", "m"), 504, 4, "DEADLINE_EXCEEDED", "deadlineExceeded"},
		{fault.New(fault.Canceled, "", "m"), 499, 1, "CANCELED", "canceled"},
		{fault.New(fault.Unimplemented, "", "m"), 501, 12, "UNIMPLEMENTED", "unimplemented"},
	} {
		t.Run(c.fault.Error(), func(t *testing.T) {
			s := newStack(t, chain.Limits{})
			s.fail = fmt.Errorf("wrapped: %w", c.fault.With(errors.New("driver text")))
			e := readEnvelope(t, s.call("PATCH", "/v1/reservations", `{}`)).Error
			got := []any{e.Status, e.Code, e.Title, e.Reason, e.Message}
			if diff := cmp.Diff([]any{c.status, c.code, c.title, c.reason, "m"}, got); diff != "" {
				t.Error(diff)
			}
			if e.Details[0].Type != "type.googleapis.com/google.rpc.ErrorInfo" || e.Details[0].Domain != "latchkey.dev" || e.Details[0].Reason != c.reason {
				t.Errorf("details begin with %+v", e.Details[0])
			}
		})
	}
}

func TestInternalErrorsRevealNothing(t *testing.T) {
	for name, breakIt := range map[string]func(*service){
		"error":          func(d *service) { d.fail = errors.New("secret of the house") },
		"internal fault": func(d *service) { d.fail = fault.New(fault.Internal, "", "secret of the house") },
		"panic":          func(d *service) { d.panics = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStack(t, chain.Limits{})
			breakIt(s.service)
			resp := s.call("PATCH", "/v1/reservations", `{}`)
			e := readEnvelope(t, resp).Error
			if e.Status != 500 || e.Code != 13 || e.Message != "internal error" || e.Reason != "internalError" {
				t.Errorf("got %+v", e)
			}
			if text := fmt.Sprint(e, resp.Header); strings.Contains(text, "secret") {
				t.Errorf("the answer tells: %s", text)
			}
			if !strings.Contains(s.log.String(), e.RequestID) || !strings.Contains(s.log.String(), "level=ERROR") {
				t.Errorf("the log does not tell: %s", s.log)
			}
		})
	}
}

func TestRefusedRequests(t *testing.T) {
	big := `{"pmsNumber":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		title, reason              string
		fields                     []string
	}{
		{name: "unknown route", method: "GET", target: "/v1/nothing", status: 404, title: "NOT_FOUND", reason: "routeNotFound"},
		{name: "outside of the API", method: "GET", target: "/elsewhere", status: 404, title: "NOT_FOUND", reason: "routeNotFound"},
		{name: "slash at the end", method: "GET", target: "/v1/reservations/", status: 404, title: "NOT_FOUND", reason: "routeNotFound"},
		{name: "options of nothing", method: "OPTIONS", target: "/v1/nothing", status: 404, title: "NOT_FOUND", reason: "routeNotFound"},
		{name: "wrong method", method: "PUT", target: "/v1/reservations", body: `{}`, status: 405, title: "METHOD_NOT_ALLOWED", reason: "methodNotAllowed"},
		{name: "method override", method: "POST", target: "/v1/reservations", headers: []string{"X-HTTP-Method-Override", "PATCH", "Content-Type", "application/x-www-form-urlencoded"}, status: 405, title: "METHOD_NOT_ALLOWED", reason: "methodNotAllowed"},
		{name: "accepts no JSON", method: "GET", target: "/v1/spaces", headers: []string{"Accept", "text/html, application/json;q=0"}, status: 406, title: "NOT_ACCEPTABLE", reason: "notAcceptable"},
		{name: "no credential", method: "PATCH", target: "/v1/reservations", body: `nonsense`, headers: []string{"Access-Token", ""}, status: 401, title: "UNAUTHORIZED", reason: "invalidCredentials"},
		{name: "metadata smuggled", method: "PATCH", target: "/v1/reservations", body: `{}`, headers: []string{"Access-Token", "", "Grpc-Metadata-Access-Token", "at"}, status: 401, title: "UNAUTHORIZED", reason: "invalidCredentials"},
		{name: "scope missing", method: "PATCH", target: "/v1/reservations", body: `{}`, headers: []string{"Client-Token", "", "Access-Token", "", "Api-Key", "reader"}, status: 403, title: "PERMISSION_DENIED", reason: "scopeMissing"},
		{name: "bad JSON", method: "PATCH", target: "/v1/reservations", body: `{"a":`, status: 400, title: "INVALID_ARGUMENT", reason: "badJson"},
		{name: "no object", method: "PATCH", target: "/v1/reservations", body: `[]`, status: 400, title: "INVALID_ARGUMENT", reason: "badJson"},
		{name: "compressed", method: "PATCH", target: "/v1/reservations", body: `{}`, headers: []string{"Content-Encoding", "gzip"}, status: 400, title: "INVALID_ARGUMENT", reason: "badJson"},
		{name: "too large", method: "PATCH", target: "/v1/reservations", body: big, status: 413, title: "RESOURCE_EXHAUSTED", reason: "bodyTooLarge"},
		{name: "every field", method: "PATCH", target: "/v1/reservations", body: `{"pmsNumber":7,"state":"gone","adultCount":-1,"booker":{"lastName":"a\u0000"},"pmsMeta":{"id":"` + strings.Repeat("x", 256) + `"}}`,
			status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields",
			fields: []string{"pmsMeta.id tooLong", "state wrongValue", "adultCount outOfRange", "pmsNumber wrongType", "booker.lastName notPrintable"}},
		{name: "101 items", method: "PATCH", target: "/v1/reservations/batch", body: `{"reservations":[` + strings.Repeat(`{},`, 100) + `{}]}`,
			status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields", fields: []string{"reservations tooMany"}},
		{name: "no items", method: "PATCH", target: "/v1/reservations/batch", body: `{}`, status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields", fields: []string{"reservations tooFew"}},
		{name: "items are no list", method: "PATCH", target: "/v1/reservations/batch", body: `{"reservations":{}}`, status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields", fields: []string{"reservations wrongType"}},
		{name: "wrong query", method: "GET", target: "/v1/spaces?page[limit]=many&filter[type]=Tent&page[offset]=-1", status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields",
			fields: []string{"filter[type] wrongValue", "page[offset] outOfRange", "page[limit] wrongType"}},
		{name: "unknown query names", method: "GET", target: "/v1/spaces?since=2026&filter[name]=x&page[size]=3", status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields",
			fields: []string{"filter[name] unsupported", "page[size] unsupported", "since unsupported"}},
		{name: "a query next to a body", method: "PATCH", target: "/v1/reservations?updateMask=state&dryRun=1", body: `{}`, status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields",
			fields: []string{"dryRun unsupported", "updateMask unsupported"}},
		{name: "a query of a route that has a body", method: "PATCH", target: "/v1/reservations/batch?reservations[0]=x", body: `{"reservations":[{}]}`, status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields",
			fields: []string{"reservations[0] unsupported"}},
		{name: "dots as written", method: "GET", target: "/v1/spaces?filter.type=Tent", status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields", fields: []string{"filter.type wrongValue"}},
		{name: "broken query", method: "GET", target: "/v1/spaces?a=%zz", status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields"},
		{name: "missing query", method: "GET", target: "/v1/reservations/find", status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields", fields: []string{"pmsId required"}},
		{name: "NUL in the path", method: "GET", target: "/v1/reservations/a%00b", status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields", fields: []string{"id notPrintable"}},
		{name: "broken text in the path", method: "GET", target: "/v1/reservations/a%ff", status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields", fields: []string{"id notPrintable"}},
		{name: "bad key", method: "PATCH", target: "/v1/reservations", body: `{}`, headers: []string{"Idempotency-Key", strings.Repeat("k", 256)}, status: 400, title: "INVALID_ARGUMENT", reason: "invalidFields", fields: []string{"Idempotency-Key badFormat"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStack(t, chain.Limits{})
			resp := s.call(c.method, c.target, c.body, c.headers...)
			e := readEnvelope(t, resp)
			if e.Error.Status != c.status || e.Error.Title != c.title || e.Error.Reason != c.reason || e.Error.Message == "" {
				t.Errorf("got %+v", e.Error)
			}
			if diff := cmp.Diff(c.fields, e.fields()); diff != "" {
				t.Error(diff)
			}
			if allow := resp.Header.Get("Allow"); c.status == 405 && allow != "GET, HEAD, OPTIONS, PATCH" {
				t.Errorf("Allow: %q", allow)
			}
		})
	}
}

func TestUnknownRouteSuggestsASimilarOne(t *testing.T) {
	s := newStack(t, chain.Limits{})
	for path, want := range map[string]string{
		"/reservations": "did you mean /v1/reservations?", "/v2/spaces": "did you mean /v1/spaces?", "/api/spaces": "did you mean /v1/spaces?", "/v1/rooms": "see /docs",
	} {
		if e := readEnvelope(t, s.call("GET", path, "")); e.Error.Status != 404 || !strings.Contains(e.Error.Message, want) {
			t.Errorf("%s: %+v", path, e.Error)
		}
	}
}

func TestUnauthorizedSaysWhatIsRequired(t *testing.T) {
	s := newStack(t, chain.Limits{})
	resp := s.call("GET", "/v1/reservations", "", "Access-Token", "wrong")
	e := readEnvelope(t, resp)
	if !strings.HasPrefix(e.Error.Message, "valid credential required: ") || resp.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("%q, %q", e.Error.Message, resp.Header.Get("WWW-Authenticate"))
	}
	if len(s.calls) > 0 {
		t.Errorf("the handler was called: %v", s.calls)
	}
}

func TestLimits(t *testing.T) {
	s := newStack(t, chain.Limits{PerMinute: 60, Burst: 2, BatchPerMinute: 1})
	for range 2 {
		resp := s.call("GET", "/v1/spaces", "")
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("RateLimit"), `"calls";r=`) || resp.Header.Get("RateLimit-Policy") != `"calls";q=60;w=60` {
			t.Fatalf("status %d, headers %v", resp.StatusCode, resp.Header)
		}
	}
	resp := s.call("GET", "/v1/spaces", "")
	e := readEnvelope(t, resp)
	if e.Error.Status != 429 || e.Error.Reason != "rateLimited" || resp.Header.Get("Retry-After") != "1" || !strings.HasPrefix(resp.Header.Get("RateLimit"), `"calls";r=0;`) {
		t.Errorf("%+v, headers %v", e.Error, resp.Header)
	}
	var retry, quota bool
	for _, d := range e.Error.Details {
		wait, err := time.ParseDuration(d.RetryDelay)
		retry = retry || d.Type == "type.googleapis.com/google.rpc.RetryInfo" && err == nil && wait > 0
		quota = quota || d.Type == "type.googleapis.com/google.rpc.QuotaFailure" && len(d.Violations) == 1
	}
	if !retry || !quota {
		t.Errorf("details %+v", e.Error.Details)
	}
	if resp := s.call("PATCH", "/v1/reservations/batch", `{"reservations":[{}]}`); resp.StatusCode != 200 {
		t.Errorf("batch calls share the budget of others: %d", resp.StatusCode)
	}
	if resp := s.call("PATCH", "/v1/reservations/batch", `{"reservations":[{}]}`); resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("second batch: %d", resp.StatusCode)
	}
}

func TestUnavailableHasRetryAfter(t *testing.T) {
	s := newStack(t, chain.Limits{})
	s.fail = fault.New(fault.Unavailable, "", "busy").Retry(1500 * time.Millisecond)
	if got := s.call("PATCH", "/v1/reservations", `{}`).Header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After: %q", got)
	}
	s.fail = fault.New(fault.Unavailable, "", "busy")
	if got := s.call("PATCH", "/v1/reservations", `{}`).Header.Get("Retry-After"); got != "5" {
		t.Errorf("Retry-After by default: %q", got)
	}
}
