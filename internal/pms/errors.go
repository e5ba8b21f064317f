package pms

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// Cause is why a call failed: a stable identifier for metrics, notices and tests.
type Cause string

const (
	CauseSetting  Cause = "setting"  // the call could not be prepared: a bug or invalid stored settings
	CauseAddress  Cause = "address"  // the rules refuse the URL or its address
	CauseNetwork  Cause = "network"  // there was no connection, or it was interrupted, perhaps after the PMS got the request
	CauseTLS      Cause = "tls"      // the certificate is invalid, or the TLS handshake failed
	CauseTimeout  Cause = "timeout"  // the call exceeded a time limit of Limits, or the deadline of its caller
	CauseStatus   Cause = "status"   // the PMS answered with a status other than 2xx
	CauseError    Cause = "error"    // the PMS answered 2xx with an error in the body
	CauseTooLarge Cause = "tooLarge" // the headers or the body of the answer exceed the limits
	CauseContract Cause = "contract" // the body of the answer violates the contract
	CauseBusy     Cause = "busy"     // not called: too many concurrent calls run to this integration or webhook, or to too many of them
	CauseOpen     Cause = "open"     // the circuit breaker is open
	CauseCanceled Cause = "canceled" // the caller cancelled the call
)

// metaCause is a key of the metadata of a [CallError]'s fault, in addition to those of package checkin.
const metaCause = "cause"

// CallError is the error of every call of [Client]. It unwraps to a *fault.Fault with the reason checkin.PartnerError if the partner
// answered, and checkin.PartnerUnavailable if not, or if the answer broke off. With CauseCanceled the reason is CanceledReason, and with
// CauseSetting it is InternalError. The texts of CallError and fault never contain the token, the query or text from the partner.
type CallError struct {
	Action     string
	Cause      Cause
	Status     int           // Status is the HTTP status; 0 if there was no answer
	Reason     string        // Reason is the reason in the PMS's error, sanitized, for staff; empty if it has none
	Message    string        // Message is the message in the PMS's error, sanitized, for staff; empty if it has none
	Violations []fault.Field // Violations are set for CauseContract, and for CauseAddress if the URL itself is refused
	RetryAfter time.Duration // RetryAfter is the wait that the PMS asks for, or our own for CauseBusy and CauseOpen; 0 if none
	detail     string
	problem    problem // problem is what exactly failed, if it is known in more detail than the cause
	callID     string  // callID is the webhook-id, or empty if nothing was called
	notSent    bool    // notSent means that no part of the request was sent
}

// Error returns what went wrong in English, for staff, without text from the partner.
func (e *CallError) Error() string { return e.text() }

// Unwrap returns the fault for the API: its kind and reason follow from the cause.
func (e *CallError) Unwrap() error {
	kind, reason := fault.Precondition, checkin.PartnerError
	switch e.Cause {
	case CauseCanceled:
		kind, reason = fault.Canceled, fault.CanceledReason
	case CauseSetting:
		kind, reason = fault.Internal, fault.InternalError
	case CauseAddress, CauseNetwork, CauseTLS, CauseTimeout, CauseBusy, CauseOpen:
		kind, reason = fault.Unavailable, checkin.PartnerUnavailable
	case CauseStatus, CauseError, CauseTooLarge, CauseContract:
	}
	f := fault.New(kind, reason, "%s", e.text()).Put(metaCause, string(e.Cause))
	f.Fields, f.RetryAfter = e.Violations, e.RetryAfter
	for key, value := range map[string]string{checkin.MetaReason: e.Reason, checkin.MetaMessage: e.Message} {
		if value != "" {
			f = f.Put(key, value)
		}
	}
	if e.callID != "" {
		f = f.Put(checkin.MetaCall, e.callID)
	}
	if e.Status != 0 {
		f = f.Put(checkin.MetaStatus, strconv.Itoa(e.Status))
	}
	if e.Cause == CauseOpen || e.Cause == CauseBusy {
		f = f.Put(checkin.MetaNotCalled, "true")
	}
	if e.Cause == CauseTooLarge && (e.Status == 0 || e.Status/100 == 2) {
		f = f.Put(checkin.MetaUnreadable, "true")
	}
	return f
}

// text returns what went wrong, for staff, without text from the partner.
func (e *CallError) text() string {
	text := "the partner's " + e.Action + " " + causeText[e.Cause]
	if e.Status != 0 {
		text += " (HTTP " + strconv.Itoa(e.Status) + ")"
	}
	if detail := cmp.Or(e.detail, problemDetails[e.problem]); detail != "" {
		text += ": " + detail
	}
	for i, v := range e.Violations {
		if i == 3 {
			return text + "; and " + strconv.Itoa(len(e.Violations)-i) + " more"
		}
		text += "; " + v.Path + " " + v.Message
	}
	return text
}

// causeText has, for each cause, how the text of an error goes on after "the partner's" and the action.
var causeText = map[Cause]string{
	CauseSetting:  "could not be called",
	CauseAddress:  "has an address that may not be called",
	CauseNetwork:  "could not be reached",
	CauseTLS:      "has no trusted TLS connection",
	CauseTimeout:  "did not answer in time",
	CauseStatus:   "answered with an error",
	CauseError:    "answered with an error",
	CauseTooLarge: "answered with more than is allowed",
	CauseContract: "answered outside the contract",
	CauseBusy:     "was not called: too many calls to this partner are under way",
	CauseOpen:     "is not called for now",
	CauseCanceled: "call was given up by its caller",
}

// countsForBreaker reports whether the breaker counts an error as a failure. An error about one guest and an answer
// that violates the contract do not count.
func (e *CallError) countsForBreaker() bool {
	switch e.Cause {
	case CauseNetwork, CauseTLS, CauseTimeout, CauseTooLarge:
		return true
	case CauseStatus:
		return e.Status >= 500 || e.Status == 429
	default:
		return false
	}
}

// isTransient reports whether the same call may succeed a moment later, so that a retry makes sense: after 429, 5xx except 501, or a broken
// connection, but not after a timeout.
func (e *CallError) isTransient() bool {
	switch e.Cause {
	case CauseNetwork:
		return true
	case CauseStatus:
		return e.Status == 429 || e.Status >= 500 && e.Status != 501
	default:
		return false
	}
}

// classifyError converts a transport error of a call to a CallError. parent is the caller's context, limited the same with the total time
// limit. The result does not contain the error's text, which may contain data from the server.
func classifyError(action string, parent, limited context.Context, err error) *CallError {
	e := &CallError{Action: action}
	var certificate *tls.CertificateVerificationError
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case parent.Err() != nil && errors.Is(parent.Err(), context.Canceled):
		e.Cause = CauseCanceled
	case errors.Is(err, errAddress):
		e.Cause, e.problem = CauseAddress, problemAddress
	case errors.As(err, &certificate):
		e.Cause, e.problem = CauseTLS, certificateProblem(certificate)
	case errors.Is(err, errHandshake):
		e.Cause, e.problem = CauseTLS, problemHandshake
	case limited.Err() != nil, errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		e.Cause, e.problem = CauseTimeout, timeoutProblem(err)
	case errors.As(err, &dns):
		e.Cause, e.problem = CauseNetwork, problemLookup
	case strings.Contains(err.Error(), "server response headers exceeded"):
		e.Cause, e.problem = CauseTooLarge, problemHeaders
	default:
		e.Cause, e.problem = CauseNetwork, networkProblem(err)
	}
	return e
}

// certificateProblem returns what is wrong with a server's certificate.
func certificateProblem(err *tls.CertificateVerificationError) problem {
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return problemCertificateExpired
	case errors.As(err, &name):
		return problemCertificateName
	case errors.As(err, &authority):
		return problemCertificateIssuer
	default:
		return problemCertificate
	}
}

// timeoutProblem returns which time limit a call exceeded. If err does not say it, that is the total limit.
func timeoutProblem(err error) problem {
	var op *net.OpError
	switch {
	case errors.Is(err, errLookup):
		return problemLookupTime
	case errors.As(err, &op) && op.Op == "dial":
		return problemConnectTime
	case errors.Is(err, errHandshakeTime):
		return problemHandshakeTime
	case strings.Contains(err.Error(), "awaiting response headers"):
		return problemFirstByteTime
	default:
		return problemTotalTime
	}
}

// networkProblem returns how a connection failed, for errors that are none of names (DNS), TLS or time, which classifyError handles.
func networkProblem(err error) problem {
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return problemConnect
	case strings.Contains(err.Error(), "malformed HTTP"):
		return problemNotHTTP
	default:
		return problemInterrupted
	}
}

// isPublicReason reports whether a reason in a partner's error is a reason of our own API, which partners use, too.
func isPublicReason(reason string) bool {
	for name := range errorsv1.Reason_value {
		if strings.EqualFold(strings.ReplaceAll(name, "_", ""), "REASON"+reason) {
			return true
		}
	}
	return false
}

// sanitizeReason is sanitize for the reason in a partner's error. It masks nothing in a reason that everyone knows.
func sanitizeReason(reason, token string) string {
	if isPublicReason(reason) {
		return reason
	}
	return sanitize(reason, token, 100)
}

// minMasked is the length of the shortest token that is masked. A shorter one protects nothing, because it is guessed at once, but it is
// part of many words, which the mask would make unreadable.
const minMasked = 4

// sanitize makes what a partner said safe to store: at most limit characters, printable, on one line and without the token, in any of the
// forms that a URL can have.
func sanitize(said, token string, limit int) string {
	if len(token) >= minMasked {
		// One pass: otherwise a token such as "token" would be found in the mask itself.
		said = strings.NewReplacer(url.QueryEscape(token), "[token]", url.PathEscape(token), "[token]", token, "[token]").Replace(said)
	}
	said = strings.Join(strings.FieldsFunc(said, func(r rune) bool {
		return !unicode.IsPrint(r) || r == ' ' || r == unicode.ReplacementChar
	}), " ")
	if text.TruncateRunes(said, limit) == said {
		return said
	}
	return text.TruncateRunes(said, limit-1) + "…"
}
