package pms

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Headers of a signed call, as Standard Webhooks names them.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
	// HeaderIdempotencyKey is sent with checkIn; webhook-id is the same word there, so
	// that the signature covers it.
	HeaderIdempotencyKey = "Idempotency-Key"
)

// Tolerance is how far a call's timestamp may lie from the receiver's clock.
const Tolerance = 5 * time.Minute

const (
	secretPrefix   = "whsec_"
	minSecretBytes = 24
	maxSecretBytes = 64
)

// Errors of [Verify].
var (
	ErrUnsigned  = errors.New("the call does not carry one each of webhook-id, webhook-timestamp and webhook-signature")
	ErrStale     = errors.New("webhook-timestamp is more than 5 minutes from now")
	ErrSignature = errors.New("no signature of the call fits a signing secret")
)

// Payload is what a call's signature covers besides its id and time: the method, the
// target and the body, so that a signed call cannot be replayed as another one. Written
// out, the signed content is
//
//	{webhook-id}.{webhook-timestamp}.{METHOD} {target}\n{body}
//
// It is Standard Webhooks with "METHOD target" and a line feed in front of the body. The
// target is the request target as it stands in the request line, path and query, without
// the token: tokenIn "query" always sends the token as the last parameter, so everything
// from the last "?token=" or "&token=" on is left out. The body of a GET is empty.
//
// A partner verifies a call so (Python; any Standard Webhooks library does the same when
// it is given this payload in place of the body):
//
//	target = re.sub(r"[?&]token=[^&]*$", "", request_uri)        # "/pms/status?reservationId=R1"
//	signed = f"{id}.{timestamp}.{method} {target}\n".encode() + body
//	key    = base64.b64decode(secret.removeprefix("whsec_"))
//	mine   = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
//	ok     = any(hmac.compare_digest(mine, s) for s in header.split(" "))
//	ok     = ok and abs(time.time() - int(timestamp)) <= 300
//
// While a secret is rotated the header holds one signature for each of the two secrets.
// The id stays the same when a call is tried again; its timestamp does not.
func Payload(method, target string, body []byte) []byte {
	target = withoutToken(target)
	out := make([]byte, 0, len(method)+len(target)+len(body)+2)
	out = append(out, method...)
	out = append(out, ' ')
	out = append(out, target...)
	out = append(out, '\n')
	return append(out, body...)
}

// withoutToken cuts a token that is the last parameter off a request target.
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

// sign returns the webhook-signature header: one v1 signature for each secret.
func sign(keys [][]byte, id string, at time.Time, payload []byte) string {
	signatures := make([]string, len(keys))
	for i, key := range keys {
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac(key, id, strconv.FormatInt(at.Unix(), 10), payload))
	}
	return strings.Join(signatures, " ")
}

func mac(key []byte, id, timestamp string, payload []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(id + "." + timestamp + "."))
	h.Write(payload)
	return h.Sum(nil)
}

// signingKeys decodes "whsec_" secrets. The errors name no part of a secret.
func signingKeys(secrets []string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, errors.New("there is no signing secret")
	}
	keys := make([][]byte, len(secrets))
	for i, s := range secrets {
		rest, ok := strings.CutPrefix(s, secretPrefix)
		if !ok {
			return nil, fmt.Errorf("signing secret %d does not begin with %s", i+1, secretPrefix)
		}
		key, err := base64.StdEncoding.DecodeString(rest)
		if err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
			return nil, fmt.Errorf("signing secret %d is not %d to %d bytes in base64", i+1, minSecretBytes, maxSecretBytes)
		}
		keys[i] = key
	}
	return keys, nil
}

// Verify checks on the partner's side that a call comes from the holder of one of the
// secrets, is meant for this method and target, and is recent. body is the request's body
// as it was received. It returns the call's id, which a partner remembers for [Tolerance]
// to refuse a replay.
func Verify(secrets []string, r *http.Request, body []byte, now time.Time) (string, error) {
	keys, err := signingKeys(secrets)
	if err != nil {
		return "", err
	}
	id, ok1 := single(r.Header, HeaderID)
	timestamp, ok2 := single(r.Header, HeaderTimestamp)
	signatures, ok3 := single(r.Header, HeaderSignature)
	if !ok1 || !ok2 || !ok3 {
		return "", ErrUnsigned
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != timestamp {
		return "", ErrUnsigned
	}
	if age := now.Unix() - seconds; age > int64(Tolerance/time.Second) || age < -int64(Tolerance/time.Second) {
		return "", ErrStale
	}
	if key, sent := single(r.Header, HeaderIdempotencyKey); sent && key != id {
		return "", ErrSignature
	}
	payload := Payload(r.Method, requestTarget(r), body)
	for _, key := range keys {
		want := mac(key, id, timestamp, payload)
		for s := range strings.FieldsSeq(signatures) {
			got, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "v1,"))
			if err == nil && strings.HasPrefix(s, "v1,") && hmac.Equal(got, want) {
				return id, nil
			}
		}
	}
	return "", ErrSignature
}

func single(h http.Header, name string) (string, bool) {
	values := h.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], true
}

func requestTarget(r *http.Request) string {
	if r.RequestURI != "" {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// withParameters builds the URL of a call: the registered query as it stands, without
// what we set ourselves, then reservationId, then the token as the last parameter.
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
