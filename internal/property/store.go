package property

import (
	"fmt"

	"latchkey.dev/internal/db"
)

// Retention is how long a property keeps data, in days. If KeepStayDays is 0 or longer than the installation's period, that period counts;
// if MessageDays is 0, messages are kept as long as the reservation.
type Retention struct {
	PropertyID                string
	KeepStayDays, MessageDays int
}

const listRetentions = `SELECT property_id, keep_stay_days, message_days FROM check_in_settings WHERE keep_stay_days > 0 OR message_days > 0 ORDER BY property_id`

// ListRetentions returns the retention of the properties that set one of their own.
func ListRetentions(view *db.Tx) ([]Retention, error) {
	out, err := db.ReadList(view, func(r *Retention) []any { return []any{&r.PropertyID, &r.KeepStayDays, &r.MessageDays} }, listRetentions)
	if err != nil {
		return nil, fmt.Errorf("list the retention of properties: %w", err)
	}
	return out, nil
}
