package reservation

import (
	"encoding/base64"
	"encoding/binary"
	"time"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// PageToken returns the token of a page, in a list ordered by a time, then id: the last reservation of the page.
func PageToken(at time.Time, reservationID string) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro())) // read back the same way
	return base64.RawURLEncoding.EncodeToString(append(b, reservationID...))
}

// ParsePageToken returns the arguments of PageToken. Callers send the token, so it refuses every other string.
func ParsePageToken(token string) (at time.Time, reservationID string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil && len(b) > 8 {
		at, reservationID = time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC(), string(b[8:]) // written the same way
		if at.Year() >= 1970 && at.Year() < 9999 && id.Valid(id.Reservation, reservationID) && PageToken(at, reservationID) == token {
			return at, reservationID, nil
		}
	}
	return time.Time{}, "", badPageToken()
}

func badPageToken() error {
	return fault.Fields(fault.Field{Path: "pageToken", Reason: fault.BadFormat, Message: "must be the nextPageToken of the page before"})
}
