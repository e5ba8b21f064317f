package staff

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/message"
)

// What is left of the set-up follows from what is there.
func TestSetupSteps(t *testing.T) {
	id := "x"
	for _, c := range []struct {
		name  string
		facts setupFacts
		done  string
		left  int
	}{
		{"a new property", setupFacts{}, "", 6},
		{"a bridge that never joined, a lock without a door, an app without addresses", setupFacts{
			bridges: []*propertyv1.Bridge{{State: "waiting"}}, integrations: []*propertyv1.Integration{{AppId: &id}},
			listed: 1, unmapped: []*propertyv1.PartnerSpace{{IsActive: true}},
		}, "", 6},
		{"all but the tablet", setupFacts{
			spaces: 1, bridges: []*propertyv1.Bridge{{State: "offline"}}, placed: 1,
			integrations: []*propertyv1.Integration{{AppId: &id, Endpoints: []*propertyv1.Endpoint{{}}}},
			listed:       2, unmapped: []*propertyv1.PartnerSpace{{}}, mail: &propertyv1.MailSettings{Host: "smtp.example.com"},
		}, "rooms bridge locks pms mapping mail", 0},
		{"only a tablet that was never set up", setupFacts{kiosks: []*propertyv1.Kiosk{{}}}, "", 6},
		{"only a tablet", setupFacts{kiosks: []*propertyv1.Kiosk{{EnrolledAt: timestamppb.Now()}}}, "kiosk", 6},
		{"one of two locks is on a door, and calls to the PMS fail", setupFacts{
			placed: 1, spare: 1, integrations: []*propertyv1.Integration{{AppId: &id, Endpoints: []*propertyv1.Endpoint{{State: "ok"}, {State: "failing"}}}},
		}, "", 6},
		{"no country, and nothing for guests to find", setupFacts{rules: &propertyv1.CheckInSettings{Rule: "none"}}, "", 6},
		{"the law, an address and a guest", setupFacts{rules: &propertyv1.CheckInSettings{Rule: "PT", Address: "Rua do Mar 7"}, arrived: true}, "property checkin arrival", 6},
	} {
		steps := setupSteps(c.facts)
		var done []string
		for _, s := range steps {
			if !message.Has("staff.setup."+s.Name) || !message.Has("staff.setup."+s.Name+".text") {
				t.Errorf("the step %s has no text", s.Name)
			}
			if s.Done {
				done = append(done, s.Name)
			}
		}
		if got := strings.Join(done, " "); got != c.done || setupLeft(steps) != c.left {
			t.Errorf("%s: done %q, %d left", c.name, got, setupLeft(steps))
		}
	}
}
