package pms

import (
	"crypto/sha256"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

// integrationState is what the client keeps for one integration or webhook, separate from all others.
type integrationState struct {
	transport   *http.Transport
	bulkhead    bulkhead.Bulkhead[*answer]
	breaker     breaker
	lastFailure atomic.Pointer[CallError]    // lastFailure is the last failure that the breaker counted; nil after a success
	lastTarget  map[string][sha256.Size]byte // lastTarget has a hash of the last target of each action; a new target gets a new breaker
	users       int                          // users is the number of running calls that use this state; 0: it can be dropped
	lastUsed    uint64                       // lastUsed is the sequence number of the last use
}

type breaker = circuitbreaker.CircuitBreaker[*answer]

// newIntegrationState returns the state of an integration that was not called lately: its own transport, concurrency
// limit and circuit breaker.
func (c *Client) newIntegrationState() *integrationState {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &integrationState{
		transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            c.connect,
			DialTLSContext:         c.connectTLS,
			ResponseHeaderTimeout:  c.limits.FirstByte,
			MaxResponseHeaderBytes: c.limits.Headers,
			MaxConnsPerHost:        int(c.limits.Concurrency),
			MaxIdleConnsPerHost:    int(c.limits.Concurrency),
			// checkIn follows getCheckInStatus at once and uses its connection. Other calls are minutes apart: the
			// partner would often close an older connection just when it is reused.
			IdleConnTimeout: time.Second,
			Protocols:       protocols,
		},
		bulkhead:   bulkhead.New[*answer](c.limits.Concurrency),
		breaker:    c.newBreaker(),
		lastTarget: make(map[string][sha256.Size]byte),
	}
}

// newBreaker returns a closed circuit breaker with the client's limits.
func (c *Client) newBreaker() breaker {
	return circuitbreaker.NewBuilder[*answer]().
		WithFailureThreshold(c.limits.BreakerFailures).
		WithSuccessThreshold(1).
		WithDelay(c.limits.BreakerDelay).
		WithJitterFactor(0.2).
		Build()
}

// breakerFor returns the breaker of the state, which all actions of the integration share. If the endpoint of t has changed since its last
// call, it creates a new breaker, because the failures concern the old endpoint.
func (c *Client) breakerFor(state *integrationState, t Target) breaker {
	is := sha256.Sum256([]byte(strings.Join([]string{t.URL, t.method(), t.Token, t.TokenIn}, "\x00")))
	c.states.mu.Lock()
	defer c.states.mu.Unlock()
	if was, ok := state.lastTarget[t.Action]; ok && was != is {
		state.breaker = c.newBreaker()
		state.lastFailure.Store(nil)
	}
	state.lastTarget[t.Action] = is
	return state.breaker
}

// breakerOpenError returns the error of a call that an open breaker blocks. It contains the last failure and the time
// of the next attempt.
func (c *Client) breakerOpenError(state *integrationState, req *request) *CallError {
	e := &CallError{Action: req.call.action, Cause: CauseOpen, RetryAfter: req.breaker.RemainingDelay()}
	e.detail = "its calls failed " + strconv.Itoa(int(c.limits.BreakerFailures)) + " times in a row"
	if last := state.lastFailure.Load(); last != nil {
		e.detail += " (last: " + strings.TrimPrefix(last.text(), "the partner's ") + ")"
	}
	e.detail += "; next try at " + c.clock.Now().Add(e.RetryAfter).UTC().Format("15:04:05") + " UTC"
	return e
}

// integrationStates holds the states of the recently called integrations and webhooks, by id.
type integrationStates struct {
	mu            sync.Mutex
	max           int // max is the maximum number of states: then a new one replaces an unused one, or is refused
	byIntegration map[string]*integrationState
	newState      func() *integrationState
	turn          uint64 // turn counts the calls of acquire; it gives each state its lastUsed
}

// newIntegrationStates returns an empty set of states. most is their maximum number; fresh creates one.
func newIntegrationStates(most int, fresh func() *integrationState) *integrationStates {
	return &integrationStates{max: most, byIntegration: make(map[string]*integrationState), newState: fresh}
}

// acquire returns the state of an integration, which the caller must release. It creates a missing one, and may drop an unused one for
// that. It returns nil if there are max states already and all are in use.
func (l *integrationStates) acquire(integrationID string) *integrationState {
	l.mu.Lock()
	defer l.mu.Unlock()
	state, ok := l.byIntegration[integrationID]
	if !ok {
		if len(l.byIntegration) >= l.max && !l.dropOldest() {
			return nil
		}
		state = l.newState()
		l.byIntegration[integrationID] = state
	}
	l.turn++
	state.lastUsed = l.turn
	state.users++
	return state
}

// release marks a call as ended. A state that no call uses may be dropped.
func (l *integrationStates) release(state *integrationState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state.users--
}

// dropOldest drops the unused state that was used longest ago. It returns false if all states are in use.
func (l *integrationStates) dropOldest() bool {
	oldest := ""
	for key, state := range l.byIntegration {
		if state.users == 0 && (oldest == "" || state.lastUsed < l.byIntegration[oldest].lastUsed) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	l.byIntegration[oldest].transport.CloseIdleConnections()
	delete(l.byIntegration, oldest)
	return true
}

// close closes the idle connections of all states.
func (l *integrationStates) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, state := range l.byIntegration {
		state.transport.CloseIdleConnections()
	}
}
