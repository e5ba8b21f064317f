package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	domain "latchkey.dev/internal/staff"
	"latchkey.dev/internal/web/staff"
)

// pageRights is the matrix of the dashboard: the right that each page and action needs. It is written by hand, so that a slip in the routes
// is seen.
var pageRights = map[string]string{
	"GET /app/login":                                   staff.Anyone,
	"POST /app/login":                                  staff.Anyone,
	"GET /app/login/second":                            staff.Anyone,
	"POST /app/login/second":                           staff.Anyone,
	"POST /app/login/passkey/begin":                    staff.Anyone,
	"POST /app/login/passkey":                          staff.Anyone,
	"GET /app/login/oidc":                              staff.Anyone,
	"GET /app/login/oidc/callback":                     staff.Anyone,
	"POST /app/confirm/passkey/begin":                  staff.Self,
	"POST /app/confirm/passkey":                        staff.Self,
	"GET /app/account/passkeys":                        staff.Self,
	"POST /app/account/passkeys":                       staff.Self,
	"POST /app/account/passkeys/begin":                 staff.Self,
	"GET /app/account/identity":                        staff.Self,
	"POST /app/account/identity":                       staff.Self,
	"GET /app/first/{secret}":                          staff.Anyone,
	"POST /app/first/{secret}":                         staff.Anyone,
	"GET /app/invite/{secret}":                         staff.Anyone,
	"POST /app/invite/{secret}":                        staff.Anyone,
	"POST /app/logout":                                 staff.Anyone,
	"GET /app/{$}":                                     staff.Self,
	"POST /app/property":                               staff.Self,
	"GET /app/confirm":                                 staff.Self,
	"POST /app/confirm":                                staff.Self,
	"GET /app/today":                                   "readReservations",
	"POST /app/today":                                  "manageCheckIns",
	"GET /app/palette":                                 staff.Self,
	"GET /app/dev/parts":                               staff.Self,
	"GET /app/live":                                    staff.Self,
	"GET /app/reservations":                            "readReservations",
	"GET /app/reservations/{id}":                       "readReservations",
	"POST /app/reservations/{id}":                      "manageCheckIns",
	"GET /app/reservations/{id}/guests":                "readGuests",
	"GET /app/reservations/{id}/guests/data":           "eraseGuests",
	"POST /app/reservations/{id}/guests/data":          "eraseGuests",
	"GET /app/reservations/{id}/guests/erase":          "eraseGuests",
	"POST /app/reservations/{id}/guests/erase":         "eraseGuests",
	"GET /app/reservations/{id}/messages":              "readGuests",
	"POST /app/reservations/{id}/messages":             "writeMessages",
	"GET /app/reservations/{id}/open":                  "openDoors",
	"POST /app/reservations/{id}/open":                 "openDoors",
	"GET /app/reservations/{id}/extend":                "manageAccess",
	"POST /app/reservations/{id}/extend":               "manageAccess",
	"GET /app/reservations/{id}/reveal":                "revealPins",
	"POST /app/reservations/{id}/reveal":               "revealPins",
	"GET /app/reservations/{id}/replace":               "manageAccess",
	"POST /app/reservations/{id}/replace":              "manageAccess",
	"GET /app/register":                                "inspectRegister",
	"POST /app/register":                               "inspectRegister",
	"GET /app/register/csv":                            "inspectRegister",
	"POST /app/register/csv":                           "inspectRegister",
	"GET /app/notices":                                 "readNotices",
	"POST /app/notices":                                "manageNotices",
	"GET /app/messages":                                "readGuests",
	"GET /app/messages/{id}":                           "readGuests",
	"POST /app/messages/{id}":                          "writeMessages",
	"GET /app/codes":                                   "readAccess",
	"GET /app/codes/new":                               "manageAccess",
	"POST /app/codes/new":                              "manageAccess",
	"GET /app/codes/{id}":                              "readAccess",
	"POST /app/codes/{id}":                             "manageAccess",
	"GET /app/codes/{id}/reveal":                       "revealPins",
	"POST /app/codes/{id}/reveal":                      "revealPins",
	"GET /app/audit":                                   "readAudit",
	"GET /app/locks":                                   "readLocks",
	"GET /app/locks/batteries":                         "readLocks",
	"GET /app/locks/{id}":                              "readLocks",
	"POST /app/locks/{id}":                             "manageLocks",
	"GET /app/locks/{id}/open":                         "openDoors",
	"POST /app/locks/{id}/open":                        "openDoors",
	"GET /app/locks/{id}/backup":                       "manageAccess",
	"POST /app/locks/{id}/backup":                      "manageAccess",
	"GET /app/bridges":                                 "readLocks",
	"GET /app/bridges/new":                             "manageBridges",
	"POST /app/bridges/new":                            "manageBridges",
	"GET /app/bridges/{id}":                            "readLocks",
	"POST /app/bridges/{id}":                           "manageBridges",
	"GET /app/spaces":                                  "readProperty",
	"POST /app/spaces":                                 "manageSpaces",
	"POST /app/spaces/read":                            "manageSpaces",
	"GET /app/spaces/changes":                          "readProperty",
	"POST /app/spaces/changes":                         "manageSpaces",
	"GET /app/spaces/new":                              "manageSpaces",
	"POST /app/spaces/new":                             "manageSpaces",
	"GET /app/spaces/rooms.csv":                        "readProperty",
	"GET /app/spaces/import":                           "manageSpaces",
	"POST /app/spaces/import":                          "manageSpaces",
	"GET /app/spaces/rooms/{id}":                       "readProperty",
	"POST /app/spaces/rooms/{id}":                      "manageSpaces",
	"POST /app/spaces/rooms/{id}/lock":                 "manageLocks",
	"GET /app/settings/property":                       "manageSettings",
	"POST /app/settings/property":                      "manageSettings",
	"GET /app/settings/checkin":                        "manageSettings",
	"POST /app/settings/checkin":                       "manageSettings",
	"GET /app/settings/questions":                      "manageSettings",
	"POST /app/settings/questions":                     "manageSettings",
	"GET /app/settings/questions/{id}":                 "manageSettings",
	"POST /app/settings/questions/{id}":                "manageSettings",
	"GET /app/settings/texts":                          "manageSettings",
	"POST /app/settings/texts":                         "manageSettings",
	"GET /app/settings/retention":                      "manageSettings",
	"POST /app/settings/retention":                     "manageSettings",
	"GET /app/settings/mail":                           "manageSettings",
	"POST /app/settings/mail":                          "manageSettings",
	"GET /app/setup/arrival":                           "manageSettings",
	"POST /app/setup/arrival":                          "manageAccess",
	"GET /app/settings/integrations":                   "manageSettings",
	"POST /app/settings/integrations":                  "manageCredentials",
	"POST /app/settings/integrations/{id}":             "manageCredentials",
	"POST /app/settings/integrations/{id}/invitations": "manageSettings",
	"POST /app/settings/integrations/{id}/test":        "manageSpaces",
	"GET /app/settings/kiosks":                         "manageSettings",
	"POST /app/settings/kiosks":                        "manageSettings",
	"POST /app/settings/kiosks/{id}":                   "manageSettings",
	"GET /app/settings/kiosks/{id}/poster":             "manageSettings",
	"GET /app/settings/kiosks/{id}/poster.pdf":         "manageSettings",
	"GET /app/settings/people":                         "managePeople",
	"POST /app/settings/people":                        "managePeople",
	"GET /app/settings/people/{id}":                    "managePeople",
	"POST /app/settings/people/{id}":                   "managePeople",
	"GET /app/settings/people/invitations/{id}":        "managePeople",
	"POST /app/settings/people/invitations/{id}":       "managePeople",
	"GET /app/gates":                                   "readProperty",
	"POST /app/gates":                                  "manageSpaces",
	"GET /app/gates/{id}":                              "readProperty",
	"POST /app/gates/{id}":                             "manageSpaces",
	"GET /app/setup":                                   "manageSettings",
	"GET /app/account":                                 staff.Self,
	"POST /app/account/sessions":                       staff.Self,
	"GET /app/account/notices":                         "readNotices",
	"POST /app/account/notices":                        "readNotices",
	"GET /app/account/password":                        staff.Self,
	"POST /app/account/password":                       staff.Self,
	"GET /app/account/second":                          staff.Self,
	"POST /app/account/second":                         staff.Self,
}

// TestDashboardMatrix asks for each page as each role, and as a browser without a session.
func TestDashboardMatrix(t *testing.T) {
	t.Parallel()
	routes := staff.Routes()
	for _, r := range routes {
		if want, ok := pageRights[r.Pattern]; !ok || want != r.Right {
			t.Errorf("%s needs the right %q, the matrix says %q (in the matrix: %v)", r.Pattern, r.Right, want, ok)
		}
	}
	if len(routes) != len(pageRights) {
		t.Errorf("%d routes and %d rows", len(routes), len(pageRights))
	}
	w := e2etest.Open(t)
	ada := signUp(t, w, "ada@example.com")
	for _, role := range append([]domain.Role{""}, domain.Roles...) {
		s := newSurfer(t, w)
		if role != "" {
			s.setCookie("lk-staff", invite(t, w, ada, string(role)+"@example.com", string(role)).token)
		}
		for _, r := range routes {
			method, path, _ := strings.Cut(strings.ReplaceAll(pathValue.ReplaceAllString(r.Pattern, "x_0"), "{$}", ""), " ")
			if path == "/app/logout" || path == "/app/live" && role != "" {
				continue // ends the session, or never ends
			}
			a := s.do(method, path, url.Values{})
			granted := r.Right == staff.Anyone || role != "" && (r.Right == staff.Self || slices.Contains(domain.RightsOf(role), domain.Right(r.Right)))
			refused := a.status == http.StatusForbidden || strings.HasPrefix(a.moved, "/app/login") && r.Right != staff.Anyone
			if granted == refused || a.status >= 500 {
				t.Errorf("%s as %q: granted %v, status %d to %q", r.Pattern, role, granted, a.status, a.moved)
			}
		}
	}
}

// TestDashboardSessions attacks the session of the pages: a token that was known before the sign-in, a copied cookie after the sign-out, a form
// of another site, and an address that leads elsewhere after the sign-in.
func TestDashboardSessions(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	ada, eve := newSurfer(t, w), newSurfer(t, w)
	ada.join(w, "ada@example.com")
	eve.join(w, "eve@example.com")
	login := url.Values{"email": {"ada@example.com"}, "password": {password}}

	planted := eve.session()
	ada.setCookie("lk-staff", planted)
	for to, want := range map[string]string{"": "/app/", "?to=/app/account": "/app/account", "?to=//evil.example/app/": "/app/", "?to=https://evil.example": "/app/", "?to=/app/../g/x": "/app/", `?to=/app/%5C..%5Cx`: "/app/", "?to=/g/x": "/app/"} {
		a := ada.do(http.MethodPost, "/app/login"+to, login)
		if a.moved != want {
			t.Errorf("%s: after the sign-in to %q, want %q", to, a.moved, want)
		}
	}
	if ada.session() == planted || ada.session() == "" {
		t.Error("the sign-in keeps a session that was there before")
	}
	if a := eve.do(http.MethodGet, "/app/account", nil); a.moved != "/app/login?to=%2Fapp%2Faccount" {
		t.Errorf("the planted session goes on: %d to %q", a.status, a.moved)
	}
	for _, site := range []string{"cross-site", "same-site"} {
		if a := ada.do(http.MethodPost, "/app/account/sessions", url.Values{"all": {"yes"}}, "Sec-Fetch-Site", site); a.status != http.StatusForbidden {
			t.Errorf("a form of a %s page: %d", site, a.status)
		}
	}
	if a := ada.do(http.MethodPost, "/app/login", login, "Origin", "https://evil.example"); a.status != http.StatusForbidden {
		t.Errorf("another site signs a person in: %d", a.status)
	}
	stolen := ada.session()
	if a := ada.do(http.MethodPost, "/app/logout", url.Values{}); a.moved != "/app/login" || ada.session() != "" {
		t.Errorf("sign out: %d to %q", a.status, a.moved)
	}
	eve.setCookie("lk-staff", stolen)
	if a := eve.do(http.MethodGet, "/app/account", nil); !strings.HasPrefix(a.moved, "/app/login") {
		t.Errorf("a cookie that was copied before the sign-out: %d to %q", a.status, a.moved)
	}
	ada.do(http.MethodPost, "/app/login", login)
	a := ada.do(http.MethodPost, "/app/account/password", url.Values{"password": {password}, "newPassword": {"staple battery horse"}})
	if a.moved != "/app/account?done=password" || ada.do(http.MethodGet, "/app/account", nil).status != http.StatusOK {
		t.Errorf("change the password: %d to %q", a.status, a.moved)
	}
	for _, c := range a.cookies {
		if c.Name == "lk-staff" && (!c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Expires.IsZero()) {
			t.Errorf("the cookie of the session: %v", c)
		}
	}
}

// field returns the value of the first hidden field with a name.
func (s shown) field(name string) string {
	if found := regexp.MustCompile(`name="` + regexp.QuoteMeta(name) + `" value="([^"]*)"`).FindStringSubmatch(s.text); found != nil {
		return found[1]
	}
	return ""
}

// TestDashboardRefuses sends what the API refuses, or what it would take for another meaning: each page says what is wrong at its field.
func TestDashboardRefuses(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	e2etest.PushReservation(t, w, "B-1", map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace"}})
	stay := s.stay("1001")
	door := s.do(http.MethodGet, stay, nil).field("door")
	lock := regexp.MustCompile(`/app/locks/lck_\w+`).FindString(s.do(http.MethodGet, "/app/locks", nil).text)
	if a := s.do(http.MethodPost, stay+"/messages", url.Values{"text": {"Welcome"}}); a.moved != stay+"/messages" || !strings.Contains(s.do(http.MethodGet, a.moved, nil).text, "<strong>Ada</strong>") {
		t.Errorf("a message does not name its author: %d to %q", a.status, a.moved)
	}
	long := strings.Repeat("a", 501)
	for _, c := range []struct {
		path string
		form url.Values
		text string
	}{
		{"/app/settings/property", url.Values{"form": {"property"}, "settings.lateOutMinutes": {""}}, "Enter 0 to 1440 minutes."},
		{stay, url.Values{"do": {"refuse"}, "stage": {"identityCheck"}, "reason": {" "}}, "Enter the reason, in at most 500 characters. Nothing was done."},
		{stay, url.Values{"do": {"waive"}, "owing": {"1.00 EUR"}, "reason": {long}}, "Shorten the answer."},
		{stay + "/open", url.Values{"door": {door}}, "Say why you open the door."},
		{lock + "/open", url.Values{"reason": {long}}, "Shorten the answer."},
	} {
		if a := s.do(http.MethodPost, c.path, c.form); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, c.text) {
			t.Errorf("%s %.60v: %d to %q: %s", c.path, c.form, a.status, a.moved, a.text)
		}
	}
}

// TestInvitedByPage joins a property on the page of an invitation.
func TestInvitedByPage(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	ada, bob := signUp(t, w, "ada@example.com"), newSurfer(t, w)
	invited, ok := call(t, w, e2etest.REST, ada.at(w.PropertyID), "PersonService/InvitePerson", &propertyv1.InvitePersonRequest{Email: "bob@example.com", Role: "frontDesk"}).Reply.(*propertyv1.InvitePersonResponse)
	if !ok {
		t.Fatal("no invitation")
	}
	path := "/app/invite/" + invited.GetLink().GetSecret()
	if a := bob.do(http.MethodGet, path, nil); a.status != http.StatusOK || !strings.Contains(a.text, "bob@example.com") || !strings.Contains(a.text, "Front desk") {
		t.Errorf("the page: %d %s", a.status, a.text)
	}
	if a := bob.do(http.MethodPost, path, url.Values{"name": {"Bob"}, "password": {"short"}}); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, "Use at least 12 characters") {
		t.Errorf("a short password: %d %s", a.status, a.text)
	}
	if a := bob.do(http.MethodPost, path, url.Values{"name": {"Bob"}, "password": {password}}); a.moved != "/app/" {
		t.Errorf("join: %d to %q: %s", a.status, a.moved, a.text)
	}
	if a := bob.do(http.MethodGet, "/app/today", nil); a.status != http.StatusOK {
		t.Errorf("the first page: %d", a.status)
	}
	if a := bob.do(http.MethodGet, path, nil); a.status != http.StatusNotFound {
		t.Errorf("the link works again: %d", a.status)
	}
}

// TestDoorNeedsTheSecondFactor opens a door on the page of a stay with a second factor that was confirmed long ago, and again.
func TestDoorNeedsTheSecondFactor(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock = now })
	ada, s := signUp(t, w, "ada@example.com"), newSurfer(t, w)
	token, code, _ := addApp(t, w, ada, now.Now)
	s.setCookie("lk-staff", token)
	e2etest.PushReservation(t, w, "B-1", map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace"}})
	a := s.do(http.MethodGet, "/app/reservations?q=1001", nil)
	stay := regexp.MustCompile(`/app/reservations/\w+`).FindString(a.text)
	a = s.do(http.MethodGet, stay, nil)
	door := regexp.MustCompile(`name="door" value="([^"]+)"`).FindStringSubmatch(a.text)
	if door == nil {
		t.Fatalf("no door can be opened on %s: %s", stay, a.text)
	}
	open := func() shown {
		return s.do(http.MethodPost, stay+"/open", url.Values{"door": {door[1]}, "reason": {"locked out"}})
	}
	if a := open(); a.status != http.StatusSeeOther || a.moved != stay {
		t.Errorf("right after the code: %d to %q: %s", a.status, a.moved, a.text)
	}
	for i, want := range []int{1, 0} {
		if text := s.do(http.MethodGet, stay, nil).text; strings.Count(text, "Opened: the lock confirmed it.") != want {
			t.Errorf("look %d at the stay: the result is not there %d times: %s", i, want, text)
		}
	}
	now.Set(15 * time.Minute)
	a = open()
	if a.status != http.StatusSeeOther || a.moved != "/app/confirm?to="+url.QueryEscape(stay+"/open") {
		t.Fatalf("after 15 minutes: %d to %q: %s", a.status, a.moved, a.text)
	}
	if a := s.do(http.MethodPost, a.moved, url.Values{"code": {"000000"}}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("a wrong code: %d to %q", a.status, a.moved)
	}
	former := s.session()
	if a := s.do(http.MethodPost, a.moved, url.Values{"code": {code()}}); a.moved != stay+"/open" || s.session() == former {
		t.Errorf("the code: %d to %q, another session: %v", a.status, a.moved, s.session() != former)
	}
	if a := s.do(http.MethodGet, stay+"/open", nil); a.moved != stay {
		t.Errorf("back to the stay: %d to %q", a.status, a.moved)
	}
	if text := s.do(http.MethodGet, "/app/today", nil).text; strings.Contains(text, "locked out") {
		t.Errorf("another page shows the reason: %s", text)
	}
	for i, want := range []int{1, 0} {
		if text := s.do(http.MethodGet, stay, nil).text; strings.Count(text, `value="locked out"`) != want {
			t.Errorf("look %d at the stay after the step-up: the reason is not there %d times: %s", i, want, text)
		}
	}
	if a := open(); a.moved != stay {
		t.Errorf("after the step-up: %d to %q", a.status, a.moved)
	}
}
