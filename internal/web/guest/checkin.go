package guest

import (
	"net/http"
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
)

// waitSeconds is how often the waiting page loads again.
const waitSeconds = 2

type stageView struct {
	CheckIn *guestv1.CheckIn
	Retry   bool      // trying again can help
	Guests  []answers // with confirmDetails: what is confirmed
	Sign    *signView // with signature: what a guest signs on this page; nil: nothing
}

// canRetry reports whether a stopped check-in can go on after the guest tries again. One stop that needs the desk is enough for false.
func canRetry(c *guestv1.CheckIn) bool {
	return c.GetStage() == "stopped" && !slices.ContainsFunc(c.GetStops(), func(s *guestv1.CheckInStop) bool { return !s.GetRetry() })
}

// showStage shows where the check-in is, and what comes next.
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
	case "confirmDetails":
		all, err := x.answers()
		if err != nil {
			return err
		}
		v.Guests = all
	case "notToday", "start", "details", "houseRules", "ready", "ended":
	default:
		p.Refresh = 30 // staff act
	}
	p.Data, p.OnPhone = v, v.Retry || c.GetStage() == "waiting"
	return x.render(status, "stage", p)
}

func stageTitle(c *guestv1.CheckIn) string {
	if c.GetStage() == "stopped" && !canRetry(c) {
		return "web.stage.atDesk"
	}
	if kind := "web.stage." + c.GetStage(); message.Has(kind) {
		return kind
	}
	return "web.stage.other"
}

// takeStep takes the guest's next step of the check-in. It reads the stay only if the answer needs it, because the last press should be quick.
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

// showRefused answers a step that the API refused.
func (x *exchange) showRefused(do string, err error) error {
	switch f := x.site.Fault(err); {
	case do == "sign" && f.Kind == fault.Invalid:
		return x.stage(http.StatusUnprocessableEntity, x.flow.Stay.GetCheckIn())
	case f.Kind == fault.Precondition, f.Kind == fault.Aborted, f.Kind == fault.Exists:
		return x.Redirect(x.flow.CheckIn()) // the check-in went on meanwhile: show where it is
	}
	return err
}

func (x *exchange) doStep(do string) (*guestv1.CheckIn, error) {
	api := x.site.api
	switch do {
	case "start":
		a, err := api.CheckIns.StartCheckIn(x.callContext(), &guestv1.StartCheckInRequest{Language: x.language()})
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

type keyView struct {
	Pins   *guestv1.Pins      // nil if they are not shown
	Gates  []*guestv1.GatePin // gates with a code of their own
	Shown  bool               // they were shown before or to another session, so that this session does not get them
	Doors  []doorState
	Wait   bool   // the access is being planned
	Moving bool   // the evidence of a door still changes
	Follow bool   // the page shows PINs, which may change
	Phone  qrCode // at a kiosk: with which the guest continues on a phone
}

// showKey shows the codes and what is known about each door.
func (s *site) showKey(x *exchange) error {
	if want := x.flow.stagePage(x.flow.Stay.GetCheckIn()); want != x.flow.Key() && x.flow.Stay.GetState() != "started" {
		return x.Redirect(want)
	}
	v := keyView{Doors: x.doors()}
	if x.flow.Kiosk {
		v.Phone = x.phoneQR() // before the code is shown: a copied cookie gets neither afterwards
	}
	pins, err := s.api.Stays.RevealPin(x.callContext(), &guestv1.RevealPinRequest{})
	if err == nil {
		v.Pins, v.Follow = pins.GetData(), !x.flow.Kiosk
		v.Gates = slices.DeleteFunc(v.Pins.GetGates(), func(g *guestv1.GatePin) bool { return g.GetPin() == v.Pins.GetPin() })
	} else if f := s.Fault(err); f.Kind != fault.Precondition && f.Kind != fault.NotFound && f.Kind != fault.Denied && f.Kind != fault.Exhausted {
		return err
	} else {
		withheld := x.flow.Stay.GetPinWithheld()
		v.Shown = withheld != "noCode" // also if another request of the kiosk got them since
		v.Wait = withheld == "noCode" && len(v.Doors) == 0 && x.flow.Stay.GetSpaceName() != ""
	}
	return x.keyPage(v)
}

// showDoors shows the doors alone, without their codes.
func (s *site) showDoors(x *exchange) error {
	v := keyView{Doors: x.doors(), Wait: x.R.URL.Query().Has("wait"), Follow: x.R.URL.Query().Has("codes")}
	if v.Wait && len(v.Doors) > 0 {
		return x.Redirect(x.flow.Key())
	}
	return x.keyPage(v)
}

// Codes changes with each PIN and each door of the stay. A page that shows a PIN then loads itself again.
func (p *page) Codes() string {
	version := p.Flow.Stay.GetCodesVersion()
	for _, d := range p.Flow.Stay.GetDoors() {
		version += " " + d.GetId()
	}
	return version
}

func (x *exchange) keyPage(v keyView) error {
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
	if v.Pins.GetPin() != "" {
		p.Idle = "code"
	}
	p.Data = v
	return x.render(http.StatusOK, "key", p)
}
