package worker

import (
	"slices"
	"testing"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/mail"
)

// Which mails to a guest still have a reason in a state of the stay, before and after its end.
func TestMailThatLostItsReason(t *testing.T) {
	end := time.Date(2030, 1, 3, 11, 0, 0, 0, time.UTC)
	kinds := []mail.Kind{mail.Invitation, mail.Reminder, mail.RoomReady, mail.Key, mail.KeyChanged, mail.Departure, mail.Companion, mail.Link, mail.Message}
	before := []mail.Kind{mail.Invitation, mail.Reminder, mail.RoomReady, mail.Companion, mail.Link, mail.Message}
	inHouse := []mail.Kind{mail.Key, mail.KeyChanged, mail.Departure, mail.Companion, mail.Link, mail.Message}
	late := []mail.Kind{mail.Key, mail.KeyChanged, mail.Companion, mail.Link, mail.Message}
	afterwards := []mail.Kind{mail.Link, mail.Message}
	for _, c := range []struct {
		state access.State
		at    time.Duration // after the end of the stay
		want  []mail.Kind
	}{
		{access.Optional, -time.Hour, nil},
		{access.Confirmed, -time.Hour, before},
		{access.Confirmed, time.Hour, afterwards},
		{access.Started, -time.Hour, inHouse},
		{access.Started, time.Hour, late},
		{access.Processed, -time.Hour, afterwards},
		{access.Processed, 7*24*time.Hour - time.Second, afterwards},
		{access.Processed, 7 * 24 * time.Hour, nil},
		{access.Canceled, -time.Hour, nil},
	} {
		stay := &ent.Reservation{State: string(c.state), ToAt: end}
		for _, kind := range kinds {
			if ended := doesNotFit(stay, kind, end.Add(c.at)); ended == slices.Contains(c.want, kind) {
				t.Errorf("a mail %s to a stay that is %s, %v after its end: lost its reason: %v", kind, c.state, c.at, ended)
			}
		}
	}
}
