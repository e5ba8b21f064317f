package pms

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

const (
	methodGet  = http.MethodGet
	methodPost = http.MethodPost
)

// call is one call of an endpoint or webhook: its action, what it sends, and whether it may be retried.
type call struct {
	action        string
	reservationID string
	key           string              // key is the idempotency key of checkIn; other actions have none
	disclosure    *checkin.Disclosure // disclosure is the body of checkIn; other actions have none
	message       *Message            // message is the body of a webhook; other actions have none
	retryable     bool                // retryable means that a failed attempt may be repeated: see mayRetry
	urgent        bool                // urgent means that a person is waiting, so the call ignores an open circuit breaker
}

// answer is the answer of a partner to the last attempt of a call. latency is the duration of that attempt.
type answer struct {
	status  int
	body    []byte
	latency time.Duration
	callID  string
}

// request is a prepared call: everything that its attempts have in common.
type request struct {
	target  Target
	call    call
	url     *url.URL
	method  string
	callID  string
	body    []byte
	signers []*standardwebhooks.Webhook

	breaker breaker
}

type retryPolicy = retrypolicy.RetryPolicy[*answer]

// newRetryPolicy returns the policy that decides when a call is tried again: after a retryableError, with a growing wait or the wait that
// the partner asks for, at most l.Attempts times in all.
func newRetryPolicy(l Limits) retryPolicy {
	return retrypolicy.NewBuilder[*answer]().
		HandleIf(func(_ *answer, err error) bool {
			retryable, ok := errors.AsType[*retryableError](err)
			return ok && retryable != nil
		}).
		WithMaxAttempts(max(l.Attempts, 1)).
		WithBackoff(l.Backoff, l.MaxBackoff).
		WithJitterFactor(0.5).
		WithDelayFunc(func(exec failsafe.ExecutionAttempt[*answer]) time.Duration {
			if retryable, ok := errors.AsType[*retryableError](exec.LastError()); ok && retryable.RetryAfter > 0 {
				return retryable.RetryAfter
			}
			return -1
		}).
		ReturnLastFailure().
		Build()
}

// retryableError marks a failure after which the call may be retried.
type retryableError struct{ *CallError }

func (e *retryableError) Unwrap() error { return e.CallError }

// execute makes the call within its total time limit, with retries if it is retryable. An open circuit breaker blocks it, unless it is
// urgent. The error is a *CallError.
func (c *Client) execute(ctx context.Context, t Target, what call) (*answer, error) {
	req, failure := c.prepare(t, what)
	if failure != nil {
		return nil, failure
	}
	limited, cancel := context.WithTimeout(ctx, c.limits.Total)
	defer cancel()
	state, failure := c.acquire(ctx, limited, req)
	if failure != nil {
		return nil, failure
	}
	defer c.release(state)
	req.breaker = c.breakerFor(state, t)
	if !req.breaker.TryAcquirePermit() && !what.urgent {
		return nil, c.breakerOpenError(state, req)
	}
	if !what.retryable {
		a, failure := c.attempt(ctx, limited, state, req)
		return a, errorOrNil(failure)
	}
	return c.executeWithRetries(ctx, limited, state, req)
}

// executeWithRetries makes the attempts of a prepared call. After a failure it stops early if mayRetry forbids another attempt, the breaker
// is not closed, or no time is left. ctx is the caller's context, limited the same with the total time limit. The error is the *CallError
// of the last attempt, also if a context ended in the wait after it.
func (c *Client) executeWithRetries(ctx, limited context.Context, state *integrationState, req *request) (*answer, error) {
	var last *CallError
	a, err := failsafe.With[*answer](c.retries).WithContext(limited).Get(func() (*answer, error) {
		var a *answer
		a, last = c.attempt(ctx, limited, state, req)
		switch {
		case last == nil:
			return a, nil
		case req.mayRetry(last) && req.breaker.IsClosed() && c.hasTimeFor(limited, last.RetryAfter):
			return nil, &retryableError{last}
		default:
			return nil, last
		}
	})
	if err == nil {
		return a, nil
	}
	if last == nil {
		last = classifyError(req.call.action, ctx, limited, err)
	}
	return nil, last
}

// mayRetry reports whether the call may be retried after an error: see isTransient. It allows the retry of a checkIn only if nothing was
// sent, or after 429, 502, 503 or 504: after other errors the partner may have started it, and not every partner checks the idempotency
// key.
func (r *request) mayRetry(e *CallError) bool {
	if r.call.action != CheckIn {
		return e.isTransient()
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.Cause == CauseNetwork && e.notSent
}

// hasTimeFor reports whether another attempt can begin before the total time limit of the call: after the wait, or after Backoff if that is
// longer.
func (c *Client) hasTimeFor(limited context.Context, wait time.Duration) bool {
	end, ok := limited.Deadline()
	return !ok || time.Until(end) > max(wait, c.limits.Backoff)
}

// errorOrNil returns e as an error that is nil if e is nil.
func errorOrNil(e *CallError) error {
	if e == nil {
		return nil
	}
	return e
}

// prepare builds the request that all attempts of a call send. It returns an error for a call that must not or cannot
// be sent.
func (c *Client) prepare(t Target, what call) (*request, *CallError) {
	setting := func(detail string) *CallError {
		return &CallError{Action: what.action, Cause: CauseSetting, detail: detail}
	}
	if t.Action != what.action {
		return nil, setting("the target is registered for " + t.Action)
	}
	u, fields := c.rules.parseURL(t.URL)
	if fields != nil {
		return nil, &CallError{Action: what.action, Cause: CauseAddress, Violations: fields}
	}
	signers, err := newSigners(t.SigningSecrets)
	if err != nil {
		return nil, setting(err.Error())
	}
	req := &request{target: t, call: what, method: t.method(), signers: signers, callID: what.key}
	if req.method != methodGet && req.method != methodPost || what.action == CheckIn && req.method != methodPost {
		return nil, setting("its method is not allowed for the action")
	}
	if strings.ContainsFunc(t.Token, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, setting("its token contains control characters")
	}
	switch what.action {
	case webhook:
		req.callID, req.body = what.message.ID, what.message.Body
	case CheckIn:
		if !isValidKey(what.key) {
			return nil, setting("the idempotency key is not 1 to 128 letters, digits, hyphens or underscores")
		}
		if req.body, err = json.Marshal(what.disclosure); err != nil {
			return nil, setting("the body could not be encoded")
		}
	default:
		req.callID = id.New(id.Request)
	}
	queryToken := t.Token
	if t.TokenIn == TokenInHeader {
		queryToken = ""
	}
	req.url = withParameters(u, what.reservationID, queryToken)
	return req, nil
}

// method returns the HTTP method of a target, with the default of its action.
func (t Target) method() string {
	switch {
	case t.Method != "":
		return strings.ToUpper(t.Method)
	case t.Action == CheckIn, t.Action == webhook:
		return methodPost
	default:
		return methodGet
	}
}

// isValidKey reports whether a text can be an idempotency key: 1 to 128 ASCII letters, digits, "-" or "_".
func isValidKey(key string) bool {
	return key != "" && len(key) <= 128 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// acquire waits for a free slot among the concurrent calls of the integration or webhook, and returns its state, which the caller releases.
// ctx is the caller's context, limited the same with the total time limit. The error has CauseBusy if no slot is free within the limit Wait
// or before limited ends, or if the states of all integrations are in use. If ctx has ended, it has the cause of that.
func (c *Client) acquire(ctx, limited context.Context, req *request) (*integrationState, *CallError) {
	busy := &CallError{Action: req.call.action, Cause: CauseBusy, RetryAfter: c.limits.Wait}
	state := c.states.acquire(cmp.Or(req.target.WebhookID, req.target.IntegrationID))
	if state == nil {
		return nil, busy
	}
	if err := state.bulkhead.AcquirePermitWithMaxWait(limited, c.limits.Wait); err != nil {
		c.states.release(state)
		if ctx.Err() != nil {
			return nil, classifyError(req.call.action, ctx, limited, err)
		}
		return nil, busy
	}
	return state, nil
}

// release ends a call that acquire began.
func (c *Client) release(state *integrationState) {
	state.bulkhead.ReleasePermit()
	c.states.release(state)
}

// attempt sends the request once and records the result in the breaker, which it does not ask for permission. It also logs it. A failure
// for which countsForBreaker is false is recorded as a success, except a cancellation and a refused address: these change no breaker but a
// half-open one, which opens. A success closes an open breaker. ctx is the caller's context, limited the same with the total time limit.
func (c *Client) attempt(ctx, limited context.Context, state *integrationState, req *request) (*answer, *CallError) {
	start := time.Now()
	a, failure := c.sendOnce(ctx, limited, state, req)
	latency := time.Since(start)
	if failure != nil {
		failure.callID = req.callID
	}
	switch {
	case failure != nil && (failure.Cause == CauseCanceled || failure.Cause == CauseAddress):
		// The failure says nothing about the partner. Only a half-open breaker needs an outcome: it opens again.
		if req.breaker.IsHalfOpen() {
			req.breaker.RecordFailure()
		}
	case failure != nil && failure.countsForBreaker():
		state.lastFailure.Store(failure)
		req.breaker.RecordFailure()
	case req.breaker.IsOpen():
		state.lastFailure.Store(nil)
		req.breaker.Close()
	default:
		state.lastFailure.Store(nil)
		req.breaker.RecordSuccess()
	}
	c.logAttempt(ctx, req, a, failure, latency)
	if a != nil {
		a.latency, a.callID = latency, req.callID
	}
	return a, failure
}

// logAttempt logs one attempt, without token, query and body.
func (c *Client) logAttempt(ctx context.Context, req *request, a *answer, failure *CallError, latency time.Duration) {
	attrs := []slog.Attr{
		slog.String("integration", req.target.IntegrationID), slog.String("action", req.call.action),
		slog.String("host", req.url.Host), slog.String("call", req.callID), slog.Duration("latency", latency),
	}
	if failure == nil {
		c.log.LogAttrs(ctx, slog.LevelDebug, "partner called", append(attrs, slog.Int("status", a.status))...)
		return
	}
	attrs = append(attrs, slog.Int("status", failure.Status), slog.String("cause", string(failure.Cause)), slog.String("error", failure.Error()))
	c.log.LogAttrs(ctx, slog.LevelWarn, "partner call failed", attrs...)
}

// contractError returns an error with the violations of the contract in an answer of a target, or nil if there are none.
func (c *Client) contractError(t Target, a *answer, violations []fault.Field) error {
	if len(violations) == 0 {
		return nil
	}
	return &CallError{Action: t.Action, Cause: CauseContract, Status: a.status, Violations: violations, callID: a.callID}
}

// fieldsError returns a fault with these fields, or nil if there are none.
func fieldsError(fields []fault.Field) error { return fault.Err(fault.Fields(fields...)) }
