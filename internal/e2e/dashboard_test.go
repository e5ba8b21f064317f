package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
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
	"GET /app/live":                                    "readReservations",
	"GET /app/reservations":                            "readReservations",
	"GET /app/reservations/{id}":                       "readReservations",
	"POST /app/reservations/{id}":                      "manageCheckIns",
	"GET /app/reservations/{id}/guests":                "readGuests",
	"GET /app/reservations/{id}/messages":              "readGuests",
	"POST /app/reservations/{id}/messages":             "writeMessages",
	"GET /app/reservations/{id}/open":                  "openDoors",
	"POST /app/reservations/{id}/open":                 "openDoors",
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
	"GET /app/locks/{id}":                              "readLocks",
	"POST /app/locks/{id}":                             "manageLocks",
	"GET /app/locks/{id}/open":                         "openDoors",
	"POST /app/locks/{id}/open":                        "openDoors",
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
	"GET /app/spaces/rooms/{id}":                       "readProperty",
	"POST /app/spaces/rooms/{id}":                      "manageSpaces",
	"POST /app/spaces/rooms/{id}/lock":                 "manageLocks",
	"GET /app/settings/property":                       "manageSettings",
	"POST /app/settings/property":                      "manageSettings",
	"GET /app/settings/checkin":                        "manageSettings",
	"POST /app/settings/checkin":                       "manageSettings",
	"GET /app/settings/mail":                           "manageSettings",
	"POST /app/settings/mail":                          "manageSettings",
	"GET /app/settings/integrations":                   "manageSettings",
	"POST /app/settings/integrations":                  "manageCredentials",
	"POST /app/settings/integrations/{id}":             "manageCredentials",
	"POST /app/settings/integrations/{id}/invitations": "manageSettings",
	"GET /app/settings/kiosks":                         "manageSettings",
	"POST /app/settings/kiosks":                        "manageSettings",
	"POST /app/settings/kiosks/{id}":                   "manageSettings",
	"GET /app/settings/people":                         "managePeople",
	"POST /app/settings/people":                        "managePeople",
	"GET /app/settings/people/{id}":                    "managePeople",
	"POST /app/settings/people/{id}":                   "managePeople",
	"GET /app/settings/people/invitations/{id}":        "managePeople",
	"POST /app/settings/people/invitations/{id}":       "managePeople",
	"GET /app/setup":                                   "manageSettings",
	"GET /app/account":                                 staff.Self,
	"POST /app/account/sessions":                       staff.Self,
	"GET /app/account/password":                        staff.Self,
	"POST /app/account/password":                       staff.Self,
	"GET /app/account/second":                          staff.Self,
	"POST /app/account/second":                         staff.Self,
}

// surfer is a browser with cookies that follows no redirect and runs no script.
type surfer struct {
	t    *testing.T
	base string
	http *http.Client
}

type shown struct {
	status  int
	moved   string
	text    string
	cookies []*http.Cookie
}

func newSurfer(t *testing.T, w *e2etest.World) *surfer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &surfer{t, w.Base, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do sends a request. A form that is posted has a key, as the pages put it into their forms.
func (s *surfer) do(method, path string, form url.Values, headers ...string) shown {
	s.t.Helper()
	if method == http.MethodPost {
		form = cloneValues(form)
		form.Set("key", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := s.http.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return shown{status: a.StatusCode, moved: a.Header.Get("Location"), text: string(body), cookies: a.Cookies()}
}

func cloneValues(form url.Values) url.Values {
	out := url.Values{}
	for name, values := range form {
		out[name] = values
	}
	return out
}

// join makes the person of the browser an owner with a link.
func (s *surfer) join(w *e2etest.World, email string) {
	s.t.Helper()
	link, err := adminv1.NewOwnerServiceClient(w.Socket).CreateOwnerLink(s.t.Context(), &adminv1.CreateOwnerLinkRequest{PropertyId: w.PropertyID})
	if err != nil {
		s.t.Fatal(err)
	}
	a := s.do(http.MethodPost, "/app/first/"+link.GetData().GetSecret(), url.Values{"name": {"Ada"}, "email": {email}, "password": {password}})
	if a.moved != "/app/" || a.status != http.StatusSeeOther {
		s.t.Fatalf("join: %d to %q: %s", a.status, a.moved, a.text)
	}
}

// session returns the cookie of the session.
func (s *surfer) session() string {
	at, _ := url.Parse(s.base)
	for _, c := range s.http.Jar.Cookies(at) {
		if c.Name == "lk-staff" {
			return c.Value
		}
	}
	return ""
}

func (s *surfer) setCookie(name, value string) {
	at, _ := url.Parse(s.base)
	s.http.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

var pathValue = regexp.MustCompile(`\{\w+\}`)

// TestDashboardMatrix asks for each page as each role, and as a browser without a session.
func TestDashboardMatrix(t *testing.T) {
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
			if path == "/app/logout" || path == "/app/live" && slices.Contains(domain.RightsOf(role), domain.Right(r.Right)) {
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

// TestSpacesPage makes the rooms of the PMS with two dorms whose beds have the same names, and changes a mapping that a colleague has changed
// since the page was shown.
func TestSpacesPage(t *testing.T) {
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	listed := sandbox.PMSSpaces()
	for _, dorm := range []string{"D8", "D9"} {
		listed = append(listed, sandbox.Space{ID: dorm, Type: "Dorm", Name: "Dorm " + dorm, IsActive: true})
		for _, bed := range []string{"1", "2"} {
			listed = append(listed, sandbox.Space{ID: dorm + "-" + bed, Type: "Bed", Name: "Berth " + bed, IsActive: true, ParentID: dorm})
		}
	}
	w.PMS.SetSpaces(append(listed, sandbox.Space{ID: "D8-0", Type: "Bed", Name: "Berth 0", ParentID: "D8"}))
	pms := url.Values{"pms": {w.IntegrationID}}
	if a := s.do(http.MethodPost, "/app/spaces/read", pms); a.status != http.StatusSeeOther {
		t.Fatalf("read the rooms: %d %s", a.status, a.text)
	}
	if a := s.do(http.MethodGet, "/app/spaces", nil); !strings.Contains(a.text, "6 rooms and beds are not among yours") {
		t.Errorf("the page: %s", a.text)
	}
	if a := s.do(http.MethodPost, "/app/spaces", url.Values{"pms": {w.IntegrationID}, "do": {"missing"}}); !strings.Contains(a.moved, "done=taken") {
		t.Fatalf("make the rooms: %d to %q: %s", a.status, a.moved, a.text)
	}
	partner, err := propertyv1.NewMappingServiceClient(w.Public).ListPartnerSpaces(w.Staff(t.Context()), &propertyv1.ListPartnerSpacesRequest{IntegrationId: w.IntegrationID, PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	own, err := propertyv1.NewSpaceServiceClient(w.Public).ListSpaces(w.Staff(t.Context()), &propertyv1.ListSpacesRequest{PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	ids, dorms := map[string]string{}, map[string]string{}
	for _, p := range partner.GetData().GetList() {
		if ids[p.GetExternalId()] = p.GetSpaceId(); p.GetIsActive() == (p.GetSpaceId() == "") {
			t.Errorf("%s is mapped to %q", p.GetExternalId(), p.GetSpaceId())
		}
	}
	for _, o := range own.GetData().GetList() {
		dorms[o.GetId()] = o.GetParentSpaceId()
	}
	for _, dorm := range []string{"D8", "D9"} {
		for _, bed := range []string{"-1", "-2"} {
			if got := dorms[ids[dorm+bed]]; got != ids[dorm] {
				t.Errorf("%s is in %s, want in %s", dorm+bed, got, ids[dorm])
			}
		}
	}

	first, second := ids["R101"], ids["R102"]
	mapped := func() string {
		found, err := propertyv1.NewMappingServiceClient(w.Public).ListPartnerSpaces(w.Staff(t.Context()), &propertyv1.ListPartnerSpacesRequest{IntegrationId: w.IntegrationID, PageSize: 200})
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]string{first: "first", second: "second", "": "none"}
		var texts []string
		for _, p := range found.GetData().GetList() {
			if p.GetExternalId() == "R101" || p.GetExternalId() == "R102" {
				texts = append(texts, p.GetExternalId()+" "+at[p.GetSpaceId()])
			}
		}
		slices.Sort(texts)
		return strings.Join(texts, ", ")
	}
	page, room := s.do(http.MethodGet, "/app/spaces", nil), s.do(http.MethodGet, "/app/spaces/rooms/"+first, nil)
	choose := func(seen shown, of map[string][2]string, more ...string) shown {
		form := url.Values{"pms": {w.IntegrationID}, "do": {"rows"}, "lastChange": {seen.field("lastChange")}}
		for id, was := range of {
			form["space"] = append(form["space"], id)
			form.Set("was."+id, was[0])
			form.Set("map."+id, was[1])
		}
		for _, name := range more {
			form.Set(name, "yes")
		}
		return s.do(http.MethodPost, "/app/spaces", form)
	}
	if a := choose(page, map[string][2]string{first: {"R101", "R102"}, second: {"R102", "R102"}}); a.status != http.StatusUnprocessableEntity ||
		strings.Count(a.text, "is chosen twice") != 4 || strings.Count(a.text, `<option value="R102" selected>`) != 2 {
		t.Errorf("a room that is chosen twice: %d %s", a.status, a.text)
	}
	if a := choose(page, map[string][2]string{first: {"R101", ""}, second: {"R102", "R101"}}); a.status != http.StatusSeeOther {
		t.Fatalf("a colleague moves a room: %d %s", a.status, a.text)
	}
	want := "R101 second, R102 none"
	if got := mapped(); got != want {
		t.Fatalf("moved: %s", got)
	}
	for name, a := range map[string]shown{
		"all rooms":   choose(page, map[string][2]string{first: {"R101", ""}}),
		"the preview": choose(page, map[string][2]string{first: {"R101", ""}}, "preview"),
		"the room":    s.do(http.MethodPost, "/app/spaces/rooms/"+first, url.Values{"do": {"map"}, "pms": {w.IntegrationID}, "was": {"R101"}, "map": {""}, "lastChange": {room.field("lastChange")}}),
		"suggestions": s.do(http.MethodPost, "/app/spaces", url.Values{"do": {"exact"}, "pms": {w.IntegrationID}, "lastChange": {page.field("lastChange")}}),
	} {
		if got := mapped(); got != want || !strings.Contains(a.text, "The mapping has changed meanwhile") {
			t.Errorf("%s, with an old page: %s, status %d to %q", name, got, a.status, a.moved)
		}
	}
	if a := s.do(http.MethodGet, "/app/spaces/changes?pms="+w.IntegrationID, nil); !strings.Contains(a.text, `<td class="stage">Ada</td>`) {
		t.Errorf("the changes do not name who made them: %s", a.text)
	}
	if a := s.do(http.MethodGet, "/app/audit", nil); !strings.Contains(a.text, "Ada<br><code") {
		t.Errorf("the audit log does not name who called: %s", a.text)
	}
	preview := choose(s.do(http.MethodGet, "/app/spaces", nil), map[string][2]string{second: {"R101", ""}}, "preview")
	if preview.status != http.StatusOK || preview.field("lastChange") == "" {
		t.Errorf("a preview: %d %s", preview.status, preview.text)
	}
}

// TestDashboardRefuses sends what the API refuses, or what it would take for another meaning: each page says what is wrong at its field.
func TestDashboardRefuses(t *testing.T) {
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	e2etest.PushReservation(t, w, "B-1", map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace"}})
	stay := regexp.MustCompile(`/app/reservations/\w+`).FindString(s.do(http.MethodGet, "/app/reservations?q=1001", nil).text)
	door := s.do(http.MethodGet, stay, nil).field("door")
	lock := regexp.MustCompile(`/app/locks/\w+`).FindString(s.do(http.MethodGet, "/app/locks", nil).text)
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
	now := &offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Options.Clock = now })
	ada, s := signUp(t, w, "ada@example.com"), newSurfer(t, w)
	begun := call(t, w, e2etest.REST, ada.at(""), sessionService+"BeginTOTP", &propertyv1.BeginTOTPRequest{}).Reply.(*propertyv1.BeginTOTPResponse)
	code := func() string {
		c, err := totp.GenerateCode(begun.GetData().GetSecret(), now.Now())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	confirmed := call(t, w, e2etest.REST, ada.at(""), sessionService+"ConfirmTOTP", &propertyv1.ConfirmTOTPRequest{Code: code()}).Reply.(*propertyv1.ConfirmTOTPResponse)
	s.setCookie("lk-staff", confirmed.GetData().GetToken())
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
	if a := open(); a.status != http.StatusOK || !strings.Contains(a.text, "Opened: the lock confirmed it.") {
		t.Errorf("right after the code: %d to %q: %s", a.status, a.moved, a.text)
	}
	now.set(15 * time.Minute)
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
	if a := open(); a.status != http.StatusOK {
		t.Errorf("after the step-up: %d to %q", a.status, a.moved)
	}
}
