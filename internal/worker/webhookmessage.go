package worker

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/grant"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/reservation"
)

// concern says which integrations of the property may receive a kind of event.
type concern int

const (
	ofReservation concern = iota // the subject is a reservation, and only its integration may receive the event
	ofGuest                      // the subject is a lock that a guest used, and only the integration of the guest's reservation may receive the event
	ofLock                       // the subject is a lock, and every integration may receive the event
	ofIntegration                // the subject is the only integration that may receive the event
)

// partnerFacts are the parts of an event's body that partners receive, by kind. A body about a reservation also has reservationId and
// pmsId.
var partnerFacts = map[event.Kind]struct {
	concern concern
	facts   []string
}{
	event.AccessIssued:        {ofReservation, []string{"status", "doors", "reasons"}},
	event.AccessUpdated:       {ofReservation, []string{"status", "doors", "reasons"}},
	event.AccessRemoved:       {ofReservation, []string{"status", "doors", "reasons"}},
	event.AccessFailed:        {ofReservation, []string{"status", "doors", "reasons"}},
	event.PreCheckInCompleted: {ofReservation, nil},
	event.CheckInStarted:      {ofReservation, []string{"origin"}},
	event.CheckInBlocked:      {ofReservation, []string{"reason"}},
	event.CheckInCompleted:    {ofReservation, []string{"by"}},
	event.CredentialVerified:  {ofGuest, []string{"lockId", "doorId"}},
	event.DoorOpened:          {ofGuest, []string{"lockId", "doorId"}},
	event.DoorDenied:          {ofGuest, []string{"lockId", "doorId", "reason"}},
	event.LockOffline:         {ofLock, []string{"lockId", "doorId", "reason"}},
	event.LockBatteryLow:      {ofLock, []string{"lockId", "doorId", "percent"}},
	event.LockTampered:        {ofLock, []string{"lockId", "doorId", "reason"}},
	event.LockJammed:          {ofLock, []string{"lockId", "doorId", "reason"}},
	event.ConflictOpened:      {ofIntegration, []string{"conflictId", "kind", "spaceId", "reservationIds", "parameters"}},
	event.ConflictClosed:      {ofIntegration, []string{"conflictId", "kind", "spaceId", "reservationIds", "parameters"}},
	event.EndpointFailing:     {ofIntegration, []string{"action", "webhookId", "failures"}},
}

// webhookBody is the body of every message except reservationPinGenerated.
type webhookBody struct {
	Event      string         `json:"event"`
	OccurredAt time.Time      `json:"occurredAt"`
	Subject    string         `json:"subject"`
	Sequence   int64          `json:"sequence"`
	Data       map[string]any `json:"data"`
}

// messageID returns the webhook-id of an event. It is the same for each attempt, differs between webhooks, and cannot be guessed from the
// ids of other events.
func (x *drain) messageID(e *ent.Event) string {
	return "evt_" + hex.EncodeToString(x.Keys.MAC("webhookMessage", x.hook.ID, strconv.FormatInt(e.ID, 10))[:16])
}

// message returns the body of the message about an event, or nil if the event does not concern the webhook, or is about a PIN that no
// longer exists.
func (x *drain) message(view *db.Tx, e *ent.Event) ([]byte, error) {
	kind := event.Kind(e.Kind)
	if !partner.Receives(x.hook, x.scopes, kind) {
		return nil, nil
	}
	if kind == event.PINGenerated {
		return x.RenderPINs(view, x.hook.PropertyID, x.hook.IntegrationID, e.Subject)
	}
	rule, known := partnerFacts[kind]
	if !known {
		return nil, nil
	}
	data := map[string]any{}
	for _, name := range rule.facts {
		if value, ok := e.Body[name]; ok {
			data[name] = value
		}
	}
	concerns, err := x.addConcern(view, e, rule.concern, data)
	if err != nil || !concerns {
		return nil, err
	}
	body, err := json.Marshal(webhookBody{Event: e.Kind, OccurredAt: e.OccurredAt.UTC(), Subject: e.Subject, Sequence: e.SubjectSequence, Data: data})
	if err != nil {
		return nil, fmt.Errorf("encode a message to a webhook: %w", err)
	}
	return body, nil
}

// addConcern reports whether the webhook's integration may receive an event. If the event is about a reservation or its access, it adds the
// reservation's ids to data.
func (x *drain) addConcern(view *db.Tx, e *ent.Event, c concern, data map[string]any) (bool, error) {
	reservationID := e.Subject
	switch c {
	case ofLock:
		return true, nil
	case ofIntegration:
		return e.Subject == x.hook.IntegrationID, nil
	case ofGuest:
		var err error
		if reservationID, err = reservationOfGrant(view, e); err != nil || reservationID == "" {
			return false, err
		}
	case ofReservation:
	}
	row, err := reservation.Get(view, reservation.Scope{PropertyID: x.hook.PropertyID, IntegrationID: x.hook.IntegrationID}, reservationID)
	if fault.Has(err, fault.ReservationNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data["reservationId"], data["pmsId"] = row.ID, row.PmsID
	return true, nil
}

// reservationOfGrant returns the reservation whose grant (the access of a stay) an event is about. It returns "" if there is none, as for
// staff or an unknown code.
func reservationOfGrant(view *db.Tx, e *ent.Event) (string, error) {
	grantID, _ := e.Body["grantId"].(string)
	if e.GrantID != nil {
		grantID = *e.GrantID
	}
	if grantID == "" {
		return "", nil
	}
	row, err := view.Grant.Query().Where(grant.PropertyID(e.PropertyID), grant.ID(grantID)).Only(view.Context())
	if ent.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the reservation of an event: %w", err)
	}
	return row.ReservationID, nil
}
