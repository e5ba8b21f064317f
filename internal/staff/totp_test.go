package staff

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// The codes of RFC 6238, appendix B, for the SHA-1 key, cut to six digits.
func TestStepOf(t *testing.T) {
	const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
	at := time.Unix(1111111109, 0) // step 37037036, code 081804
	const step = 37037036
	for what, c := range map[string]struct {
		code string
		now  time.Time
		last int64
		want int64
	}{
		"right":                 {"081804", at, 0, step},
		"a step late":           {"081804", at.Add(30 * time.Second), 0, step},
		"a step early":          {"081804", at.Add(-30 * time.Second), 0, step},
		"two steps late":        {"081804", at.Add(60 * time.Second), 0, 0},
		"two steps early":       {"081804", at.Add(-60 * time.Second), 0, 0},
		"used before":           {"081804", at, step, 0},
		"older than a used one": {"081804", at.Add(30 * time.Second), step + 1, 0},
		"wrong":                 {"081805", at, 0, 0},
		"short":                 {"81804", at, 0, 0},
		"empty":                 {"", at, 0, 0},
	} {
		if got, ok := stepOf(c.code, secret, c.now, c.last); got != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %d, %v, want %d", what, got, ok, c.want)
		}
	}
}

// code returns what an authenticator app shows now.
func (x *fixture) code(secret string) string {
	x.Helper()
	c, err := totp.GenerateCode(secret, x.DB.View(x.Context()).Now())
	x.must(err)
	return c
}

// enrol gives a person an authenticator app and returns its secret, the recovery codes and the new session.
func (x *fixture) enrol(s Session) (string, []string, Session) {
	x.Helper()
	var e Enrolment
	x.must(x.write(func(tx *db.Tx) (err error) {
		e, err = BeginTOTP(tx, x.Keys, s.PersonID)
		return err
	}))
	if !strings.HasPrefix(e.URL, "otpauth://totp/Latchkey:ada@example.com?") || !strings.Contains(e.URL, "secret="+e.Secret) {
		x.Errorf("the address of the app is %q", e.URL)
	}
	confirm, err := x.PrepareTOTP(x.Context(), s.PersonID, s.ID, x.code(e.Secret))
	x.must(err)
	var made Session
	var codes []string
	x.must(x.write(func(tx *db.Tx) (err error) {
		made, codes, err = confirm(tx)
		return err
	}))
	return e.Secret, codes, made
}

// stepUp confirms the second factor of a session again.
func (x *fixture) stepUp(s Session, code string) (made Session, err error) {
	x.Helper()
	confirm, err := x.PrepareCode(x.Context(), s.PersonID, s.ID, code)
	if err != nil {
		return Session{}, err
	}
	err = x.write(func(tx *db.Tx) error {
		made, err = confirm(tx)
		return err
	})
	return made, err
}

func isWrongCode(err error) bool {
	f, ok := fault.Of(err)
	return ok && len(f.Fields) == 1 && f.Fields[0].Path == "code"
}

// The token changes at each step, and a code works once.
func TestSecondFactor(t *testing.T) {
	each(t, func(x *fixture) {
		first := x.owner("ada@example.com", hotel)
		if _, err := x.stepUp(first, "000000"); !fault.Has(err, fault.SecondFactorMissing) {
			x.Errorf("without an app: %v", err)
		}
		secret, recovery, session := x.enrol(first)
		x.refused("the session before the second factor", first.Token)
		a, err := x.authenticate(session.Token, hotel)
		x.must(err)
		if !a.SecondFactor.Enrolled || !a.SecondFactor.Suffices(x.DB.View(x.Context()).Now()) {
			x.Errorf("after the first code: %+v", a.SecondFactor)
		}
		x.clock.Advance(15 * time.Minute)
		if a.SecondFactor.Suffices(x.DB.View(x.Context()).Now()) {
			x.Error("the second factor still counts after 15 minutes")
		}
		if len(recovery) != 10 {
			x.Errorf("%d recovery codes", len(recovery))
		}
		if err := x.write(func(tx *db.Tx) error { _, err := BeginTOTP(tx, x.Keys, first.PersonID); return err }); !fault.Has(err, fault.AlreadyExists) {
			x.Errorf("a second app: %v", err)
		}

		waiting, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", password))
		x.must(err)
		if waiting.Token != "" || waiting.Challenge == "" {
			x.Fatalf("the password alone: %+v", waiting)
		}
		x.refused("a sign-in that waits", waiting.Challenge)
		code := x.code(secret)
		done, err := x.FinishSignIn(x.Context(), waiting.Challenge, code, traced)
		x.must(err)
		if done.Token == "" || done.Token == waiting.Challenge {
			x.Errorf("the token does not change: %+v", done)
		}
		if a, err := x.authenticate(done.Token, hotel); err != nil || !a.SecondFactor.Suffices(x.DB.View(x.Context()).Now()) {
			x.Errorf("the session after the second factor: %+v, %v", a.SecondFactor, err)
		}
		if _, err := x.FinishSignIn(x.Context(), waiting.Challenge, code, traced); !fault.Has(err, fault.InvalidCredentials) {
			x.Errorf("the same sign-in again: %v", err)
		}
		again, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", password))
		x.must(err)
		if _, err := x.FinishSignIn(x.Context(), again.Challenge, code, traced); !isWrongCode(err) {
			x.Errorf("the same code again: %v", err)
		}
		if _, err := x.stepUp(done, code); !isWrongCode(err) {
			x.Errorf("the same code for a step-up: %v", err)
		}
		x.clock.Advance(challengeLife)
		if _, err := x.FinishSignIn(x.Context(), again.Challenge, x.code(secret), traced); !fault.Has(err, fault.InvalidCredentials) {
			x.Errorf("a sign-in of five minutes ago: %v", err)
		}
		next, err := x.stepUp(done, x.code(secret))
		x.must(err)
		x.refused("the session before the step-up", done.Token)
		if next.EndsAt != done.EndsAt {
			x.Errorf("a step-up moves the end of the session from %v to %v", done.EndsAt, next.EndsAt)
		}
	})
}

func TestRecoveryCodesWorkOnce(t *testing.T) {
	each(t, func(x *fixture) {
		_, codes, session := x.enrol(x.owner("ada@example.com", hotel))
		typed := strings.ToUpper(strings.ReplaceAll(codes[0], "-", " "))
		session, err := x.stepUp(session, typed)
		x.must(err)
		if _, err := x.stepUp(session, codes[0]); !isWrongCode(err) {
			x.Errorf("a used code: %v", err)
		}
		other := x.owner("bob@example.com", hotel)
		if _, err := x.stepUp(other, codes[1]); !fault.Has(err, fault.SecondFactorMissing) {
			x.Errorf("a code of another person: %v", err)
		}
		x.must(x.write(func(tx *db.Tx) error { _, err := CreateRecoveryCodes(tx, x.Keys, session.PersonID); return err }))
		if _, err := x.stepUp(session, codes[1]); !isWrongCode(err) {
			x.Errorf("a replaced code: %v", err)
		}
		x.must(x.write(func(tx *db.Tx) error { return DisableTOTP(tx, session.PersonID) }))
		if a, err := x.authenticate(session.Token, hotel); err != nil || a.SecondFactor.Enrolled {
			x.Errorf("after the app was disabled: %+v, %v", a.SecondFactor, err)
		}
		if s, err := x.SignIn(x.Context(), passwordSignIn("ada@example.com", password)); err != nil || s.Token == "" {
			x.Errorf("sign in without the app: %+v, %v", s, err)
		}
	})
}

// Guesses of codes are counted for the person, over sessions and restarts, also when their change fails.
func TestGuessingCodesIsSlowed(t *testing.T) {
	each(t, func(x *fixture) {
		secret, _, session := x.enrol(x.owner("ada@example.com", hotel))
		x.clock.Advance(time.Minute)
		right := x.code(secret)
		for i := range 5 {
			if _, err := x.stepUp(session, fmt.Sprintf("wrong-code-%d", i)); !isWrongCode(err) {
				x.Fatalf("guess %d: %v", i+1, err)
			}
		}
		if _, err := x.stepUp(session, right); !fault.Has(err, fault.TooManyAttempts) {
			x.Errorf("the right code right after five wrong ones: %v", err)
		}
		x.clock.Advance(time.Minute)
		if _, err := x.stepUp(session, x.code(secret)); err != nil {
			x.Errorf("after the pause: %v", err)
		}
	})
}
