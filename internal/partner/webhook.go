package partner

import (
	"fmt"
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/ent/webhook"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// MaxWebhooks is how many webhooks an integration may have.
const MaxWebhooks = 10

// AllKinds, alone in a webhook's kinds, means every kind of event.
const AllKinds = "all"

// Reasons why a webhook is disabled.
const (
	DisabledByPartner = "partner" // the partner switched it off
	DisabledGone      = "gone"    // the webhook answered 410
	DisabledFailing   = "failing" // no delivery succeeded for as long as one event was retried
)

// WebhookRow is a webhook as stored.
type WebhookRow = ent.Webhook

// WebhookChange is a change of a webhook. Fields that are empty or nil keep their value.
type WebhookChange struct {
	PropertyID, IntegrationID string

	ID      string // ID is the webhook to change; empty: the one with this URL, or a new one
	URL     string
	Kinds   []string
	Enabled *bool
}

// RegisterWebhook changes the webhook with the ID of c (a not-found fault if there is none), or without an ID the one with its URL, or else
// creates one, at most MaxWebhooks per integration. A webhook may name the kind PINGenerated only if the integration has the scope
// pins:read. Other invalid fields are a fault, too: see check. A new one without kinds gets all. A webhook that is switched off loses the
// events that it has not received yet. The string is the signing secret of a new webhook, which is shown once, or "" for a change.
func (r *Registry) RegisterWebhook(tx *db.Tx, c WebhookChange, checkURL func(string) error) (*WebhookRow, string, error) {
	own, err := Integration(tx, c.PropertyID, c.IntegrationID)
	if err != nil {
		return nil, "", err
	}
	all, err := Webhooks(tx, c.PropertyID, c.IntegrationID)
	if err != nil {
		return nil, "", err
	}
	if slices.Contains(c.Kinds, string(event.PINGenerated)) && !slices.Contains(own.Scopes, actor.PINsRead) {
		return nil, "", fault.New(fault.Denied, fault.ScopeMissing, "reservationPinGenerated needs the scope pins:read; the property's owner can grant it").Put("scope", actor.PINsRead)
	}
	i := slices.IndexFunc(all, func(w *WebhookRow) bool { return w.ID == c.ID || c.ID == "" && w.URL == c.URL })
	if i < 0 && c.ID != "" {
		return nil, "", webhookNotFound()
	}
	if err := c.check(all, i, checkURL); err != nil {
		return nil, "", err
	}
	if i < 0 {
		return r.createWebhook(tx, c)
	}
	row, err := updateWebhook(tx, all[i], c)
	return row, "", err
}

// Static returns the errors in the fields of a change that can be found without the stored webhooks. An API calls it before a transaction.
// checkURL refuses a URL with a fault. If it returns another error, it could not decide, and Static returns none at all, also not those of
// other fields: RegisterWebhook returns that error.
func (c WebhookChange) Static(checkURL func(string) error) []fault.Field {
	f, _ := fault.Of(c.check(nil, -1, checkURL))
	if f == nil {
		return nil
	}
	return f.Fields
}

// check returns a fault with all invalid fields of a change, or another error if checkURL could not decide. all are the
// stored webhooks of the integration, at is the index of the one to change, or -1 for a new one.
func (c WebhookChange) check(all []*WebhookRow, at int, checkURL func(string) error) error {
	var wrong []fault.Field
	add := func(path string, reason fault.Reason, text string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: reason, Message: text})
	}
	switch {
	case c.URL == "" && c.ID == "":
		add("url", fault.Required, "is required: the https address that receives the events")
	case c.URL != "":
		fields, err := urlProblems(c.URL, checkURL)
		if err != nil {
			return err
		}
		wrong = append(wrong, fields...)
	}
	if len(c.Kinds) > 1 && slices.Contains(c.Kinds, AllKinds) {
		add("events", fault.Conflicting, "must be all alone, or a list of kinds")
	}
	if at < 0 && len(all) >= MaxWebhooks {
		add("url", fault.TooMany, fmt.Sprintf("cannot be registered: the integration has %d webhooks, the most that it may have; delete one", MaxWebhooks))
	}
	if at >= 0 && slices.ContainsFunc(all, func(w *WebhookRow) bool { return w.ID != all[at].ID && w.URL == c.URL }) {
		add("url", fault.Duplicate, "is the address of another webhook of the integration")
	}
	return fault.Err(fault.Fields(wrong...))
}

// createWebhook stores a new webhook and subscribes it to events, unless it is disabled. It does not check c, which RegisterWebhook does.
// The string is the signing secret.
func (r *Registry) createWebhook(tx *db.Tx, c WebhookChange) (*WebhookRow, string, error) {
	webhookID := id.New(id.Webhook)
	secret, sealed, err := r.newSecret(tx, c.PropertyID, webhookPurpose(webhookID))
	if err != nil {
		return nil, "", err
	}
	kinds := c.Kinds
	if len(kinds) == 0 {
		kinds = []string{AllKinds}
	}
	create := tx.Webhook.Create().SetID(webhookID).SetPropertyID(c.PropertyID).SetIntegrationID(c.IntegrationID).SetURL(c.URL).
		SetKinds(kinds).SetSecret(sealed).SetCreatedAt(tx.Now())
	enabled := c.Enabled == nil || *c.Enabled
	if !enabled {
		create.SetDisabledAt(tx.Now()).SetDisabledReason(DisabledByPartner)
	}
	row, err := create.Save(tx.Context())
	if err != nil {
		return nil, "", wrapError("store a webhook", err)
	}
	if enabled {
		err = event.SubscribeWebhook(tx, webhookID)
	}
	return row, secret, err
}

// updateWebhook changes a stored webhook. If it gets a new URL or is enabled again, its recorded health is cleared and its notices end;
// after a new URL, waiting retries are due at once, and are counted from the first. A new URL and other kinds end a running delivery. If it
// is disabled, it loses its cursors, and with them the events that it has not received yet.
func updateWebhook(tx *db.Tx, was *WebhookRow, c WebhookChange) (*WebhookRow, error) {
	update := tx.Webhook.UpdateOne(was).Where(webhook.PropertyID(was.PropertyID))
	moved := c.URL != "" && c.URL != was.URL
	if moved {
		update.SetURL(c.URL)
		if err := event.RestartWebhookRetries(tx, was.ID); err != nil {
			return nil, err
		}
	}
	otherKinds := len(c.Kinds) > 0 && !slices.Equal(c.Kinds, was.Kinds)
	if otherKinds {
		update.SetKinds(c.Kinds)
	}
	if moved || otherKinds {
		endDelivery(update.Mutation())
	}
	starts := c.Enabled != nil && *c.Enabled && was.DisabledAt != nil
	if starts {
		update.ClearDisabledAt().SetDisabledReason("")
		if err := event.SubscribeWebhook(tx, was.ID); err != nil {
			return nil, err
		}
	}
	if moved || starts {
		update.SetFailures(0).SetLastError("").ClearLastProblem().ClearLastSuccessAt().ClearLastFailureAt()
		if err := resolveWebhookNotices(tx, was.PropertyID, was.ID); err != nil {
			return nil, err
		}
	}
	if c.Enabled != nil && !*c.Enabled && was.DisabledAt == nil {
		update.SetDisabledAt(tx.Now()).SetDisabledReason(DisabledByPartner)
		if err := event.UnsubscribeWebhook(tx, was.ID); err != nil {
			return nil, err
		}
	}
	row, err := update.Save(tx.Context())
	if err != nil {
		return nil, wrapError("change a webhook", err)
	}
	return row, nil
}

// Webhooks returns the webhooks of an integration, also disabled ones, in the order of their registration.
func Webhooks(tx *db.Tx, propertyID, integrationID string) ([]*WebhookRow, error) {
	return listWebhooks(tx, webhook.PropertyID(propertyID), webhook.IntegrationID(integrationID))
}

// WebhooksOf returns the webhooks of a property, also disabled ones, in the order of their registration.
func WebhooksOf(tx *db.Tx, propertyID string) ([]*WebhookRow, error) {
	return listWebhooks(tx, webhook.PropertyID(propertyID))
}

// listWebhooks returns the webhooks that match which, also disabled ones, in the order of their registration.
func listWebhooks(tx *db.Tx, which ...predicate.Webhook) ([]*WebhookRow, error) {
	rows, err := tx.Webhook.Query().Where(which...).Order(webhook.ByID()).All(tx.Context())
	if err != nil {
		return nil, wrapError("list webhooks", err)
	}
	return rows, nil
}

// Webhook returns a webhook of an integration, also a disabled one, or a not-found fault.
func Webhook(tx *db.Tx, propertyID, integrationID, webhookID string) (*WebhookRow, error) {
	row, err := loadWebhook(tx, propertyID, webhookID)
	if err == nil && row.IntegrationID != integrationID {
		return nil, webhookNotFound()
	}
	return row, err
}

// loadWebhook loads a webhook of a property, or returns a not-found fault.
func loadWebhook(tx *db.Tx, propertyID, webhookID string) (*WebhookRow, error) {
	row, err := tx.Webhook.Query().Where(webhook.PropertyID(propertyID), webhook.ID(webhookID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, webhookNotFound()
	}
	if err != nil {
		return nil, wrapError("find a webhook", err)
	}
	return row, nil
}

// RemoveWebhook deletes a webhook with its cursors, so that events that it has not received are lost, resolves its notices, and returns it.
// If there is none, it returns a not-found fault.
func RemoveWebhook(tx *db.Tx, propertyID, integrationID, webhookID string) (*WebhookRow, error) {
	row, err := Webhook(tx, propertyID, integrationID, webhookID)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Webhook.Delete().Where(webhook.PropertyID(propertyID), webhook.ID(webhookID)).Exec(tx.Context()); err != nil {
		return nil, wrapError("delete a webhook", err)
	}
	return row, resolveWebhookNotices(tx, propertyID, webhookID)
}

// RotateWebhookSecret creates a secret and returns it with the webhook. The secret is shown once. The previous secret also signs until the
// overlap ends, with 0 not at all. An older one ends at once. A running delivery, which signs with the previous secret only, ends.
func (r *Registry) RotateWebhookSecret(tx *db.Tx, propertyID, integrationID, webhookID string, overlap time.Duration) (*WebhookRow, string, error) {
	row, err := Webhook(tx, propertyID, integrationID, webhookID)
	if err != nil {
		return nil, "", err
	}
	secret, sealed, err := r.newSecret(tx, propertyID, webhookPurpose(webhookID))
	if err != nil {
		return nil, "", err
	}
	update := tx.Webhook.UpdateOne(row).Where(webhook.PropertyID(propertyID)).SetSecret(sealed)
	endDelivery(update.Mutation())
	if overlap > 0 {
		update.SetPreviousSecret(row.Secret).SetPreviousUntil(tx.Now().Add(overlap))
	} else {
		update.ClearPreviousSecret().ClearPreviousUntil()
	}
	row, err = update.Save(tx.Context())
	if err != nil {
		return nil, "", wrapError("store the secret of a webhook", err)
	}
	return row, secret, nil
}

// WebhookSecrets returns the secrets that sign the messages of a webhook now, newest first.
func (r *Registry) WebhookSecrets(tx *db.Tx, w *WebhookRow) ([]string, error) {
	sealed := [][]byte{w.Secret}
	if w.PreviousUntil != nil && tx.Now().Before(*w.PreviousUntil) {
		sealed = append(sealed, w.PreviousSecret)
	}
	secrets := make([]string, len(sealed))
	for i, s := range sealed {
		plain, err := r.keys.Open(tx.Context(), w.PropertyID, webhookPurpose(w.ID), s)
		if err != nil {
			return nil, wrapError("open the secret of a webhook", err)
		}
		secrets[i] = string(plain)
	}
	return secrets, nil
}

// Receives reports whether a webhook receives events of a kind. A disabled one receives none, and internal kinds are never sent. scopes are
// the present scopes of its integration: events that give access to PINs need pins:read, which the integration may have lost.
func Receives(w *WebhookRow, scopes []string, kind event.Kind) bool {
	if kind == event.PINGenerated && !slices.Contains(scopes, actor.PINsRead) || kind.Internal() {
		return false
	}
	return w.DisabledAt == nil && (slices.Contains(w.Kinds, AllKinds) || slices.Contains(w.Kinds, string(kind)))
}

// BacklogOf counts the events of a webhook's kinds that it has not received yet. A disabled webhook has none.
func BacklogOf(view *db.Tx, w *WebhookRow) (event.Backlog, error) {
	kinds := w.Kinds
	if slices.Contains(kinds, AllKinds) {
		kinds = nil
	}
	return event.WebhookBacklog(view, w.PropertyID, w.ID, kinds)
}

// webhookPurpose returns the associated data of a webhook's sealed signing secret.
func webhookPurpose(webhookID string) string { return "webhook " + webhookID }

func webhookNotFound() error {
	return fault.New(fault.NotFound, fault.WebhookNotFound, "no such webhook")
}
