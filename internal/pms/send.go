package pms

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"
)

// sendOnce sends the request once and reads the answer within the limits. An answer that reports an error is a failure: see errorInAnswer.
// A body that is not complete within the limits is one only in a 2xx answer, and never in that of a webhook. ctx is the caller's context,
// limited the same with the total time limit.
func (c *Client) sendOnce(ctx, limited context.Context, state *integrationState, req *request) (*answer, *CallError) {
	var wrote atomic.Bool
	traced := httptrace.WithClientTrace(limited, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	hr, err := c.newHTTPRequest(traced, req)
	if err != nil {
		return nil, &CallError{Action: req.call.action, Cause: CauseSetting, detail: "the request could not be built"}
	}
	// Use the transport directly: an http.Client would follow redirects, and put the URL with the token into its errors.
	res, err := state.transport.RoundTrip(hr)
	if err != nil {
		failure := classifyError(req.call.action, ctx, limited, err)
		failure.notSent = !wrote.Load()
		return nil, failure
	}
	defer res.Body.Close()
	body, failure := c.readBody(ctx, limited, req, res)
	if failure != nil && failure.Cause != CauseCanceled && (req.call.action == webhook || res.StatusCode/100 != 2) {
		failure = nil // without a readable body, the HTTP status alone describes the outcome
	}
	if failure == nil {
		failure = errorInAnswer(req, res, body)
	}
	if failure != nil {
		failure.Status = res.StatusCode
		return nil, failure
	}
	return &answer{status: res.StatusCode, body: body}, nil
}

// newHTTPRequest returns the HTTP request of one attempt, with fresh signatures.
func (c *Client) newHTTPRequest(ctx context.Context, req *request) (*http.Request, error) {
	hr, err := http.NewRequestWithContext(ctx, req.method, req.url.String(), bytes.NewReader(req.body))
	if err != nil {
		return nil, err
	}
	hr.URL = req.url // the URL is sent exactly as it was signed, without parsing it again
	hr.GetBody = nil // net/http would repeat a checkIn whose connection broke; mayRetry decides that
	now := c.clock.Now()
	hr.Header.Set("Accept", "application/json")
	hr.Header.Set("User-Agent", "Latchkey/1")
	hr.Header.Set(HeaderID, req.callID)
	hr.Header.Set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	for name, payload := range map[string][]byte{HeaderSignature: req.body, HeaderBound: Bound(req.method, req.url.RequestURI(), req.body)} {
		value, err := signatureHeader(req.signers, req.callID, now, payload)
		if err != nil {
			return nil, err
		}
		hr.Header.Set(name, value)
	}
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

// readBody reads the body of an answer, decompressed by the transport. It returns an error if the body exceeds the limit, or breaks off.
// For a status below 200 it reads nothing.
func (c *Client) readBody(ctx, limited context.Context, req *request, res *http.Response) ([]byte, *CallError) {
	tooLarge := &CallError{Action: req.call.action, Cause: CauseTooLarge, Status: res.StatusCode, problem: problemBody}
	switch {
	case res.StatusCode < 200:
		// The body after 101 (Switching Protocols) has no time limit, so it is not read.
		return nil, nil
	case res.ContentLength > c.limits.Body:
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, c.limits.Body+1))
	switch {
	case int64(len(body)) > c.limits.Body:
		return nil, tooLarge
	case err != nil:
		return nil, classifyError(req.call.action, ctx, limited, err)
	}
	return body, nil
}

// errorInAnswer returns the error that an answer reports: a status other than 2xx, or an error in the body, except of a webhook. It
// returns nil for a success.
func errorInAnswer(req *request, res *http.Response, body []byte) *CallError {
	found := DecodeError(body)
	ok := res.StatusCode/100 == 2
	if ok && (found == nil || req.call.action == webhook) {
		return nil
	}
	failure := &CallError{Action: req.call.action, Cause: CauseError}
	if !ok {
		failure.Cause, failure.RetryAfter = CauseStatus, parseRetryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	if res.StatusCode/100 == 3 {
		failure.problem = problemRedirect
	}
	failure.Reason = sanitizeReason(found.GetReason(), req.target.Token)
	failure.Message = sanitize(found.GetMessage(), req.target.Token, 500)
	return failure
}

// parseRetryAfter parses both forms of the Retry-After header. The result is at most one hour, and 0 for any other text.
func parseRetryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), time.Hour)
}
