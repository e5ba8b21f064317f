package guest

import (
	"encoding/base64"
	"net/http"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// tablet serves a request of an enrolled tablet. Without the credential of a tablet it moves to the enrolment.
func (s *site) tablet(h handler) handler {
	return func(x *exchange) error {
		x.flow.Kiosk = true
		if x.token = x.Cookie(kioskCookie); x.token == "" {
			return x.Redirect("/k/enrol")
		}
		return h(x)
	}
}

// tabletStay is tabletSession for a page that needs the stay: it is loaded before the handler runs.
func (s *site) tabletStay(h handler) handler { return s.tabletSession(withStay(h)) }

// tabletSession serves a request with the session of the guest at the tablet. Without a session it moves to the start page.
func (s *site) tabletSession(h handler) handler {
	return s.tablet(func(x *exchange) error {
		if x.token = x.Cookie(visitCookie); x.token == "" {
			return x.Redirect("/k/")
		}
		err := h(x)
		if err == nil || s.Fault(err).Kind != fault.Unauthenticated {
			return err
		}
		return x.endCanceledVisit(err)
	})
}

// endCanceledVisit moves the guest whose stay the PMS canceled to a page that says so. The tablet forgets the session first, so the next
// guest does not read it.
func (x *exchange) endCanceledVisit(refused error) error {
	ended, err := x.site.api.Links.GetEndedSession(x.callContextOf(""), &guestv1.GetEndedSessionRequest{Token: x.token})
	switch {
	case err != nil && x.site.Fault(err).Kind != fault.NotFound:
		return err
	case err != nil, ended.GetData().GetReason() != "canceled":
		return refused
	}
	x.forgetVisit()
	return x.Redirect("/k/canceled")
}

// showCanceled says that a stay was canceled, and shows nothing of it.
func (s *site) showCanceled(x *exchange) error {
	k, err := x.kiosk()
	if err != nil {
		return err
	}
	p := x.newPage(k.GetProperty(), "web.canceled")
	v := problemView{Text: p.T("web.canceled.text", "property", k.GetProperty().GetName())}
	v.URL, v.Label = x.wayOn(http.StatusOK)
	p.Data = v
	return x.render(http.StatusOK, "problem", p)
}

type enrolView struct{ Wrong bool }

func (s *site) showEnrol(x *exchange) error { return x.enrolPage(http.StatusOK, enrolView{}) }

func (x *exchange) enrolPage(status int, v enrolView) error {
	x.flow.Kiosk = true
	p := x.newPage(nil, "web.enrol.title")
	if v.Wrong {
		p.Wrong = []wrong{{ID: "f-code", Text: p.T("web.enrol.wrong")}}
	}
	p.Data = v
	return x.render(status, "enrol", p)
}

// enrol turns an enrolment code and the tablet's public key into its token.
func (s *site) enrol(x *exchange) error {
	x.flow.Kiosk = true
	key, err := base64.StdEncoding.DecodeString(x.Value("publicKey"))
	if err != nil {
		return x.enrolPage(http.StatusUnprocessableEntity, enrolView{Wrong: true})
	}
	made, err := s.api.Kiosks.EnrolKiosk(x.callContext(), &kioskv1.EnrolKioskRequest{Code: x.Value("code"), PublicKey: key})
	if err != nil {
		switch s.Fault(err).Kind {
		case fault.Invalid, fault.NotFound, fault.Precondition, fault.Unauthenticated, fault.Denied:
			return x.enrolPage(http.StatusUnprocessableEntity, enrolView{Wrong: true})
		}
		return err
	}
	x.SetCookie(kioskCookie, made.GetData().GetToken(), s.Now().Add(kioskAge))
	return x.Redirect("/k/")
}

type kioskView struct {
	Kiosk *kioskv1.Kiosk
	QR    qrCode
}

func (x *exchange) kiosk() (*kioskv1.Kiosk, error) {
	found, err := x.site.api.Kiosks.GetKiosk(x.callContext(), &kioskv1.GetKioskRequest{})
	if err != nil {
		if k := x.site.Fault(err).Kind; k == fault.Unauthenticated || k == fault.Denied {
			x.DropCookie(kioskCookie)
		}
		return nil, err
	}
	return found.GetData(), nil
}

// How often the start page loads again, and after how long the pages of a tablet that is cut off load it: it shows whether check-in is open.
// A guest reads on the latter how to go on.
const (
	startSeconds  = 30
	closedSeconds = 10
	cutSeconds    = 30
)

func (s *site) showKiosk(x *exchange) error {
	x.endGuestSession()
	if x.R.URL.RawQuery != chosenQuery {
		x.ForgetLanguage()
	}
	k, err := x.kiosk()
	if err != nil {
		if kind := s.Fault(err).Kind; kind == fault.Unauthenticated || kind == fault.Denied {
			return x.Redirect("/k/enrol")
		}
		return s.showClosed(x)
	}
	p := x.newPage(k.GetProperty(), "web.kiosk.title", "property", k.GetProperty().GetName())
	p.Idle, p.Refresh, p.LookURL = "start", startSeconds, "?"+kit.LookQuery+"&"+chosenQuery
	p.Data = kioskView{Kiosk: k, QR: x.qr(k.GetDoor())}
	return x.render(http.StatusOK, "kiosk", p)
}

// chosenQuery marks the start page that is shown after a guest chose a language. Without it the start page is the property's.
const chosenQuery = "chosen"

// endGuestSession ends the session of the guest at the tablet, if there is one.
func (x *exchange) endGuestSession() {
	token := x.Cookie(visitCookie)
	if token == "" {
		return
	}
	// A session that cannot be ended now ends by itself.
	_, _ = x.site.api.Stays.EndSession(x.callContextOf(token), &guestv1.EndSessionRequest{})
	x.forgetVisit()
}

func (x *exchange) forgetVisit() {
	x.DropCookie(visitCookie)
	x.W.Header().Set("Clear-Site-Data", `"cache"`)
}

// showClosed is the page of a tablet that cannot reach the service or the PMS. The service worker keeps it.
func (s *site) showClosed(x *exchange) error {
	return x.closedPage("web.closed.title", "web.closed.text", "closed", closedSeconds)
}

// showCut shows the page for a tablet that loses its connection to the service during a guest's check-in: the guest continues on their own phone
// or at the desk. The tablet's service worker stores this page, because it is needed offline.
func (s *site) showCut(x *exchange) error {
	return x.closedPage("web.cut.title", "web.cut.text", "cut", cutSeconds)
}

type closedView struct {
	Text string
	QR   qrCode
}

func (x *exchange) closedPage(title, text, idle string, seconds int) error {
	x.flow.Kiosk = true
	x.OwnLanguage = x.R.URL.Path == "/k/closed" // the service worker keeps it for the next guests
	var k *kioskv1.Kiosk
	if token := x.Cookie(kioskCookie); token != "" {
		if found, err := x.site.api.Kiosks.GetKiosk(x.callContextOf(token), &kioskv1.GetKioskRequest{}); err == nil {
			k = found.GetData()
		}
	}
	p := x.newPage(k.GetProperty(), title)
	p.Refresh, p.Idle = seconds, idle
	p.Data = closedView{Text: text, QR: x.qr(k.GetDoor())}
	return x.render(http.StatusOK, "closed", p)
}

func (s *site) showFind(x *exchange) error {
	if x.R.URL.Path == "/k/which" {
		return x.Redirect("/k/find")
	}
	return x.findPage(http.StatusOK, findView{})
}

// findPage shows the two facts with a fresh challenge.
func (x *exchange) findPage(status int, v findView) error {
	k, err := x.kiosk()
	if err != nil {
		return err
	}
	v.Action, v.Challenge = "/k/find", k.GetChallenge()
	return x.find(status, k.GetProperty(), v)
}

func (s *site) findAtKiosk(x *exchange) error {
	v := findView{Number: x.Value("number"), Name: x.Value("name")}
	signature, err := base64.StdEncoding.DecodeString(x.Value("signature"))
	if v.Number == "" || v.Name == "" || err != nil {
		v.NotFound = true
		return x.findPage(http.StatusUnprocessableEntity, v)
	}
	found, err := s.api.Kiosks.FindStay(x.callContext(), &kioskv1.FindStayRequest{
		Number: v.Number, FamilyName: v.Name, Choice: x.Value("choice"), Challenge: x.Value("challenge"), Signature: signature,
	})
	if err != nil {
		f := s.Fault(err)
		switch f.Kind {
		case fault.NotFound, fault.Invalid, fault.Precondition, fault.Denied:
			v.NotFound = true
		case fault.Exhausted:
			v.TooMany, v.Wait = true, f.RetryAfter
		default:
			return err
		}
		return x.findPage(http.StatusUnprocessableEntity, v)
	}
	if v.Choices = found.GetData().GetChoices(); len(v.Choices) > 0 {
		return x.findPage(http.StatusOK, v)
	}
	x.SetCookie(visitCookie, found.GetData().GetSession().GetToken(), time.Time{})
	return x.Redirect("/k/you")
}

// showYou asks whether the found reservation is the guest's.
func (s *site) showYou(x *exchange) error {
	p := x.stayPage("web.you.title")
	p.Back, p.Idle = "/k/find", "guest"
	return x.render(http.StatusOK, "you", p)
}

// kioskHelp calls a member of staff to the tablet.
func (s *site) kioskHelp(x *exchange) error {
	k, err := x.kiosk()
	if err != nil {
		return err
	}
	if visit := x.Cookie(visitCookie); visit != "" {
		_, err = s.api.CheckIns.RequestHelp(x.callContextOf(visit), &guestv1.RequestHelpRequest{})
	} else {
		_, err = s.api.Kiosks.RequestHelp(x.callContext(), &kioskv1.RequestHelpRequest{})
	}
	if err != nil {
		return err
	}
	p := x.newPage(k.GetProperty(), "web.help.title")
	p.Back, p.Idle = "/k/", "guest"
	return x.render(http.StatusOK, "help", p)
}

// showPhone shows the code with which the guest continues on a phone.
func (s *site) showPhone(x *exchange) error {
	p := x.stayPage("web.phone.title")
	p.Back = x.flow.stagePage(x.flow.Stay.GetCheckIn())
	p.Data, p.OnPhone = x.phoneQR(), true
	return x.render(http.StatusOK, "phone", p)
}

// endVisit ends the visit of a guest.
func (s *site) endVisit(x *exchange) error {
	x.endGuestSession()
	return x.Redirect("/k/")
}
