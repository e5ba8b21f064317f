package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
)

// Passkeys implements PasskeyService. Its calls belong to a person and not to a property.
type Passkeys struct {
	propertyv1.UnimplementedPasskeyServiceServer
	Sessions
}

// ListPasskeys lists the passkeys of the signed-in person.
func (s *Passkeys) ListPasskeys(ctx context.Context, _ *propertyv1.ListPasskeysRequest) (*propertyv1.ListPasskeysResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	all, err := staff.ListPasskeys(s.DB.View(ctx), s.Keys, who.PersonID)
	if err != nil {
		return nil, err
	}
	out := &propertyv1.PasskeyList{}
	for _, p := range all {
		out.List = append(out.List, passkeyMessage(p))
	}
	return &propertyv1.ListPasskeysResponse{Data: out}, nil
}

// BeginPasskeyRegistration returns what the browser needs to create a passkey for the signed-in person. It fails if the person has too many
// passkeys.
func (s *Passkeys) BeginPasskeyRegistration(ctx context.Context, _ *propertyv1.BeginPasskeyRegistrationRequest) (*propertyv1.BeginPasskeyRegistrationResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.Staff.BeginPasskey(ctx, who.PersonID, who.TokenID)
	if err != nil {
		return nil, err
	}
	return &propertyv1.BeginPasskeyRegistrationResponse{Data: ceremonyMessage(c)}, nil
}

// FinishPasskeyRegistration stores the new passkey. The answer has a session that replaces the caller's, and recovery codes if the person
// had none.
func (s *Passkeys) FinishPasskeyRegistration(ctx context.Context, r *propertyv1.FinishPasskeyRegistrationRequest) (*propertyv1.FinishPasskeyRegistrationResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.FinishPasskeyRegistrationResponse, error) {
		made, err := s.Staff.AddPasskey(tx, who.PersonID, who.TokenID, staff.Answer{State: r.GetState(), Credential: r.GetCredential()}, r.GetName())
		if err != nil {
			return nil, err
		}
		return &propertyv1.FinishPasskeyRegistrationResponse{Data: passkeyMessage(made.Passkey), Session: sessionToken(made.Session), RecoveryCodes: made.RecoveryCodes}, s.record(ctx, tx, who)
	})
}

// RenamePasskey renames a passkey of the signed-in person.
func (s *Passkeys) RenamePasskey(ctx context.Context, r *propertyv1.RenamePasskeyRequest) (*propertyv1.RenamePasskeyResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.RenamePasskeyResponse, error) {
		p, err := staff.RenamePasskey(tx, s.Keys, who.PersonID, r.GetId(), r.GetName())
		if err != nil {
			return nil, err
		}
		return &propertyv1.RenamePasskeyResponse{Data: passkeyMessage(p)}, nil
	})
}

// DeletePasskey deletes a passkey of the signed-in person. The recovery codes end with the last second factor.
func (s *Passkeys) DeletePasskey(ctx context.Context, r *propertyv1.DeletePasskeyRequest) (*propertyv1.DeletePasskeyResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.DeletePasskeyResponse, error) {
		if err := staff.DeletePasskey(tx, who.PersonID, r.GetId()); err != nil {
			return nil, err
		}
		return &propertyv1.DeletePasskeyResponse{}, s.record(ctx, tx, who)
	})
}

// BeginPasskeySignIn returns what the browser needs to sign in with a passkey. The person is not known yet.
func (s *Passkeys) BeginPasskeySignIn(ctx context.Context, _ *propertyv1.BeginPasskeySignInRequest) (*propertyv1.BeginPasskeySignInResponse, error) {
	c, err := s.Staff.BeginPasskeySignIn(ctx)
	if err != nil {
		return nil, err
	}
	return &propertyv1.BeginPasskeySignInResponse{Data: ceremonyMessage(c)}, nil
}

// FinishPasskeySignIn checks the passkey and opens a session. A passkey counts as both factors.
func (s *Passkeys) FinishPasskeySignIn(ctx context.Context, r *propertyv1.FinishPasskeySignInRequest) (*propertyv1.FinishPasskeySignInResponse, error) {
	made, err := s.Staff.PasskeySignIn(ctx, staff.Answer{State: r.GetState(), Credential: r.GetCredential()}, r.GetDevice(), chain.From(ctx).Trace())
	if err != nil {
		return nil, err
	}
	return &propertyv1.FinishPasskeySignInResponse{Data: sessionToken(made)}, nil
}

// BeginPasskeyConfirmation returns what the browser needs to confirm the second factor again with a passkey.
func (s *Passkeys) BeginPasskeyConfirmation(ctx context.Context, _ *propertyv1.BeginPasskeyConfirmationRequest) (*propertyv1.BeginPasskeyConfirmationResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.Staff.BeginPasskeyConfirmation(ctx, who.PersonID, who.TokenID)
	if err != nil {
		return nil, err
	}
	return &propertyv1.BeginPasskeyConfirmationResponse{Data: ceremonyMessage(c)}, nil
}

// FinishPasskeyConfirmation checks the passkey. The answer has a session with a confirmed second factor, which replaces the caller's. The
// audit log gets an entry for a refused passkey.
func (s *Passkeys) FinishPasskeyConfirmation(ctx context.Context, r *propertyv1.FinishPasskeyConfirmationRequest) (*propertyv1.FinishPasskeyConfirmationResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	out, err := idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.FinishPasskeyConfirmationResponse, error) {
		made, err := s.Staff.ConfirmWithPasskey(tx, who.PersonID, who.TokenID, staff.Answer{State: r.GetState(), Credential: r.GetCredential()})
		if err != nil {
			return nil, err
		}
		return &propertyv1.FinishPasskeyConfirmationResponse{Data: sessionToken(made)}, nil
	})
	s.Staff.NoteRefusedPasskey(who.PersonID, chain.From(ctx).Trace(), err)
	return out, err
}

func passkeyMessage(p staff.Passkey) *propertyv1.Passkey {
	m := &propertyv1.Passkey{Id: p.ID, Name: p.Name, Synced: p.Synced(), CreatedAt: timestamppb.New(p.CreatedAt)}
	if p.UsedAt != nil {
		m.UsedAt = timestamppb.New(*p.UsedAt)
	}
	return m
}

// ceremonyMessage converts a begun WebAuthn ceremony: the options for the browser, and the state that the finishing call sends back.
func ceremonyMessage(c staff.Ceremony) *propertyv1.PasskeyCeremony {
	return &propertyv1.PasskeyCeremony{State: c.State, Options: c.Options}
}
