package guest

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// flow builds the URLs of the pages of a stay. On a guest's own device they contain the id of the stay, and at a kiosk no id.
type flow struct {
	Kiosk bool
	Stay  *guestv1.Stay // nil without a stay; only the id is set until loadStay has loaded it
}

// base returns the URL prefix of the stay's pages.
func (f flow) base() string {
	if f.Kiosk {
		return "/k"
	}
	return "/g/stays/" + f.Stay.GetId()
}

// Until returns when the access of the stay ends. Before the PMS has checked the guest in, it returns the planned end of the stay.
func (f flow) Until() *timestamppb.Timestamp {
	if until := f.Stay.GetAccessUntil(); until != nil {
		return until
	}
	return f.Stay.GetTo()
}

// Home returns the URL of the stay's first page.
func (f flow) Home() string {
	if f.Kiosk {
		return "/k/you"
	}
	return f.base()
}

// Below returns the URL of the stay's page with this name.
func (f flow) Below(name string) string { return f.base() + "/" + name }

// Form returns the URL of the form of one guest. guest is the id. At a kiosk it ignores guest: the page chooses the first guest with
// missing answers.
func (f flow) Form(guest string) string {
	if f.Kiosk {
		return "/k/form"
	}
	return f.base() + "/form/" + guest
}

// Step returns the URL of a step of a guest's form. At a kiosk, the URL has the guest's position in the party instead of the id, as in
// 2.address. The first guest's has none.
func (f flow) Step(guest, step string) string {
	if !f.Kiosk {
		return f.Form(guest) + "/" + step
	}
	if i := f.place(guest); i > 0 {
		step = strconv.Itoa(i+1) + "." + step
	}
	return "/k/form/" + step
}

// place returns the index of a guest in the party, or -1. guest is the id.
func (f flow) place(guest string) int {
	for i, g := range f.Stay.GetGuests() {
		if g.GetId() == guest {
			return i
		}
	}
	return -1
}

// stepOf parses the path of a step at a kiosk, the reverse of Step. It returns the guest's id and the step's name, both "" for an invalid
// path.
func (f flow) stepOf(path string) (guest, step string) {
	place := 0
	if number, name, ok := strings.Cut(path, "."); ok {
		n, err := strconv.Atoi(number)
		if err != nil {
			return "", ""
		}
		place, path = n-1, name
	}
	if place < 0 || place >= len(f.Stay.GetGuests()) {
		return "", ""
	}
	return f.Stay.GetGuests()[place].GetId(), path
}

// CheckIn returns the URL of the check-in's current stage.
func (f flow) CheckIn() string {
	if f.Kiosk {
		return "/k/confirm"
	}
	return f.Below("checkin")
}

// Key returns the URL of the page with the PINs.
func (f flow) Key() string {
	if f.Kiosk {
		return "/k/code"
	}
	return f.Below("key")
}

// Sharing returns the URL of the page on which the guest decides which data the property's PMS gets.
func (f flow) Sharing() string {
	if f.Kiosk {
		return "/k/share"
	}
	return f.Below("form/share")
}

// Shares returns the state of the guest's decision which data the PMS gets: todo or done. It is "" if this session is not allowed to
// decide, or if the property asks for nothing.
func (f flow) Shares() string {
	for _, t := range f.Stay.GetTasks() {
		if t.GetKind() == "sharing" {
			return t.GetState()
		}
	}
	return ""
}

// asksSharing reports whether, before the check-in continues, a kiosk must ask which data the PMS gets. It is false while required answers
// are missing, at other stages than notToday, confirmDetails, houseRules and ready, and on other devices. No other device can decide later,
// because only the session that gave the answers may read them.
func (f flow) asksSharing() bool {
	c := f.Stay.GetCheckIn()
	if !f.Kiosk || f.Shares() != "todo" || len(c.GetMissingGuestIds()) > 0 {
		return false
	}
	switch c.GetStage() {
	case "notToday", "confirmDetails", "houseRules", "ready":
		return true
	}
	return false
}

// Email returns the URL of the page that asks for the guest's e-mail address.
func (f flow) Email() string { return f.Below("email") }

// Asking returns the URL of the page that waits for an answer of the PMS.
func (f flow) Asking() string {
	if f.Kiosk {
		return "/k/asking"
	}
	return f.Below("checkin")
}

// stagePage returns the URL of the page that shows this stage of a check-in.
func (f flow) stagePage(c *guestv1.CheckIn) string {
	stage := c.GetStage()
	switch {
	case stage == "checkedIn":
		return f.Key()
	case stage == "details" && f.Kiosk:
		return "/k/form"
	case !f.Kiosk:
		return f.Below("checkin")
	}
	switch stage {
	case "start":
		return "/k/you"
	case "confirmDetails", "houseRules", "ready":
		return "/k/confirm"
	case "calling", "waiting":
		return "/k/asking"
	}
	return "/k/stop"
}

// misses reports whether answers of a guest that the check-in requires are missing. guest is the id.
func (f flow) misses(guest string) bool {
	return slices.Contains(f.Stay.GetCheckIn().GetMissingGuestIds(), guest)
}

// missesCompanion reports whether required answers of any companion are missing.
func (f flow) missesCompanion() bool {
	return slices.ContainsFunc(f.Stay.GetGuests(), func(g *guestv1.StayGuest) bool { return g.GetRole() == "companion" && f.misses(g.GetId()) })
}

// CorrectsParty reports whether the page offers to correct how many people stay. Only the session of the main guest can correct it, until
// all answers are confirmed, and while the check-in is stopped.
func (f flow) CorrectsParty() bool {
	switch f.Stay.GetCheckIn().GetStage() {
	case "notToday", "start", "details", "confirmDetails", "stopped":
		return !f.Companion()
	}
	return false
}

// Number returns the position, from 1, of a guest among the adults of the party or, for a child, among the children. It returns 0 if fewer
// than two of these (adults or children) are companions. Pages use it to distinguish guests without a name.
func (f flow) Number(of *guestv1.StayGuest) (number int) {
	at, companions := 0, 0
	for _, g := range f.Stay.GetGuests() {
		if g.GetChild() != of.GetChild() {
			continue
		}
		at++
		if g.GetRole() == "companion" {
			companions++
		}
		if g.GetId() == of.GetId() {
			number = at
		}
	}
	if companions < 2 {
		return 0
	}
	return number
}

// Guest returns the guest with this id, or nil.
func (f flow) Guest(id string) *guestv1.StayGuest {
	for _, g := range f.Stay.GetGuests() {
		if g.GetId() == id {
			return g
		}
	}
	return nil
}

// Self returns the first guest of the loaded stay: the guest of the session, whom the API lists first, or another if the session belongs to
// none. It returns nil without guests.
func (f flow) Self() *guestv1.StayGuest {
	if all := f.Stay.GetGuests(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Others returns the number of guests in the party without the first.
func (f flow) Others() int { return max(len(f.Stay.GetGuests())-1, 0) }

// HasMore reports whether more guests are listed than the party has people: companions with answers or a link are kept when the number is
// made smaller.
func (f flow) HasMore() bool {
	return len(f.Stay.GetGuests()) > int(f.Stay.GetAdultCount()+f.Stay.GetChildCount())
}

// Companion reports whether the session belongs to a companion. A companion only fills in a form, and the main guest checks in.
func (f flow) Companion() bool { return f.Self().GetRole() == "companion" }

// Main returns the main guest of the party or, without one, the first guest. It returns nil without guests.
func (f flow) Main() *guestv1.StayGuest {
	for _, g := range f.Stay.GetGuests() {
		if g.GetRole() == "main" {
			return g
		}
	}
	if all := f.Stay.GetGuests(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// NameOf returns the first name of a guest of the party, or "".
func (f flow) NameOf(id string) string { return f.Guest(id).GetFirstName() }
