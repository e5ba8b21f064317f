package staff

import (
	"net/http"
	"slices"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// setupStep is one step of the set-up of a property. Its title is the message staff.setup.NAME, and its text staff.setup.NAME.text.
type setupStep struct {
	Name, URL string
	Done      bool
	Optional  bool
}

// setupFacts is the state of the property from which the steps are computed.
type setupFacts struct {
	spaces       int32
	bridges      []*propertyv1.Bridge
	placed       int32 // number of locks on doors
	spare        int32 // number of locks without a door
	integrations []*propertyv1.Integration
	listed       int32                      // number of spaces that the PMS lists
	unmapped     []*propertyv1.PartnerSpace // spaces of the PMS that are not mapped
	mail         *propertyv1.MailSettings
	kiosks       []*propertyv1.Kiosk
	rules        *propertyv1.CheckInSettings
	arrived      bool // a guest is in house, or a test arrival has opened a door
}

// setupSteps returns the steps of the set-up with their state, in the recommended order.
func setupSteps(f setupFacts) []setupStep {
	mapped := f.listed > 0 && !slices.ContainsFunc(f.unmapped, (*propertyv1.PartnerSpace).GetIsActive)
	return []setupStep{
		{Name: "rooms", URL: "/app/spaces/new", Done: f.spaces > 0},
		{Name: "bridge", URL: "/app/bridges/new", Done: slices.ContainsFunc(f.bridges, func(b *propertyv1.Bridge) bool { return b.GetState() == "online" || b.GetState() == "offline" })},
		{Name: "locks", URL: "/app/locks", Done: f.placed > 0 && f.spare == 0},
		{Name: "pms", URL: "/app/settings/integrations", Done: slices.ContainsFunc(f.integrations, integrationWorks)},
		{Name: "mapping", URL: "/app/spaces", Done: mapped},
		{Name: "mail", URL: "/app/settings/mail", Done: f.mail.GetHost() != ""},
		{Name: "property", URL: "/app/settings/property", Done: f.rules.GetAddress() != "", Optional: true},
		{Name: "checkin", URL: "/app/settings/checkin", Done: f.rules.GetRule() != "" && f.rules.GetRule() != "none", Optional: true},
		{Name: "kiosk", URL: "/app/settings/kiosks", Done: slices.ContainsFunc(f.kiosks, isEnrolled), Optional: true},
		{Name: "arrival", URL: "/app/setup/arrival", Done: f.arrived, Optional: true},
	}
}

// integrationWorks reports whether the app of an integration has registered endpoints, and none of them fails. It is false for an
// integration without an app.
func integrationWorks(i *propertyv1.Integration) bool {
	fails := func(e *propertyv1.Endpoint) bool { return e.GetState() == "failing" }
	return i.AppId != nil && len(i.GetEndpoints()) > 0 && !slices.ContainsFunc(i.GetEndpoints(), fails)
}

// isEnrolled reports whether a tablet has entered its enrolment code.
func isEnrolled(k *propertyv1.Kiosk) bool { return k.GetEnrolledAt() != nil }

// setupLeft counts the required steps that are not done. Without them, guests cannot check in and enter by themselves.
func setupLeft(steps []setupStep) (left int) {
	for _, s := range steps {
		if !s.Done && !s.Optional {
			left++
		}
	}
	return left
}

// setup loads the state of the property and returns the steps of its set-up. The step of the mapping is about one PMS: that in the query
// or, without one, the first.
func (x *exchange) setup() ([]setupStep, error) {
	api := x.site.api
	spaces, err := api.Spaces.ListSpaces(x.call(), &propertyv1.ListSpacesRequest{PageSize: 1})
	if err != nil {
		return nil, err
	}
	f := setupFacts{spaces: spaces.GetData().GetTotal()}
	if f.placed, f.spare, err = x.countLocks(); err != nil {
		return nil, err
	}
	integrations, chosen, err := x.integrations()
	if err != nil {
		return nil, err
	}
	f.integrations = integrations
	if chosen != nil {
		listed, err := api.Mappings.ListPartnerSpaces(x.call(), &propertyv1.ListPartnerSpacesRequest{IntegrationId: chosen.GetId(), PageSize: 1})
		if err != nil {
			return nil, err
		}
		f.listed = listed.GetData().GetTotal()
		if f.unmapped, _, err = x.partnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: chosen.GetId(), UnmappedOnly: true}); err != nil {
			return nil, err
		}
	}
	bridges, err := api.Bridges.ListBridges(x.call(), &propertyv1.ListBridgesRequest{})
	if err != nil {
		return nil, err
	}
	mail, err := api.Mails.GetMailSettings(x.call(), &propertyv1.GetMailSettingsRequest{})
	if err != nil {
		return nil, err
	}
	if f.rules, err = x.checkInSettings(); err != nil {
		return nil, err
	}
	if f.arrived, err = x.hasArrival(); err != nil {
		return nil, err
	}
	kiosks, err := api.Kiosks.ListKiosks(x.call(), &propertyv1.ListKiosksRequest{})
	f.bridges, f.mail, f.kiosks = bridges.GetData().GetList(), mail.GetData(), kiosks.GetData().GetList()
	return setupSteps(f), err
}

// hasArrival reports whether a guest is in house (the guest of the test stay does not count), or the guest of the test stay has opened a
// door.
func (x *exchange) hasArrival() (bool, error) {
	test, err := x.testStay()
	if err != nil || isProven(test) {
		return err == nil, err
	}
	found, err := x.site.api.Reservations.ListReservations(x.call(), &propertyv1.ListReservationsRequest{State: "started", PageSize: 2})
	return slices.ContainsFunc(found.GetData().GetList(), func(r *propertyv1.Reservation) bool { return r.GetId() != test.GetReservationId() }), err
}

// countLocks returns the number of locks on doors (placed) and without a door (spare), both 0 if the person may not read locks.
func (x *exchange) countLocks() (placed, spare int32, err error) {
	if !x.may("readLocks") {
		return 0, 0, nil
	}
	every, err := x.site.api.Locks.ListLocks(x.call(), &propertyv1.ListLocksRequest{PageSize: 1})
	if err != nil {
		return 0, 0, err
	}
	without, err := x.site.api.Locks.ListLocks(x.call(), &propertyv1.ListLocksRequest{PageSize: 1, UnassignedOnly: true})
	spare = without.GetData().GetTotal()
	return every.GetData().GetTotal() - spare, spare, err
}

type setupView struct {
	Steps []setupStep
	Left  int // number of required steps that are not done
}

// showSetup handles the page with the steps of the set-up.
func (s *site) showSetup(x *exchange) error {
	steps, err := x.setup()
	if err != nil {
		return err
	}
	p := x.newPage("staff.setup.title")
	p.Here, p.Data = "setup", setupView{Steps: steps, Left: setupLeft(steps)}
	return x.render(http.StatusOK, "setup", p)
}
