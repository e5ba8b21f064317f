package pms

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/test/porttest"
)

// bound is far above what the quick limits allow a call to take, and far below a hang.
const bound = 5 * time.Second

// expect runs all three actions against a target and checks how each fails, in bounded
// time, and that no error and no log line holds the token.
func (z *zoo) expect(t *testing.T, want ...Cause) {
	t.Helper()
	for _, action := range []string{GetSpaces, GetCheckInStatus, CheckIn} {
		target := z.target(action)
		start := time.Now()
		err := z.invoke(t, target)
		if took := time.Since(start); took > bound {
			t.Errorf("%s took %v", action, took)
		}
		e, ok := errors.AsType[*CallError](err)
		if !ok {
			t.Errorf("%s: got %v, want cause %v", action, err, want)
			continue
		}
		if err := e.Problem().Check(); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		good := false
		for _, w := range want {
			good = good || e.Cause == w
		}
		if !good {
			t.Errorf("%s: got cause %s (%v), want %v", action, e.Cause, err, want)
		}
		f, ok := fault.Of(err)
		if !ok {
			t.Errorf("%s: %v is no fault", action, err)
			continue
		}
		z.silent(t, fmt.Sprintf("%v %+v %+v %q", err, *e, *f, f.Meta))
	}
	z.mu.Lock()
	logs := z.logs.String()
	z.mu.Unlock()
	z.silent(t, logs)
}

func (z *zoo) invoke(t *testing.T, target Target) error {
	switch target.Action {
	case GetSpaces:
		_, err := z.client.Spaces(t.Context(), target)
		return err
	case GetCheckInStatus:
		_, err := z.client.CheckInStatus(t.Context(), target, "R1")
		return err
	default:
		return z.client.CheckIn(t.Context(), target, "key-1", checkin.Disclosure{ReservationID: "R1"})
	}
}

// silent checks that a text contains neither the token, in any encoding, nor a signing secret.
func (z *zoo) silent(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{testToken, url.QueryEscape(testToken), url.PathEscape(testToken), testSecret, strings.TrimPrefix(testSecret, secretPrefix)} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in %q", secret, text)
		}
	}
}

func hang(w http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
}

// drip sends one byte at a time, for ever.
func drip(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			_, _ = w.Write([]byte("["))
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func bomb() []byte {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	for range 64 {
		_, _ = zw.Write(bytes.Repeat([]byte{' '}, 1<<20))
	}
	_ = zw.Close()
	return b.Bytes()
}

func redirect(to func(r *http.Request) string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to(r))
		w.WriteHeader(status)
	}
}

func TestHostileAnswers(t *testing.T) {
	packed := bomb()
	never := func(*http.Request) string { return "http://169.254.169.254/latest/meta-data/" }
	itself := func(r *http.Request) string { return r.URL.String() }
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		want  []Cause
	}{
		"hangs before headers": {hang, []Cause{CauseTimeout}},
		"hangs in the body": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "[")
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		}, []Cause{CauseTimeout}},
		"a byte now and then": {drip, []Cause{CauseTimeout}},
		"early hints without end": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				w.Header().Set("Link", "</a>")
				w.WriteHeader(http.StatusEarlyHints)
			}
		}, []Cause{CauseNetwork, CauseTimeout, CauseTooLarge}},
		"gzip bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed)
		}, []Cause{CauseTooLarge}},
		"one byte over the limit": {reply(200, "["+strings.Repeat(" ", 1<<20-1)+"]"), []Cause{CauseTooLarge}},
		"large headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 70<<10))
		}, []Cause{CauseTooLarge}},
		"redirect to itself":      {redirect(itself, 302), []Cause{CauseStatus}},
		"redirect 301 to private": {redirect(never, 301), []Cause{CauseStatus}},
		"redirect 307 to private": {redirect(never, 307), []Cause{CauseStatus}},
		"redirect 308 to private": {redirect(never, 308), []Cause{CauseStatus}},
		"500":                     {reply(500, "oops"), []Cause{CauseStatus}},
		"503 storm":               {reply(503, ""), []Cause{CauseStatus}},
		"error that quotes the token": {func(w http.ResponseWriter, r *http.Request) {
			reply(403, `{"error":{"message":"bad `+r.URL.RawQuery+`"}}`)(w, r)
		}, []Cause{CauseStatus}},
		"2xx with an error":       {reply(200, `{"error":{"reason":"closed","message":"closed"}}`), []Cause{CauseError}},
		"no end of an error body": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400); drip(w, r) }, []Cause{CauseStatus, CauseTimeout}},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}, []Cause{CauseNetwork}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := quick()
			limits.BreakerFailures = 100
			newZoo(t, limits, c.serve).expect(t, c.want...)
		})
	}
}

// TestARedirectIsNotFollowed counts calls, also those to the target of the redirect.
func TestARedirectIsNotFollowed(t *testing.T) {
	var other atomic.Int32
	elsewhere := newZoo(t, quick(), func(http.ResponseWriter, *http.Request) { other.Add(1) })
	z := newZoo(t, quick(), nil)
	var here atomic.Int32
	z.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here.Add(1)
		http.SetCookie(w, &http.Cookie{Name: "s", Value: "1"})
		if len(r.Cookies()) > 0 {
			t.Error("a cookie came back")
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	// Both hosts are allowed, so that only the rule about redirects can hold.
	z.client = z.newClient(t, quick(), nil, z.host(), elsewhere.host())
	for range 2 {
		if _, err := z.client.Spaces(t.Context(), z.target(GetSpaces)); err == nil {
			t.Error("a redirect counts as an answer")
		}
	}
	if here.Load() != 2 || other.Load() != 0 {
		t.Errorf("%d calls here, %d at the redirect's end; want 2 and 0", here.Load(), other.Load())
	}
}

func TestBodyIsReadUpToTheLimit(t *testing.T) {
	var written atomic.Int64
	for _, announced := range []bool{true, false} {
		written.Store(0)
		limits := quick()
		limits.Attempts = 1
		z := newZoo(t, limits, func(w http.ResponseWriter, _ *http.Request) {
			if announced {
				w.Header().Set("Content-Length", fmt.Sprint(1<<30))
			}
			block := bytes.Repeat([]byte{' '}, 64<<10)
			for range (1 << 30) / len(block) {
				n, err := w.Write(block)
				written.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
		_, err := z.client.Spaces(t.Context(), z.target(GetSpaces))
		if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseTooLarge {
			t.Errorf("announced %v: %v", announced, err)
		}
		z.Close()
		if got := written.Load(); got > 64<<20 {
			t.Errorf("announced %v: %d bytes of 1 GiB were taken", announced, got)
		}
	}
}

// raw starts a server that writes arbitrary bytes to each connection.
func raw(t *testing.T, serve func(conn net.Conn)) *zoo {
	t.Helper()
	z := newZoo(t, quick(), hang)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	z.URL = "http://" + ln.Addr().String()
	limits := quick()
	limits.BreakerFailures = 100
	z.client = z.newClient(t, limits, nil, ln.Addr().String())
	return z
}

// says answers the request with these bytes and then closes.
func says(text string) func(conn net.Conn) {
	return func(conn net.Conn) {
		buf := make([]byte, 16<<10)
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		line, _, _ := strings.Cut(string(buf[:n]), "\r\n")
		_, _ = io.WriteString(conn, strings.ReplaceAll(text, "{line}", line))
	}
}

func TestHostileBytes(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		serve func(conn net.Conn)
		want  []Cause
	}{
		"says nothing":            {func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }, []Cause{CauseTimeout}},
		"closes at once":          {func(net.Conn) {}, []Cause{CauseNetwork}},
		"not HTTP":                {says("220 smtp.example.com ESMTP\r\n"), []Cause{CauseNetwork}},
		"quotes the request line": {says("{line}\r\n\r\n"), []Cause{CauseNetwork}},
		"bad header":              {says("HTTP/1.1 200 OK\r\n{line}\r\n\r\n"), []Cause{CauseNetwork}},
		"content too short":       {says(ok + "Content-Length: 100\r\n\r\n[]"), []Cause{CauseNetwork}},
		"content lengths differ":  {says(ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n[]"), []Cause{CauseNetwork}},
		"negative length":         {says(ok + "Content-Length: -1\r\n\r\n[]"), []Cause{CauseNetwork}},
		"bad chunks":              {says(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n[]"), []Cause{CauseNetwork}},
		"cut chunk":               {says(ok + "Transfer-Encoding: chunked\r\n\r\nff\r\n[]"), []Cause{CauseNetwork}},
		"broken gzip":             {says(ok + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n[]"), []Cause{CauseNetwork}},
		"status 0":                {says("HTTP/1.1 000 ?\r\n\r\n"), []Cause{CauseNetwork, CauseStatus}},
		"endless headers": {func(conn net.Conn) {
			_, _ = io.WriteString(conn, ok)
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(conn, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		}, []Cause{CauseTooLarge, CauseNetwork}},
		"another protocol, then silence": {func(conn net.Conn) {
			says("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")(conn)
			_, _ = io.Copy(io.Discard, conn)
		}, []Cause{CauseStatus, CauseNetwork}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw(t, c.serve).expect(t, c.want...)
		})
	}
}

func TestConnectionIsNotAccepted(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	z := newZoo(t, quick(), hang)
	z.URL, z.client = "http://"+ln.Addr().String(), z.newClient(t, quick(), nil, ln.Addr().String())
	z.expect(t, CauseTimeout)
}

func TestConnectionIsRefused(t *testing.T) {
	address := porttest.Reserve(t)
	z := newZoo(t, quick(), hang)
	z.URL, z.client = "http://"+address, z.newClient(t, quick(), nil, address)
	z.expect(t, CauseNetwork)
}

func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	z := newZoo(t, quick(), reply(200, "[]"))
	if _, err := z.client.Spaces(t.Context(), z.target(GetSpaces)); err != nil {
		t.Error(err)
	}
}

// Any 2xx acknowledges a webhook: its body is not used.
func TestWebhookBodyDoesNotMatter(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"has no end":  drip,
		"is too long": reply(200, strings.Repeat(" ", 2<<20)),
		"is an error": reply(200, `{"error":{"reason":"closed"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := newZoo(t, quick(), serve)
			got, err := z.client.Deliver(t.Context(), WebhookTarget("int_1", "whk_1", z.URL, []string{testSecret}), Message{ID: "msg_1", Body: []byte("{}")}, false)
			if err != nil || got.Failure != "" || got.Status != http.StatusOK {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}
