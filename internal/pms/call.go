package pms

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

const (
	methodGet  = http.MethodGet
	methodPost = http.MethodPost
)

// call is one action to be done at a target.
type call struct {
	action        string
	reservationID string
	key           string              // idempotency key, checkIn only
	disclosure    *checkin.Disclosure // checkIn only
	repeat        bool                // may be tried again
	urgent        bool                // a person waits: an open breaker does not hold it back
}

// answer is a 2xx answer within the limits.
type answer struct {
	status  int
	body    []byte
	latency time.Duration
}

// request is a call made up: all that its attempts have in common.
type request struct {
	target Target
	call   call
	url    *url.URL
	method string
	id     string
	body   []byte
	keys   [][]byte

	breaker breaker
}

type retryPolicy = retrypolicy.RetryPolicy[*answer]

func newRetryPolicy(l Limits) retryPolicy {
	return retrypolicy.NewBuilder[*answer]().
		HandleIf(func(_ *answer, err error) bool {
			again, ok := errors.AsType[*againError](err)
			return ok && again != nil
		}).
		WithMaxAttempts(max(l.Attempts, 1)).
		WithBackoff(l.Backoff, l.MaxBackoff).
		WithJitterFactor(0.5).
		WithDelayFunc(func(exec failsafe.ExecutionAttempt[*answer]) time.Duration {
			if again, ok := errors.AsType[*againError](exec.LastError()); ok && again.RetryAfter > 0 {
				return again.RetryAfter
			}
			return -1
		}).
		ReturnLastFailure().
		Build()
}

// againError marks a failure after which the same call is worth another attempt.
type againError struct{ *CallError }

func (e *againError) Unwrap() error { return e.CallError }

// do makes the call within its total limit. The error is a *CallError.
func (c *Client) do(ctx context.Context, t Target, what call) (*answer, error) {
	req, failure := c.prepare(t, what)
	if failure != nil {
		return nil, failure
	}
	limited, cancel := context.WithTimeout(ctx, c.limits.Total)
	defer cancel()
	n, failure := c.enter(ctx, limited, req)
	if failure != nil {
		return nil, failure
	}
	defer c.leave(n)
	req.breaker = c.breakerFor(n, t)
	if !req.breaker.TryAcquirePermit() && !what.urgent {
		return nil, c.paused(n, req)
	}
	if !what.repeat {
		a, failure := c.attempt(ctx, limited, n, req)
		return a, asError(failure)
	}
	return c.attempts(ctx, limited, n, req)
}

func (c *Client) attempts(ctx, limited context.Context, n *line, req *request) (*answer, error) {
	var last *CallError
	a, err := failsafe.With[*answer](c.retries).WithContext(limited).Get(func() (*answer, error) {
		var a *answer
		a, last = c.attempt(ctx, limited, n, req)
		switch {
		case last == nil:
			return a, nil
		case req.worthRepeating(last) && req.breaker.IsClosed() && c.timeFor(limited, last.RetryAfter):
			return nil, &againError{last}
		default:
			return nil, last
		}
	})
	if err == nil {
		return a, nil
	}
	if last == nil {
		last = classify(req.call.action, ctx, limited, err)
	}
	return nil, last
}

// worthRepeating keeps a checkIn from being repeated within the call once the partner may
// have begun it: not every partner looks at the key.
func (r *request) worthRepeating(e *CallError) bool {
	if r.call.action != CheckIn {
		return e.transient()
	}
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.Cause == CauseNetwork && e.unsent
}

func (c *Client) timeFor(limited context.Context, wait time.Duration) bool {
	end, ok := limited.Deadline()
	return !ok || time.Until(end) > max(wait, c.limits.Backoff)
}

func asError(e *CallError) error {
	if e == nil {
		return nil
	}
	return e
}

// prepare makes up the request and refuses what cannot be sent.
func (c *Client) prepare(t Target, what call) (*request, *CallError) {
	setting := func(detail string) *CallError {
		return &CallError{Action: what.action, Cause: CauseSetting, detail: detail}
	}
	if t.Action != what.action {
		return nil, setting("the target is registered for " + t.Action)
	}
	u, fields := c.rules.parse(t.URL)
	if fields != nil {
		return nil, &CallError{Action: what.action, Cause: CauseAddress, Violations: fields}
	}
	keys, err := signingKeys(t.SigningSecrets)
	if err != nil {
		return nil, setting(err.Error())
	}
	req := &request{target: t, call: what, method: t.method(), keys: keys, id: what.key}
	if req.method != methodGet && req.method != methodPost || what.action == CheckIn && req.method != methodPost {
		return nil, setting("its method is not one that the action allows")
	}
	if strings.ContainsFunc(t.Token, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, setting("its token holds control characters")
	}
	if what.action == CheckIn {
		if !goodKey(what.key) {
			return nil, setting("the idempotency key is not 1 to 128 letters, digits, hyphens or underscores")
		}
		if req.body, err = json.Marshal(what.disclosure); err != nil {
			return nil, setting("the body could not be written")
		}
	} else {
		req.id = id.New(id.Request)
	}
	queryToken := t.Token
	if t.TokenIn == TokenInHeader {
		queryToken = ""
	}
	req.url = withParameters(u, what.reservationID, queryToken)
	return req, nil
}

func (t Target) method() string {
	switch {
	case t.Method != "":
		return strings.ToUpper(t.Method)
	case t.Action == CheckIn:
		return methodPost
	default:
		return methodGet
	}
}

func goodKey(key string) bool {
	return key != "" && len(key) <= 128 && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// enter takes one of the integration's places.
func (c *Client) enter(ctx, limited context.Context, req *request) (*line, *CallError) {
	busy := &CallError{Action: req.call.action, Cause: CauseBusy, RetryAfter: c.limits.Wait}
	n := c.lines.take(req.target.IntegrationID)
	if n == nil {
		return nil, busy
	}
	if err := n.places.AcquirePermitWithMaxWait(limited, c.limits.Wait); err != nil {
		c.lines.done(n)
		if ctx.Err() != nil {
			return nil, classify(req.call.action, ctx, limited, err)
		}
		return nil, busy
	}
	return n, nil
}

func (c *Client) leave(n *line) {
	n.places.ReleasePermit()
	c.lines.done(n)
}

// attempt sends the request once and tells the breaker how it went.
func (c *Client) attempt(ctx, limited context.Context, n *line, req *request) (*answer, *CallError) {
	start := time.Now()
	a, failure := c.send(ctx, limited, n, req)
	latency := time.Since(start)
	switch {
	case failure != nil && failure.Cause == CauseCanceled:
		if req.breaker.IsHalfOpen() {
			req.breaker.RecordFailure()
		}
	case failure != nil && failure.failing():
		n.last.Store(failure)
		req.breaker.RecordFailure()
	case req.breaker.IsOpen():
		n.last.Store(nil)
		req.breaker.Close()
	default:
		n.last.Store(nil)
		req.breaker.RecordSuccess()
	}
	c.note(ctx, req, a, failure, latency)
	if a != nil {
		a.latency = latency
	}
	return a, failure
}

func (c *Client) note(ctx context.Context, req *request, a *answer, failure *CallError, latency time.Duration) {
	attrs := []slog.Attr{
		slog.String("integration", req.target.IntegrationID), slog.String("action", req.call.action),
		slog.String("host", req.url.Host), slog.String("call", req.id), slog.Duration("latency", latency),
	}
	if failure == nil {
		c.log.LogAttrs(ctx, slog.LevelDebug, "partner called", append(attrs, slog.Int("status", a.status))...)
		return
	}
	attrs = append(attrs, slog.Int("status", failure.Status), slog.String("cause", string(failure.Cause)), slog.String("error", failure.Error()))
	c.log.LogAttrs(ctx, slog.LevelWarn, "partner call failed", attrs...)
}

// send does the exchange and reads the answer under the limits.
func (c *Client) send(ctx, limited context.Context, n *line, req *request) (*answer, *CallError) {
	var wrote atomic.Bool
	traced := httptrace.WithClientTrace(limited, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	hr, err := c.build(traced, req)
	if err != nil {
		return nil, &CallError{Action: req.call.action, Cause: CauseSetting, detail: "the request could not be built"}
	}
	// The transport alone: an http.Client would follow redirects and put the URL, with
	// the token in it, into its errors.
	res, err := n.transport.RoundTrip(hr)
	if err != nil {
		failure := classify(req.call.action, ctx, limited, err)
		failure.unsent = !wrote.Load()
		return nil, failure
	}
	defer res.Body.Close()
	body, failure := c.read(ctx, limited, req, res)
	if failure != nil && failure.Cause != CauseCanceled && res.StatusCode/100 != 2 {
		failure = nil // the status says enough
	}
	if failure == nil {
		failure = refusal(req, res, body)
	}
	if failure != nil {
		failure.Status = res.StatusCode
		return nil, failure
	}
	return &answer{status: res.StatusCode, body: body}, nil
}

func (c *Client) build(ctx context.Context, req *request) (*http.Request, error) {
	hr, err := http.NewRequestWithContext(ctx, req.method, req.url.String(), bytes.NewReader(req.body))
	if err != nil {
		return nil, err
	}
	hr.URL = req.url // as it was signed, without another round of parsing
	now := c.clock.Now()
	hr.Header.Set("Accept", "application/json")
	hr.Header.Set("User-Agent", "Latchkey/1")
	hr.Header.Set(HeaderID, req.id)
	hr.Header.Set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	hr.Header.Set(HeaderSignature, sign(req.keys, req.id, now, req.body))
	hr.Header.Set(HeaderBound, sign(req.keys, req.id, now, Bound(req.method, req.url.RequestURI(), req.body)))
	if req.body != nil {
		hr.Header.Set("Content-Type", "application/json")
	}
	if req.call.key != "" {
		hr.Header.Set(HeaderIdempotencyKey, req.call.key)
	}
	if req.target.TokenIn == TokenInHeader && req.target.Token != "" {
		hr.Header.Set("Authorization", "Bearer "+req.target.Token)
	}
	return hr, nil
}

// read takes the body, which the transport has decompressed, up to the limit.
func (c *Client) read(ctx, limited context.Context, req *request, res *http.Response) ([]byte, *CallError) {
	tooLarge := &CallError{Action: req.call.action, Cause: CauseTooLarge, Status: res.StatusCode, detail: "its body"}
	switch {
	case res.StatusCode < 200:
		// A connection switched to another protocol is ours to read, without a limit of time.
		return nil, nil
	case res.ContentLength > c.limits.Body:
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, c.limits.Body+1))
	switch {
	case int64(len(body)) > c.limits.Body:
		return nil, tooLarge
	case err != nil:
		return nil, classify(req.call.action, ctx, limited, err)
	}
	return body, nil
}

// refusal finds the error in an answer: any status but 2xx, or 2xx with an error in it.
func refusal(req *request, res *http.Response, body []byte) *CallError {
	reason, message, found := DecodeError(body)
	ok := res.StatusCode/100 == 2
	if ok && !found {
		return nil
	}
	failure := &CallError{Action: req.call.action, Cause: CauseError}
	if !ok {
		failure.Cause, failure.RetryAfter = CauseStatus, retryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	if res.StatusCode/100 == 3 {
		failure.detail = "it redirects, which calls do not follow; register the final address"
	}
	failure.Reason = quote(reason, req.target.Token, 100)
	failure.Message = quote(message, req.target.Token, 500)
	return failure
}

// retryAfter reads the header's two forms; an hour is the most that is believed.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), time.Hour)
}

// judge turns violations of the contract into the call's error.
func (c *Client) judge(t Target, a *answer, violations []fault.Field) error {
	if len(violations) == 0 {
		return nil
	}
	return &CallError{Action: t.Action, Cause: CauseContract, Status: a.status, Violations: violations}
}

func fieldsError(fields []fault.Field) error { return fault.Err(fault.Fields(fields...)) }
