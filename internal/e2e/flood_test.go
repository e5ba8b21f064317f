package e2e

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// largest is a body of nearly one mebibyte that repeats one entry of a list.
func largest(before, entry, after string) []byte {
	n := (1<<20 - len(before) - len(after)) / (len(entry) + 1)
	return []byte(before + strings.Repeat(entry+",", n-1) + entry + after)
}

// flood calls sixteen times at once and returns the outcomes, and how much client and server allocated together.
func flood(t *testing.T, call func(context.Context) (e2etest.Outcome, error)) (all []e2etest.Outcome, used uint64) {
	t.Helper()
	if _, err := call(t.Context()); err != nil { // connections, rules and plans are made once
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all = make([]e2etest.Outcome, 16)
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			var err error
			if all[i], err = call(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	runtime.ReadMemStats(&after)
	return all, after.TotalAlloc - before.TotalAlloc
}

var (
	upsertBatch = e2etest.FindRPC("latchkey.partner.v1.ReservationService/BatchUpsertReservations")
	emptyOnes   = largest(`{"reservations":[`, `{}`, `]}`)
	emptyWire   = []byte(strings.Repeat("\x0a\x00", (1<<20-2)/2))
)

// strangers are the ways to send a large body to a method that needs a credential.
func strangers(w *e2etest.World) map[string]func(context.Context, e2etest.Caller) (e2etest.Outcome, error) {
	connect := func(kind string, raw []byte) func(context.Context, e2etest.Caller) (e2etest.Outcome, error) {
		return func(ctx context.Context, c e2etest.Caller) (e2etest.Outcome, error) {
			o, err := w.HTTPCall(ctx, c, "POST", "/"+upsertBatch.Name, kind, raw)
			if err != nil {
				return o, err
			}
			return o, o.ReadConnect(upsertBatch)
		}
	}
	return map[string]func(context.Context, e2etest.Caller) (e2etest.Outcome, error){
		"REST": func(ctx context.Context, c e2etest.Caller) (e2etest.Outcome, error) {
			return w.Do(ctx, c, "PATCH", "/v1/reservations/batch", emptyOnes)
		},
		"Connect JSON":  connect("application/json", emptyOnes),
		"Connect proto": connect("application/proto", emptyWire),
		"gRPC": func(ctx context.Context, c e2etest.Caller) (e2etest.Outcome, error) {
			return w.CallRaw(ctx, c, upsertBatch, emptyWire)
		},
	}
}

// TestLargeUnauthenticatedBodiesCostLittle has sixteen callers at once send one mebibyte without a credential, and past their limit.
// Decoded, each body took about 200 MB.
func TestLargeUnauthenticatedBodiesCostLittle(t *testing.T) {
	w := e2etest.Open(t, func(c *sandbox.Config) {
		c.Server.Rate = config.Rate{PerMinute: 200, Burst: 100, BatchPerMinute: 1, StaffPerMinute: 1000, StaffBurst: 100}
	})
	const most = 8 << 20 // the client's part is among this
	for name, call := range strangers(w) {
		t.Run(name, func(t *testing.T) {
			all, used := flood(t, func(ctx context.Context) (e2etest.Outcome, error) { return call(ctx, w.Partner()) })
			for _, o := range all {
				if o.Code != codes.ResourceExhausted || o.Reason != "rateLimited" || o.Header.Get("Retry-After") == "" || o.Header.Get("RateLimit") == "" || o.RequestID == "" {
					t.Errorf("past the limit: %v %v", o, o.Header)
				}
			}
			if used > most {
				t.Errorf("past the limit: %d bytes were allocated", used)
			}
			all, used = flood(t, func(ctx context.Context) (e2etest.Outcome, error) { return call(ctx, e2etest.Anonymous()) })
			for _, o := range all {
				if o.Code != codes.Unauthenticated && o.Reason != "rateLimited" {
					t.Errorf("a stranger: %v", o)
				}
			}
			if used > most {
				t.Errorf("a stranger: %d bytes were allocated", used)
			}
		})
	}
}

// TestLargeListsOfStaffCostLittle sends what made a violation of each entry: hundreds of megabytes and seconds for each call.
func TestLargeListsOfStaffCostLittle(t *testing.T) {
	w := e2etest.Open(t)
	for _, c := range []struct {
		caller     e2etest.Caller
		verb, path string
		body       []byte
		list       string
	}{
		{w.Owner(), "POST", "/v1/property/spaces:batchCreate", largest(`{"spaces":[`, `{}`, `]}`), "spaces"},
		{w.Owner(), "POST", "/v1/property/notices:markRead", largest(`{"ids":[`, `0`, `]}`), "ids"},
		{w.Partner(), "PATCH", "/v1/reservations", largest(`{"pmsMeta":{"companionIds":[`, `""`, `]}}`), "pmsMeta.companionIds"},
		{w.Partner(), "PATCH", "/v1/reservations/batch", emptyOnes, "reservations"},
	} {
		t.Run(c.path, func(t *testing.T) {
			all, used := flood(t, func(ctx context.Context) (e2etest.Outcome, error) { return w.Do(ctx, c.caller, c.verb, c.path, c.body) })
			for _, o := range all {
				if o.HTTP != 400 || o.Fields[c.list] != "tooMany" {
					t.Errorf("%d %.200v", o.HTTP, o.Fields)
				}
			}
			if used > 16*5<<20 { // a body, and its copies on both sides
				t.Errorf("%d bytes were allocated", used)
			}
		})
	}
}

// TestTokenHasItsOwnLimit counts the calls of staff by token, of operators too.
func TestTokenHasItsOwnLimit(t *testing.T) {
	w := e2etest.Open(t, func(c *sandbox.Config) {
		c.Server.Rate = config.Rate{PerMinute: 1000, Burst: 1000, BatchPerMinute: 1000, StaffPerMinute: 60, StaffBurst: 200}
	})
	var o e2etest.Outcome
	served := 0
	for o.HTTP != 429 && served <= 300 {
		var err error
		if o, err = w.Do(t.Context(), w.Owner(), "GET", "/v1/property", nil); err != nil {
			t.Fatal(err)
		}
		served++
	}
	after, err := strconv.Atoi(o.Header.Get("Retry-After"))
	if served < 3 || served > 250 || o.Reason != "rateLimited" || err != nil || after < 1 || o.Header.Get("RateLimit-Policy") != `"calls";q=60;w=60` {
		t.Errorf("after %d calls: %v %v", served, o, o.Header)
	}
	if o, err := w.Do(t.Context(), e2etest.Operator(), "GET", "/v1/admin/properties", nil); err != nil || !o.OK() {
		t.Errorf("an operator at the socket: %v %v", o, err)
	}
}

// asked notices whether a body was asked for.
type asked struct{ read bool }

func (a *asked) Read([]byte) (int, error) {
	a.read = true
	return 0, io.EOF
}

// TestUnauthenticatedBodyIsNotRead has callers wait for leave to send, as Expect: 100-continue says.
func TestUnauthenticatedBodyIsNotRead(t *testing.T) {
	w := e2etest.Open(t)
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	for path, verb := range map[string]string{"/v1/reservations/batch": "PATCH", "/" + upsertBatch.Name: "POST"} {
		for token, status := range map[string]int{"": 401, w.AccessToken: 400} {
			content := &asked{}
			req, err := http.NewRequestWithContext(t.Context(), verb, w.Base+path, content)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Expect", "100-continue")
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != status || content.read != (status != 401) {
				t.Errorf("%s: %d, the body was asked for: %v", path, res.StatusCode, content.read)
			}
		}
	}
}

// TestUnauthenticatedCallIsAnsweredBeforeItsMessage opens calls over gRPC and sends nothing.
func TestUnauthenticatedCallIsAnsweredBeforeItsMessage(t *testing.T) {
	w := e2etest.Open(t)
	st, err := w.Public.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, "/"+upsertBatch.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.RecvMsg(upsertBatch.Reply()); status.Code(err) != codes.Unauthenticated {
		t.Errorf("%v", err)
	}
	if h, err := st.Header(); err != nil || len(h["x-request-id"]) != 1 {
		t.Errorf("%v %v", h, err)
	}
}
