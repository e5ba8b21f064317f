package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
)

// send sends a reservation unchanged.
func send(t *testing.T, w *e2etest.World, as e2etest.Caller, content any) e2etest.Outcome {
	t.Helper()
	o, err := w.Do(t.Context(), as, "PATCH", "/v1/reservations", content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestUpdatesAreOrdered(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w := e2etest.Open(t, e2etest.Database(url))
		at := func(seconds int, number string) e2etest.Outcome {
			r := good("O")
			r["pmsNumber"] = number
			r["pmsMeta"] = map[string]any{"id": "O", "updatedAt": time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC).Format(time.RFC3339)}
			return send(t, w, w.Partner(), r)
		}
		for _, step := range []struct {
			seconds      int
			number, want string
			stale        any
		}{
			{10, "first", "first", nil}, {9, "older", "first", true}, {10, "equal", "equal", nil}, {11, "newer", "newer", nil}, {0, "oldest", "newer", true},
		} {
			o := at(step.seconds, step.number)
			if !o.OK() || o.Data()["pmsNumber"] != step.want || o.Data()["stale"] != step.stale {
				t.Errorf("%s: %v %v", step.number, o, o.Data())
			}
		}
		before := e2etest.PartnerView(t, w)
		at(1, "older still")
		if after := e2etest.PartnerView(t, w); after != before {
			t.Errorf("a stale update changed something:\n%s\n%s", before, after)
		}
		// Without a time of the PMS's, the order of arrival counts.
		r := good("O")
		r["pmsNumber"] = "undated"
		if o := send(t, w, w.Partner(), r); o.Data()["pmsNumber"] != "undated" {
			t.Error(o, o.Data())
		}
	})
}

func TestARepeatedCallHasOneEffectAndOneAnswer(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w := e2etest.Open(t, e2etest.Database(url))
		keyed := w.Partner().WithHeader("Idempotency-Key", "k-1")
		first := send(t, w, keyed, good("I"))
		send(t, w, w.Partner(), map[string]any{"pmsMeta": map[string]any{"id": "I"}, "pmsNumber": "changed"})
		again := send(t, w, keyed, good("I"))
		if !first.OK() || string(first.Raw) != string(again.Raw) {
			t.Errorf("the first answer:\n%s\nrepeated:\n%s", first.Raw, again.Raw)
		}
		if o, err := w.Do(t.Context(), w.Partner(), "GET", "/v1/reservations/find?pmsId=I", nil); err != nil || o.Data()["pmsNumber"] != "changed" {
			t.Errorf("the repeated call had an effect: %v %v", o.Data(), err)
		}
		other := good("I")
		other["pmsNumber"] = "2"
		if o := send(t, w, keyed, other); o.HTTP != 400 || o.Reason != "idempotencyKeyReused" {
			t.Errorf("another body: %v", o)
		}
		// The key is the integration's and the method's own.
		if o := send(t, w, e2etest.ConnectApp(t, w, "Another").WithHeader("Idempotency-Key", "k-1"), other); !o.OK() {
			t.Errorf("another integration: %v", o)
		}
		if o, err := w.Do(t.Context(), keyed, "POST", "/v1/reservations/resetKeyChain", `{"pmsId":"I","reset":"pin"}`); err != nil || !o.OK() {
			t.Errorf("another method: %v %v", o, err)
		}
		// The same key over another protocol is the same key.
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.New(keyed.Headers))
		_, err := partnerv1.NewReservationServiceClient(w.Public).ResetKeyChain(ctx, &partnerv1.ResetKeyChainRequest{PmsId: "I", Reset_: "ekey"})
		if o, _ := e2etest.GRPCOutcome(err); o.Code != codes.InvalidArgument || o.Reason != "idempotencyKeyReused" {
			t.Errorf("over gRPC: %v", err)
		}
	})
}

// An answer is stored without the booker and the companions. A repeated one shows those that are stored now.
func TestRepeatedAnswerHasTheCurrentBooker(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	one := good("P")
	one["pmsMeta"] = map[string]any{"id": "P", "companionIds": []any{"C1", "C2"}}
	one["booker"] = map[string]any{"firstName": "Ada", "lastName": "Lovelace"}
	batch := func() e2etest.Outcome {
		t.Helper()
		o, err := w.Do(t.Context(), w.Partner().WithHeader("Idempotency-Key", "p-2"), "PATCH", "/v1/reservations/batch", map[string]any{"reservations": []any{one}})
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		return o
	}
	keyed := w.Partner().WithHeader("Idempotency-Key", "p-1")
	first, both := send(t, w, keyed, one), batch()
	if again := send(t, w, keyed, one); string(again.Raw) != string(first.Raw) || e2etest.ValueAt(again.Data(), "booker.lastName") != "Lovelace" {
		t.Errorf("first %s, repeated %s", first.Raw, again.Raw)
	}
	if again := batch(); string(again.Raw) != string(both.Raw) {
		t.Errorf("first %s, repeated %s", both.Raw, again.Raw)
	}
	send(t, w, w.Partner(), map[string]any{"pmsMeta": map[string]any{"id": "P"}, "booker": map[string]any{"firstName": nil, "lastName": "Hopper"}})
	if again := send(t, w, keyed, one); e2etest.ValueAt(again.Data(), "booker.lastName") != "Hopper" {
		t.Errorf("the repeated answer shows a booker that is not stored any more: %s", again.Raw)
	}
	if again := batch(); strings.Contains(string(again.Raw), "Lovelace") {
		t.Errorf("the repeated batch shows a booker that is not stored any more: %s", again.Raw)
	}
}

func TestRepeatedAnswerHasCurrentSecrets(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	e2etest.PushReservation(t, w, "S", map[string]any{"state": "started", "roomId": "R101"})
	reset := func(key string) string {
		o, err := w.Do(t.Context(), w.Partner().WithHeader("Idempotency-Key", key), "POST", "/v1/reservations/resetKeyChain", `{"pmsId":"S","reset":"pin"}`)
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		return e2etest.ValueAt(o.Data(), "reservation.pin").(string)
	}
	first := reset("r-1")
	if again := reset("r-1"); again != first {
		t.Errorf("a repeated reset drew again: %s, %s", first, again)
	}
	second := reset("r-2")
	if second == first {
		t.Errorf("another reset drew the same PIN")
	}
	if again := reset("r-1"); again != second {
		t.Errorf("the answer that was kept shows the PIN %s, which is %s now: PINs are not kept with answers", again, second)
	}
	app := e2etest.ConnectApp(t, w, "With endpoints").WithHeader("Idempotency-Key", "e-1")
	register := func() e2etest.Outcome {
		o, err := w.Do(t.Context(), app, "PATCH", "/v1/endpoints", fmt.Sprintf(`{"action":"checkIn","url":"%s/check-in","token":"T"}`, w.PMSURL()))
		if err != nil || !o.OK() {
			t.Fatal(o, err)
		}
		return o
	}
	if o := register(); !strings.Contains(string(o.Raw), "whsec_") {
		t.Errorf("the first registration shows no secret: %s", o.Raw)
	}
	if o := register(); strings.Contains(string(o.Raw), "whsec_") || o.Data()["token"] != "T" {
		t.Errorf("the repeated one: %s", o.Raw)
	}
}

// What is deleted is deleted once, and said again.
func TestARepeatedRemoval(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	app := e2etest.ConnectApp(t, w, "For a day")
	o, err := w.Do(t.Context(), app, "PATCH", "/v1/endpoints", fmt.Sprintf(`{"action":"checkIn","url":"%s/check-in","token":"T"}`, w.PMSURL()))
	if err != nil || !o.OK() {
		t.Fatal(o, err)
	}
	for range 2 {
		o, err := w.Do(t.Context(), app.WithHeader("Idempotency-Key", "d-1"), "DELETE", "/v1/endpoints/checkIn", nil)
		if err != nil || !o.OK() || o.Data()["action"] != "checkIn" {
			t.Errorf("%v %v %s", err, o, o.Raw)
		}
	}
}

func TestRunningCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Latency = time.Second })
	locks, err := propertyv1.NewLockServiceClient(w.Public).ListLocks(w.Staff(t.Context()), &propertyv1.ListLocksRequest{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	unlock := func() e2etest.Outcome {
		o, err := w.Do(t.Context(), w.Owner().WithHeader("Idempotency-Key", "door"), "POST", "/v1/property/locks/"+locks.GetData().GetList()[0].GetId()+":unlock", `{}`)
		if err != nil {
			t.Error(err)
		}
		return o
	}
	answers := make([]e2etest.Outcome, 4)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = unlock() })
	}
	all.Wait()
	done := 0
	var act string
	for _, o := range answers {
		switch {
		case o.OK():
			done++
			act = o.Data()["id"].(string)
		case o.HTTP != 409 || o.Reason != "idempotencyInFlight":
			t.Errorf("%v", o)
		}
	}
	if done != 1 {
		t.Errorf("%d of %d calls at once were run", done, len(answers))
	}
	if o := unlock(); !o.OK() || o.Data()["id"] != act {
		t.Errorf("repeated: %v %s; want the act %s", o, o.Raw, act)
	}
}

func TestOneIntegrationUsesUpItsOwnLimitOnly(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, func(c *sandbox.Config) {
		c.Server.Rate = config.Rate{PerMinute: 60, Burst: 5, BatchPerMinute: 2, StaffPerMinute: 600, StaffBurst: 1000}
	})
	greedy := e2etest.ConnectApp(t, w, "Greedy")
	var o e2etest.Outcome
	for range 20 {
		var err error
		if o, err = w.Do(t.Context(), greedy, "GET", "/v1/spaces", nil); err != nil {
			t.Fatal(err)
		}
		if !o.OK() {
			break
		}
	}
	if o.HTTP != 429 || o.Reason != "rateLimited" || o.Code != codes.ResourceExhausted {
		t.Fatalf("after the burst: %v", o)
	}
	after, err := strconv.Atoi(o.Header.Get("Retry-After"))
	if err != nil || after < 1 || after > 60 || o.Header.Get("RateLimit") == "" || o.Header.Get("RateLimit-Policy") == "" {
		t.Errorf("headers %v", o.Header)
	}
	var e struct {
		Error struct {
			Details []struct {
				Type string `json:"@type"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(o.Raw, &e); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, d := range e.Error.Details {
		kinds = append(kinds, d.Type[strings.LastIndexByte(d.Type, '.')+1:])
	}
	if got := strings.Join(kinds, " "); got != "ErrorInfo RetryInfo QuotaFailure RequestInfo" {
		t.Errorf("details %s", got)
	}
	if _, err := partnerv1.NewSpaceServiceClient(w.Public).ListSpaces(metadata.NewOutgoingContext(t.Context(), metadata.New(greedy.Headers)), &partnerv1.ListSpacesRequest{}); !retryInfo(err) {
		t.Errorf("over gRPC: %v", err)
	}
	if o, err := w.Do(t.Context(), w.Partner(), "GET", "/v1/integration", nil); err != nil || !o.OK() {
		t.Errorf("another integration: %v %v", o, err)
	}
	// Batches have a budget of their own.
	for want := range 3 {
		o, err := w.Do(t.Context(), w.Partner(), "PATCH", "/v1/reservations/batch", map[string]any{"reservations": []any{good("L")}})
		if err != nil || o.OK() != (want < 2) {
			t.Errorf("batch %d: %v %v", want+1, o, err)
		}
	}
}

func retryInfo(err error) bool {
	for _, d := range status.Convert(err).Details() {
		if _, ok := d.(*errdetails.RetryInfo); ok {
			return status.Code(err) == codes.ResourceExhausted
		}
	}
	return false
}

// Two changes of one reservation at once both come through, and one of them is the last.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w := e2etest.Open(t, e2etest.Database(url))
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				r := good("C")
				r["pmsNumber"] = strconv.Itoa(i)
				if i%2 == 0 {
					r = map[string]any{"reservations": []any{r, good("C" + strconv.Itoa(i))}}
				}
				path := map[bool]string{true: "/v1/reservations/batch", false: "/v1/reservations"}[i%2 == 0]
				if o, err := w.Do(context.Background(), w.Partner(), "PATCH", path, r); err != nil || !o.OK() || strings.Contains(string(o.Raw), `"failures":[{`) {
					t.Errorf("%d: %v %v %s", i, o, err, o.Raw)
				}
			})
		}
		all.Wait()
		o, err := w.Do(t.Context(), w.Partner(), "GET", "/v1/reservations?pageSize=200", nil)
		list, _ := o.Data()["list"].([]any)
		if err != nil || len(list) != 9 {
			t.Errorf("%d reservations; want 9 (%v)", len(list), err)
		}
	})
}
