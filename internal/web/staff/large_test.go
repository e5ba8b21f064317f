package staff

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
)

// endedSession is an API at which no session is valid.
type endedSession struct{ *fakeAPI }

func (endedSession) GetSession(context.Context, *propertyv1.GetSessionRequest, ...grpc.CallOption) (*propertyv1.GetSessionResponse, error) {
	return nil, fault.New(fault.Unauthenticated, fault.InvalidCredentials, "")
}

// A large form is read only for the import of rooms, and only with a valid session.
func TestLargeForm(t *testing.T) {
	f := &fakeAPI{role: staff.Housekeeping} // may import nothing
	for _, c := range []struct {
		name, path string
		sessions   propertyv1.SessionServiceClient
		size       int
		status     int
		read       bool // the form is parsed
	}{
		{"an import", "/app/spaces/import", f, 1 << 19, http.StatusForbidden, true},
		{"too large an import", "/app/spaces/import", f, 1 << 20, http.StatusBadRequest, false},
		{"another form", "/app/login", f, 1 << 19, http.StatusBadRequest, false},
		{"an invented cookie", "/app/spaces/import", endedSession{f}, 1 << 19, http.StatusSeeOther, false},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader("list="+strings.Repeat("x", c.size)))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		a := sendTo(t, API{Sessions: c.sessions, Properties: f, Integrations: f}, r, "en")
		if c.read != (len(r.PostForm.Get("list")) == c.size) || a.Code != c.status {
			t.Errorf("%s: status %d, %d bytes of the form are parsed", c.name, a.Code, len(r.PostForm.Get("list")))
		}
		if c.status == http.StatusSeeOther && !strings.HasPrefix(a.Header().Get("Location"), "/app/login?ended=yes") {
			t.Errorf("%s: to %q", c.name, a.Header().Get("Location"))
		}
	}
}
