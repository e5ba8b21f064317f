package access

import (
	"time"

	"latchkey.dev/internal/fault"
)

// maxExtension is how long staff may extend the access beyond the planned end of the stay, which does not include the late check-out.
const maxExtension = 24 * time.Hour

// End returns when the access of a stay ends: at its planned end with the property's late check-out, or at the end of an extension, if that
// is later.
func (s Stay) End(r Rules) time.Time {
	planned := s.To.Add(r.LateOut)
	if s.ExtendedTo.After(planned) {
		return s.ExtendedTo
	}
	return planned
}

// ExtensionProblem returns a fault with the reason why staff cannot extend the access of a stay until a time, or nil if they can. The guest
// must be in house. The time must be in the future, after the planned end of the access, and at most maxExtension (24 hours) after the
// planned end of the stay. An extension replaces an earlier one.
func ExtensionProblem(s Stay, r Rules, until, now time.Time) error {
	wrong := func(message string) error {
		return fault.Fields(fault.Field{Path: "until", Reason: fault.OutOfRange, Message: message})
	}
	latest := s.To.Add(maxExtension)
	switch {
	case s.State != Started:
		return fault.New(fault.Precondition, fault.NoAccess, "the stay is %s at the PMS: only the access of a guest in house can be extended", s.State)
	case !latest.After(now):
		return fault.New(fault.Precondition, fault.NoAccess, "the planned end of the stay was more than 24 hours ago: change the departure at the PMS")
	case !until.After(now):
		return wrong("is not in the future")
	case !until.After(s.To.Add(r.LateOut)):
		return wrong("is not after the planned end of the access, " + s.To.Add(r.LateOut).In(r.Zone).Format(time.RFC3339))
	case until.After(latest):
		return wrong("is more than 24 hours after the planned end of the stay: the latest time is " + latest.In(r.Zone).Format(time.RFC3339) +
			"; for a longer stay change the departure at the PMS")
	}
	return nil
}
