package partner

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/notice"
)

func anyURL(string) error { return nil }

func (x *fixture) register(e Endpoint) (Endpoint, string) {
	x.Helper()
	e.PropertyID, e.IntegrationID = x.p1, x.int1
	var got Endpoint
	var secret string
	x.write(func(tx *db.Tx) error {
		var err error
		got, secret, err = x.r.Register(tx, e, anyURL)
		return err
	})
	return got, secret
}

func TestRegisterUpsertsByActionAndShowsTheSecretOnce(t *testing.T) {
	each(t, func(x *fixture) {
		e, secret := x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces", Token: "s3cret"})
		want := Endpoint{PropertyID: x.p1, IntegrationID: x.int1, Action: GetSpaces, URL: "https://pms.example/spaces", Method: "GET", Token: "s3cret", TokenIn: InQuery}
		if diff := cmp.Diff(want, e); diff != "" || !strings.HasPrefix(secret, "whsec_") {
			t.Fatalf("secret %d bytes, %s", len(secret), diff)
		}
		if e, again := x.register(Endpoint{Action: CheckIn, URL: "https://pms.example/in"}); again != "" || e.Method != "POST" {
			t.Errorf("second registration: method %s, a secret of %d bytes", e.Method, len(again))
		}
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/v2", Method: "POST", Token: "n3w", TokenIn: InHeader})
		got, err := x.r.Endpoint(x.d.View(x.Context()), x.p1, x.int1, GetSpaces)
		want.URL, want.Method, want.Token, want.TokenIn = "https://pms.example/v2", "POST", "n3w", InHeader
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		for _, change := range []Endpoint{{Token: "n3wer"}, {URL: "https://pms.example/v3"}, {Method: "GET"}, {}} {
			change.Action = GetSpaces
			x.register(change)
		}
		got, err = x.r.Endpoint(x.d.View(x.Context()), x.p1, x.int1, GetSpaces)
		want.URL, want.Method, want.Token = "https://pms.example/v3", "GET", "n3wer"
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("what is left out does not stay as it was: %v %s", err, diff)
		}
		x.register(Endpoint{Action: GetSpaces, Token: "n3w"})
		list, err := Endpoints(x.d.View(x.Context()), x.p1, x.int1)
		if err != nil || len(list) != 2 || list[0].Action != GetSpaces || list[1].Action != CheckIn || list[0].Token != "" {
			t.Errorf("list %+v, %v", list, err)
		}
		own, err := x.r.OwnEndpoints(x.d.View(x.Context()), x.p1, x.int1)
		if err != nil || len(own) != 2 || own[0].Token != "n3w" {
			t.Errorf("own list %+v, %v", own, err)
		}
		if other, err := EndpointsOf(x.d.View(x.Context()), x.p2); err != nil || len(other) != 0 {
			t.Errorf("another property lists %v, %v", other, err)
		}
		row := x.d.View(x.Context()).Endpoint.Query().AllX(x.Context())
		for _, r := range row {
			if strings.Contains(string(r.SealedToken), "n3w") {
				t.Error("the token is stored in plain text")
			}
		}
		secrets, err := x.r.SigningSecrets(x.d.View(x.Context()), x.p1, x.int1)
		if diff := cmp.Diff([]string{secret}, secrets); err != nil || diff != "" {
			t.Errorf("%v: the secret shown does not sign", err)
		}
	})
}

func TestRegisterNamesEveryWrongField(t *testing.T) {
	each(t, func(x *fixture) {
		refuse := func(string) error {
			return fault.Fields(fault.Field{Path: "url", Reason: fault.BadFormat, Message: "no"})
		}
		err := x.d.Write(x.Context(), func(tx *db.Tx) error {
			_, _, err := x.r.Register(tx, Endpoint{PropertyID: x.p1, IntegrationID: x.int1, Action: "open", URL: "x", Method: "PUT", TokenIn: "body", Token: strings.Repeat("t", 1025)}, refuse)
			return err
		})
		f, _ := fault.Of(err)
		var paths []string
		for _, field := range f.Fields {
			paths = append(paths, field.Path)
		}
		if diff := cmp.Diff([]string{"action", "url", "method", "token", "tokenIn"}, paths); diff != "" {
			t.Error(diff)
		}
		x.fails(fault.InvalidFields, func(tx *db.Tx) error {
			_, _, err := x.r.Register(tx, Endpoint{PropertyID: x.p1, IntegrationID: x.int1, Action: CheckIn, URL: "https://a.example", Method: "GET"}, anyURL)
			return err
		})
		x.fails(fault.InvalidFields, func(tx *db.Tx) error {
			_, _, err := x.r.Register(tx, Endpoint{PropertyID: x.p1, IntegrationID: x.int1, Action: CheckIn, Token: "T"}, anyURL)
			return err
		})
		for _, token := range []string{"s3cret\n", "a\tb", "\x7f"} {
			err := x.d.Write(x.Context(), func(tx *db.Tx) error {
				_, _, err := x.r.Register(tx, Endpoint{PropertyID: x.p1, IntegrationID: x.int1, Action: GetSpaces, URL: "https://a.example", Token: token}, anyURL)
				return err
			})
			if f, _ := fault.Of(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Path != "token" || f.Fields[0].Reason != fault.NotPrintable {
				t.Errorf("the token %q: %v", token, err)
			}
		}
		if n := x.d.View(x.Context()).Endpoint.Query().CountX(x.Context()); n != 0 {
			t.Errorf("%d stored", n)
		}
	})
}

func TestSigningSecretRotates(t *testing.T) {
	each(t, func(x *fixture) {
		_, first := x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces"})
		rotate := func(drop bool) (secret string) {
			x.write(func(tx *db.Tx) error {
				var err error
				secret, err = x.r.RotateSigningSecret(tx, x.p1, x.int1, drop)
				return err
			})
			return secret
		}
		signing := func(want ...string) {
			t.Helper()
			got, err := x.r.SigningSecrets(x.d.View(x.Context()), x.p1, x.int1)
			if err != nil || !cmp.Equal(want, got) {
				t.Errorf("%v: signs with %d other secrets", err, len(got))
			}
		}
		second := rotate(false)
		signing(second, first)
		third := rotate(false)
		signing(third, second)
		fourth := rotate(true)
		signing(fourth)
	})
}

// An endpoint that fails and recovers in turns makes one notice and one event. An hour without failures ends the episode.
func TestStaffAreNotifiedOncePerEpisodeOfFailures(t *testing.T) {
	each(t, func(x *fixture) {
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces"})
		call := func(failure string) {
			x.write(func(tx *db.Tx) error { return RecordCall(tx, x.p1, x.int1, GetSpaces, Failure{Text: failure}) })
		}
		state := func() string {
			e, err := x.r.Endpoint(x.d.View(x.Context()), x.p1, x.int1, GetSpaces)
			if err != nil {
				t.Fatal(err)
			}
			return e.Health.State()
		}
		notices := func() int {
			rows, err := notice.List(x.d.View(x.Context()), x.p1, notice.Filter{}, 100, "")
			if err != nil {
				t.Fatal(err)
			}
			return len(rows)
		}
		if state() != "unknown" {
			t.Errorf("before any call: %s", state())
		}
		call("HTTP 500")
		call("HTTP 500")
		if state() != "failing" || notices() != 0 {
			t.Errorf("after two failures: %s, %d notices", state(), notices())
		}
		for range 5 {
			call("HTTP 500")
		}
		if notices() != 1 {
			t.Errorf("after seven failures: %d notices", notices())
		}
		for range 10 {
			call("")
			if state() != "ok" {
				t.Errorf("after a success: %s", state())
			}
			x.clock.Advance(15 * time.Minute)
			for range 4 {
				call("timeout")
			}
		}
		if notices() != 1 {
			t.Errorf("after ten recoveries: %d notices, want 1", notices())
		}
		call("")
		x.clock.Advance(2 * time.Hour)
		for range 3 {
			call("timeout")
		}
		if notices() != 2 {
			t.Errorf("failing again two hours later: %d notices, want 2", notices())
		}
		if n := x.d.View(x.Context()).Event.Query().CountX(x.Context()); n != 2 {
			t.Errorf("%d events, want 2", n)
		}
		succeeded := func() time.Time {
			row, err := loadEndpoint(x.d.View(x.Context()), x.p1, x.int1, GetSpaces)
			if err != nil {
				t.Fatal(err)
			}
			return *row.LastSuccessAt
		}
		call("")
		first := succeeded()
		x.clock.Advance(successPrecision - 1)
		if call(""); !succeeded().Equal(first) {
			t.Error("each success changes the row that all guests share")
		}
		x.clock.Advance(1)
		if call(""); succeeded().Equal(first) {
			t.Error("the time of the last success stays old")
		}
		for range 3 {
			call("timeout")
		}
		x.write(func(tx *db.Tx) error { return RecordCall(tx, x.p2, x.int1, GetSpaces, Failure{}) })
		if state() != "failing" {
			t.Error("another property's call counted")
		}
		for _, c := range []struct {
			what string
			e    Endpoint
		}{
			{"a new address", Endpoint{URL: "https://pms.example/new"}},
			{"another token", Endpoint{URL: "https://pms.example/new", Token: "t"}},
			{"another method", Endpoint{URL: "https://pms.example/new", Token: "t", Method: "POST"}},
		} {
			for range 3 {
				call("timeout")
			}
			c.e.Action = GetSpaces
			x.register(c.e)
			if state() != "unknown" {
				t.Errorf("%s: %s", c.what, state())
			}
		}
		openNotices := func() int {
			return x.d.View(x.Context()).Notice.Query().Where(entnotice.OnceKey(failingKey(x.int1, GetSpaces))).CountX(x.Context())
		}
		if openNotices() != 1 || notices() != 2 {
			t.Errorf("before a call to the new one: %d of %d notices are open, want 1 of 2", openNotices(), notices())
		}
		call("")
		if openNotices() != 0 {
			t.Errorf("the new one answers, and %d notices are open", openNotices())
		}
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/last"})
		call("")
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/last"})
		if state() != "ok" {
			t.Errorf("the same that answers, again: %s", state())
		}
		for range 3 {
			x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/last"})
			call("timeout")
		}
		if state() != "failing" || notices() != 3 {
			t.Errorf("a partner that registers before each call that fails: %s, %d notices, want 3", state(), notices())
		}
	})
}

func TestUnregister(t *testing.T) {
	each(t, func(x *fixture) {
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces", Token: "s3cret"})
		x.fails(fault.EndpointNotFound, func(tx *db.Tx) error { _, err := x.r.Unregister(tx, x.p2, x.int1, GetSpaces); return err })
		x.fails(fault.EndpointNotFound, func(tx *db.Tx) error { _, err := x.r.Unregister(tx, x.p1, x.int1, CheckIn); return err })
		x.write(func(tx *db.Tx) error {
			e, err := x.r.Unregister(tx, x.p1, x.int1, GetSpaces)
			if err == nil && e.Token != "s3cret" {
				t.Error("the answer lacks the token")
			}
			return err
		})
		x.fails(fault.EndpointNotFound, func(tx *db.Tx) error { _, err := x.r.Unregister(tx, x.p1, x.int1, GetSpaces); return err })
	})
}

// A partner who tries out wrong answers does not make its endpoint fail.
func TestFailedTestDoesNotCountAsFailure(t *testing.T) {
	each(t, func(x *fixture) {
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces"})
		for range 5 {
			x.write(func(tx *db.Tx) error {
				return RecordEndpointTest(tx, x.p1, x.int1, GetSpaces, Failure{Text: "HTTP 500"})
			})
		}
		e, err := x.r.Endpoint(x.d.View(x.Context()), x.p1, x.int1, GetSpaces)
		if err != nil || e.Health.Failures != 0 || e.Health.LastError.Text != "HTTP 500" || e.Health.State() != Unknown {
			t.Errorf("after failed tests: %+v, %v", e.Health, err)
		}
		x.write(func(tx *db.Tx) error { return RecordCall(tx, x.p1, x.int1, GetSpaces, Failure{Text: "HTTP 500"}) })
		x.write(func(tx *db.Tx) error { return RecordEndpointTest(tx, x.p1, x.int1, GetSpaces, Failure{}) })
		if e, err = x.r.Endpoint(x.d.View(x.Context()), x.p1, x.int1, GetSpaces); err != nil || e.Health.State() != OK {
			t.Errorf("after a good test: %+v, %v", e.Health, err)
		}
	})
}

// A kiosk closes while the PMS does not answer, and opens again by itself.
func TestIsCheckInDown(t *testing.T) {
	each(t, func(x *fixture) {
		check := func(what string, want bool) {
			x.Helper()
			if down, err := IsCheckInDown(x.d.View(x.Context()), x.p1); err != nil || down != want {
				t.Errorf("%s: %t, %v", what, down, err)
			}
		}
		call := func(action, failure string, times int) {
			for range times {
				x.write(func(tx *db.Tx) error { return RecordCall(tx, x.p1, x.int1, action, Failure{Text: failure}) })
			}
		}
		check("no endpoint", false)
		x.register(Endpoint{Action: GetSpaces, URL: "https://pms.example/spaces"})
		call(GetSpaces, "HTTP 500", 3)
		check("getSpaces fails, and the check-in calls nothing", false)
		for _, action := range []string{GetCheckInStatus, CheckIn} {
			x.register(Endpoint{Action: action, URL: "https://pms.example/" + action})
			check("not called yet", false)
			call(action, "HTTP 500", 2)
			check("two failures", false)
			call(action, "HTTP 500", 1)
			check("three failures", true)
			x.clock.Advance(downFor)
			check("no call for a while", false)
			call(action, "HTTP 500", 1)
			check("failing still", true)
			call(GetSpaces, "", 1)
			check("getSpaces answers, the check-in does not", true)
			call(action, "", 1)
			check("it answers", false)
		}
	})
}
