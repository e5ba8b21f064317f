package rest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/chain"
)

func TestUpsertGetsMessageAndMask(t *testing.T) {
	s := newStack(t, chain.Limits{})
	resp := s.call("PATCH", "/v1/reservations", `{"pmsMeta":{"id":"r"},"owing":null,"booker":{"email":null},"adultCount":2,"new":1}`, "Idempotency-Key", "k-1", "X-Request-Id", "partner-7")
	if resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") != "partner-7" {
		t.Fatalf("status %d, id %q", resp.StatusCode, resp.Header.Get("X-Request-Id"))
	}
	count := int32(2)
	want := &partnerv1.Reservation{PmsMeta: &partnerv1.PmsMeta{Id: "r"}, Booker: &partnerv1.Booker{}, AdultCount: &count}
	if diff := cmp.Diff(want, s.upsert.GetReservation(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pms_meta.id", "owing", "booker.email", "adult_count"}, s.upsert.GetUpdateMask().GetPaths()); diff != "" {
		t.Error(diff)
	}
	if s.key != "k-1" {
		t.Errorf("key %q", s.key)
	}
}

func TestBatchGetsAMaskForEachItem(t *testing.T) {
	s := newStack(t, chain.Limits{})
	resp := s.call("PATCH", "/v1/reservations/batch", `{"updateMasks":["state"],"reservations":[{"owing":null},{"state":7},{"pmsNumber":"1"}]}`)
	if resp.StatusCode != 200 {
		t.Fatalf("status %d: a wrong item fails alone", resp.StatusCode)
	}
	var got [][]string
	for _, m := range s.batch.GetUpdateMasks() {
		got = append(got, m.GetPaths())
	}
	if diff := cmp.Diff([][]string{{"owing"}, {"state"}, {"pms_number"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersShowDefaults(t *testing.T) {
	s := newStack(t, chain.Limits{})
	resp := s.call("PATCH", "/v1/reservations", `{"owing":10.50,"childCount":0}`)
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Data map[string]any }
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Data["owing"] != 10.5 || got.Data["childCount"] != 0.0 || got.Data["pmsNumber"] != "" {
		t.Errorf("got %v", got.Data)
	}
	if _, there := got.Data["adultCount"]; there {
		t.Error("a count that is not known is shown")
	}
	if resp.Header.Get("Cache-Control") != "no-store" {
		t.Error("answers may be stored")
	}
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/v1/reservations/find?pmsId=a", "find"},
		{"GET", "/v1/reservations/find%3F", "get"},
		{"GET", "/v1/reservations/rsv_1", "get"},
		{"GET", "/v1/reservations", "list"},
		{"HEAD", "/v1/reservations", "list"},
		{"POST", "/v1/endpoints/getSpaces:test", "test"},
		{"GET", "/v1/spaces?filter[type]=Bed", "spaces"},
	} {
		s := newStack(t, chain.Limits{})
		resp := s.call(c.method, c.target, "")
		if resp.StatusCode != 200 || fmt.Sprint(s.calls) != "["+c.want+"]" {
			t.Errorf("%s %s: %d, called %v, want %s", c.method, c.target, resp.StatusCode, s.calls, c.want)
		}
	}
}

func TestHeadHasNoBody(t *testing.T) {
	s := newStack(t, chain.Limits{})
	srv := httptest.NewServer(s.handler)
	defer srv.Close()
	req := httptest.NewRequest("HEAD", srv.URL+"/v1/spaces", nil)
	req.RequestURI = ""
	req.Header.Set("Authorization", "bearer at")
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil || len(raw) > 0 || resp.StatusCode != 200 {
		t.Errorf("%d, %q, %v", resp.StatusCode, raw, err)
	}
}

func TestTooLargeBodyGetsAnAnswer(t *testing.T) {
	s := newStack(t, chain.Limits{})
	srv := httptest.NewServer(s.handler)
	defer srv.Close()
	for _, size := range []int{1 << 20, 4 << 20} {
		for _, chunked := range []bool{false, true} {
			req, err := http.NewRequestWithContext(t.Context(), "PATCH", srv.URL+"/v1/reservations", strings.NewReader(`{"pmsNumber":"`+strings.Repeat("x", size)+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			if chunked {
				req.ContentLength = -1
			}
			req.Header.Set("Authorization", "Bearer at")
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatalf("%d bytes, chunked %v: %v", size, chunked, err)
			}
			if e := readEnvelope(t, resp); e.Error.Status != 413 || e.Error.Reason != "bodyTooLarge" {
				t.Errorf("%d bytes, chunked %v: %+v", size, chunked, e.Error)
			}
		}
	}
}

func TestSlowBodyTimesOut(t *testing.T) {
	s := newStack(t, chain.Limits{})
	srv := httptest.NewUnstartedServer(s.handler)
	srv.Config.ReadTimeout = 300 * time.Millisecond
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	t.Cleanup(srv.Close)
	for _, c := range []struct {
		name, token, begin string
		h2                 bool
		length             int64
		status             int
		reason             string
	}{
		{"half a body", "at", `{"pmsNumber":`, false, 100, 408, "bodyTooSlow"},
		{"half a body of unknown length", "at", `{"pmsNumber":`, false, -1, 408, "bodyTooSlow"},
		{"half a body over HTTP/2", "at", `{"pmsNumber":`, true, -1, 408, "bodyTooSlow"},
		{"a stranger", "no", `{"pmsNumber":`, false, 100, 401, "invalidCredentials"},
		{"too much, and slow to send the rest", "at", "{", false, 2 << 20, 413, "bodyTooLarge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := &http.Transport{Protocols: new(http.Protocols)}
			tr.Protocols.SetHTTP1(!c.h2)
			tr.Protocols.SetUnencryptedHTTP2(c.h2)
			defer tr.CloseIdleConnections()
			from, to := io.Pipe()
			defer to.Close()
			go func() { _, _ = io.WriteString(to, c.begin) }() // the rest of the body never arrives
			req, err := http.NewRequestWithContext(t.Context(), "PATCH", srv.URL+"/v1/reservations", from)
			if err != nil {
				t.Fatal(err)
			}
			req.ContentLength = c.length
			req.Header.Set("Authorization", "Bearer "+c.token)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if e := readEnvelope(t, resp); e.Error.Status != c.status || e.Error.Reason != c.reason {
				t.Errorf("%+v", e.Error)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	s := newStack(t, chain.Limits{})
	resp := s.call("OPTIONS", "/v1/endpoints/getSpaces", "", "Access-Token", "")
	if resp.StatusCode != 204 || resp.Header.Get("Allow") != "DELETE, OPTIONS" {
		t.Errorf("%d, %q", resp.StatusCode, resp.Header.Get("Allow"))
	}
}

func TestQueryReachesNestedFields(t *testing.T) {
	s := newStack(t, chain.Limits{})
	s.call("GET", "/v1/spaces?filter[type]=Bed&filter[floor]=2&page[limit]=10&page[offset]=3", "")
	want := &partnerv1.ListSpacesRequest{Filter: &partnerv1.SpaceFilter{Type: "Bed", Floor: "2"}, Page: &partnerv1.Page{Limit: 10, Offset: 3}}
	if diff := cmp.Diff(want, s.spaces, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestEnumValuesIgnoreCase(t *testing.T) {
	s := newStack(t, chain.Limits{})
	s.call("GET", "/v1/spaces?filter[type]=bED", "")
	s.call("PATCH", "/v1/reservations", `{"state":"STARTED"}`)
	s.call("PATCH", "/v1/reservations/batch", `{"reservations":[{"state":"Canceled"},{"state":"checkedIn"}]}`)
	s.call("GET", "/v1/reservations/find?pmsId=a&extend=PIN,gatepins", "")
	got := []any{s.spaces.GetFilter().GetType(), s.upsert.GetReservation().GetState(), s.batch.GetReservations()[0].GetState(), s.batch.GetReservations()[1].GetState()}
	if diff := cmp.Diff([]any{"Bed", "started", "canceled", "checkedIn"}, got); diff != "" {
		t.Error(diff)
	}
	if resp := s.call("PATCH", "/v1/reservations", `{"state":"checkedIn"}`); resp.StatusCode != 400 {
		t.Errorf("a word that is not in the list: %d", resp.StatusCode)
	}
	if resp := s.call("GET", "/v1/reservations/find?pmsId=a&extend=PIN,gatepins", ""); resp.StatusCode != 200 {
		t.Errorf("a list of words: %d", resp.StatusCode)
	}
}

func TestAccept(t *testing.T) {
	s := newStack(t, chain.Limits{})
	for accept, want := range map[string]int{
		"": 200, "*/*": 200, "application/json": 200, "application/*;q=0.1": 200, "text/html, */*;q=0.8": 200,
		"Application/JSON; charset=utf-8": 200, "text/html": 406, "*/*;q=0": 406, "application/xml, text/plain": 406, "application/json; q=0.0": 406,
	} {
		if got := s.call("GET", "/v1/spaces", "", "Accept", accept).StatusCode; got != want {
			t.Errorf("Accept %q: %d, want %d", accept, got, want)
		}
	}
}

func TestInvalidRequestIDIsReplaced(t *testing.T) {
	s := newStack(t, chain.Limits{})
	for _, sent := range []string{strings.Repeat("x", 200), "a b", "<script>", "å"} {
		if got := s.call("GET", "/v1/spaces", "", "X-Request-Id", sent).Header.Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
			t.Errorf("%q became %q", sent, got)
		}
	}
}

func TestAccessLogContainsNoSecrets(t *testing.T) {
	s := newStack(t, chain.Limits{})
	s.call("GET", "/v1/reservations/find?pmsId=query-secret", "", "Authorization", "Bearer at-secret", "Access-Token", "at")
	s.call("PATCH", "/v1/reservations", `{"booker":{"lastName":"body-secret"},"state":"body-secret"}`)
	s.call("GET", "/v1/nothing/path-secret?x=query-secret", "")
	log := s.log.String()
	if strings.Contains(log, "secret") || strings.Count(log, "msg=call") != 3 {
		t.Errorf("log:\n%s", log)
	}
}

const booking = `{"pmsMeta":{"id":"r-1","spaceId":"101","updatedAt":"2026-11-20T15:00:00Z"},"pmsNumber":"17","booker":{"firstName":"Ann","lastName":"Bo","email":"ann@example.org"},"state":"confirmed","from":"2026-11-20T15:00:00+01:00","to":"2026-11-22T10:00:00+01:00","adultCount":2,"owing":10.5,"owingCurrency":"EUR"}`

// BenchmarkPatch measures the overhead of the ingest benchmark: everything except the handler.
func BenchmarkPatch(b *testing.B) {
	s := newStack(b, chain.Limits{PerMinute: 1 << 30, Burst: 1 << 30})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("PATCH", "/v1/reservations", strings.NewReader(booking))
		r.Header.Set("Client-Token", "ct")
		r.Header.Set("Access-Token", "at")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Body)
		}
		s.calls = s.calls[:0]
	}
}
