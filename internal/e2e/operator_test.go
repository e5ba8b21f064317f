package e2e

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/web/operator"
)

// operatorPages is the matrix of the pages of operators: whether a page or an action is open to a browser without a session. It is written by
// hand, so that a slip in the routes is seen.
var operatorPages = map[string]bool{
	"GET /operator/properties/{id}/tokens":  false,
	"POST /operator/properties/{id}/tokens": false,
	"GET /operator/login":                   true,
	"POST /operator/login":                  true,
	"POST /operator/logout":                 true,
	"GET /operator/{$}":                     false,
	"GET /operator/session":                 false,
	"GET /operator/properties":              false,
	"POST /operator/properties":             false,
	"GET /operator/properties/{id}":         false,
	"POST /operator/properties/{id}":        false,
	"GET /operator/apps":                    false,
	"POST /operator/apps":                   false,
	"GET /operator/apps/{id}":               false,
	"POST /operator/apps/{id}":              false,
	"GET /operator/tokens":                  false,
	"POST /operator/tokens":                 false,
	"GET /operator/jobs":                    false,
	"POST /operator/jobs":                   false,
}

// operatorToken creates an operator token.
func operatorToken(t *testing.T, w *e2etest.World, name string) (id, secret string) {
	t.Helper()
	made, err := adminv1.NewTokenServiceClient(w.Socket).CreateOperatorToken(t.Context(), &adminv1.CreateOperatorTokenRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return made.GetData().GetId(), made.GetToken()
}

// operate signs the browser in as an operator.
func (s *surfer) operate(token string) {
	s.t.Helper()
	if a := s.do(http.MethodPost, "/operator/login", url.Values{"token": {token}}); a.moved != "/operator/" || a.status != http.StatusSeeOther {
		s.t.Fatalf("sign in: %d to %q: %s", a.status, a.moved, a.text)
	}
}

// cookie returns the value of a cookie of the browser.
func (s *surfer) cookie(name string) string {
	at, _ := url.Parse(s.base)
	for _, c := range s.http.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// TestOperatorMatrix asks for each page without a session, with every other kind of credential in the cookie, and as an operator.
func TestOperatorMatrix(t *testing.T) {
	t.Parallel()
	routes := operator.Routes()
	for _, r := range routes {
		if open, ok := operatorPages[r.Pattern]; !ok || open != r.Open {
			t.Errorf("%s is open: %v, the matrix says %v (in the matrix: %v)", r.Pattern, r.Open, open, ok)
		}
	}
	if len(routes) != len(operatorPages) {
		t.Errorf("%d routes and %d rows", len(routes), len(operatorPages))
	}
	dbtest.EachURL(t, func(t *testing.T, database string) {
		w := e2etest.Open(t, e2etest.Database(database))
		staffMember := signUp(t, w, "ada@example.com")
		tokenID, token := operatorToken(t, w, "Ana's laptop")
		revokedID, revoked := operatorToken(t, w, "lost laptop")
		callers := map[string]struct {
			cookies map[string]string
			may     bool
		}{
			"anonymous":                                  {},
			"a person of the staff":                      {cookies: map[string]string{"lk-staff": staffMember.token}},
			"a session of staff in the cookie":           {cookies: map[string]string{"lk-operator": staffMember.token}},
			"an operator token in place of a session":    {cookies: map[string]string{"lk-operator": token}},
			"an operator":                                {may: true},
			"an operator whose token was revoked":        {},
			"an operator who signed out on a copied jar": {},
		}
		for name, c := range callers {
			s := newSurfer(t, w)
			switch name {
			case "an operator":
				s.operate(token)
			case "an operator whose token was revoked":
				s.operate(revoked)
				if _, err := adminv1.NewTokenServiceClient(w.Socket).RevokeOperatorToken(t.Context(), &adminv1.RevokeOperatorTokenRequest{Id: revokedID}); err != nil {
					t.Fatal(err)
				}
			case "an operator who signed out on a copied jar":
				s.operate(token)
				stolen := s.cookie("lk-operator")
				s.do(http.MethodPost, "/operator/logout", url.Values{})
				s.setCookie("lk-operator", stolen)
			}
			for _, r := range routes {
				for key, value := range c.cookies {
					s.setCookie(key, value)
				}
				method, path, _ := strings.Cut(strings.ReplaceAll(pathValue.ReplaceAllString(r.Pattern, "x_0"), "{$}", ""), " ")
				if path == "/operator/logout" {
					continue // ends the session
				}
				a := s.do(method, path, url.Values{})
				refused := a.moved == "/operator/login"
				if !r.Open && refused == c.may || a.status >= 500 {
					t.Errorf("%s as %s: status %d to %q", r.Pattern, name, a.status, a.moved)
				}
			}
		}
		// A session of an operator opens no page of a property.
		s := newSurfer(t, w)
		s.operate(token)
		s.setCookie("lk-staff", s.cookie("lk-operator"))
		if a := s.do(http.MethodGet, "/app/today", nil); !strings.HasPrefix(a.moved, "/app/login") {
			t.Errorf("the dashboard as an operator: %d to %q", a.status, a.moved)
		}
		if a := s.do(http.MethodGet, "/operator/tokens", nil); !strings.Contains(a.text, tokenID) || strings.Contains(a.text, token) {
			t.Errorf("the list of tokens: %s", a.text)
		}
	})
}

// TestOperatorSessions attacks the session: a planted cookie, forms of other sites, and guesses; and lets it end by time.
func TestOperatorSessions(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		now := &e2etest.Offset{}
		w := e2etest.Open(t, e2etest.Database(database), func(c *sandbox.Config) { c.Options.Clock = now })
		passed := time.Duration(0)
		wait := func(d time.Duration) { passed += d; now.Set(passed) }
		_, token := operatorToken(t, w, "Ana's laptop")
		ana, eve := newSurfer(t, w), newSurfer(t, w)
		eve.operate(token)
		planted := eve.cookie("lk-operator")
		ana.setCookie("lk-operator", planted)
		a := ana.do(http.MethodPost, "/operator/login", url.Values{"token": {token}})
		if got := ana.cookie("lk-operator"); got == planted || got == "" {
			t.Error("the sign-in keeps a session that was there before")
		}
		for _, c := range a.cookies {
			if c.Name == "lk-operator" && (!c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Expires.IsZero()) {
				t.Errorf("the cookie of the session: %v", c)
			}
		}
		if a := eve.do(http.MethodGet, "/operator/", nil); a.moved != "/operator/login" {
			t.Errorf("the planted session goes on: %d to %q", a.status, a.moved)
		}
		for _, site := range []string{"cross-site", "same-site"} {
			if a := ana.do(http.MethodPost, "/operator/apps", url.Values{"name": {"Evil PMS"}}, "Sec-Fetch-Site", site); a.status != http.StatusForbidden {
				t.Errorf("a form of a %s page: %d", site, a.status)
			}
		}
		if a := eve.do(http.MethodPost, "/operator/login", url.Values{"token": {token}}, "Origin", "https://evil.example"); a.status != http.StatusForbidden {
			t.Errorf("another site signs an operator in: %d", a.status)
		}
		wait(29 * time.Minute)
		if a := ana.do(http.MethodGet, "/operator/", nil); a.status != http.StatusOK {
			t.Errorf("after 29 minutes: %d to %q", a.status, a.moved)
		}
		wait(29 * time.Minute)
		if a := ana.do(http.MethodGet, "/operator/", nil); a.status != http.StatusOK {
			t.Errorf("29 minutes after the last use: %d to %q", a.status, a.moved)
		}
		wait(31 * time.Minute)
		if a := ana.do(http.MethodGet, "/operator/", nil); a.moved != "/operator/login" {
			t.Errorf("31 minutes after the last use: %d to %q", a.status, a.moved)
		}
		ana.operate(token)
		for range 28 {
			wait(25 * time.Minute)
			ana.do(http.MethodGet, "/operator/", nil)
		}
		if a := ana.do(http.MethodGet, "/operator/", nil); a.status != http.StatusOK {
			t.Errorf("after eleven hours and forty minutes of use: %d to %q", a.status, a.moved)
		}
		wait(21 * time.Minute)
		if a := ana.do(http.MethodGet, "/operator/", nil); a.moved != "/operator/login" {
			t.Errorf("after twelve hours of use: %d to %q", a.status, a.moved)
		}
		statuses := map[int]int{}
		for range 30 {
			a := eve.do(http.MethodPost, "/operator/login", url.Values{"token": {"lko_guess"}})
			statuses[a.status]++
			if strings.Contains(a.text, "Wait a moment") {
				return
			}
		}
		t.Errorf("thirty guesses are not slowed down: %v", statuses)
	})
}

// TestOperatorActions does with the pages what an operator does: an app with its tokens, a property with its owner, and operator tokens.
func TestOperatorActions(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		w := e2etest.Open(t, e2etest.Database(database))
		_, token := operatorToken(t, w, "Ana's laptop")
		s := newSurfer(t, w)
		if a := s.do(http.MethodPost, "/operator/login", url.Values{"token": {token[:20]}}); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, "no valid operator token") {
			t.Errorf("a token that was cut off: %d", a.status)
		}
		s.operate(token)
		overview := s.do(http.MethodGet, "/operator/", nil).text
		for _, want := range []string{"The server answers calls", "Up", "Connected", "Last migration", "Ana&#39;s laptop"} {
			if !strings.Contains(overview, want) {
				t.Errorf("the overview lacks %q: %s", want, overview)
			}
		}

		made := s.do(http.MethodPost, "/operator/apps", url.Values{"name": {"Cloud PMS"}})
		first := regexp.MustCompile(`lkc_\w{38}`).FindString(made.text)
		app := strings.TrimSuffix(regexp.MustCompile(`/operator/apps/app_\w+">Cloud PMS`).FindString(made.text), `">Cloud PMS`)
		if first == "" || app == "" {
			t.Fatalf("create an app: %d: %s", made.status, made.text)
		}
		if a := s.do(http.MethodPost, "/operator/apps", url.Values{"name": {"Cloud PMS"}, "again": {"yes"}}); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, "Another one has this name") {
			t.Errorf("a second app of that name: %d: %s", a.status, a.text)
		}
		if a := s.do(http.MethodPost, app, url.Values{"do": {"create"}, "name": {"test system"}}); !strings.Contains(a.text, "lkc_") || !strings.Contains(a.text, "test system") {
			t.Errorf("create a client token: %d: %s", a.status, a.text)
		}
		tokens := s.do(http.MethodGet, app, nil)
		if strings.Contains(tokens.text, first) {
			t.Error("the page of the app shows a secret again")
		}
		revoke := tokens.field("token")
		if a := s.do(http.MethodPost, app, url.Values{"do": {"revoke"}, "token": {revoke}}); a.moved != app+"?done=revoked" || strings.Contains(s.do(http.MethodGet, app, nil).text, revoke) {
			t.Errorf("revoke a client token: %d to %q", a.status, a.moved)
		}
		if a := s.do(http.MethodPost, app, url.Values{"do": {"rotate"}}); !strings.Contains(a.text, "lkc_") {
			t.Errorf("replace the client tokens: %d: %s", a.status, a.text)
		}

		if a := s.do(http.MethodPost, "/operator/properties", url.Values{"settings.name": {"Harbour Hostel"}, "settings.timeZone": {"Lisbon"}}); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, "Enter a time zone") {
			t.Errorf("a wrong time zone: %d: %s", a.status, a.text)
		}
		property := s.do(http.MethodPost, "/operator/properties", url.Values{"settings.name": {"Harbour Hostel"}, "settings.timeZone": {"Europe/Lisbon"}}).moved
		list := s.do(http.MethodGet, "/operator/properties", nil).text
		if !strings.Contains(list, "Harbour Hostel") || !strings.Contains(list, "None connected") || !strings.Contains(list, "1 of 1") {
			t.Errorf("the properties: %s", list)
		}
		link := s.do(http.MethodPost, property, url.Values{"do": {"link"}})
		path := regexp.MustCompile(`/app/first/lki_\w+`).FindString(link.text)
		if owner := newSurfer(t, w); owner.do(http.MethodPost, path, url.Values{"name": {"Bo"}, "email": {"bo@example.com"}, "password": {password}}).moved != "/app/" {
			t.Errorf("the owner's link %q: %s", path, link.text)
		}
		asked := s.do(http.MethodPost, property+"/tokens", url.Values{"do": {"create"}, "name": {"Door display"}, "role": {"viewer"}, "days": {"30"}})
		display := regexp.MustCompile(`lkp_\w{38}`).FindString(asked.text)
		reads := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+display)
		if _, err := propertyv1.NewSpaceServiceClient(w.Public).ListSpaces(reads, &propertyv1.ListSpacesRequest{}); err != nil {
			t.Errorf("the token of the property: %v: %s", err, asked.text)
		}
		if a := s.do(http.MethodPost, property+"/tokens", url.Values{"do": {"create"}, "name": {"Robot"}, "role": {"god"}, "days": {"30"}}); a.status != http.StatusUnprocessableEntity || strings.Contains(a.text, "Shown once") {
			t.Errorf("a token with an unknown role: %d: %s", a.status, a.text)
		}
		listed := s.do(http.MethodGet, property+"/tokens", nil)
		if strings.Contains(listed.text, display) || !strings.Contains(listed.text, "Door display") {
			t.Errorf("the tokens of the property: %s", listed.text)
		}
		if a := s.do(http.MethodPost, property+"/tokens", url.Values{"do": {"revoke"}, "token": {listed.field("token")}}); a.moved != property+"/tokens?done=revoked" {
			t.Errorf("revoke the token of the property: %d to %q", a.status, a.moved)
		}
		if _, err := propertyv1.NewSpaceServiceClient(w.Public).ListSpaces(reads, &propertyv1.ListSpacesRequest{}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("a revoked token of the property: %v", err)
		}
		if a := s.do(http.MethodPost, property, url.Values{"do": {"delete"}, "name": {"Harbor"}}); a.status != http.StatusUnprocessableEntity {
			t.Errorf("delete under another name: %d", a.status)
		}
		if a := s.do(http.MethodPost, property, url.Values{"do": {"delete"}, "name": {"Harbour Hostel"}}); a.moved != "/operator/properties?done=deleted" || strings.Contains(s.do(http.MethodGet, "/operator/properties", nil).text, "Harbour Hostel") {
			t.Errorf("delete the property: %d to %q: %s", a.status, a.moved, a.text)
		}

		shown := s.do(http.MethodPost, "/operator/tokens", url.Values{"do": {"create"}, "name": {"Bo"}, "days": {"30"}})
		second := regexp.MustCompile(`lko_\w{38}`).FindString(shown.text)
		bo := newSurfer(t, w)
		bo.operate(second)
		id := regexp.MustCompile(`(?s)<strong>Bo</strong>.*?name="token" value="(tok_\w+)"`).FindStringSubmatch(shown.text)
		if id == nil {
			t.Fatalf("the new token: %s", shown.text)
		}
		if a := s.do(http.MethodPost, "/operator/tokens", url.Values{"do": {"revoke"}, "token": {id[1]}}); a.moved != "/operator/tokens?done=revoked" {
			t.Errorf("revoke a token: %d to %q", a.status, a.moved)
		}
		if a := bo.do(http.MethodGet, "/operator/", nil); a.moved != "/operator/login" {
			t.Errorf("the session of a revoked token: %d to %q", a.status, a.moved)
		}
	})
}

// TestOperatorSeesWhatBlocksADeletion deletes a property whose locks hold codes: the page names the locks.
func TestOperatorSeesWhatBlocksADeletion(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		w := e2etest.Open(t, e2etest.Database(database))
		_, token := operatorToken(t, w, "Ana's laptop")
		s := newSurfer(t, w)
		s.operate(token)
		e2etest.PushReservation(t, w, "B-1", map[string]any{"pmsNumber": "1001", "state": "started", "roomId": "R101", "adultCount": 1, "booker": map[string]any{"lastName": "Lovelace"}})
		found, err := adminv1.NewPropertyServiceClient(w.Socket).GetProperty(t.Context(), &adminv1.GetPropertyRequest{Id: w.PropertyID})
		if err != nil {
			t.Fatal(err)
		}
		path := "/operator/properties/" + w.PropertyID
		a := s.do(http.MethodPost, path, url.Values{"do": {"delete"}, "name": {found.GetData().GetName()}})
		if a.status != http.StatusConflict || !strings.Contains(a.text, "This must end first") || !regexp.MustCompile(`lck_\w+`).MatchString(a.text) {
			t.Errorf("%d to %q: %s", a.status, a.moved, a.text)
		}
	})
}
