package guest

import (
	"net/http"
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
)

// waitSeconds is the reload interval of the waiting page, in seconds.
const waitSeconds = 2

type stageView struct {
	CheckIn *guestv1.CheckIn
	Retry   bool      // the check-in is stopped, and the guest can retry it
	Guests  []answers // at the stage confirmDetails: the answers to confirm
	Sign    *signView // at the stage signature: what a guest signs on this page, or nil
	Birth   string    // if a minor without an adult stops the check-in: the URL at which the date of birth is corrected, or ""
}

// canRetry reports whether the guest can retry a stopped check-in. It is false at any other stage, and if any reason of the stop needs the
// front desk.
func canRetry(c *guestv1.CheckIn) bool {
	return c.GetStage() == "stopped" && !slices.ContainsFunc(c.GetStops(), func(s *guestv1.CheckInStop) bool { return !s.GetRetry() })
}

// showStage handles the pages of the check-in. It shows the current stage or, if that has another URL, redirects to it. A kiosk first goes
// to the page about sharing data, if it must ask that. A companion goes to the first page of the stay instead of the check-in.
func (s *site) showStage(x *exchange) error {
	c := x.flow.Stay.GetCheckIn()
	if x.R.URL.Path == x.flow.CheckIn() && x.flow.asksSharing() {
		return x.Redirect(x.flow.Sharing())
	}
	want := x.flow.stagePage(c)
	if want == x.flow.CheckIn() && x.flow.Companion() {
		want = x.flow.Home()
	}
	if want != x.R.URL.Path {
		return x.Redirect(want)
	}
	return x.stage(http.StatusOK, c)
}

// stage renders the current stage of the check-in. A status other than 200 means that a signature was refused as too small.
func (x *exchange) stage(status int, c *guestv1.CheckIn) error {
	p := x.stayPage(stageTitle(c))
	v := stageView{CheckIn: c, Retry: canRetry(c)}
	switch c.GetStage() {
	case "calling", "waiting":
		p.Refresh, p.Back = waitSeconds, ""
	case "signature":
		sign, err := x.toSign(c)
		if err != nil {
			return err
		}
		if sign == nil {
			p.Refresh = 5
			break
		}
		sign.Small = status != http.StatusOK
		v.Sign = sign
	case "identityCheck":
		p.Refresh = 5
	case "stopped":
		if !v.Retry || c.GetNextAskAt() != nil {
			p.Refresh = 30
		}
		if slices.ContainsFunc(c.GetStops(), func(s *guestv1.CheckInStop) bool { return s.GetReason() == "minorAlone" }) {
			birth, err := x.birthPage()
			if err != nil {
				return err
			}
			v.Birth = birth
		}
	case "confirmDetails":
		all, err := x.answers()
		if err != nil {
			return err
		}
		v.Guests = all
	case "notToday", "start", "details", "houseRules", "ready", "ended":
	default:
		p.Refresh = 30 // an unknown stage: wait for staff
	}
	p.Data, p.OnPhone = v, v.Retry || c.GetStage() == "waiting"
	return x.render(status, "stage", p)
}

// birthPage returns the URL of the form step in which the guest of the session corrects a mistyped date of birth, or "" if this session
// cannot change it.
func (x *exchange) birthPage() (string, error) {
	first := x.flow.Self().GetId()
	f, err := x.form(first)
	if err != nil {
		return "", err
	}
	for _, step := range f.GetSteps() {
		for _, q := range step.GetFields() {
			if q.GetName() == "birthDate" && q.GetLockedBy() == "" {
				return x.flow.Step(first, step.GetName()) + "?check", nil
			}
		}
	}
	return "", nil
}

// stageTitle returns the kind of the title message for the stage of a check-in.
func stageTitle(c *guestv1.CheckIn) string {
	if c.GetStage() == "stopped" && !canRetry(c) {
		return "web.stage.atDesk"
	}
	if kind := "web.stage." + c.GetStage(); message.Has(kind) {
		return kind
	}
	return "web.stage.other"
}

// takeStep handles the button of the next step of the check-in, and redirects to the stage after it. After the start, except at the stage
// notToday, it first asks for an e-mail address if the stay needs one. If the API refuses the step, showRefused answers. It loads the stay
// only if needed, so that the last step, which completes the check-in, is fast.
func (s *site) takeStep(x *exchange) error {
	do := x.Value("do")
	c, err := x.doStep(do)
	asksForMail := do == "start" && c.GetStage() != "notToday"
	if err == nil && !asksForMail {
		return x.Redirect(x.flow.stagePage(c))
	}
	if unread := x.loadStay(); unread != nil {
		return unread
	}
	if err != nil {
		return x.showRefused(do, err)
	}
	if x.flow.Stay.GetNeedsMailAddress() {
		return x.Redirect(x.flow.Email())
	}
	return x.Redirect(x.flow.stagePage(c))
}

// showRefused answers a step that the API refused. If the step does not fit the state of the check-in, which has probably advanced, it
// redirects to the current stage. It takes any invalid signature for one that is too small, and shows the page again. It returns other
// errors unchanged. do is the value of the button.
func (x *exchange) showRefused(do string, err error) error {
	switch f := x.site.Fault(err); {
	case do == "sign" && f.Kind == fault.Invalid:
		return x.stage(http.StatusUnprocessableEntity, x.flow.Stay.GetCheckIn())
	case f.Kind == fault.Precondition, f.Kind == fault.Aborted, f.Kind == fault.Exists:
		return x.Redirect(x.flow.CheckIn()) // the check-in advanced meanwhile: show its stage
	}
	return err
}

// doStep performs the posted step with the API, and returns the check-in after it. do is the value of the button. An unknown value only
// reads the check-in.
func (x *exchange) doStep(do string) (*guestv1.CheckIn, error) {
	api := x.site.api
	switch do {
	case "start":
		a, err := api.CheckIns.StartCheckIn(x.callContext(), &guestv1.StartCheckInRequest{Language: x.language(), LanguageOfBrowser: x.ChosenLanguage() == ""})
		return a.GetData(), err
	case "again":
		a, err := api.CheckIns.AskAgain(x.callContext(), &guestv1.AskAgainRequest{})
		return a.GetData(), err
	case "confirm":
		a, err := api.CheckIns.ConfirmDetails(x.callContext(), &guestv1.ConfirmDetailsRequest{})
		return a.GetData(), err
	case "complete":
		a, err := api.CheckIns.CompleteCheckIn(x.callContext(), &guestv1.CompleteCheckInRequest{})
		return a.GetData(), err
	case "sign":
		if err := x.sign(); err != nil {
			return nil, err
		}
	case "rules":
		if _, err := api.Forms.AcceptHouseRules(x.callContext(), &guestv1.AcceptHouseRulesRequest{}); err != nil {
			return nil, err
		}
	}
	a, err := api.CheckIns.GetCheckIn(x.callContext(), &guestv1.GetCheckInRequest{})
	return a.GetData(), err
}

type pinView struct {
	Pins   *guestv1.Pins      // nil if this session does not get the PINs now
	Gates  []*guestv1.GatePin // gates (doors that several rooms share) whose PIN differs from that of the room
	Shown  bool               // this session does not get the PINs, although there are some: it has seen them, or another session may see them
	Doors  []doorState
	Wait   bool   // the doors of the stay are not known yet
	Moving bool   // a code is still being put on a door's lock
	Follow bool   // the page reloads if the PINs that it shows change; false at a kiosk, which gets them once
	Phone  qrCode // at a kiosk: the link for the guest's phone; zero if the stay cannot be handed over
}

// showKey handles the page with the PINs of the stay and the state of each door. Before the check-in and after the stay it redirects to the
// current stage. Each load reveals the PINs, which the API records. A session at a kiosk gets them only once. If the API gives no PIN, the
// page shows only the doors.
func (s *site) showKey(x *exchange) error {
	if want := x.flow.stagePage(x.flow.Stay.GetCheckIn()); want != x.flow.Key() && x.flow.Stay.GetState() != "started" {
		return x.Redirect(want)
	}
	v := pinView{Doors: x.doors()}
	if x.flow.Kiosk {
		v.Phone = x.phoneQR() // before RevealPin: afterwards the API creates no such link, to protect against a copied cookie
	}
	pins, err := s.api.Stays.RevealPin(x.callContext(), &guestv1.RevealPinRequest{})
	if err == nil {
		v.Pins, v.Follow = pins.GetData(), !x.flow.Kiosk
		v.Gates = slices.DeleteFunc(v.Pins.GetGates(), func(g *guestv1.GatePin) bool { return g.GetPin() == v.Pins.GetPin() })
	} else if f := s.Fault(err); f.Kind != fault.Precondition && f.Kind != fault.NotFound && f.Kind != fault.Denied && f.Kind != fault.Exhausted {
		return err
	} else {
		withheld := x.flow.Stay.GetPinWithheld()
		v.Shown = withheld != "noCode" // true even if another request of the kiosk got the PINs just now
		v.Wait = withheld == "noCode" && len(v.Doors) == 0 && x.flow.Stay.GetSpaceName() != ""
	}
	return x.pinPage(v)
}

// showDoors handles the list of the doors without the PINs, which is a part of the page of showKey. The page's script reloads it to update
// the states of the doors. If the page waits for the first doors and they are known now, it redirects to showKey.
func (s *site) showDoors(x *exchange) error {
	v := pinView{Doors: x.doors(), Wait: x.R.URL.Query().Has("wait"), Follow: x.R.URL.Query().Has("codes")}
	if v.Wait && len(v.Doors) > 0 {
		return x.Redirect(x.flow.Key())
	}
	return x.pinPage(v)
}

// Codes returns a version that changes if a PIN or the list of the stay's doors changes. A page that shows PINs then reloads.
func (p *page) Codes() string {
	version := p.Flow.Stay.GetCodesVersion()
	for _, d := range p.Flow.Stay.GetDoors() {
		version += " " + d.GetId()
	}
	return version
}

// pinPage renders the page with the PINs of the stay and the state of each door. It sets Moving of v. While v.Wait is true, the page
// reloads.
func (x *exchange) pinPage(v pinView) error {
	title := "web.key.title"
	if v.Shown || x.flow.Kiosk {
		title = "web.stage.checkedIn"
	}
	p := x.stayPage(title)
	for _, d := range v.Doors {
		switch d.GetPin() {
		case "planned", "queued", "sent":
			v.Moving = true
		}
	}
	if v.Wait {
		v.Moving, p.Refresh = true, waitSeconds
	}
	if x.flow.Kiosk {
		p.Back = ""
	}
	if v.Pins.GetPin() != "" || len(v.Gates) > 0 {
		p.Idle = "code"
	}
	p.Data = v
	return x.render(http.StatusOK, "key", p)
}
