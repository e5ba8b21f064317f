package guest

import (
	"net/http"
	"strings"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

type linkView struct {
	Link *guestv1.Link
	Path string // URL of the form, the only place of the page with the link's secret
	Sent bool   // a new link was mailed
}

// showLink handles the link of a mail. It only shows a page with a button, because mail scanners open links. A device that has opened the
// link before is redirected to the stay.
func (s *site) showLink(x *exchange) error {
	found, err := x.link()
	if err != nil {
		return err
	}
	if id := found.GetStayId(); id != "" {
		return x.Redirect("/g/stays/" + id) // this device has opened the link before
	}
	return x.showLink(found, false)
}

// link loads the link of the URL. Its StayId is set if a device has bound the link, and this device has an active session of the same guest
// and kind.
func (x *exchange) link() (*guestv1.Link, error) {
	found, err := x.site.api.Links.GetLink(x.callContext(), &guestv1.GetLinkRequest{Link: x.R.PathValue("secret"), Sessions: x.sessions()})
	return found.GetData(), err
}

// maxSessions is how many session tokens of a device are sent to the API. Others are ignored.
const maxSessions = 20

// sessions returns the tokens of the stays' sessions in the cookies of this device, at most maxSessions, also of sessions that have ended.
func (x *exchange) sessions() (tokens []string) {
	for _, c := range x.R.Cookies() {
		if strings.HasPrefix(c.Name, x.CookieName(stayCookie)) && c.Value != "" && len(tokens) < maxSessions {
			tokens = append(tokens, c.Value)
		}
	}
	return tokens
}

// showLink renders the page of a link: of a stay, of a canceled stay, or of a profile. sent means that a new link was just mailed.
func (x *exchange) showLink(link *guestv1.Link, sent bool) error {
	if link.GetCanceled() {
		return x.renderGone(http.StatusGone, link.GetProperty(), "web.canceled")
	}
	if link.GetSource() == "profile" {
		return x.showProfileLink(link)
	}
	p := x.newPage(link.GetProperty(), "web.link.title", "property", link.GetProperty().GetName())
	p.Data = linkView{Link: link, Path: "/g/l/" + x.R.PathValue("secret"), Sent: sent}
	return x.render(http.StatusOK, "link", p)
}

// bindLink handles the button on the page of a mailed link. It binds the link to this device (a link binds only one), and redirects to the
// stay or the profile. If another device has bound it, or the stay is canceled, the page of the link says so. A POST without the key of the
// page's form changes nothing, because some mail scanners post to links.
func (s *site) bindLink(x *exchange) error {
	if x.Key() == "" {
		return s.showLink(x)
	}
	bound, err := s.api.Links.BindLink(x.callContext(), &guestv1.BindLinkRequest{Link: x.R.PathValue("secret"), Device: kit.DeviceOf(x.R.UserAgent()), Language: x.language()})
	if err != nil {
		// Possibly another device has bound the link meanwhile, or the stay was canceled. The page of the link shows which.
		if again, e := x.link(); e == nil && (again.GetBound() || again.GetCanceled()) {
			return x.showLink(again, false)
		}
		return err
	}
	if bound.GetData().GetStayId() == "" {
		return x.openProfile(bound.GetData())
	}
	return x.openSession(bound.GetData())
}

// renewLink handles the button that mails a new link to the same address. The old link ends. For an unknown link it mails nothing and shows
// no error. A POST without the key of the page's form only shows the page of the link.
func (s *site) renewLink(x *exchange) error {
	if x.Key() == "" {
		return s.showLink(x)
	}
	found, unknown := x.link()
	if found.GetCanceled() {
		return x.renderGone(http.StatusGone, found.GetProperty(), "web.canceled")
	}
	if unknown != nil && s.Fault(unknown).Kind != fault.NotFound {
		return unknown
	}
	// If the form is sent twice, the second request finds no link, because the first one replaced it.
	if _, err := s.api.Links.RenewLink(x.callContext(), &guestv1.RenewLinkRequest{Link: x.R.PathValue("secret")}); err != nil {
		return err
	}
	return x.showLink(found, true)
}

// stayCookieAge is how long a device keeps the token of a stay. The server ends the session earlier, at a time that moves if the stay is
// extended.
const stayCookieAge = 400 * 24 * time.Hour

// openSession stores a session in a cookie of the guest's device and redirects to the stay of the session. It renders the page for unknown
// links if the id of the stay cannot be part of a cookie's name.
func (x *exchange) openSession(session *guestv1.Session) error {
	if !cookieID.MatchString(session.GetStayId()) {
		return x.notFound()
	}
	x.SetCookie(stayCookie+session.GetStayId(), session.GetToken(), x.site.Now().Add(stayCookieAge))
	return x.Redirect("/g/stays/" + session.GetStayId())
}
