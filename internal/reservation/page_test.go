package reservation_test

import (
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/id"
	"latchkey.dev/internal/reservation"
)

func TestPageToken(t *testing.T) {
	now, rsv := time.Date(2026, 11, 21, 11, 0, 0, 5000, time.UTC), id.New(id.Reservation)
	at, got, err := reservation.ParsePageToken(reservation.PageToken(now, rsv))
	if err != nil || !at.Equal(now) || got != rsv {
		t.Errorf("%v %s %v", at, got, err)
	}
	for name, bad := range map[string]string{
		"nothing": "", "no base64": "%%%", "short": "AAAA",
		"a NUL":             reservation.PageToken(now, rsv[:len(rsv)-1]+"\x00"),
		"no text":           reservation.PageToken(now, "\xff\xfe"),
		"broken lines":      reservation.PageToken(now, rsv)[:4] + "\n" + reservation.PageToken(now, rsv)[4:],
		"another kind":      reservation.PageToken(now, id.New(id.Lock)),
		"longer":            reservation.PageToken(now, rsv+"0"),
		"long":              reservation.PageToken(now, strings.Repeat("x", 1<<16)),
		"before all time":   reservation.PageToken(time.Date(-200000, 1, 1, 0, 0, 0, 0, time.UTC), rsv),
		"after all time":    reservation.PageToken(time.Date(200000, 1, 1, 0, 0, 0, 0, time.UTC), rsv),
		"of a gone century": reservation.PageToken(time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), rsv),
	} {
		if at, got, err := reservation.ParsePageToken(bad); err == nil {
			t.Errorf("%s: opens as %v %q", name, at, got)
		}
	}
}

// On PostgreSQL a NUL in a query is an error of the driver.
func TestForeignPageTokensAreRefused(t *testing.T) {
	neighbours(t, func(t *testing.T, one, _ *testProperty) {
		_, _, err := reservation.List(one.db.View(one.ctx()), one.scope, reservation.Query{Size: 2, Token: reservation.PageToken(time.Now(), "rsv_\x00")})
		refuse(t, err, "invalidFields")
	})
}
