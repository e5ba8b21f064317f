package guest

import (
	"net/http"
	"net/url"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// profileCookie is the prefix of the cookie with the session of a profile link. The id of the property follows.
const profileCookie = "lk-profile-"

// profileView is the profile that a property keeps of a guest for the next stay, or the form that requests a link to it.
type profileView struct {
	Lines       []*guestv1.FormField // the kept answers
	Kept        *guestv1.KeptProfile // nil without a session of a profile link
	Gone        bool                 // the profile was just deleted
	Ended       bool                 // the session had ended before the press that deletes, so that deleted nothing
	Asked       bool                 // a link was requested
	Email       string               // as the guest typed it
	SendsNoMail bool                 // the property has no mail server, so it cannot mail a link
}

// profilePath returns the URL of the page on which guests see their profile, the data that a property stores for their next stay.
func profilePath(propertyID string) string { return "/g/profile/" + url.PathEscape(propertyID) }

// findProfile handles /g/profile without a property. It redirects to the page of the only property. If there are several, it shows where to
// find the right URL.
func (s *site) findProfile(x *exchange) error {
	found, err := s.api.Links.GetProperty(x.callContext(), &guestv1.GetPropertyRequest{})
	if err == nil {
		return x.Redirect(profilePath(found.GetData().GetId()))
	}
	if s.Fault(err).Kind != fault.NotFound {
		return err
	}
	p := x.newPage(nil, "web.data.profile")
	p.Data = problemView{Text: p.T("web.profile.which")}
	return x.render(http.StatusOK, "problem", p)
}

// profileOf wraps a handler h of the profile pages. It takes the session of a profile link from the cookie, if there is one, and passes the
// property of the URL to h.
func (s *site) profileOf(h func(x *exchange, at *guestv1.GetPropertyResponse) error) handler {
	return func(x *exchange) error {
		id := x.R.PathValue("property")
		if !cookieID.MatchString(id) {
			return x.notFound()
		}
		x.token = x.Cookie(profileCookie + id)
		at, err := s.api.Links.GetProperty(x.callContextOf(""), &guestv1.GetPropertyRequest{PropertyId: id})
		if err != nil {
			return err
		}
		return h(x, at)
	}
}

// showProfile handles the profile page. With the session of a profile link it shows the stored data, otherwise the form that requests a
// link.
func (s *site) showProfile(x *exchange, at *guestv1.GetPropertyResponse) error {
	done := x.R.URL.Query().Get("done")
	v := profileView{Gone: done == "deleted", Ended: done == "ended", Asked: done == "asked"}
	if x.token != "" {
		kept, err := s.api.Privacy.GetProfile(x.callContext(), &guestv1.GetProfileRequest{})
		switch {
		case err == nil:
			v.Kept, v.Lines = kept.GetData(), profileLines(kept.GetData().GetPerson())
		case s.Fault(err).Kind == fault.Unauthenticated:
			x.DropCookie(profileCookie + at.GetData().GetId())
		default:
			return err
		}
	}
	return x.profilePage(http.StatusOK, at, v)
}

// profilePage renders the profile page. Status 422 means that the typed mail address is invalid.
func (x *exchange) profilePage(status int, at *guestv1.GetPropertyResponse, v profileView) error {
	p := x.newPage(at.GetData(), "web.data.profile")
	if status == http.StatusUnprocessableEntity {
		p.Wrong = []wrong{{ID: "f-email", Text: p.T("problem.notAnAddress")}}
	}
	v.SendsNoMail = at.GetSendsNoMail()
	p.Data = v
	return x.render(status, "profile", p)
}

// changeProfile handles the forms of the page. "forget" deletes the profile; if the session has ended, the page says that nothing was
// deleted now. "close" only deletes the session's cookie. Any other form requests a mail with a link; the response does not reveal whether
// there is a profile.
func (s *site) changeProfile(x *exchange, at *guestv1.GetPropertyResponse) error {
	id := at.GetData().GetId()
	switch x.Value("do") {
	case "forget":
		_, err := s.api.Privacy.DeleteProfile(x.callContext(), &guestv1.DeleteProfileRequest{})
		if err != nil && s.Fault(err).Kind != fault.Unauthenticated {
			return err
		}
		x.DropCookie(profileCookie + id)
		if err != nil {
			return x.Redirect(profilePath(id) + "?done=ended")
		}
		return x.Redirect(profilePath(id) + "?done=deleted")
	case "close":
		x.DropCookie(profileCookie + id)
		return x.Redirect(profilePath(id))
	}
	v := profileView{Email: x.Value("email")}
	_, err := s.api.Links.RequestProfileLink(x.callContextOf(""), &guestv1.RequestProfileLinkRequest{PropertyId: id, Email: v.Email, Language: x.words(at.GetData()).Lang})
	if err != nil && s.Fault(err).Kind == fault.Invalid {
		return x.profilePage(http.StatusUnprocessableEntity, at, v)
	}
	if err != nil {
		return err
	}
	return x.Redirect(profilePath(id) + "?done=asked")
}

// downloadProfile handles the download of the profile as a JSON file. It needs the session of a profile link.
func (s *site) downloadProfile(x *exchange, _ *guestv1.GetPropertyResponse) error {
	return s.downloadData(x)
}

// openProfile stores the session of a profile link in a cookie of this device until the session expires, and redirects to the profile.
func (x *exchange) openProfile(session *guestv1.Session) error {
	id := session.GetProfilePropertyId()
	if !cookieID.MatchString(id) {
		return x.notFound()
	}
	x.SetCookie(profileCookie+id, session.GetToken(), session.GetExpiresAt().AsTime())
	return x.Redirect(profilePath(id))
}

// showProfileLink renders the page of a mailed profile link, with the button that opens the profile.
func (x *exchange) showProfileLink(link *guestv1.Link) error {
	p := x.newPage(link.GetProperty(), "web.data.profile")
	p.Data = linkView{Link: link, Path: "/g/l/" + x.R.PathValue("secret")}
	return x.render(http.StatusOK, "profilelink", p)
}

// ProfileURL returns the URL of the page on which guests without a stay see what the property stores about them.
func (p *page) ProfileURL() string { return profilePath(p.Property.GetId()) }

// profileLines returns the stored answers of a profile in the form that the templates of questions use.
func profileLines(kept *guestv1.Person) (lines []*guestv1.FormField) {
	for _, a := range kit.AnswersOf(kept) {
		lines = append(lines, &guestv1.FormField{Name: a.Field, Label: a.Label, Kind: a.Kind, Value: a.Value})
	}
	return lines
}
