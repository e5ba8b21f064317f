package property

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
)

// FinishSignIn opens the session of a sign-in that waits for the code of the second factor: one of the authenticator app, or a recovery
// code. After a wrong code, the sign-in still waits.
func (s *Sessions) FinishSignIn(ctx context.Context, r *propertyv1.FinishSignInRequest) (*propertyv1.FinishSignInResponse, error) {
	made, err := s.Staff.FinishSignIn(ctx, r.GetChallenge(), r.GetCode(), chain.From(ctx).Trace())
	if err != nil {
		return nil, err
	}
	return &propertyv1.FinishSignInResponse{Data: sessionToken(made)}, nil
}

// BeginTOTP creates the secret for an authenticator app, in place of an unconfirmed one. The app is not required before ConfirmTOTP. It
// fails if an app is in use.
func (s *Sessions) BeginTOTP(ctx context.Context, _ *propertyv1.BeginTOTPRequest) (*propertyv1.BeginTOTPResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.BeginTOTPResponse, error) {
		e, err := staff.BeginTOTP(tx, s.Keys, who.PersonID)
		if err != nil {
			return nil, err
		}
		return &propertyv1.BeginTOTPResponse{Data: &propertyv1.TOTPEnrolment{Secret: e.Secret, Url: e.URL}}, nil
	})
}

// ConfirmTOTP checks the first code of the authenticator app. From then on, a sign-in without a passkey requires a code. The answer has new
// recovery codes, which replace earlier ones, and a session that replaces the caller's. A wrong code counts as a failed attempt, and the
// audit log gets an entry.
func (s *Sessions) ConfirmTOTP(ctx context.Context, r *propertyv1.ConfirmTOTPRequest) (*propertyv1.ConfirmTOTPResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	confirm, err := s.Staff.PrepareTOTP(ctx, who.PersonID, who.TokenID, r.GetCode())
	if err != nil {
		return nil, err
	}
	out, err := idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.ConfirmTOTPResponse, error) {
		made, codes, err := confirm(tx)
		if err != nil {
			return nil, err
		}
		return &propertyv1.ConfirmTOTPResponse{Data: sessionToken(made), RecoveryCodes: codes}, s.record(ctx, tx, who)
	})
	s.Staff.NoteRefusedCode(who.PersonID, chain.From(ctx).Trace(), err)
	return out, err
}

// DisableTOTP removes the authenticator app of the signed-in person. The recovery codes end with the last second factor.
func (s *Sessions) DisableTOTP(ctx context.Context, _ *propertyv1.DisableTOTPRequest) (*propertyv1.DisableTOTPResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.DisableTOTPResponse, error) {
		if err := staff.DisableTOTP(tx, who.PersonID); err != nil {
			return nil, err
		}
		return &propertyv1.DisableTOTPResponse{}, s.record(ctx, tx, who)
	})
}

// CreateRecoveryCodes replaces the recovery codes of the signed-in person. It fails without a second factor.
func (s *Sessions) CreateRecoveryCodes(ctx context.Context, _ *propertyv1.CreateRecoveryCodesRequest) (*propertyv1.CreateRecoveryCodesResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.CreateRecoveryCodesResponse, error) {
		codes, err := staff.CreateRecoveryCodes(tx, s.Keys, who.PersonID)
		if err != nil {
			return nil, err
		}
		return &propertyv1.CreateRecoveryCodesResponse{Data: &propertyv1.RecoveryCodes{Codes: codes}}, s.record(ctx, tx, who)
	})
}

// ConfirmSecondFactor checks a code of the signed-in person. The answer has a session with a confirmed second factor, which replaces the
// caller's. A wrong code counts as a failed attempt, and the audit log gets an entry.
func (s *Sessions) ConfirmSecondFactor(ctx context.Context, r *propertyv1.ConfirmSecondFactorRequest) (*propertyv1.ConfirmSecondFactorResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	confirm, err := s.Staff.PrepareCode(ctx, who.PersonID, who.TokenID, r.GetCode())
	if err != nil {
		return nil, err
	}
	out, err := idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.ConfirmSecondFactorResponse, error) {
		made, err := confirm(tx)
		if err != nil {
			return nil, err
		}
		return &propertyv1.ConfirmSecondFactorResponse{Data: sessionToken(made)}, nil
	})
	s.Staff.NoteRefusedCode(who.PersonID, chain.From(ctx).Trace(), err)
	return out, err
}
