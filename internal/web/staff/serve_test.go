package staff

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/web/kit"
)

// serve returns the answer to a request of a person with a session. A form that is not nil is posted.
func serve(t *testing.T, api API, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	return serveIn(t, api, "en", path, form)
}

// serveIn is serve for a person who reads a language.
func serveIn(t *testing.T, api API, language, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	return serveAs(t, api, language, path, form, nil)
}

// serveAs is serveIn with headers.
func serveAs(t *testing.T, api API, language, path string, form url.Values, headers map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	k, err := kit.New(kit.Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Secure: func(*http.Request) bool { return false }, Fault: fakeFault, Now: func() time.Time { return noon },
		As: func(ctx context.Context, _ *http.Request, _ kit.Credential) context.Context { return ctx },
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := New(k, api)
	if err != nil {
		t.Fatal(err)
	}
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, w := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form.Encode())), httptest.NewRecorder()
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept-Language", language)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: "lkx_1"})
	pages.ServeHTTP(w, r)
	return w
}
