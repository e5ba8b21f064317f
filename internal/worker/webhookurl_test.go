package worker

import (
	"context"
	"errors"
	"testing"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/partner"
)

// At a new URL the retries of an event begin from the first: its failures at the old URL do not count, or its last retry would be the only
// one there, and would disable the webhook.
func TestNewURLStartsTheRetriesAgain(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		right := h.register("int_one", "https://pms.example/")
		h.answer = func(_ context.Context, m hookMessage) Sent {
			if m.Subject == "lck_a" {
				return refused
			}
			return Sent{}
		}
		h.emit("lck_a")
		for range 9 {
			h.emit("lck_b") // the webhook works
			h.deliver(right)
			h.clock.Set(cursors(h.T, h.DB, right.WebhookID)[1].RetryAt)
		}
		write(h.T, h.DB, func(tx *db.Tx) error {
			_, _, err := h.Registry.RegisterWebhook(tx, partner.WebhookChange{
				PropertyID: "prp_one", IntegrationID: "int_one", ID: right.WebhookID, URL: "https://new.example/",
			}, func(string) error { return nil })
			return err
		})
		h.deliver(right)
		row := h.DB.View(h.Context()).Webhook.Query().OnlyX(h.Context())
		if row.DisabledAt != nil || row.GivenUp != 0 || row.Failures != 1 {
			h.Errorf("disabled at %v (%s), %d events given up, %d failures; want nil, 0 and 1", row.DisabledAt, row.DisabledReason, row.GivenUp, row.Failures)
		}
		if held := cursors(h.T, h.DB, right.WebhookID); len(held) != 2 || held[1].Attempts != 1 {
			h.Errorf("the cursors are %+v, want one that is held back after one attempt", held)
		}
	})
}

// What the old URL answers after the change says nothing about the new one, which then gets the event.
func TestAnswerOfTheOldURLDoesNotCount(t *testing.T) {
	eachHooks(t, func(h *hooks) {
		right := h.register("int_one", "https://pms.example/")
		h.answer = func(_ context.Context, m hookMessage) Sent {
			if m.URL == "https://new.example/" {
				return Sent{}
			}
			write(h.T, h.DB, func(tx *db.Tx) error {
				_, _, err := h.Registry.RegisterWebhook(tx, partner.WebhookChange{
					PropertyID: "prp_one", IntegrationID: "int_one", ID: right.WebhookID, URL: "https://new.example/",
				}, func(string) error { return nil })
				return err
			})
			return Sent{Gone: true, Failure: refused.Failure}
		}
		h.emit("lck_a")
		if _, err := h.run(h.Context(), right); !errors.Is(err, event.ErrMoved) {
			h.Fatalf("the job of the old URL: %v, want that it lost its right", err)
		}
		if row := h.DB.View(h.Context()).Webhook.Query().OnlyX(h.Context()); row.DisabledAt != nil || row.Failures != 0 {
			h.Fatalf("disabled at %v (%s) with %d failures after an answer of the old URL", row.DisabledAt, row.DisabledReason, row.Failures)
		}
		h.deliver(right)
		if got := h.received("lck_a"); len(got) != 2 {
			h.Errorf("received %v, want the event at the old and at the new URL", got)
		}
	})
}

// A job that delivers keeps the settings that it has loaded. A change of what the webhook receives, or of its secret, ends the job, so that
// no event of a new kind is passed over, and no further message is sent by the old settings.
func TestChangeOfSettingsEndsTheJob(t *testing.T) {
	for name, change := range map[string]func(h *hooks, tx *db.Tx, webhookID string) error{
		"kinds": func(h *hooks, tx *db.Tx, webhookID string) error {
			_, _, err := h.Registry.RegisterWebhook(tx, partner.WebhookChange{
				PropertyID: "prp_one", IntegrationID: "int_one", ID: webhookID, Kinds: []string{string(event.LockOffline), string(event.LockJammed)},
			}, func(string) error { return nil })
			return err
		},
		"secret": func(h *hooks, tx *db.Tx, webhookID string) error {
			_, _, err := h.Registry.RotateWebhookSecret(tx, "prp_one", "int_one", webhookID, 0)
			return err
		},
		"scopes": func(h *hooks, tx *db.Tx, _ string) error {
			_, err := h.Registry.Update(tx, "prp_one", "int_one", nil, []string{actor.ReservationsRead})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHooks(t, func(h *hooks) {
				right := h.register("int_one", "https://pms.example/")
				changed := false
				h.answer = func(context.Context, hookMessage) Sent {
					if !changed {
						changed = true
						write(h.T, h.DB, func(tx *db.Tx) error {
							if err := change(h, tx, right.WebhookID); err != nil {
								return err
							}
							return event.Append(tx, event.Event{PropertyID: "prp_one", Subject: "lck_b", Kind: event.LockJammed})
						})
						h.emit("lck_c")
					}
					return Sent{}
				}
				h.emit("lck_a")
				if _, err := h.run(h.Context(), right); !errors.Is(err, event.ErrMoved) {
					h.Errorf("the job with the old settings: %v, want that it lost its right", err)
				}
				h.deliver(right)
				if a, b, c := len(h.received("lck_a")), len(h.received("lck_b")), len(h.received("lck_c")); a != 2 || c != 1 || b != 1 && name == "kinds" {
					h.Errorf("received %d, %d and %d messages, want 2, 1 with the new kind, and 1", a, b, c)
				}
			})
		})
	}
}
