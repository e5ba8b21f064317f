package pms

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
)

// pipes is a listener whose connections are pipes, so that a client and a server live
// within a synctest bubble and hours pass in no time.
type pipes struct {
	next   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{next: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.next:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.next <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// bubble makes a client with the default limits whose partner answers with h, at
// http://pms.internal. It must be called within a synctest bubble.
func bubble(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	p := newPipes()
	s := &http.Server{Handler: h, ErrorLog: quietLog()}
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(p) }()
	t.Cleanup(func() { _ = s.Close(); <-served })
	return dialling(t, p.dial)
}

func dialling(t *testing.T, dial func(context.Context, string, string) (net.Conn, error)) *Client {
	t.Helper()
	rules, err := NewRules(RulesOptions{Hosts: []string{"pms.internal"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	c.dial = dial
	return c
}

func inBubble(scheme, integrationID, action string) Target {
	return Target{IntegrationID: integrationID, Action: action, URL: scheme + "://pms.internal/", SigningSecrets: []string{testSecret}}
}

func TestTimeLimits(t *testing.T) {
	mute := func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, there); there.Close() }()
		return here, nil
	}
	slowly := func(every time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
				}
			}
		}
	}
	for name, c := range map[string]struct {
		client func(t *testing.T) *Client
		scheme string
		want   time.Duration
	}{
		"no connection": {func(t *testing.T) *Client {
			never := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			c := dialling(t, nil)
			c.dial = (&dialer{rules: c.rules, resolver: never, timeout: c.limits.Connect}).DialContext
			return c
		}, "https", 3 * time.Second},
		"no handshake": {func(t *testing.T) *Client { return dialling(t, mute) }, "https", 5 * time.Second},
		"no answer":    {func(t *testing.T) *Client { return dialling(t, mute) }, "http", 10 * time.Second},
		"headers, then silence": {func(t *testing.T) *Client {
			return bubble(t, slowly(time.Hour))
		}, "http", 15 * time.Second},
		"a byte a second": {func(t *testing.T) *Client {
			return bubble(t, slowly(time.Second))
		}, "http", 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := c.client(t)
				start := time.Now()
				_, err := client.CheckInStatus(t.Context(), inBubble(c.scheme, "int_1", GetCheckInStatus), "R1")
				took := time.Since(start)
				if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseTimeout {
					t.Errorf("got %v, want cause timeout", err)
				}
				if took != c.want {
					t.Errorf("took %v, want %v", took, c.want)
				}
			})
		})
	}
}

func TestRetriesAndWaitingStayWithinTheTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		c := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			select {
			case <-time.After(6 * time.Second):
				w.WriteHeader(http.StatusServiceUnavailable)
			case <-r.Context().Done():
			}
		})
		start := time.Now()
		_, err := c.Spaces(t.Context(), inBubble("http", "int_1", GetSpaces))
		if took := time.Since(start); took != 15*time.Second {
			t.Errorf("took %v", took)
		}
		if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseTimeout || calls.Load() != 3 {
			t.Errorf("%v after %d calls", err, calls.Load())
		}
	})
}

func TestALongWaitIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bubble(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		start := time.Now()
		_, err := c.Spaces(t.Context(), inBubble("http", "int_1", GetSpaces))
		if took := time.Since(start); err == nil || took != 0 {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestCanceledCallDoesNotAffectOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bubble(t, hang)
		for range 10 {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, nil)
			time.AfterFunc(time.Second, cancel)
			_, err := c.Spaces(ctx, inBubble("http", "int_1", GetSpaces))
			if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseCanceled {
				t.Fatalf("got %v", err)
			}
		}
		if !c.states.byIntegration["int_1"].breaker.IsClosed() {
			t.Error("callers that went away opened the breaker")
		}
	})
}

func TestBreakerBlocksCallsExceptUrgentOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		sick := true
		c := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			if sick {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, `{"owing":0,"roomReady":true,"data":[]}`)
		})
		spaces, status := inBubble("http", "int_1", GetSpaces), inBubble("http", "int_1", GetCheckInStatus)
		read := func() error { _, err := c.Spaces(t.Context(), spaces); return err }
		for range 2 {
			if read() == nil {
				t.Fatal("a 500 counts as an answer")
			}
		}
		if calls != 5 {
			t.Errorf("the breaker opened after %d failures, want 5", calls)
		}
		err := read()
		e, ok := errors.AsType[*CallError](err)
		if !ok || e.Cause != CauseOpen || e.RetryAfter <= 0 || calls != 5 {
			t.Errorf("open breaker: %v after %d calls", err, calls)
		}
		const says = "the partner's getSpaces is not called for now: its calls failed 5 times in a row (last: getSpaces answered with an error (HTTP 500)); next try at "
		if next := time.Now().Add(e.RetryAfter).UTC().Format("15:04:05") + " UTC"; err.Error() != says+next {
			t.Errorf("open breaker: %q, want %q", err, says+next)
		}
		if f, _ := fault.Of(err); f.Meta[checkin.MetaNotCalled] == "" {
			t.Error("the failure of a call that was not made looks like one of the partner's")
		}
		if _, err := c.Spaces(t.Context(), inBubble("http", "int_2", GetSpaces)); err == nil || calls != 8 {
			t.Errorf("another integration was held back: %v, %d calls", err, calls)
		}
		for n := range 3 {
			if _, err := c.CheckInStatus(t.Context(), status, "R1"); err == nil {
				t.Error("a 500 counts as a status")
			}
			if calls != 9+n {
				t.Errorf("asking again while open made %d calls, want %d", calls, 9+n)
			}
		}
		if _, err := c.Probe(t.Context(), spaces); err != nil || calls != 12 {
			t.Errorf("a probe was held back: %v, %d calls", err, calls)
		}
		time.Sleep(time.Minute) // the bubble's time
		calls = 0
		if read() == nil || calls != 1 || read() == nil || calls != 1 {
			t.Errorf("half open: %d calls, want one trial", calls)
		}
		sick, calls = false, 0
		if _, err := c.CheckInStatus(t.Context(), status, "R1"); err != nil {
			t.Errorf("healed: %v", err)
		}
		if err := read(); err != nil || calls != 2 {
			t.Errorf("after a good answer: %v, %d calls", err, calls)
		}
	})
}

// A refused address says nothing about the partner, so an urgent call that fails with it leaves the breaker open.
func TestRefusedAddressLeavesTheBreakerOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dialling(t, func(context.Context, string, string) (net.Conn, error) { return nil, io.ErrUnexpectedEOF })
		spaces, status := inBubble("http", "int_1", GetSpaces), inBubble("http", "int_1", GetCheckInStatus)
		for range 2 {
			if _, err := c.Spaces(t.Context(), spaces); err == nil {
				t.Fatal("a broken connection counts as an answer")
			}
		}
		c.dial = func(context.Context, string, string) (net.Conn, error) { return nil, errAddress }
		_, err := c.CheckInStatus(t.Context(), status, "R1")
		if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseAddress {
			t.Errorf("an urgent call: %v", err)
		}
		_, err = c.Spaces(t.Context(), spaces)
		if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseOpen {
			t.Errorf("after it: %v, want an open breaker", err)
		}
	})
}

// A changed endpoint, or one that is registered again, starts with a closed breaker.
func TestBreakerResetsWhenTheEndpointChanges(t *testing.T) {
	for name, mend := range map[string]func(t *Target){
		"another address": func(t *Target) { t.URL += "v2" },
		"another token":   func(t *Target) { t.Token = "another" },
		"urgent":          func(t *Target) { t.Urgent = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls int
				sick := true
				c := bubble(t, func(w http.ResponseWriter, r *http.Request) {
					calls++
					if sick {
						w.WriteHeader(http.StatusInternalServerError)
						return
					}
					_, _ = io.WriteString(w, `[]`)
				})
				target := inBubble("http", "int_1", GetSpaces)
				for range 3 {
					_, _ = c.Spaces(t.Context(), target)
				}
				if _, err := c.Spaces(t.Context(), target); err == nil || calls != 5 {
					t.Fatalf("%v after %d calls, want an open breaker after 5", err, calls)
				}
				sick, calls = false, 0
				mend(&target)
				if _, err := c.Spaces(t.Context(), target); err != nil || calls != 1 {
					t.Errorf("%v after %d calls, want one that goes well", err, calls)
				}
				target.Urgent = false
				if _, err := c.Spaces(t.Context(), target); err != nil || calls != 2 {
					t.Errorf("the next: %v after %d calls", err, calls)
				}
			})
		})
	}
}

func TestOneHangingIntegrationSlowsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hanging sync.WaitGroup
		c := bubble(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				hang(w, r)
				return
			}
			_, _ = io.WriteString(w, `[]`)
		})
		bad := inBubble("http", "int_bad", GetSpaces)
		bad.URL += "bad"
		for range c.limits.Concurrency {
			hanging.Go(func() { _, _ = c.Spaces(t.Context(), bad) })
		}
		synctest.Wait()
		start := time.Now()
		for range 100 {
			if _, err := c.Spaces(t.Context(), inBubble("http", "int_good", GetSpaces)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the good partner was slowed by %v", took)
		}
		_, err := c.Spaces(t.Context(), bad)
		if e, ok := errors.AsType[*CallError](err); !ok || e.Cause != CauseBusy || time.Since(start) != c.limits.Wait {
			t.Errorf("one call more: %v after %v, want busy after %v", err, time.Since(start), c.limits.Wait)
		}
		hanging.Wait()
		if took := time.Since(start); took > c.limits.Total {
			t.Errorf("the hanging calls took %v", took)
		}
	})
}

func TestIntegrationStatesAreBounded(t *testing.T) {
	made := 0
	l := newIntegrationStates(2, func() *integrationState { made++; return &integrationState{transport: &http.Transport{}} })
	a := l.acquire("a")
	l.release(a)
	b := l.acquire("b")
	l.release(l.acquire("a"))
	if l.acquire("c") == nil || made != 3 || l.byIntegration["a"] != nil || l.byIntegration["b"] != b {
		t.Errorf("made %d; the idle one used longest ago should have gone: %v", made, l.byIntegration)
	}
	if l.acquire("d") != nil {
		t.Error("a line in use was dropped, or the bound passed")
	}
	l.release(b)
	if l.acquire("d") == nil || len(l.byIntegration) != 2 {
		t.Errorf("%d lines", len(l.byIntegration))
	}
}

func TestServerIsNotReadBeforeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		go func() { _, _ = io.WriteString(there, "unasked") }()
		conn := newWriteFirstConn(here)
		var read atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = conn.Read(make([]byte, 7))
			read.Store(true)
		}()
		synctest.Wait()
		if read.Load() {
			t.Error("what a server says unasked was read")
		}
		go func() { _, _ = conn.Write([]byte("GET")) }()
		<-done
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		silent := newWriteFirstConn(there)
		if err := silent.Close(); err != nil {
			t.Error(err)
		}
		if _, err := silent.Read(make([]byte, 1)); err == nil {
			t.Error("a closed connection is read")
		}
	})
}
