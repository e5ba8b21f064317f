package partner

import (
	"slices"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/endpoint"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

// failuresToNotify is the number of consecutive failures after which staff are notified. Single failures are normal.
const failuresToNotify = 3

// successPrecision is how old the stored time of the last success may be before a further success is stored. Guests who check in at the
// same time share the row of their PMS's endpoint, and their changes would conflict.
const successPrecision = 10 * time.Second

// episodeGap is the time without failures after which the next failure starts a new episode, if a call succeeded in
// between. An endpoint that alternates between failures and successes more often stays in one episode, and staff are
// notified once per episode.
const episodeGap = time.Hour

// RecordEndpointTest stores the result of a call that the partner requested as a test. A success counts like any other. A failed test is
// stored as the last error, but does not count as a failure. It ignores an endpoint that was removed.
func RecordEndpointTest(tx *db.Tx, propertyID, integrationID, action string, failure Failure) error {
	if !failure.Failed() {
		return RecordCall(tx, propertyID, integrationID, action, Failure{})
	}
	row, err := loadEndpoint(tx, propertyID, integrationID, action)
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := row.Update().SetLastError(failure.stored()).SetLastProblem(failure.Problem).Exec(tx.Context()); err != nil {
		return wrapError("store the health of an endpoint", err)
	}
	return nil
}

// RecordCall stores the result of a call to an endpoint: why it failed, or the zero value for a success, which resets the count of
// failures. The third consecutive failure notifies staff and the partner's webhooks, once per episode of failures (see episodeGap), and
// again if retention has deleted the notice meanwhile. A success leaves the notice open, except the first call since the endpoint was
// registered or changed; the first failure of the next episode resolves it. It ignores an endpoint that was removed.
func RecordCall(tx *db.Tx, propertyID, integrationID, action string, failure Failure) error {
	row, err := loadEndpoint(tx, propertyID, integrationID, action)
	if fault.Has(err, fault.EndpointNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !failure.Failed() {
		if row.Failures == 0 && row.LastSuccessAt != nil && tx.Now().Sub(*row.LastSuccessAt) < successPrecision {
			return nil
		}
		err := tx.Endpoint.Update().Where(endpoint.PropertyID(propertyID), endpoint.ID(row.ID)).SetFailures(0).SetLastSuccessAt(tx.Now()).Exec(tx.Context())
		if err != nil {
			return wrapError("store the health of an endpoint", err)
		}
		if row.LastSuccessAt == nil && row.LastFailureAt == nil { // this is the first call since the endpoint was registered or changed
			return clearFailingNotice(tx, propertyID, integrationID, action)
		}
		return nil
	}
	err = row.Update().AddFailures(1).SetLastFailureAt(tx.Now()).SetLastError(failure.stored()).SetLastProblem(failure.Problem).Exec(tx.Context())
	if err != nil {
		return wrapError("store the health of an endpoint", err)
	}
	switch {
	case row.Failures == 0 && row.LastFailureAt != nil && tx.Now().Sub(*row.LastFailureAt) > episodeGap:
		return clearFailingNotice(tx, propertyID, integrationID, action)
	case row.Failures+1 >= failuresToNotify:
		return notifyFailing(tx, row, failure)
	}
	return nil
}

// notifyFailing notifies staff and the partner's webhooks that an endpoint keeps failing, unless staff have a notice of it. failure is why
// the last call failed, and row does not count it yet.
func notifyFailing(tx *db.Tx, row *ent.Endpoint, failure Failure) error {
	notified, err := notice.IsOpen(tx, failingKey(row.IntegrationID, row.Action))
	if err != nil || notified {
		return err
	}
	own, err := Integration(tx, row.PropertyID, row.IntegrationID)
	if err != nil {
		return err
	}
	err = event.Append(tx, event.Event{
		PropertyID: row.PropertyID, Subject: row.IntegrationID, Kind: event.EndpointFailing,
		Body: map[string]any{"integrationId": row.IntegrationID, "action": row.Action, "failures": row.Failures + 1},
	})
	if err != nil {
		return err
	}
	return notice.Add(tx, notice.Notice{
		PropertyID: row.PropertyID, Kind: notice.EndpointFailing, Subject: row.IntegrationID,
		Params:  message.Params{"app": own.Name, "failures": row.Failures + 1, "action": row.Action, "problem": failure.forStaff()},
		OnceKey: failingKey(row.IntegrationID, row.Action),
	})
}

// clearFailingNotice resolves the notice that an endpoint keeps failing.
func clearFailingNotice(tx *db.Tx, propertyID, integrationID, action string) error {
	return notice.Resolve(tx, propertyID, failingKey(integrationID, action))
}

// failingKey returns the unique key of the notice that an endpoint keeps failing, so that only one is open at a time.
func failingKey(integrationID, action string) string {
	return notice.EndpointFailing.Key(integrationID) + "/" + action
}

// downFor is how long after a failed call an endpoint still counts as down. Check-ins that wait for the PMS call it every 2 minutes.
const downFor = 5 * time.Minute

// IsCheckInDown reports whether no PMS of a property can check a guest in: at each integration with endpoints, getCheckInStatus or checkIn
// failed three times in a row, the last time within downFor. A PMS that has not registered these endpoints is not down. Without any
// endpoint, the result is false.
func IsCheckInDown(tx *db.Tx, propertyID string) (bool, error) {
	byIntegration, err := EndpointsOf(tx, propertyID)
	if err != nil {
		return false, err
	}
	for _, endpoints := range byIntegration {
		if !slices.ContainsFunc(endpoints, func(e Endpoint) bool { return e.Action != GetSpaces && e.Health.isDown(tx.Now()) }) {
			return false, nil
		}
	}
	return len(byIntegration) > 0, nil
}

// isDown reports whether the endpoint failed at least failuresToNotify times in a row, the last time less than downFor ago.
func (h Health) isDown(now time.Time) bool {
	return h.Failures >= failuresToNotify && h.LastFailureAt != nil && now.Sub(*h.LastFailureAt) < downFor
}

// CheckInClosed returns the reason why check-in at a property's kiosks is closed, or "" if it is open. The only reason is
// PartnerUnavailable, while [IsCheckInDown] returns true.
func CheckInClosed(view *db.Tx, propertyID string) (fault.Reason, error) {
	down, err := IsCheckInDown(view, propertyID)
	if err != nil || !down {
		return "", err
	}
	return fault.PartnerUnavailable, nil
}
