package pms

import (
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

// line is what one integration has for itself, so that it can harm no other.
type line struct {
	transport *http.Transport
	places    bulkhead.Bulkhead[*answer]
	breaker   breaker
	last      atomic.Pointer[CallError]    // the last failure that the breaker counted; nil: none since the last success
	called    map[string][sha256.Size]byte // for each action, what was called last
	users     int                          // calls under way
	used      uint64                       // order of the last use
}

type breaker = circuitbreaker.CircuitBreaker[*answer]

func (c *Client) newLine() *line {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &line{
		transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            c.connect,
			DialTLSContext:         c.connectTLS,
			ResponseHeaderTimeout:  c.limits.FirstByte,
			MaxResponseHeaderBytes: c.limits.Headers,
			MaxConnsPerHost:        int(c.limits.Concurrency),
			// Calls to one partner are minutes apart: a connection kept would mostly be
			// one that the partner is about to close.
			DisableKeepAlives: true,
			Protocols:         protocols,
		},
		places:  bulkhead.New[*answer](c.limits.Concurrency),
		breaker: c.newBreaker(),
		called:  make(map[string][sha256.Size]byte),
	}
}

func (c *Client) newBreaker() breaker {
	return circuitbreaker.NewBuilder[*answer]().
		WithFailureThreshold(c.limits.BreakerFailures).
		WithSuccessThreshold(1).
		WithDelay(c.limits.BreakerDelay).
		WithJitterFactor(0.2).
		Build()
}

// breakerFor is the breaker of a call to a target. An endpoint that was registered otherwise since begins with a fresh one:
// what failed before was another.
func (c *Client) breakerFor(n *line, t Target) breaker {
	is := sha256.Sum256([]byte(strings.Join([]string{t.URL, t.method(), t.Token, t.TokenIn}, "\x00")))
	c.lines.mu.Lock()
	defer c.lines.mu.Unlock()
	if was, ok := n.called[t.Action]; ok && was != is {
		n.breaker = c.newBreaker()
		n.last.Store(nil)
	}
	n.called[t.Action] = is
	return n.breaker
}

// paused is the error of a call that an open breaker holds back. It says what failed last and when the next call is made.
func (c *Client) paused(n *line, req *request) *CallError {
	e := &CallError{Action: req.call.action, Cause: CauseOpen, RetryAfter: req.breaker.RemainingDelay()}
	e.detail = "its calls failed " + strconv.Itoa(int(c.limits.BreakerFailures)) + " times in a row"
	if last := n.last.Load(); last != nil {
		e.detail += " (last: " + strings.TrimPrefix(last.text(), "the partner's ") + ")"
	}
	e.detail += "; next try at " + c.clock.Now().Add(e.RetryAfter).UTC().Format("15:04:05") + " UTC"
	return e
}

// lines holds the lines of the integrations called last.
type lines struct {
	mu    sync.Mutex
	most  int
	open  map[string]*line
	fresh func() *line
	turn  uint64
}

func newLines(most int, fresh func() *line) *lines {
	return &lines{most: most, open: make(map[string]*line), fresh: fresh}
}

// take returns the integration's line, which the caller gives back with done. It returns
// nil when every line is in use.
func (l *lines) take(integrationID string) *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := l.open[integrationID]
	if !ok {
		if len(l.open) >= l.most && !l.dropOldest() {
			return nil
		}
		n = l.fresh()
		l.open[integrationID] = n
	}
	l.turn++
	n.used = l.turn
	n.users++
	return n
}

func (l *lines) done(n *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.users--
}

func (l *lines) dropOldest() bool {
	oldest := ""
	for key, n := range l.open {
		if n.users == 0 && (oldest == "" || n.used < l.open[oldest].used) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	l.open[oldest].transport.CloseIdleConnections()
	delete(l.open, oldest)
	return true
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.open {
		n.transport.CloseIdleConnections()
	}
}
