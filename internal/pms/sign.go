package pms

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	// The three headers of Standard Webhooks. Its libraries verify them together with the body.
	HeaderID        = standardwebhooks.HeaderWebhookID
	HeaderTimestamp = standardwebhooks.HeaderWebhookTimestamp
	HeaderSignature = standardwebhooks.HeaderWebhookSignature
	// HeaderBound also signs the method and the target: see [Bound].
	HeaderBound = "latchkey-signature"
	// HeaderIdempotencyKey is sent with checkIn. It equals webhook-id, so the signatures
	// cover it.
	HeaderIdempotencyKey = "Idempotency-Key"
)

// Tolerance is the maximum difference between a call's timestamp and the receiver's clock.
const Tolerance = 5 * time.Minute

const (
	secretPrefix   = "whsec_"
	minSecretBytes = 24
	maxSecretBytes = 64
)

// Errors of [Verify].
var (
	ErrUnsigned  = errors.New("the call does not carry one each of webhook-id, webhook-timestamp, webhook-signature and latchkey-signature")
	ErrStale     = errors.New("webhook-timestamp is more than 5 minutes from now")
	ErrSignature = errors.New("no signature of the call matches a signing secret")
)

// Bound returns what latchkey-signature covers in addition to the id and the time: the method, the
// target and the body. webhook-signature covers the body alone, as Standard Webhooks requires,
// so a call captured by someone else could be sent again to another address. A partner who
// wants to exclude that verifies latchkey-signature as well. Its signed content is
//
//	{webhook-id}.{webhook-timestamp}.{METHOD} {target}.{body}
//
// The target is the path and query of the request line without the token: tokenIn "query"
// always sends the token as the last parameter, so everything from the last "?token=" or
// "&token=" on is left out. The body of a GET is empty. In Python:
//
//	target = re.sub(r"[?&]token=[^&]*$", "", request_uri)        # "/pms/status?reservationId=R1"
//	signed = f"{id}.{timestamp}.{method} {target}.".encode() + body
//	key    = base64.b64decode(secret.removeprefix("whsec_"))
//	mine   = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
//	ok     = any(hmac.compare_digest(mine, s) for s in header.split(" "))
//
// While a secret is rotated each header holds one signature for each of the two secrets.
// The id stays the same when a call is retried; its timestamp does not.
func Bound(method, target string, body []byte) []byte {
	target = withoutToken(target)
	out := make([]byte, 0, len(method)+len(target)+len(body)+2)
	out = append(out, method...)
	out = append(out, ' ')
	out = append(out, target...)
	out = append(out, '.')
	return append(out, body...)
}

// withoutToken returns a request target without its last parameter if that is token, else unchanged. Signatures do not cover the token: see
// [Bound].
func withoutToken(target string) string {
	path, query, ok := strings.Cut(target, "?")
	if !ok {
		return target
	}
	i := strings.LastIndexByte(query, '&')
	if !strings.HasPrefix(query[i+1:], "token=") {
		return target
	}
	if i < 0 {
		return path
	}
	return path + "?" + query[:i]
}

// signatureHeader returns the value of a signature header over a payload: one v1 signature per secret, separated by
// spaces.
func signatureHeader(signers []*standardwebhooks.Webhook, id string, at time.Time, payload []byte) (string, error) {
	signatures := make([]string, len(signers))
	for i, s := range signers {
		var err error
		if signatures[i], err = s.Sign(id, at, payload); err != nil {
			return "", fmt.Errorf("sign a call: %w", err)
		}
	}
	return strings.Join(signatures, " "), nil
}

// newSigners returns one signer for each "whsec_" secret. It fails if there are none or one is malformed. Its errors never contain a
// secret.
func newSigners(secrets []string) ([]*standardwebhooks.Webhook, error) {
	if len(secrets) == 0 {
		return nil, errors.New("there is no signing secret")
	}
	signers := make([]*standardwebhooks.Webhook, len(secrets))
	for i, s := range secrets {
		rest, ok := strings.CutPrefix(s, secretPrefix)
		if !ok {
			return nil, fmt.Errorf("signing secret %d does not begin with %s", i+1, secretPrefix)
		}
		key, err := base64.StdEncoding.DecodeString(rest)
		if err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
			return nil, fmt.Errorf("signing secret %d is not %d to %d bytes in base64", i+1, minSecretBytes, maxSecretBytes)
		}
		if signers[i], err = standardwebhooks.NewWebhookRaw(key); err != nil {
			return nil, fmt.Errorf("signing secret %d is not valid", i+1)
		}
	}
	return signers, nil
}

// Verify is for the receiver of a call. It checks that the call was signed with one of the secrets, for this method and target, and
// recently. It returns ErrUnsigned, ErrStale or ErrSignature if not, and another error if there is no secret or one is malformed. body is
// the request's body as received. The string is the call's id, the same in each retry. A partner that stores it for twice [Tolerance] can
// answer a retry or a replay without a second effect.
func Verify(secrets []string, r *http.Request, body []byte, now time.Time) (string, error) {
	signers, err := newSigners(secrets)
	if err != nil {
		return "", err
	}
	id, ok1 := singleHeader(r.Header, HeaderID)
	timestamp, ok2 := singleHeader(r.Header, HeaderTimestamp)
	signatures, ok3 := singleHeader(r.Header, HeaderSignature)
	bound, ok4 := singleHeader(r.Header, HeaderBound)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return "", ErrUnsigned
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != timestamp {
		return "", ErrUnsigned
	}
	if age := now.Unix() - seconds; age > int64(Tolerance/time.Second) || age < -int64(Tolerance/time.Second) {
		return "", ErrStale
	}
	if key, sent := singleHeader(r.Header, HeaderIdempotencyKey); sent && key != id {
		return "", ErrSignature
	}
	covered := Bound(r.Method, requestTarget(r), body)
	if !isSignedBy(signers, r.Header, signatures, body) || !isSignedBy(signers, r.Header, bound, covered) {
		return "", ErrSignature
	}
	return id, nil
}

// isSignedBy reports whether one of the signers made a signature of the payload, with the id and the time in the headers. It does not check
// how old that time is.
func isSignedBy(signers []*standardwebhooks.Webhook, h http.Header, signatures string, payload []byte) bool {
	signed := http.Header{}
	signed.Set(HeaderID, h.Get(HeaderID))
	signed.Set(HeaderTimestamp, h.Get(HeaderTimestamp))
	signed.Set(HeaderSignature, signatures)
	return slices.ContainsFunc(signers, func(s *standardwebhooks.Webhook) bool { return s.VerifyIgnoringTimestamp(payload, signed) == nil })
}

// singleHeader returns the value of a header that occurs exactly once and is not empty, else false.
func singleHeader(h http.Header, name string) (string, bool) {
	values := h.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], true
}

// requestTarget returns the path and query of a request as they were received.
func requestTarget(r *http.Request) string {
	if r.RequestURI != "" {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// withParameters returns the URL of a call: the registered query without the parameters that the client sets itself,
// then reservationId if it is not empty, then the token as the last parameter if it is sent in the query.
func withParameters(u *url.URL, reservationID, queryToken string) *url.URL {
	var parts []string
	for _, part := range strings.Split(u.RawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if part != "" && (name != "token" || queryToken == "") && (name != "reservationId" || reservationID == "") {
			parts = append(parts, part)
		}
	}
	if reservationID != "" {
		parts = append(parts, "reservationId="+url.QueryEscape(reservationID))
	}
	if queryToken != "" {
		parts = append(parts, "token="+url.QueryEscape(queryToken))
	}
	out := *u
	out.RawQuery, out.ForceQuery = strings.Join(parts, "&"), false
	return &out
}
