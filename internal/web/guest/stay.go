package guest

import (
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// deviceStay is deviceSession for a handler that needs the stay, which it loads before the handler runs.
func (s *site) deviceStay(h handler) handler { return s.deviceSession(withStay(h)) }

// deviceSession wraps a handler of a page of a stay. It takes the session from the device's cookie, and sets only the id of the stay in
// x.flow. Without a session, the response is the same as for an unknown stay. If the API reports that the session has ended, renderEnded
// answers. For a GET, a device without any stay gets the page on which the guest can paste a link.
func (s *site) deviceSession(h handler) handler {
	return func(x *exchange) error {
		id := x.R.PathValue("id")
		if !cookieID.MatchString(id) {
			return x.notFound()
		}
		x.token = x.Cookie(stayCookie + id)
		switch {
		case x.token == "" && x.Scripted():
			return x.Redirect("/g/stays/" + id) // ended in another tab: the script loads the page of a device without the stay
		case x.token == "" && x.R.Method == http.MethodGet && x.keptStay("") == "":
			return x.askForLinkPage(http.StatusNotFound, "") // such as for an app on the home screen of an iPhone, which has no cookie yet
		case x.token == "":
			return x.notFound()
		}
		x.flow.Stay = &guestv1.Stay{Id: id}
		err := h(x)
		if err == nil || s.Fault(err).Kind != fault.Unauthenticated {
			return err
		}
		return x.renderEnded(id)
	}
}

// renderEnded answers a request whose session has ended. If the session was ended before its expiry, the page shows why, and the device
// keeps the token as the proof that it had the stay. About other sessions, such as those of an erased guest, nothing is stored: the page
// lists possible reasons, and the device forgets the token. A script is redirected to the stay instead.
func (x *exchange) renderEnded(id string) error {
	found, err := x.site.api.Links.GetEndedSession(x.callContextOf(""), &guestv1.GetEndedSessionRequest{Token: x.token})
	switch {
	case err != nil && x.site.Fault(err).Kind != fault.NotFound:
		return err
	case x.Scripted():
		return x.Redirect("/g/stays/" + id) // a script cannot show this page, so it loads the stay, whose response is this page
	case err != nil:
		if x.wantsPage() {
			x.dropStay(id)
		}
		return x.renderGone(http.StatusNotFound, nil, "web.gone")
	case found.GetData().GetReason() == "canceled":
		return x.renderGone(http.StatusGone, found.GetData().GetProperty(), "web.canceled")
	}
	return x.renderGone(http.StatusGone, found.GetData().GetProperty(), "web.ended")
}

// dropStay deletes the cookies of a stay on this device: its session, and the door where it was found.
func (x *exchange) dropStay(id string) {
	x.DropCookie(stayCookie + id)
	x.DropCookie(doorCookie + id)
}

// wantsPage reports whether the guest sees the response. It is false for an event stream and for files that the browser loads for a page.
func (x *exchange) wantsPage() bool {
	accept := x.R.Header.Get("Accept")
	return accept == "" || strings.Contains(accept, "text/html")
}

// renderGone renders the page that explains why this device can no longer open the stay. kind is the message kind of the reason. The page
// shows no data of the stay. It names the property, unless face is nil.
func (x *exchange) renderGone(status int, face *guestv1.PropertyFace, kind string) error {
	x.flow.Stay = nil
	p := x.newPage(face, kind)
	v := problemView{Text: p.T(kind+".text", "property", face.GetName())}
	v.URL, v.Label = x.continueLink(status)
	p.Data = v
	return x.render(status, "problem", p)
}

// withStay wraps a handler, and loads the stay before the handler runs.
func withStay(h handler) handler {
	return func(x *exchange) error {
		if err := x.loadStay(); err != nil {
			return err
		}
		return h(x)
	}
}

// keptStay returns the id of a stay for which this device has a session, ended or not, or "". except is the id of a stay to skip.
func (x *exchange) keptStay(except string) string {
	for _, c := range x.R.Cookies() {
		if id, ok := strings.CutPrefix(c.Name, x.CookieName(stayCookie)); ok && cookieID.MatchString(id) && id != except {
			return id
		}
	}
	return ""
}

// loadStay loads the stay of the exchange's session into x.flow. It fails with NotFound if that is not the stay in the URL. After an error,
// x.flow has no stay.
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

// stayPage returns the data of a page of the stay, whose link "back" leads to its first page. title is a message kind, and kv are names and
// values of its parameters.
func (x *exchange) stayPage(title string, kv ...any) *page {
	p := x.newPage(x.flow.Stay.GetProperty(), title, kv...)
	p.Back = x.flow.Home()
	return p
}

// taskLink is one line of the task list.
type taskLink struct{ Kind, State, URL string } // URL is "" if the task has no page now

type stayView struct {
	Tasks  []taskLink
	Open   int     // number of tasks that the guest can do now
	Unread int     // number of unread messages
	Doors  pinView // without PINs
	openView
	Stage string // kind of the title message of the check-in's stage
	Retry bool   // the check-in is stopped, and the guest can retry it
	Rules bool   // the page links to the house rules, because no open task links to them
	Apple bool   // on this device, an installed app has its own cookies, so it needs its own link
}

// showStay handles the first page of the stay, with the list of tasks. It shows the doors, but no PIN. After the end of the stay, the
// script deletes what the device stored of it.
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
	v.Stage, v.Retry = stageTitle(x.flow.Stay.GetCheckIn()), canRetry(x.flow.Stay.GetCheckIn())
	p.Gone = x.flow.Stay.GetCheckIn().GetStage() == "ended"
	p.Data = v
	return x.render(http.StatusOK, "stay", p)
}

// taskURL returns the URL of the page of a task of the stay, such as the house rules. It returns "" if the task cannot start yet, or has no
// page.
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

// showRules handles the page with the house rules.
func (s *site) showRules(x *exchange) error {
	return x.render(http.StatusOK, "rules", x.stayPage("web.rules.title"))
}

// acceptRules handles the button that accepts the house rules, and redirects to the first page of the stay.
func (s *site) acceptRules(x *exchange) error {
	if _, err := s.api.Forms.AcceptHouseRules(x.callContext(), &guestv1.AcceptHouseRulesRequest{}); err != nil {
		return err
	}
	return x.Redirect(x.flow.Home())
}

// minors returns the companions for whom this guest decides which data the PMS gets, because they are minors.
func minors(stay *guestv1.Stay) (out []*guestv1.StayGuest) {
	for _, g := range stay.GetGuests() {
		if g.GetMayShare() && g.GetMinor() && g.GetRole() == "companion" {
			out = append(out, g)
		}
	}
	return out
}

// shareGroups are the groups of personal data that a PMS may ask for.
var shareGroups = []string{"identity", "contact", "home", "document", "birth"}

// shareView is the page of the sharing decision: what the PMS gets with the guest's consent, what it never gets, and what the law requires
// the property to store.
type shareView struct {
	Minors []*guestv1.StayGuest // companions for whom the guest decides
	Never  []string             // groups that this property does not ask for
	Law    lawView
}

// lawView is the data that the law requires the property to store of a guest. It does not depend on the guest's consent.
type lawView struct {
	Fields []*guestv1.FormField
	Reason *guestv1.FormReason
}

// newLawView returns the fields of a form that the law requires, not those that only the property asks for. A nil form has none.
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

// showSharing handles the page on which the guest decides which data the PMS gets. A kiosk whose session is not allowed to decide goes on
// with the check-in.
func (s *site) showSharing(x *exchange) error {
	if x.flow.Kiosk && x.flow.Shares() == "" {
		return x.Redirect(x.flow.CheckIn()) // this session must not decide which data the PMS gets, or the property asks for none
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

// keepShared sets the posted choices in the loaded stay, so that the page shows them again. It saves nothing.
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
			g.SharedGroups = []string{"identity"} // any group, because the page has one switch for all of them
		}
	}
}

// saveSharing handles the form in which the guest decides which data the PMS gets, and whether the property keeps the answers for the next
// stay. A minor shares the same groups as the guest, or none.
func (s *site) saveSharing(x *exchange) error {
	if x.flow.Kiosk && x.flow.Shares() == "" {
		return x.Redirect(x.flow.CheckIn()) // another device has decided meanwhile which data the PMS gets
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

// help handles the button that calls a member of staff, with a notice and a mail. It renders a page that confirms the call.
func (s *site) help(x *exchange) error {
	if _, err := s.api.CheckIns.RequestHelp(x.callContext(), &guestv1.RequestHelpRequest{}); err != nil {
		return err
	}
	p := x.stayPage("web.help.title")
	p.LookURL = "" // no choice of colors or language: a reload would lead to the stay
	p.Called, p.Data = true, x.flow.Stay.GetCheckIn().GetStage() == "notToday"
	return x.render(http.StatusOK, "help", p)
}

// showUnknown handles URLs below a stay that have no page. A browser can load the URL of a posted form again later: for these URLs it
// redirects to the stay.
func (s *site) showUnknown(x *exchange) error {
	switch x.R.PathValue("rest") {
	case "", "help", "end":
		return x.Redirect(x.flow.Home())
	}
	return x.notFound()
}

// beforeTheEnd wraps a handler of a page that only makes sense before the end of the stay. Afterwards it redirects to the first page of the
// stay.
func beforeTheEnd(h handler) handler {
	return func(x *exchange) error {
		if x.flow.Stay.GetCheckIn().GetStage() == "ended" {
			return x.Redirect(x.flow.Home())
		}
		return h(x)
	}
}

// endSession handles the button that removes the stay from this device. It also ends the session on the server.
func (s *site) endSession(x *exchange) error {
	if _, err := s.api.Stays.EndSession(x.callContext(), &guestv1.EndSessionRequest{}); err != nil {
		return err
	}
	x.dropStay(x.flow.Stay.GetId())
	x.W.Header().Set("Clear-Site-Data", `"cache"`) // not the storage, which has the SmartKeys of other stays
	face := x.flow.Stay.GetProperty()
	x.flow.Stay = nil // so that the page has no links that need the session
	p := x.newPage(face, "web.forgotten.title")
	p.LookURL = ""
	p.Gone = true // the script deletes what the device stored of this stay
	return x.render(http.StatusOK, "forgotten", p)
}
