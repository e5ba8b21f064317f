package partner

import (
	"fmt"
	"time"
	"unicode/utf8"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
)

// failuresToTell is how many calls in a row fail before staff are told: one is weather.
const failuresToTell = 3

// maxError is how many bytes of an error text are kept.
const maxError = 1024

// quiet is how long an endpoint has had no failure when the next one begins a new episode. An endpoint that fails and
// recovers in turns stays in one episode, which staff are notified of once.
const quiet = time.Hour

// RecordTest stores how a call went that the partner itself asked for. A failure is what the partner wants to see: it is
// shown, and does not count.
func RecordTest(tx *db.Tx, propertyID, integrationID, action, failure string) error {
	if failure == "" {
		return RecordCall(tx, propertyID, integrationID, action, "")
	}
	row, err := oneEndpoint(tx.Context(), tx.Client, propertyID, integrationID, action)
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := row.Update().SetLastError(cut(failure, maxError)).Exec(tx.Context()); err != nil {
		return failed("store the health of an endpoint", err)
	}
	return nil
}

// RecordCall stores how a call to an endpoint went: why it failed, or "" if it went well. The
// text is for staff and holds no token. The third failure in a row notifies staff, once for each
// episode of failures. An endpoint that is gone by now is no fault.
func RecordCall(tx *db.Tx, propertyID, integrationID, action, failure string) error {
	row, err := oneEndpoint(tx.Context(), tx.Client, propertyID, integrationID, action)
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if failure == "" {
		err := row.Update().SetFailures(0).SetLastSuccessAt(tx.Now()).Exec(tx.Context())
		if err != nil {
			return failed("store the health of an endpoint", err)
		}
		if row.LastSuccessAt == nil && row.LastFailureAt == nil { // the first call since it was registered
			return settleFailing(tx, integrationID, action)
		}
		return nil
	}
	err = row.Update().AddFailures(1).SetLastFailureAt(tx.Now()).SetLastError(cut(failure, maxError)).Exec(tx.Context())
	if err != nil {
		return failed("store the health of an endpoint", err)
	}
	switch {
	case row.Failures == 0 && row.LastFailureAt != nil && tx.Now().Sub(*row.LastFailureAt) > quiet:
		return settleFailing(tx, integrationID, action)
	case row.Failures+1 == failuresToTell:
		return notifyFailing(tx, row, failure)
	}
	return nil
}

func notifyFailing(tx *db.Tx, row *ent.Endpoint, failure string) error {
	told, err := staff.Notified(tx, failingKey(row.IntegrationID, row.Action))
	if err != nil || told {
		return err
	}
	own, err := Integration(tx.Context(), tx.Client, row.PropertyID, row.IntegrationID)
	if err != nil {
		return err
	}
	err = event.Append(tx, event.Event{
		PropertyID: row.PropertyID, Subject: row.IntegrationID, Kind: event.EndpointFailing,
		Body: map[string]any{"integrationId": row.IntegrationID, "action": row.Action, "failures": failuresToTell},
	})
	if err != nil {
		return err
	}
	return staff.Notify(tx, staff.Notice{
		PropertyID: row.PropertyID, Kind: "endpointFailing", Subject: row.IntegrationID,
		Text:    fmt.Sprintf("%s failed %d calls of %s in a row (last: %s). Ask its vendor to repair it.", own.Name, failuresToTell, row.Action, cut(failure, 512)),
		OnceKey: failingKey(row.IntegrationID, row.Action),
	})
}

func settleFailing(tx *db.Tx, integrationID, action string) error {
	return staff.Settle(tx, failingKey(integrationID, action))
}

func failingKey(integrationID, action string) string {
	return integrationID + "/endpointFailing/" + action
}

// cut shortens a text to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
