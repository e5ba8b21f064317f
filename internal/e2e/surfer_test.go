package e2e

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

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

// stay returns the path of the page of the reservation with a PMS number.
func (s *surfer) stay(number string) string {
	return regexp.MustCompile(`/app/reservations/\w+`).FindString(s.do(http.MethodGet, "/app/reservations?q="+number, nil).text)
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
