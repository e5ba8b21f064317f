package guest

import (
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// deviceStay is deviceSession for a page that needs the stay: it is loaded before the handler runs.
func (s *site) deviceStay(h handler) handler { return s.deviceSession(withStay(h)) }

// deviceSession serves a request for a stay whose session this device has. Without it the stay answers like one that does not exist.
func (s *site) deviceSession(h handler) handler {
	return func(x *exchange) error {
		id := x.R.PathValue("id")
		if !cookieID.MatchString(id) {
			return x.notFound()
		}
		x.token = x.Cookie(stayCookie + id)
		switch {
		case x.token == "" && x.Scripted():
			return x.Redirect("/g/stays/" + id) // another page of this device forgot the session
		case x.token == "":
			return x.notFound()
		}
		x.flow.Stay = &guestv1.Stay{Id: id}
		err := h(x)
		if err == nil || s.Fault(err).Kind != fault.Unauthenticated {
			return err
		}
		return x.renderEnded(id, err)
	}
}

// renderEnded answers for a session that has ended. The device keeps the token of a session that was ended before it expired, because the token
// is what shows that the device had the stay: the page says so until the session would have expired. It forgets other tokens.
func (x *exchange) renderEnded(id string, refused error) error {
	found, err := x.site.api.Links.GetEndedSession(x.callContextOf(""), &guestv1.GetEndedSessionRequest{Token: x.token})
	if err != nil && x.site.Fault(err).Kind != fault.NotFound {
		return err
	}
	if err != nil {
		x.DropCookie(stayCookie + id)
	}
	switch {
	case x.Scripted():
		return x.Redirect("/g/stays/" + id) // a script shows another page only if it is moved there
	case err != nil:
		return refused
	case found.GetData().GetReason() == "canceled":
		return x.renderGone(found.GetData().GetProperty(), "web.canceled")
	}
	return x.renderGone(found.GetData().GetProperty(), "web.ended")
}

// renderGone says why this device does not open the stay any more, and whom to ask. It shows nothing of the stay.
func (x *exchange) renderGone(face *guestv1.PropertyFace, kind string) error {
	x.flow.Stay = nil
	p := x.newPage(face, kind)
	v := problemView{Text: p.T(kind+".text", "property", face.GetName())}
	v.URL, v.Label = x.wayOn(http.StatusGone)
	p.Data = v
	return x.render(http.StatusGone, "problem", p)
}

// withStay reads the stay before the handler.
func withStay(h handler) handler {
	return func(x *exchange) error {
		if err := x.loadStay(); err != nil {
			return err
		}
		return h(x)
	}
}

// keptStay returns the id of a stay that this device has, other than one, or "".
func (x *exchange) keptStay(except string) string {
	for _, c := range x.R.Cookies() {
		if id, ok := strings.CutPrefix(c.Name, x.CookieName(stayCookie)); ok && cookieID.MatchString(id) && id != except {
			return id
		}
	}
	return ""
}

// loadStay reads the stay of the exchange's session.
func (x *exchange) loadStay() error {
	x.flow.Stay = nil
	found, err := x.site.api.Stays.GetStay(x.callContext(), &guestv1.GetStayRequest{})
	if err != nil {
		return err
	}
	if id := x.R.PathValue("id"); id != "" && id != found.GetData().GetId() {
		return fault.New(fault.NotFound, fault.ReservationNotFound, "the session belongs to another stay")
	}
	x.flow.Stay = found.GetData()
	return nil
}

func (x *exchange) stayPage(title string, kv ...any) *page {
	p := x.newPage(x.flow.Stay.GetProperty(), title, kv...)
	p.Back = x.flow.Home()
	return p
}

// taskLink is one line of the task list.
type taskLink struct{ Kind, State, URL string }

type stayView struct {
	Tasks  []taskLink
	Open   int // tasks that can be done and are not
	Unread int // messages of the property
	Doors  keyView
	openView
	Rules bool // the page leads to the house rules: no task does, or the guest has accepted them
	Apple bool // an app on the home screen needs a link of its own
}

func (s *site) showStay(x *exchange) error {
	p := x.stayPage("web.stay.title")
	p.Back = ""
	v := stayView{}
	for _, t := range x.flow.Stay.GetTasks() {
		v.Tasks = append(v.Tasks, taskLink{Kind: t.GetKind(), State: t.GetState(), URL: x.flow.taskURL(t)})
		if t.GetState() == "todo" {
			v.Open++
		}
	}
	v.Rules = x.flow.Stay.GetHouseRules() != "" && !slices.ContainsFunc(x.flow.Stay.GetTasks(), func(t *guestv1.Task) bool {
		return t.GetKind() == "houseRules" && t.GetState() != "done"
	})
	v.Doors.Doors = x.doors()
	v.openView = x.openView()
	v.Apple = isApple(v.Device)
	v.Unread = int(x.flow.Stay.GetUnreadMessages())
	p.Gone = x.flow.Stay.GetCheckIn().GetStage() == "ended"
	p.Data = v
	return x.render(http.StatusOK, "stay", p)
}

// taskURL returns the page of a task; "" if it cannot start yet.
func (f flow) taskURL(t *guestv1.Task) string {
	if t.GetState() == "blocked" {
		return ""
	}
	switch t.GetKind() {
	case "you":
		if t.GetState() == "done" {
			return f.Below("form/check")
		}
		return f.Form(f.Self().GetId())
	case "departure":
		return f.Step(t.GetGuestId(), t.GetStep())
	case "companions":
		return f.Below("people")
	case "arrival":
		return f.Below("form/arrival")
	case "houseRules":
		return f.Below("form/rules")
	case "sharing":
		return f.Sharing()
	}
	return ""
}

// hours are the choices of the arrival time.
func hours() (all []string) {
	for h := range 24 {
		all = append(all, string([]byte{'0' + byte(h/10), '0' + byte(h%10)})+":00")
	}
	return all
}

func (s *site) showArrival(x *exchange) error {
	p := x.stayPage("web.arrival.title")
	p.Data, p.Keeps = hours(), true
	if x.HasTyped() {
		x.flow.Stay.ArrivalTime = x.Value("time")
	}
	return x.render(http.StatusOK, "arrival", p)
}

func (s *site) saveArrival(x *exchange) error {
	if _, err := s.api.Forms.SetArrival(x.callContext(), &guestv1.SetArrivalRequest{Time: x.Value("time")}); err != nil {
		return err
	}
	return x.Redirect(x.flow.Home())
}

func (s *site) showRules(x *exchange) error {
	return x.render(http.StatusOK, "rules", x.stayPage("web.rules.title"))
}

func (s *site) acceptRules(x *exchange) error {
	if _, err := s.api.Forms.AcceptHouseRules(x.callContext(), &guestv1.AcceptHouseRulesRequest{}); err != nil {
		return err
	}
	return x.Redirect(x.flow.Home())
}

// minors returns the companions for whom the guest decides what is shared.
func minors(stay *guestv1.Stay) (out []*guestv1.StayGuest) {
	for _, g := range stay.GetGuests() {
		if g.GetMayShare() && g.GetMinor() && g.GetRole() == "companion" {
			out = append(out, g)
		}
	}
	return out
}

// shareGroups are the groups of fields that a PMS may ask for.
var shareGroups = []string{"identity", "contact", "home", "document", "birth"}

// shareView is what the PMS may read if the guest allows it, what it never reads, and what the law makes the property keep.
type shareView struct {
	Minors []*guestv1.StayGuest
	Never  []string // groups that the property does not ask the guest to share
	Law    lawView
}

// lawView is what the law makes the property keep of a guest. No choice of the guest changes it.
type lawView struct {
	Fields []*guestv1.FormField
	Reason *guestv1.FormReason
}

func newLawView(form *guestv1.Form) (v lawView) {
	for _, step := range form.GetSteps() {
		if step.GetReason().GetKind() != "law" {
			continue
		}
		v.Reason = step.GetReason()
		for _, f := range step.GetFields() {
			if f.GetReason() != "property" {
				v.Fields = append(v.Fields, f)
			}
		}
	}
	return v
}

func (s *site) showSharing(x *exchange) error {
	if x.flow.Kiosk && x.flow.Shares() == "" {
		return x.Redirect(x.flow.CheckIn()) // another device decides
	}
	v := shareView{Minors: minors(x.flow.Stay), Law: newLawView(nil)}
	if own := x.flow.Self(); own != nil {
		form, err := x.form(own.GetId())
		if err != nil {
			return err
		}
		v.Law = newLawView(form)
	}
	for _, group := range shareGroups {
		if !slices.ContainsFunc(x.flow.Stay.GetShared(), func(g *guestv1.SharedGroup) bool { return g.GetName() == group }) {
			v.Never = append(v.Never, group)
		}
	}
	if x.HasTyped() {
		x.keepShared()
	}
	p := x.stayPage("web.share.title")
	p.Data, p.Keeps = v, true
	return x.render(http.StatusOK, "share", p)
}

// keepShared puts the choices that were posted into the stay that the page shows.
func (x *exchange) keepShared() {
	stay := x.flow.Stay
	for _, g := range stay.GetShared() {
		g.Shared = proto.Bool(x.Value("share."+g.GetName()) == "yes")
	}
	if stay.KeepProfile != nil {
		stay.KeepProfile = proto.Bool(x.Value("keep") == "yes")
	}
	for _, g := range minors(stay) {
		g.SharedGroups = nil
		if x.Value("minor."+g.GetId()) == "yes" {
			g.SharedGroups = []string{"identity"} // any group: the page has one switch for all
		}
	}
}

func (s *site) saveSharing(x *exchange) error {
	if x.flow.Kiosk && x.flow.Shares() == "" {
		return x.Redirect(x.flow.CheckIn()) // another device decided meanwhile
	}
	req := &guestv1.SetSharingRequest{KeepProfile: x.Value("keep") == "yes"}
	for _, g := range x.flow.Stay.GetShared() {
		if x.Value("share."+g.GetName()) == "yes" {
			req.Groups = append(req.Groups, g.GetName())
		}
	}
	for _, g := range minors(x.flow.Stay) {
		of := &guestv1.MinorSharing{GuestId: g.GetId()}
		if x.Value("minor."+g.GetId()) == "yes" {
			of.Groups = req.GetGroups()
		}
		req.Minors = append(req.Minors, of)
	}
	if _, err := s.api.Forms.SetSharing(x.callContext(), req); err != nil {
		return err
	}
	if x.flow.Kiosk {
		return x.Redirect(x.flow.CheckIn())
	}
	return x.Redirect(x.flow.Home())
}

// help calls a member of staff.
func (s *site) help(x *exchange) error {
	if _, err := s.api.CheckIns.RequestHelp(x.callContext(), &guestv1.RequestHelpRequest{}); err != nil {
		return err
	}
	p := x.stayPage("web.help.title")
	p.Called = true
	return x.render(http.StatusOK, "help", p)
}

// endSession forgets the stay on this device.
func (s *site) endSession(x *exchange) error {
	if _, err := s.api.Stays.EndSession(x.callContext(), &guestv1.EndSessionRequest{}); err != nil {
		return err
	}
	x.DropCookie(stayCookie + x.flow.Stay.GetId())
	x.W.Header().Set("Clear-Site-Data", `"cache"`) // not the storage: it holds the keys of other stays
	face := x.flow.Stay.GetProperty()
	x.flow.Stay = nil // the page offers nothing that needs the session
	p := x.newPage(face, "web.forgotten.title")
	p.Gone = true // its script forgets what the device kept of this stay
	return x.render(http.StatusOK, "forgotten", p)
}
