package staff

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"latchkey.dev/ent"
	"latchkey.dev/ent/recoverycode"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/throttle"
)

const (
	totpPeriod    = 30 // seconds
	totpSkew      = 1  // steps that a phone's clock may be ahead or behind
	appDigits     = 6  // digits of a code of the app
	recoveryCodes = 10 // recovery codes that a person gets
)

var (
	secretEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)
	codeOptions    = hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}

	errCode     = fault.Fields(fault.Field{Path: "code", Reason: fault.WrongValue, Message: "does not match, or was used before: wait for the next code of the app"})
	errNoCode   = fault.New(fault.Denied, fault.SecondFactorRequired, "send a code of your authenticator app, or a recovery code, as code")
	errNoTOTP   = fault.New(fault.Precondition, fault.SecondFactorMissing, "you have no second factor: begin with BeginTOTP or BeginPasskeyRegistration")
	errTOTPUsed = fault.New(fault.Precondition, fault.AlreadyExists, "an authenticator app is in use: disable it first")
)

// totpPurpose returns the purpose with which the secret of a person's authenticator app is sealed.
func totpPurpose(personID string) string { return "person/" + personID + "/totp" }

// stepOf returns the time step (of 30 seconds) to which a code belongs: the present one, or one before or after it. It returns false if the
// code is wrong. A code of lastStep, the step of the last used code, or of an earlier step is wrong, so that each works once.
func stepOf(code, secret string, now time.Time, lastStep int64) (int64, bool) {
	present, found := now.Unix()/totpPeriod, int64(0)
	for step := present - totpSkew; step <= present+totpSkew; step++ {
		want, err := hotp.GenerateCodeCustom(secret, uint64(step), codeOptions)
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && step > lastStep {
			found = step
		}
	}
	return found, found > 0
}

// Enrolment is what an authenticator app needs to generate codes for a person.
type Enrolment struct {
	Secret string // in base32
	URL    string // shown as a QR code
}

// BeginTOTP stores a new secret for the authenticator app of a person. It fails if an app is in use. The app becomes a second factor only
// with a code of it: see [Service.PrepareTOTP]. Until then, a further call replaces the secret.
func BeginTOTP(tx *db.Tx, keys *keyring.Ring, personID string) (Enrolment, error) {
	row, err := loadPerson(tx, personID)
	if err != nil {
		return Enrolment{}, err
	}
	if row.TotpConfirmedAt != nil {
		return Enrolment{}, errTOTPUsed
	}
	profile, err := profileOf(tx.Context(), keys, row)
	if err != nil {
		return Enrolment{}, err
	}
	raw := make([]byte, 20)
	_, _ = rand.Read(raw)
	secret := secretEncoding.EncodeToString(raw)
	sealed, err := keys.Seal(tx.Context(), keyring.System, totpPurpose(personID), []byte(secret))
	if err != nil {
		return Enrolment{}, fmt.Errorf("seal the secret of a second factor: %w", err)
	}
	if err := tx.Person.UpdateOneID(personID).SetTotpSecret(sealed).SetTotpStep(0).Exec(tx.Context()); err != nil {
		return Enrolment{}, fmt.Errorf("store the secret of a second factor: %w", err)
	}
	query := url.Values{"secret": {secret}, "issuer": {"Latchkey"}, "digits": {"6"}, "period": {"30"}, "algorithm": {"SHA1"}}
	return Enrolment{secret, "otpauth://totp/" + url.PathEscape("Latchkey:"+profile.Email) + "?" + query.Encode()}, nil
}

// secondFactorCounters returns the counters that limit attempts with a person's codes.
func (s *Service) secondFactorCounters(personID string) []throttle.Counter {
	return []throttle.Counter{newCounter(s.Keys, secondFactor, personID)}
}

// countCode counts an attempt with a code as failed before it is checked, until useCode takes that back, or refuses it as countAttempt
// does. It uses a transaction of its own.
func (s *Service) countCode(ctx context.Context, personID string) error {
	return s.DB.Write(ctx, func(tx *db.Tx) error { return countAttempt(tx, s.secondFactorCounters(personID)) })
}

// useCode checks a code of the authenticator app or a recovery code, marks it as used, and sets the count of failed codes to zero. Each
// code works once. If an app is in use, a code of six characters is one of the app; all other codes are recovery codes. It does not limit
// attempts: the caller must call countCode before. It returns errCode for a wrong one, and errNoTOTP if the person has no second factor.
func (s *Service) useCode(tx *db.Tx, row *ent.Person, code string) error {
	has, err := hasSecondFactor(tx, row)
	if err != nil {
		return err
	}
	if !has {
		return errNoTOTP
	}
	code = plainCode(code)
	if len(code) != appDigits || row.TotpConfirmedAt == nil {
		return s.useRecoveryCode(tx, row, code)
	}
	return s.useAppCode(tx, row, code)
}

// plainCode returns a code in lower case, without the spaces and dashes that people type.
func plainCode(code string) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(code))
}

// useAppCode checks a code of the authenticator app, also of one that is not in use yet. It marks the code as used, and sets the count of
// failed codes to zero. It returns errCode for a wrong code, and errNoTOTP if no secret is stored. It does not limit attempts: the caller
// must call countCode before, outside of tx. code is from [plainCode].
func (s *Service) useAppCode(tx *db.Tx, row *ent.Person, code string) error {
	ctx := tx.Context()
	if len(row.TotpSecret) == 0 {
		return errNoTOTP
	}
	secret, err := s.Keys.Open(ctx, keyring.System, totpPurpose(row.ID), row.TotpSecret)
	if err != nil {
		return err
	}
	step, ok := stepOf(code, string(secret), tx.Now(), row.TotpStep)
	if !ok {
		return errCode
	}
	if err := tx.Person.UpdateOneID(row.ID).SetTotpStep(step).Exec(ctx); err != nil {
		return fmt.Errorf("store the step of a code: %w", err)
	}
	return takeBackAttempt(tx, s.secondFactorCounters(row.ID), 1)
}

// useRecoveryCode marks a recovery code as used, and sets the count of failed codes to zero. It returns errCode if the person has no such
// unused code. code is from [plainCode].
func (s *Service) useRecoveryCode(tx *db.Tx, row *ent.Person, code string) error {
	n, err := tx.RecoveryCode.Update().Where(recoverycode.PersonID(row.ID), recoverycode.MAC(recoveryMAC(s.Keys, row.ID, code)), recoverycode.UsedAtIsNil()).
		SetUsedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("use a recovery code: %w", err)
	}
	if n == 0 {
		return errCode
	}
	return takeBackAttempt(tx, s.secondFactorCounters(row.ID), 1)
}

// recoveryMAC returns the keyed hash under which a person's recovery code is stored. code is from [plainCode].
func recoveryMAC(keys *keyring.Ring, personID, code string) []byte {
	return keys.MAC("recoveryCode", personID, code)
}

// createRecoveryCodes replaces the recovery codes of a person, and returns the new ones to show. A code has 50 bits, in two groups of five
// letters and digits.
func createRecoveryCodes(tx *db.Tx, keys *keyring.Ring, personID string) ([]string, error) {
	if err := deleteRecoveryCodes(tx, personID); err != nil {
		return nil, err
	}
	shown := make([]string, recoveryCodes)
	for i := range shown {
		raw := make([]byte, 7)
		_, _ = rand.Read(raw)
		code := strings.ToLower(secretEncoding.EncodeToString(raw))[:10]
		shown[i] = code[:5] + "-" + code[5:]
		err := tx.RecoveryCode.Create().SetID(id.New(id.Recovery)).SetPersonID(personID).SetMAC(recoveryMAC(keys, personID, code)).Exec(tx.Context())
		if err != nil {
			return nil, fmt.Errorf("store a recovery code: %w", err)
		}
	}
	return shown, nil
}

// deleteRecoveryCodes deletes all recovery codes of a person, used or not.
func deleteRecoveryCodes(tx *db.Tx, personID string) error {
	if _, err := tx.RecoveryCode.Delete().Where(recoverycode.PersonID(personID)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("delete recovery codes: %w", err)
	}
	return nil
}

// CreateRecoveryCodes replaces the recovery codes of a person, and returns the new ones to show. It fails if the person has no second
// factor.
func CreateRecoveryCodes(tx *db.Tx, keys *keyring.Ring, personID string) ([]string, error) {
	row, err := loadPerson(tx, personID)
	if err != nil {
		return nil, err
	}
	has, err := hasSecondFactor(tx, row)
	if err != nil {
		return nil, err
	}
	if !has {
		return nil, errNoTOTP
	}
	return createRecoveryCodes(tx, keys, personID)
}

// DisableTOTP ends the authenticator app of a person, also one that is not confirmed yet. Without an app, it is no error. The recovery
// codes are deleted if the person has no passkey.
func DisableTOTP(tx *db.Tx, personID string) error {
	row, err := tx.Person.UpdateOneID(personID).ClearTotpSecret().ClearTotpConfirmedAt().SetTotpStep(0).Save(tx.Context())
	if err != nil {
		return fmt.Errorf("end a second factor: %w", err)
	}
	has, err := hasSecondFactor(tx, row)
	if err != nil || has {
		return err
	}
	return deleteRecoveryCodes(tx, personID)
}

// NoteRefusedCode queues an entry in the audit log if err means that a person's code was wrong. It does nothing for nil. It cannot tell
// errCode from other faults with wrong fields, so err must come from a check of a code.
func (s *Service) NoteRefusedCode(personID string, t Trace, err error) {
	if errors.Is(err, errCode) {
		s.Failed.note(personID, t)
	}
}

// PrepareCode counts an attempt with a code of a signed-in person as failed, or refuses it after too many failures. The returned Change
// checks the code, takes the count back, and replaces the caller's session by one with a confirmed second factor.
func (s *Service) PrepareCode(ctx context.Context, personID, sessionID, code string) (Change, error) {
	if err := s.countCode(ctx, personID); err != nil {
		return nil, err
	}
	return func(tx *db.Tx) (Session, error) {
		row, err := loadPerson(tx, personID)
		if err != nil {
			return Session{}, err
		}
		if err := s.useCode(tx, row, code); err != nil {
			return Session{}, err
		}
		return replaceSession(tx, s.Keys, personID, sessionID)
	}, nil
}

// PrepareTOTP is [Service.PrepareCode] for the first code of a new authenticator app. The returned function makes the app a second factor,
// and also replaces the recovery codes and returns the new ones. It fails if an app is in use.
func (s *Service) PrepareTOTP(ctx context.Context, personID, sessionID, code string) (func(tx *db.Tx) (Session, []string, error), error) {
	if err := s.countCode(ctx, personID); err != nil {
		return nil, err
	}
	return func(tx *db.Tx) (made Session, codes []string, err error) {
		row, err := loadPerson(tx, personID)
		if err != nil {
			return made, nil, err
		}
		if row.TotpConfirmedAt != nil {
			return made, nil, errTOTPUsed
		}
		if err := s.useAppCode(tx, row, plainCode(code)); err != nil {
			return made, nil, err
		}
		if err := tx.Person.UpdateOneID(personID).SetTotpConfirmedAt(tx.Now()).Exec(tx.Context()); err != nil {
			return made, nil, fmt.Errorf("store a second factor: %w", err)
		}
		if codes, err = createRecoveryCodes(tx, s.Keys, personID); err != nil {
			return made, nil, err
		}
		made, err = replaceSession(tx, s.Keys, personID, sessionID)
		return made, codes, err
	}, nil
}

// FinishSignIn finishes a sign-in that waits for the second factor, with a code of the app or a recovery code. challenge is from the
// waiting session, which ends, and the new session has another token. After a wrong code, the waiting session stays, for another attempt.
// The audit log gets an entry for the sign-in or, later, for a wrong code.
func (s *Service) FinishSignIn(ctx context.Context, challenge, code string, t Trace) (made Session, err error) {
	waiting, err := findPending(s.DB.View(ctx), s.Keys, challenge)
	if err != nil {
		return Session{}, err
	}
	if err := s.countCode(ctx, waiting.PersonID); err != nil {
		return Session{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		waiting, err := findPending(tx, s.Keys, challenge)
		if err != nil {
			return err
		}
		row, err := loadPerson(tx, waiting.PersonID)
		if err != nil {
			return err
		}
		if err := s.useCode(tx, row, code); err != nil {
			return err
		}
		if err := EndSession(tx, row.ID, waiting.ID); err != nil {
			return err
		}
		if err := Record(tx, s.Keys, row.ID, t, audit.Done); err != nil {
			return err
		}
		now := tx.Now()
		made, err = createSession(tx, s.Keys, sessionSpec{personID: row.ID, device: waiting.Device, secondFactorAt: &now, provedAt: waiting.ProvedAt})
		return err
	})
	s.NoteRefusedCode(waiting.PersonID, t, err)
	return made, err
}
