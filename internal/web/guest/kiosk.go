package guest

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"github.com/boombuler/barcode/qr"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// tablet wraps a handler of a page for enrolled tablets. Without the cookie of a tablet, the browser goes to the enrolment.
func (s *site) tablet(h handler) handler {
	return func(x *exchange) error {
		x.flow.Kiosk = true
		if x.token = x.Cookie(kioskCookie); x.token == "" {
			return x.Redirect("/k/enrol")
		}
		return h(x)
	}
}

// tabletStay is tabletSession for a handler that needs the stay, which it loads before the handler runs.
func (s *site) tabletStay(h handler) handler { return s.tabletSession(withStay(h)) }

// tabletSession wraps a handler of a page that needs the session of the guest at the tablet. Without a session, the tablet goes to its
// start page. If the API reports that the session has ended, endCanceledVisit answers.
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

// endCanceledVisit handles an ended session at a tablet. refused is the API's error. If the PMS canceled the stay, the tablet forgets the
// session and goes to the page of showCanceled. Otherwise endCanceledVisit returns refused, or the error of the question why the session
// ended.
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

// showCanceled handles the page about a canceled stay. It shows no data of the stay.
func (s *site) showCanceled(x *exchange) error {
	k, err := x.kiosk()
	if err != nil {
		return err
	}
	p := x.newPage(k.GetProperty(), "web.canceled")
	v := problemView{Text: p.T("web.canceled.text", "property", k.GetProperty().GetName())}
	v.URL, v.Label = x.continueLink(http.StatusOK)
	p.Data = v
	return x.render(http.StatusOK, "problem", p)
}

type enrolView struct{ Wrong bool }

// showEnrol handles the page that enrols a tablet.
func (s *site) showEnrol(x *exchange) error { return x.enrolPage(http.StatusOK, enrolView{}) }

// enrolPage renders the page that enrols a tablet.
func (x *exchange) enrolPage(status int, v enrolView) error {
	x.flow.Kiosk = true
	p := x.newPage(nil, "web.enrol.title")
	if v.Wrong {
		p.Wrong = []wrong{{ID: "f-code", Text: p.T("web.enrol.wrong")}}
	}
	p.Data = v
	return x.render(status, "enrol", p)
}

// enrol handles the enrolment form. It sends an enrolment code and the tablet's public key to the API, and stores the tablet's token in a
// cookie. If the code or the key is refused, it shows the form again.
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
	QR    qrCode // for a guest's phone: the URL of the search at this kiosk's door
}

// kiosk loads the tablet of the exchange's token. If the token is no longer valid, it deletes the cookie and returns the error.
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

// startSeconds is the reload interval of the start page, which shows whether check-in is open. The offline pages of showClosed and showCut
// try to load it after closedSeconds and cutSeconds; on the page of showCut the guest reads how to continue.
const (
	startSeconds  = 30
	closedSeconds = 10
	cutSeconds    = 30
)

// showKiosk handles the start page of a tablet. It ends the session of the last guest, and forgets the language unless a guest has just
// chosen it. A tablet whose token is no longer valid goes to the enrolment. If the API fails in another way, it shows the page of
// showClosed.
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

// chosenQuery is the query of the start page after a guest chose a language. Without this query, the start page is in the property's
// language.
const chosenQuery = "chosen"

// endGuestSession ends the session of the guest at the tablet, if there is one, on the server and in the browser. An error of the server is
// ignored, because the session expires by itself.
func (x *exchange) endGuestSession() {
	token := x.Cookie(visitCookie)
	if token == "" {
		return
	}
	// If this fails, the session still expires by itself.
	_, _ = x.site.api.Stays.EndSession(x.callContextOf(token), &guestv1.EndSessionRequest{})
	x.forgetVisit()
}

// forgetVisit deletes the guest's session cookie and the cache from the tablet's browser.
func (x *exchange) forgetVisit() {
	x.DropCookie(visitCookie)
	x.W.Header().Set("Clear-Site-Data", `"cache"`)
}

// showClosed handles the page of a tablet that cannot reach the service or the PMS. The tablet's service worker stores it.
func (s *site) showClosed(x *exchange) error {
	return x.closedPage("web.closed.title", "web.closed.text", "closed", closedSeconds)
}

// showCut handles the page of a tablet that lost its connection during a check-in: the guest continues on a phone or at the desk. The
// tablet's service worker stores it.
func (s *site) showCut(x *exchange) error {
	return x.closedPage("web.cut.title", "web.cut.text", "cut", cutSeconds)
}

type closedView struct {
	Text string // message kind
	QR   qrCode // for a guest's phone: the URL of the search at this kiosk's door; zero if the kiosk is not known
}

// closedPage renders an offline page of the tablet. title and text are message kinds, idle is the mode of the page's script, and seconds is
// the time after which the script tries the start page again. Without a token of the tablet, or if the API fails, the page has no property
// and no QR code.
func (x *exchange) closedPage(title, text, idle string, seconds int) error {
	x.flow.Kiosk = true
	x.IgnoreChosenLanguage = x.R.URL.Path == "/k/closed" // not in the language of the current guest, because the stored page is for the next guests
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

// showFind handles the search page of a tablet. A reload of the list of results shows the search again.
func (s *site) showFind(x *exchange) error {
	if x.R.URL.Path == "/k/which" {
		return x.Redirect("/k/find")
	}
	return x.findPage(http.StatusOK, findView{})
}

// findPage renders the search form of a tablet with a new challenge for its key to sign.
func (x *exchange) findPage(status int, v findView) error {
	k, err := x.kiosk()
	if err != nil {
		return err
	}
	v.Action, v.Challenge = "/k/find", k.GetChallenge()
	return x.find(status, k.GetProperty(), v)
}

// findAtKiosk handles the search form of a tablet. The tablet signs the challenge, so that only enrolled tablets can search. A found stay
// begins the session of a guest at the tablet. If several bookings match, the guest chooses one from a list.
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

// showYou handles the page on which the guest confirms that the found reservation is their own.
func (s *site) showYou(x *exchange) error {
	p := x.stayPage("web.you.title")
	p.Back, p.Idle = "/k/find", "guest"
	return x.render(http.StatusOK, "you", p)
}

// kioskHelp handles the button that calls a member of staff to the tablet, with a notice and a mail. During a visit, the notice is about
// the guest's stay, unless the session of the visit has ended.
func (s *site) kioskHelp(x *exchange) error {
	k, err := x.kiosk()
	if err != nil {
		return err
	}
	visit := x.Cookie(visitCookie)
	if visit != "" {
		_, err = s.api.CheckIns.RequestHelp(x.callContextOf(visit), &guestv1.RequestHelpRequest{})
	}
	if visit == "" || err != nil && s.Fault(err).Kind == fault.Unauthenticated { // also if the guest's session has ended, because the guest may still wait at the tablet
		_, err = s.api.Kiosks.RequestHelp(x.callContext(), &kioskv1.RequestHelpRequest{})
	}
	if err != nil {
		return err
	}
	p := x.newPage(k.GetProperty(), "web.help.title")
	p.Back, p.Idle, p.Called, p.Data = "/k/", "guest", true, false
	if visit != "" {
		p.Back = flow{Kiosk: true}.CheckIn() // the guest goes on at the present stage
	}
	return x.render(http.StatusOK, "help", p)
}

// showPhone handles the page whose QR code moves the check-in from the kiosk to the guest's phone.
func (s *site) showPhone(x *exchange) error {
	p := x.stayPage("web.phone.title")
	p.Back = x.flow.stagePage(x.flow.Stay.GetCheckIn())
	p.Data, p.OnPhone = x.phoneQR(), true
	return x.render(http.StatusOK, "phone", p)
}

// endVisit handles the button with which a guest ends the visit, and so the session, at the tablet.
func (s *site) endVisit(x *exchange) error {
	x.endGuestSession()
	return x.Redirect("/k/")
}

// qr returns the QR code of a door's page, for the guest's own phone. door is the part of the URL that names the door. It returns the zero
// code for "".
func (x *exchange) qr(door string) qrCode {
	if door == "" {
		return qrCode{}
	}
	return x.qrOf("/q/" + url.PathEscape(door))
}

// phoneQR creates a link with which the guest at a kiosk continues on a phone, and returns its QR code. The link replaces an earlier one.
// It returns the zero code if the stay cannot be handed over, such as after a phone has opened it, and for any other error.
func (x *exchange) phoneQR() qrCode {
	made, err := x.site.api.Stays.HandOver(x.callContext(), &guestv1.HandOverRequest{})
	if err != nil {
		return qrCode{}
	}
	return x.qrOf("/g/l/" + url.PathEscape(made.GetLink()))
}

// qrOf returns the QR code with the complete URL of a path of this server.
func (x *exchange) qrOf(path string) qrCode { return kit.DrawQR(x.Address(path), qr.M, qr.Auto) }
