package idem_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/jsonpb"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/dbtest"
)

const (
	upsert = partnerv1.ReservationService_UpsertReservation_FullMethodName
	reset  = partnerv1.ReservationService_ResetKeyChain_FullMethodName
	read   = partnerv1.ReservationService_GetReservation_FullMethodName
)

var morning = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// service handles calls; each effect is a row.
type service struct {
	t       *testing.T
	db      *db.DB
	clock   *clock.Fixed
	answers *idem.Answers
	effects atomic.Int64
	secrets bool // whether its answers contain secrets
	booker  *partnerv1.Booker
	hold    chan struct{} // closed: do not wait in the handler
	entered chan struct{}
}

func each(t *testing.T, f func(t *testing.T, d *service)) {
	t.Helper()
	c := clock.At(morning)
	dbtest.Each(t, func(t *testing.T, database *db.DB) {
		c.Set(morning)
		keys := dbtest.Keys(t, database, "prp_1", "prp_2")
		d := &service{t: t, db: database, clock: c, answers: &idem.Answers{DB: database, Keys: keys, Render: map[string]idem.Renderer{}}}
		f(t, d)
	}, dbtest.Clock(c))
}

func as(ctx context.Context, a actor.Actor, key string) context.Context {
	ctx = actor.With(ctx, a)
	if key != "" {
		ctx = chain.NewCall(key, nil).With(ctx)
	}
	return ctx
}

// callOf returns the call of a context. Its key is empty if the context has none.
func callOf(ctx context.Context) *chain.Call {
	if call := chain.From(ctx); call != nil {
		return call
	}
	return chain.NewCall("", nil)
}

func integration(id string) actor.Actor {
	return actor.Actor{Kind: actor.Integration, IntegrationID: id, PropertyID: "prp_1"}
}

func request(number string) *partnerv1.UpsertReservationRequest {
	return &partnerv1.UpsertReservationRequest{Reservation: &partnerv1.Reservation{PmsMeta: &partnerv1.PmsMeta{Id: "A"}, PmsNumber: number}}
}

// call runs a call through the stored answers to a handler that stores a row.
func (d *service) call(ctx context.Context, method string, req proto.Message) (*partnerv1.UpsertReservationResponse, error) {
	out, err := d.answers.Unary(ctx, callOf(ctx), req, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, _ any) (any, error) {
		if d.entered != nil {
			d.entered <- struct{}{}
			<-d.hold
		}
		return idem.Write(ctx, d.answers, d.effect)
	})
	if err != nil {
		return nil, err
	}
	return out.(*partnerv1.UpsertReservationResponse), nil
}

func (d *service) effect(tx *db.Tx) (*partnerv1.UpsertReservationResponse, error) {
	id := fmt.Sprintf("effect-%d", d.effects.Add(1))
	r := &partnerv1.Reservation{Id: id, Booker: d.booker, GatesPins: []*partnerv1.GatePin{{GateId: "gat_1"}}}
	if d.secrets {
		pin := "739162"
		r.Pin, r.GatesPins[0].Pin = &pin, "583046"
	}
	return &partnerv1.UpsertReservationResponse{Data: r}, tx.Secret.Create().SetID(id).SetSealed([]byte{1}).Exec(tx.Context())
}

// stored counts the committed effects.
func (d *service) stored() int {
	d.t.Helper()
	all, err := d.db.View(d.t.Context()).Secret.Query().IDs(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	n := 0
	for _, id := range all {
		if strings.HasPrefix(id, "effect-") {
			n++
		}
	}
	return n
}

func (d *service) refuse(err error, reason fault.Reason) {
	d.t.Helper()
	if !fault.Has(err, reason) {
		d.t.Errorf("got %v, want the reason %s", err, reason)
	}
}

// Fifty concurrent calls with one key have one effect. A call that is refused as in flight gets the same answer later.
func TestConcurrentCallsHaveOneEffect(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		ctx := as(t.Context(), integration("int_1"), "k1")
		answers := make([]*partnerv1.UpsertReservationResponse, 50)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				for {
					var err error
					if answers[i], err = d.call(ctx, upsert, request("1")); err == nil {
						return
					}
					f, ok := fault.Of(err)
					if !ok || f.Reason != fault.IdempotencyInFlight || f.Kind != fault.Exists || f.RetryAfter <= 0 {
						t.Errorf("refused with %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		if n := d.stored(); n != 1 {
			t.Errorf("%d effects", n)
		}
		for _, a := range answers {
			if a.GetData().GetId() != answers[0].GetData().GetId() {
				t.Errorf("answers %v and %v", a, answers[0])
			}
		}
	})
}

func TestCallInFlightIsRefused(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		d.entered, d.hold = make(chan struct{}), make(chan struct{})
		ctx := as(t.Context(), integration("int_1"), "k1")
		done := make(chan error, 1)
		go func() { _, err := d.call(ctx, upsert, request("1")); done <- err }()
		<-d.entered
		_, err := d.call(ctx, upsert, request("1"))
		d.refuse(err, fault.IdempotencyInFlight)
		close(d.hold)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if a, err := d.call(ctx, upsert, request("1")); err != nil || a.GetData().GetId() != "effect-1" {
			t.Errorf("afterwards %v, %v", a, err)
		}
	})
}

func TestKeyIsBoundToRequestCallerAndMethod(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		one := as(t.Context(), integration("int_1"), "k1")
		first, err := d.call(one, upsert, request("1"))
		if err != nil || first.GetData().GetId() == "" {
			t.Fatal(first, err)
		}
		_, err = d.call(one, upsert, request("2"))
		d.refuse(err, fault.IdempotencyKeyReused)
		if f, _ := fault.Of(err); f == nil || f.Kind != fault.Invalid {
			t.Errorf("reused: %v, want 400", err)
		}
		for name, ctx := range map[string]context.Context{
			"another integration": as(t.Context(), integration("int_2"), "k1"),
			"another key":         as(t.Context(), integration("int_1"), "k2"),
			"no key":              as(t.Context(), integration("int_1"), ""),
			"no key again":        as(t.Context(), integration("int_1"), ""),
		} {
			if a, err := d.call(ctx, upsert, request("2")); err != nil || a.GetData().GetId() == first.GetData().GetId() {
				t.Errorf("%s: %v, %v", name, a, err)
			}
		}
		if n := d.stored(); n != 5 {
			t.Errorf("%d effects", n)
		}
	})
}

// A person may use a key at each of their properties.
func TestKeyIsBoundToProperty(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		seen := map[string]bool{}
		for _, property := range []string{"prp_1", "prp_2", "prp_1", "prp_2"} {
			person := actor.Actor{Kind: actor.Staff, ID: "per_1", PersonID: "per_1", PropertyID: property}
			answer, err := d.call(as(t.Context(), person, "k1"), upsert, request("1"))
			if err != nil {
				t.Fatalf("at %s: %v", property, err)
			}
			seen[answer.GetData().GetId()] = true
		}
		if len(seen) != 2 || d.stored() != 2 {
			t.Errorf("%d answers, %d effects, want one at each property", len(seen), d.stored())
		}
	})
}

// Calls that change nothing ignore the key.
func TestReadsIgnoreTheKey(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		ctx := as(t.Context(), integration("int_1"), "k1")
		for range 2 {
			if _, err := d.answers.Unary(ctx, callOf(ctx), &partnerv1.GetReservationRequest{Id: "rsv_1"}, &grpc.UnaryServerInfo{FullMethod: read},
				func(context.Context, any) (any, error) { d.effects.Add(1); return nil, nil }); err != nil {
				t.Fatal(err)
			}
		}
		if d.effects.Load() != 2 {
			t.Errorf("ran %d times", d.effects.Load())
		}
	})
}

// The key is stored in the transaction of the change, so a failed change leaves the key unused.
func TestAFailedChangeLeavesTheKeyFree(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		ctx := as(t.Context(), integration("int_1"), "k1")
		away := errors.New("away")
		_, err := d.answers.Unary(ctx, callOf(ctx), request("1"), &grpc.UnaryServerInfo{FullMethod: upsert}, func(ctx context.Context, _ any) (any, error) {
			return idem.Write(ctx, d.answers, func(tx *db.Tx) (*partnerv1.UpsertReservationResponse, error) {
				_, err := d.effect(tx)
				return nil, errors.Join(err, away)
			})
		})
		if !errors.Is(err, away) || d.stored() != 0 {
			t.Fatalf("%v, %d effects", err, d.stored())
		}
		if n, err := d.db.View(t.Context()).Idempotency.Query().Count(t.Context()); err != nil || n != 0 {
			t.Errorf("%d keys, %v", n, err)
		}
		if a, err := d.call(ctx, upsert, request("2")); err != nil || a.GetData().GetId() != "effect-2" {
			t.Errorf("%v, %v: the key is free for any request", a, err)
		}
		func() {
			defer func() { _ = recover() }()
			ctx := as(t.Context(), integration("int_1"), "k2")
			_, _ = d.answers.Unary(ctx, callOf(ctx), request("1"), &grpc.UnaryServerInfo{FullMethod: upsert},
				func(context.Context, any) (any, error) { panic("in a handler") })
		}()
		if _, err := d.call(as(t.Context(), integration("int_1"), "k2"), upsert, request("1")); err != nil {
			t.Errorf("after a panic the key is in flight for ever: %v", err)
		}
	})
}

// Two processes share the stored rows, but not the list of calls in flight.
func TestTwoServers(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		ctx := as(t.Context(), integration("int_1"), "k1")
		other := &service{t: t, db: d.db, clock: d.clock, answers: &idem.Answers{DB: d.db, Keys: d.answers.Keys}}
		d.entered, d.hold = make(chan struct{}), make(chan struct{})
		done := make(chan error, 1)
		go func() { _, err := d.call(ctx, upsert, request("1")); done <- err }()
		<-d.entered
		other.effects.Store(100)
		if _, err := other.call(ctx, upsert, request("1")); err != nil {
			t.Fatal(err)
		}
		close(d.hold)
		d.refuse(<-done, fault.IdempotencyInFlight)
		d.entered = nil
		if a, err := d.call(ctx, upsert, request("1")); err != nil || a.GetData().GetId() != "effect-101" || d.stored() != 1 {
			t.Errorf("%v, %v, %d effects", a, err, d.stored())
		}
	})
}

func TestResetIsASeparateMethod(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		ctx := as(t.Context(), integration("int_1"), "k1")
		if _, err := d.call(ctx, upsert, request("1")); err != nil {
			t.Fatal(err)
		}
		_, err := d.answers.Unary(ctx, callOf(ctx), &partnerv1.ResetKeyChainRequest{PmsId: "A"}, &grpc.UnaryServerInfo{FullMethod: reset}, func(ctx context.Context, _ any) (any, error) {
			return idem.Write(ctx, d.answers, func(*db.Tx) (*partnerv1.ResetKeyChainResponse, error) {
				return &partnerv1.ResetKeyChainResponse{}, nil
			})
		})
		if err != nil {
			t.Errorf("the same key for another method: %v", err)
		}
	})
}

// Unknown names and values of a wrong type are part of the request. Different formatting of the same body is not.
func TestUnknownFieldsArePartOfTheRequest(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		send := func(raw string) error {
			msg, report := &partnerv1.UpsertReservationRequest{}, &jsonpb.Report{}
			jsonpb.Decode([]byte(raw), msg.ProtoReflect(), report)
			_, err := d.call(chain.NewCall("k1", report).With(as(t.Context(), integration("int_1"), "")), upsert, msg)
			return err
		}
		if err := send(`{"reservation": {"pmsNumber": "1", "room": "A", "adultCount": "two"}}`); err != nil {
			t.Fatal(err)
		}
		if err := send(`{"reservation":{"adultCount":"two","room":"A","pmsNumber":"1"}}`); err != nil {
			t.Errorf("the same in another order: %v", err)
		}
		for _, other := range []string{
			`{"reservation": {"pmsNumber": "1", "room": "B", "adultCount": "two"}}`,
			`{"reservation": {"pmsNumber": "1", "room": "A", "adultCount": "three"}}`,
			`{"reservation": {"pmsNumber": "1"}}`,
		} {
			d.refuse(send(other), fault.IdempotencyKeyReused)
		}
		if n := d.stored(); n != 1 {
			t.Errorf("%d effects", n)
		}
	})
}

// A stored answer may outlive the erasure of a guest, so it holds no personal data. What a repeated call shows comes from the renderer.
func TestStoredAnswersHoldNoPersonalData(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		d.booker = &partnerv1.Booker{LastName: "Lovelace"}
		d.answers.StripPersonal = map[string]func(proto.Message){upsert: func(answer proto.Message) {
			answer.(*partnerv1.UpsertReservationResponse).Data.Booker = nil
		}}
		ctx := as(t.Context(), integration("int_1"), "k1")
		first, err := d.call(ctx, upsert, request("1"))
		if err != nil || first.GetData().GetBooker().GetLastName() != "Lovelace" {
			t.Fatalf("first: %v, %v", first, err)
		}
		if again, err := d.call(ctx, upsert, request("1")); err != nil || again.GetData().GetId() != first.GetData().GetId() || again.GetData().GetBooker() != nil {
			t.Errorf("repeated: %v, %v", again, err)
		}
	})
}

// The plain hash of a request with few possible values, such as a date of birth, would reveal the request. Earlier versions stored it.
func TestRequestHashIsKeyed(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		ctx := as(t.Context(), integration("int_1"), "k1")
		if _, err := d.call(ctx, upsert, request("1")); err != nil {
			t.Fatal(err)
		}
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(request("1"))
		if err != nil {
			t.Fatal(err)
		}
		plain := sha256.Sum256(raw)
		row := d.db.View(t.Context()).Idempotency.Query().OnlyX(t.Context())
		if bytes.Equal(row.RequestHash, plain[:]) {
			t.Error("the plain hash of the request is stored")
		}
		d.write(func(tx *db.Tx) error { // as an earlier version stored it
			_, err := tx.ExecContext(tx.Context(), "UPDATE idempotency_keys SET request_hash = $1", plain[:])
			return err
		})
		if a, err := d.call(ctx, upsert, request("1")); err != nil || a.GetData().GetId() != "effect-1" {
			t.Errorf("repeated after an upgrade: %v, %v", a, err)
		}
		_, err = d.call(ctx, upsert, request("2"))
		d.refuse(err, fault.IdempotencyKeyReused)
	})
}

func (d *service) write(f func(tx *db.Tx) error) {
	d.t.Helper()
	if err := d.db.Write(d.t.Context(), f); err != nil {
		d.t.Fatal(err)
	}
}
