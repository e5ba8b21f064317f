package pms

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"latchkey.dev/internal/checkin"
)

var secondSecret = secretPrefix + base64.StdEncoding.EncodeToString([]byte("another secret of 32 bytes here!"))

var signedAt = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// signed is a call as a partner receives it.
func signed(t testing.TB, secrets []string, method, target, body string, at time.Time) *http.Request {
	t.Helper()
	signers, err := newSigners(secrets)
	if err != nil {
		t.Fatal(err)
	}
	header := func(payload []byte) string {
		value, err := signatureHeader(signers, "req_1", at, payload)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set(HeaderID, "req_1")
	r.Header.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	r.Header.Set(HeaderSignature, header([]byte(body)))
	r.Header.Set(HeaderBound, header(Bound(method, target, []byte(body))))
	return r
}

// The library of the Standard Webhooks project is the independent implementation: it verifies webhook-signature with the
// body, and latchkey-signature with what the partner guide says it covers.
func TestAStandardWebhooksLibraryVerifiesACall(t *testing.T) {
	wh, err := standardwebhooks.NewWebhook(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ action, method, query, covered string }{
		{GetSpaces, "GET", "", "GET /getSpaces."},
		{GetSpaces, "POST", "?a=%2F", "POST /getSpaces?a=%2F."},
		{GetCheckInStatus, "GET", "", "GET /getCheckInStatus?reservationId=R1."},
		{CheckIn, "POST", "?a=1", `POST /checkIn?a=1.{"reservationId":"R1"}`},
	} {
		for _, tokenIn := range []string{TokenInQuery, TokenInHeader} {
			z := newZoo(t, DefaultLimits(), reply(200, goodAnswer))
			target := z.target(c.action)
			target.URL, target.Method, target.TokenIn = z.URL+"/"+c.action+c.query, c.method, tokenIn
			if err := z.invoke(t, target); err != nil {
				t.Fatal(err)
			}
			seen, bodies := z.calls()
			got, body := seen[0], []byte(bodies[0])
			if err := wh.Verify(body, got.Header); err != nil {
				t.Errorf("%s %s, %q: %v", c.method, c.action, body, err)
			}
			bound := got.Header.Clone()
			bound.Set(HeaderSignature, got.Header.Get(HeaderBound))
			if err := wh.Verify([]byte(c.covered), bound); err != nil {
				t.Errorf("latchkey-signature of %s %s: %v", c.method, c.action, err)
			}
		}
	}
}

func TestPublishedVectorOfStandardWebhooks(t *testing.T) {
	signers, err := newSigners([]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := signatureHeader(signers, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRotationOverlaps(t *testing.T) {
	both := signed(t, []string{testSecret, secondSecret}, "GET", "/spaces", "", signedAt)
	for _, secrets := range [][]string{{testSecret}, {secondSecret}, {testSecret, secondSecret}, {secondSecret, testSecret}} {
		if _, err := Verify(secrets, both, nil, signedAt); err != nil {
			t.Errorf("a call signed with both fails with %d secrets: %v", len(secrets), err)
		}
	}
	old := signed(t, []string{testSecret}, "GET", "/spaces", "", signedAt)
	if _, err := Verify([]string{secondSecret, testSecret}, old, nil, signedAt); err != nil {
		t.Errorf("the old secret fails next to the new one: %v", err)
	}
	if _, err := Verify([]string{secondSecret}, old, nil, signedAt); err == nil {
		t.Error("another secret verifies")
	}
}

func TestWhatWasSignedCannotBeChanged(t *testing.T) {
	const body = `{"reservationId":"R1"}`
	fresh := func() *http.Request {
		return signed(t, []string{testSecret}, "POST", "/checkin?a=1&token=T", body, signedAt)
	}
	if id, err := Verify([]string{testSecret}, fresh(), []byte(body), signedAt); err != nil || id != "req_1" {
		t.Fatalf("untouched: %q, %v", id, err)
	}
	for name, change := range map[string]func(r *http.Request) string{
		"method":          func(r *http.Request) string { r.Method = "GET"; return body },
		"path":            func(r *http.Request) string { r.RequestURI = "/other?a=1&token=T"; return body },
		"query":           func(r *http.Request) string { r.RequestURI = "/checkin?a=2&token=T"; return body },
		"query dropped":   func(r *http.Request) string { r.RequestURI = "/checkin"; return body },
		"query added":     func(r *http.Request) string { r.RequestURI = "/checkin?a=1&token=T&b=2"; return body },
		"body":            func(*http.Request) string { return `{"reservationId":"R2"}` },
		"body emptied":    func(*http.Request) string { return "" },
		"id":              func(r *http.Request) string { r.Header.Set(HeaderID, "req_2"); return body },
		"id twice":        func(r *http.Request) string { r.Header.Add(HeaderID, "req_1"); return body },
		"timestamp":       func(r *http.Request) string { r.Header.Set(HeaderTimestamp, "1795255201"); return body },
		"timestamp form":  func(r *http.Request) string { r.Header.Set(HeaderTimestamp, "+1795255200"); return body },
		"no timestamp":    func(r *http.Request) string { r.Header.Del(HeaderTimestamp); return body },
		"no signature":    func(r *http.Request) string { r.Header.Del(HeaderSignature); return body },
		"not bound":       func(r *http.Request) string { r.Header.Del(HeaderBound); return body },
		"bound elsewhere": func(r *http.Request) string { r.Header.Set(HeaderBound, r.Header.Get(HeaderSignature)); return body },
		"idempotency key": func(r *http.Request) string { r.Header.Set(HeaderIdempotencyKey, "other"); return body },
		"version": func(r *http.Request) string {
			r.Header.Set(HeaderSignature, strings.Replace(r.Header.Get(HeaderSignature), "v1,", "v0,", 1))
			return body
		},
		"no version": func(r *http.Request) string {
			r.Header.Set(HeaderSignature, strings.TrimPrefix(r.Header.Get(HeaderSignature), "v1,"))
			return body
		},
	} {
		r := fresh()
		if _, err := Verify([]string{testSecret}, r, []byte(change(r)), signedAt); err == nil {
			t.Errorf("%s changed and still verifies", name)
		}
	}
}

func TestOldAndFutureCallsAreRefused(t *testing.T) {
	r := signed(t, []string{testSecret}, "GET", "/spaces", "", signedAt)
	for offset, ok := range map[time.Duration]bool{
		0: true, Tolerance: true, -Tolerance: true, Tolerance + time.Second: false, -Tolerance - time.Second: false,
		1 << 62: false, -(1 << 62): false,
	} {
		if _, err := Verify([]string{testSecret}, r, nil, signedAt.Add(offset)); (err == nil) != ok {
			t.Errorf("%v after the call: %v, want accepted %v", offset, err, ok)
		}
	}
}

func TestSecretsOfAnotherShapeAreRefusedWithoutBeingQuoted(t *testing.T) {
	for _, s := range []string{"", "whsec_", "whsec_c2hvcnQ=", strings.TrimPrefix(testSecret, secretPrefix), "whsec_***not-base64***", secretPrefix + strings.Repeat("A", 120)} {
		_, err := newSigners([]string{s})
		if err == nil {
			t.Errorf("%q is taken", s)
		} else if rest := strings.TrimPrefix(s, secretPrefix); len(rest) > 4 && strings.Contains(err.Error(), rest) {
			t.Errorf("the error quotes the secret: %v", err)
		}
	}
	if _, err := newSigners(nil); err == nil {
		t.Error("no secret at all is taken")
	}
}

func TestWithoutToken(t *testing.T) {
	for target, want := range map[string]string{
		"/a":                     "/a",
		"/a?token=x":             "/a",
		"/a?b=1&token=x":         "/a?b=1",
		"/a?token=x&b=1":         "/a?token=x&b=1",
		"/a?mytoken=x":           "/a?mytoken=x",
		"/a?b=token=x":           "/a?b=token=x",
		"/a?b=?token=x":          "/a?b=?token=x",
		"/a?token=x&token=y":     "/a?token=x",
		"/a&token=x":             "/a&token=x",
		"/a?b=1&token=x%26c%3D2": "/a?b=1",
	} {
		if got := withoutToken(target); got != want {
			t.Errorf("withoutToken(%q) = %q, want %q", target, got, want)
		}
	}
}

func TestParametersOfACall(t *testing.T) {
	for _, c := range []struct{ url, reservation, token, want string }{
		{"https://h/p", "", "T", "/p?token=T"},
		{"https://h", "", "T", "/?token=T"},
		{"https://h/p?a=1&b", "R 1/&", "T&=", "/p?a=1&b&reservationId=R+1%2F%26&token=T%26%3D"},
		{"https://h/p?token=old&a=1", "", "T", "/p?a=1&token=T"},
		{"https://h/p?%74oken=old&reservationId=x", "R1", "T", "/p?reservationId=R1&token=T"},
		{"https://h/p?token=theirs&a=1", "R1", "", "/p?token=theirs&a=1&reservationId=R1"},
		{"https://h/p?", "", "", "/p"},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := withParameters(u, c.reservation, c.token).RequestURI(); got != c.want {
			t.Errorf("%s with %q, %q: %s, want %s", c.url, c.reservation, c.token, got, c.want)
		}
	}
}

// TestEveryCallVerifiesAtThePartner runs each action, with the token in either place and
// hard-to-write parameters, through a real server that verifies as a partner does.
func TestEveryCallVerifiesAtThePartner(t *testing.T) {
	for _, tokenIn := range []string{TokenInQuery, TokenInHeader} {
		z := newZoo(t, DefaultLimits(), nil)
		z.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, r.ContentLength)
			if r.ContentLength > 0 {
				if _, err := r.Body.Read(body); err != nil && err.Error() != "EOF" {
					t.Error(err)
				}
			}
			if _, err := Verify([]string{testSecret}, r, body, time.Now()); err != nil {
				t.Errorf("%s %s: %v", r.Method, r.RequestURI, err)
			}
			switch query, bearer := r.URL.Query().Get("token"), r.Header.Get("Authorization"); {
			case tokenIn == TokenInQuery && (query != testToken || bearer != ""):
				t.Errorf("query: token %q, authorization %q", query, bearer)
			case tokenIn == TokenInHeader && (query != "" || bearer != "Bearer "+testToken):
				t.Errorf("header: token %q, authorization %q", query, bearer)
			}
			_, _ = w.Write([]byte(`{"owing":0,"roomReady":true,"data":[]}`))
		})
		for _, method := range []string{"GET", "POST"} {
			spaces, status := z.target(GetSpaces), z.target(GetCheckInStatus)
			spaces.URL += "?a=ö&a=%2F;x"
			spaces.Method, spaces.TokenIn, status.Method, status.TokenIn = method, tokenIn, method, tokenIn
			if _, err := z.client.Spaces(t.Context(), spaces); err != nil {
				t.Error(err)
			}
			if _, err := z.client.CheckInStatus(t.Context(), status, "R&1/ü ?"); err != nil {
				t.Error(err)
			}
		}
		target := z.target(CheckIn)
		target.TokenIn = tokenIn
		if err := z.client.CheckIn(t.Context(), target, "key-1", checkin.Disclosure{ReservationID: "R1"}); err != nil {
			t.Error(err)
		}
	}
}

// FuzzVerify searches for an accepted call that was not signed.
func FuzzVerify(f *testing.F) {
	good := signed(f, []string{testSecret}, "POST", "/a?b=1", "body", signedAt)
	f.Add("req_1", good.Header.Get(HeaderTimestamp), good.Header.Get(HeaderSignature), good.Header.Get(HeaderBound), "POST", "/a?b=1", "body")
	f.Add("req_1.1", "1", "v1,", "v1,", "GET", "/", "")
	f.Fuzz(func(t *testing.T, id, timestamp, signature, bound, method, target, body string) {
		r := &http.Request{Method: method, RequestURI: target, URL: &url.URL{}, Header: http.Header{
			"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Webhook-Signature": {signature}, "Latchkey-Signature": {bound},
		}}
		if _, err := Verify([]string{testSecret}, r, []byte(body), signedAt); err != nil {
			return
		}
		same := id == "req_1" && timestamp == good.Header.Get(HeaderTimestamp) && method == "POST" && withoutToken(target) == "/a?b=1" && body == "body"
		if !same {
			t.Fatalf("accepted %q %q %q %q %q %q", id, timestamp, signature, method, target, body)
		}
	})
}
