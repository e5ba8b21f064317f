package space

import (
	"fmt"
	"hash/fnv"
	"time"

	"entgo.io/ent/dialect/sql"

	"latchkey.dev/ent/endpoint"
	"latchkey.dev/ent/integration"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/partner"
)

// dueAtOnce limits the integrations that one call of Due returns.
const dueAtOnce = 500

// Source is an integration whose spaces must be read from the PMS.
type Source struct{ PropertyID, IntegrationID string }

// Due lists up to dueAtOnce integrations whose spaces must be read again, those that wait longest first: those with a registered getSpaces
// endpoint that were never read, or whose last attempt is longer ago than interval, varied by up to a tenth up or down so that the calls to
// the PMSs spread. It omits disabled integrations.
func Due(tx *db.Tx, now time.Time, interval time.Duration) ([]Source, error) {
	rows, err := tx.Integration.Query().
		Where(integration.DisabledAtIsNil(), integration.Or(
			integration.SpacesTriedAtIsNil(), integration.SpacesTriedAtLTE(now.Add(-interval+interval/10)))).
		Where(func(s *sql.Selector) {
			registered := sql.Table(endpoint.Table)
			s.Where(sql.In(s.C(integration.FieldID),
				sql.Select(registered.C(endpoint.FieldIntegrationID)).From(registered).Where(sql.EQ(registered.C(endpoint.FieldAction), partner.GetSpaces))))
		}).
		Order(integration.BySpacesTriedAt(sql.OrderNullsFirst()), integration.ByID()).Limit(dueAtOnce).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list integrations to read: %w", err)
	}
	var due []Source
	for _, row := range rows {
		if row.SpacesTriedAt == nil || !now.Before(row.SpacesTriedAt.Add(jitter(row.ID, *row.SpacesTriedAt, interval))) {
			due = append(due, Source{row.PropertyID, row.ID})
		}
	}
	return due, nil
}

// jitter returns interval plus or minus up to a tenth. It depends only on the integration and the time of its last
// attempt, so that all processes agree when the next call is due.
func jitter(id string, tried time.Time, interval time.Duration) time.Duration {
	h := fnv.New64a()
	fmt.Fprint(h, id, tried.UnixMicro())
	return interval - interval/10 + time.Duration(h.Sum64()%uint64(interval/5+1))
}
