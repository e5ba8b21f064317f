package staff

import (
	"net/url"
	"strings"
	"testing"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
)

// What was typed comes back on the page of the form and nowhere else, for the same person, without secrets.
func TestTypedReason(t *testing.T) {
	f := &typedForm{Path: "/app/reservations/rsv_1/reveal", Values: url.Values{"reason": {"late"}}}
	open := &typedForm{Path: "/app/reservations/rsv_1/open", Values: url.Values{"reason": {"late"}, "door": {"dor_1"}}}
	today := &typedForm{Path: "/app/today", Values: url.Values{"reason": {"late"}, "do": {"waive"}, "reservation": {"rsv_1"}}}
	refuse := &typedForm{Path: "/app/reservations/rsv_1", Values: url.Values{"reason": {"late"}, "do": {"refuse"}}}
	for _, c := range []struct {
		typed *typedForm
		field string
		want  string
	}{{nil, "why-reveal", ""}, {f, "why-reveal", "late"}, {f, "why-replace", ""}, {open, "why-dor_1", "late"}, {open, "why-dor_2", ""}, {open, "why-open", ""},
		{today, waiveField("rsv_1"), "late"}, {today, waiveField("rsv_2"), ""}, {refuse, "f-refuse", "late"}, {refuse, "f-waive", ""}} {
		if got := (&page{typed: c.typed}).TypedReason(c.field); got != c.want {
			t.Errorf("%s: %q, want %q", c.field, got, c.want)
		}
	}
	for _, name := range typedNames {
		for _, secret := range []string{"pin", "password", "code", "secret", "key", "token", "link", "credential"} {
			if strings.Contains(name, secret) {
				t.Errorf("%s is kept", name)
			}
		}
	}
}

// A form that is shown again with an error keeps the reason, in its own input only.
func TestRefusedFormKeepsItsReason(t *testing.T) {
	f := &fakeAPI{role: staff.Manager, stay: &propertyv1.Reservation{Id: "rsv_1", PmsNumber: "8790", LastName: "Silva", State: "started", From: before(0), To: before(0)}}
	f.doors = []*partnerv1.ExplainedDoor{{DoorId: "spc_1", Name: "101", Evidence: "sent"}}
	f.refuses = fault.Fields(fault.Field{Path: "until", Reason: fault.Conflicting, Message: "too late"})
	body := f.post(t, "/app/reservations/rsv_1/extend", url.Values{"until": {"2026-12-24T12:00"}, "reason": {"late flight"}}).Body.String()
	if strings.Count(body, `value="late flight"`) != 1 || !strings.Contains(body, `id="why-extend" name="reason" value="late flight"`) || !strings.Contains(body, `value="2026-12-24T12:00"`) {
		t.Errorf("a late end: %s", body)
	}
	f.refuses = fault.New(fault.Precondition, fault.NoAccess, "no door has a code")
	if body = f.post(t, "/app/reservations/rsv_1/reveal", url.Values{"reason": {"lost it"}}).Body.String(); !strings.Contains(body, `id="why-reveal" name="reason" value="lost it"`) {
		t.Errorf("a PIN that does not exist: %s", body)
	}
	f.refuses = nil
	if body = f.post(t, "/app/reservations/rsv_1/reveal", url.Values{"reason": {"lost it"}}).Body.String(); strings.Contains(body, `value="lost it"`) {
		t.Errorf("a PIN that was shown: %s", body)
	}
}
