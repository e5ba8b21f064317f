package idem_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/fault"
)

// Stored answers are encrypted and contain no secrets. A repeated answer contains only secrets from a renderer.
func TestAnswersAreStoredWithoutSecrets(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		d.secrets = true
		d.answers.Render[upsert] = func(_ context.Context, answer proto.Message) error {
			want := &partnerv1.UpsertReservationResponse{Data: &partnerv1.Reservation{Id: "effect-1", GatesPins: []*partnerv1.GatePin{{GateId: "gat_1"}}}}
			if !proto.Equal(want, answer) {
				t.Errorf("to be rendered %v, want %v", answer, want)
			}
			pin := "now"
			answer.(*partnerv1.UpsertReservationResponse).Data.Pin = &pin
			return nil
		}
		ctx := as(t.Context(), integration("int_1"), "k1")
		if _, err := d.call(ctx, upsert, request("1")); err != nil {
			t.Fatal(err)
		}
		row, err := d.db.View(t.Context()).Idempotency.Query().Only(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"effect-1", "739162", "583046", "gat_1"} {
			if bytes.Contains(row.Answer, []byte(word)) {
				t.Errorf("the stored answer says %q in the clear", word)
			}
		}
		again, err := d.call(ctx, upsert, request("1"))
		if err != nil || again.GetData().GetPin() != "now" {
			t.Errorf("rendered %v, %v", again, err)
		}
		d.answers.Render[upsert] = func(context.Context, proto.Message) error { return errors.New("away") }
		if _, err = d.call(ctx, upsert, request("1")); err == nil {
			t.Error("an answer that cannot be rendered was given")
		}
	})
}

// An answer with a secret that has no renderer is not repeated: without the secret it would look like a success.
func TestASecretIsShownOnce(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		d.secrets = true
		ctx := as(t.Context(), integration("int_1"), "k1")
		if first, err := d.call(ctx, upsert, request("1")); err != nil || first.GetData().GetPin() == "" {
			t.Fatal(first, err)
		}
		for range 2 {
			_, err := d.call(ctx, upsert, request("1"))
			d.refuse(err, fault.ShownOnce)
		}
		_, err := d.call(ctx, upsert, request("2"))
		d.refuse(err, fault.IdempotencyKeyReused)
		if n := d.stored(); n != 1 {
			t.Errorf("%d effects", n)
		}
		d.secrets = false
		bare := as(t.Context(), integration("int_1"), "k2")
		first, err := d.call(bare, upsert, request("1"))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.call(bare, upsert, request("1")); err != nil || !proto.Equal(first, again) {
			t.Errorf("the same method without a secret: %v, %v, want %v", again, err, first)
		}
	})
}

func TestAnswersExpireAfterSevenDays(t *testing.T) {
	each(t, func(t *testing.T, d *service) {
		ctx := as(t.Context(), integration("int_1"), "k1")
		if _, err := d.call(ctx, upsert, request("1")); err != nil {
			t.Fatal(err)
		}
		d.clock.Advance(idem.AnswerTTL - time.Second)
		if a, err := d.call(ctx, upsert, request("1")); err != nil || a.GetData().GetId() != "effect-1" {
			t.Errorf("on the seventh day %v, %v", a, err)
		}
		d.clock.Advance(time.Second)
		if a, err := d.call(ctx, upsert, request("2")); err != nil || a.GetData().GetId() != "effect-2" {
			t.Errorf("after seven days %v, %v", a, err)
		}
	})
}
