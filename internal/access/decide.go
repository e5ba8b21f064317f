package access

import (
	"fmt"
	"time"

	"latchkey.dev/internal/clock"
)

// Settings are the settings of a property that access depends on, as stored.
type Settings struct {
	PropertyID     string
	TimeZone       string
	EarlyInMinutes int
	LateOutMinutes int
	PINLength      int
	GatesAlone     bool
}

// Rules converts stored settings into rules. It fails if the time zone is unknown.
func (s Settings) Rules() (Rules, error) {
	zone, err := clock.Zone(s.TimeZone)
	if err != nil {
		return Rules{}, fmt.Errorf("property %s: %w", s.PropertyID, err)
	}
	return Rules{
		Zone:       zone,
		EarlyIn:    time.Duration(s.EarlyInMinutes) * time.Minute,
		LateOut:    time.Duration(s.LateOutMinutes) * time.Minute,
		PINLength:  s.PINLength,
		GatesAlone: s.GatesAlone,
	}, nil
}

// Decide returns what a reservation may open. Only a stay that the PMS has started opens doors, until [Stay.End]; for others the Right is
// closed, with a Reason and no Window. A check-in opens them at once, even before the booked hour, because the reception let the guest in:
// the window begins at now, or at opened, when the current access began (zero if there is none), so that a later change does not restart
// it. Only a check-in before the booked day waits until the booked hour less the property's EarlyIn: the Right is open, but HeldBack.
func Decide(s Stay, r Rules, now, opened time.Time) Right {
	switch s.State {
	case Started:
	case Confirmed:
		return Right{Reason: NotCheckedIn}
	case Processed:
		return Right{Reason: CheckedOut}
	case Canceled:
		return Right{Reason: ReservationCanceled}
	default:
		return Right{Reason: NotFirm}
	}
	w := Window{From: now, To: s.End(r)}
	if !w.To.After(now) {
		return Right{Reason: WindowPast}
	}
	if early := s.From.Add(-r.EarlyIn); early.After(now) && isLaterDay(s.From, now, r.Zone) {
		w.From = early
		return Right{Open: true, Window: w, HeldBack: true, Reason: WindowInFuture}
	}
	if !opened.IsZero() && opened.Before(now) {
		w.From = opened
	}
	return Right{Open: true, Window: w}
}

// isLaterDay reports whether a is on a later day than b in a time zone.
func isLaterDay(a, b time.Time, zone *time.Location) bool {
	ay, am, ad := a.In(zone).Date()
	by, bm, bd := b.In(zone).Date()
	return time.Date(ay, am, ad, 0, 0, 0, 0, time.UTC).After(time.Date(by, bm, bd, 0, 0, 0, 0, time.UTC))
}
