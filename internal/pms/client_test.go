package pms

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
)

var testSecret = secretPrefix + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

const testToken = "tok+secret/42=&?"

// zoo is a partner's server on an allowed host, with a handler chosen by each test.
type zoo struct {
	*httptest.Server
	client *Client
	logs   *strings.Builder
	mu     sync.Mutex
	seen   []*http.Request
	bodies []string
}

// quick are limits that hold for a test: short where something hangs on purpose.
func quick() Limits {
	l := DefaultLimits()
	l.Connect, l.TLS, l.FirstByte, l.Total = 300*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond, 600*time.Millisecond
	l.Backoff, l.MaxBackoff, l.Wait = time.Millisecond, 5*time.Millisecond, 20*time.Millisecond
	return l
}

func newZoo(t *testing.T, limits Limits, h http.HandlerFunc) *zoo {
	t.Helper()
	z := &zoo{logs: &strings.Builder{}}
	z.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		z.mu.Lock()
		z.seen, z.bodies = append(z.seen, r), append(z.bodies, string(body))
		z.mu.Unlock()
		h(w, r)
	}))
	z.Config.ErrorLog = quietLog()
	z.Start()
	t.Cleanup(z.Close)
	z.client = z.newClient(t, limits, nil, z.host())
	return z
}

func (z *zoo) newClient(t *testing.T, limits Limits, roots *x509.CertPool, hosts ...string) *Client {
	t.Helper()
	rules, err := NewRules(RulesOptions{Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(&locked{mu: &z.mu, w: z.logs}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c, err := New(Options{Rules: rules, Limits: limits, Log: logger, RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func quietLog() *log.Logger { return slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) }

type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (z *zoo) host() string {
	u, err := url.Parse(z.URL)
	if err != nil {
		panic(err)
	}
	return u.Host
}

func (z *zoo) target(action string) Target {
	return Target{
		IntegrationID: "int_1", Action: action, URL: z.URL + "/pms/" + action,
		Token: testToken, SigningSecrets: []string{testSecret},
	}
}

func (z *zoo) calls() ([]*http.Request, []string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.seen, z.bodies
}

func reply(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestSpacesOverTheWire(t *testing.T) {
	z := newZoo(t, DefaultLimits(), reply(200, `{"data":[{"id":"R1","type":"Room","name":"101","isPrivate":true,"isActive":true,"floor":1}]}`))
	got, err := z.client.Spaces(context.Background(), z.target(GetSpaces))
	if err != nil {
		t.Fatal(err)
	}
	want := &pmsv1.Space{Id: "R1", Type: SpaceRoom, Name: "101", IsPrivate: true, IsActive: true, Floor: proto.String("1")}
	if len(got) != 1 || !proto.Equal(got[0], want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	seen, _ := z.calls()
	if r := seen[0]; r.Method != http.MethodGet || r.URL.Query().Get("token") != testToken {
		t.Errorf("sent %s %s", r.Method, r.URL)
	}
}
