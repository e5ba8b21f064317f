package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/openid"
	"latchkey.dev/internal/staff"
)

// Identities implements IdentityService. Its calls belong to a person and not to a property.
type Identities struct {
	propertyv1.UnimplementedIdentityServiceServer
	Sessions
}

// GetIdentityProvider returns the name and issuer of the server's OpenID Connect provider. Both are empty without one.
func (s *Identities) GetIdentityProvider(context.Context, *propertyv1.GetIdentityProviderRequest) (*propertyv1.GetIdentityProviderResponse, error) {
	out := &propertyv1.IdentityProvider{}
	if p := s.Staff.Provider; p != nil {
		out.Label, out.Issuer = p.Label(), p.Issuer()
	}
	return &propertyv1.GetIdentityProviderResponse{Data: out}, nil
}

// BeginIdentitySignIn begins a sign-in, or the acceptance of an invitation. The answer has the address at the identity provider.
func (s *Identities) BeginIdentitySignIn(ctx context.Context, r *propertyv1.BeginIdentitySignInRequest) (*propertyv1.BeginIdentitySignInResponse, error) {
	var c staff.IdentityCeremony
	var err error
	if r.GetInvitation() == "" {
		c, err = s.Staff.BeginIdentitySignIn(ctx, r.GetFresh())
	} else {
		c, err = s.Staff.BeginIdentityInvitation(ctx, r.GetInvitation(), r.Name)
	}
	if err != nil {
		return nil, err
	}
	return &propertyv1.BeginIdentitySignInResponse{Data: identityCeremony(c)}, nil
}

// FinishIdentitySignIn checks the answer of the identity provider, and accepts the invitation if the request has one. The answer has a
// session, or the challenge of a sign-in that waits for the second factor.
func (s *Identities) FinishIdentitySignIn(ctx context.Context, r *propertyv1.FinishIdentitySignInRequest) (*propertyv1.FinishIdentitySignInResponse, error) {
	answer := identityAnswer(ctx, r.GetState(), r.GetAnswer())
	if r.GetInvitation() != "" {
		made, propertyID, err := s.Staff.AcceptInvitationByIdentity(ctx, staff.IdentityAcceptance{IdentityAnswer: answer, Secret: r.GetInvitation(), Name: r.GetName(), Device: r.GetDevice()})
		if err != nil {
			return nil, err
		}
		return &propertyv1.FinishIdentitySignInResponse{Data: sessionToken(made), PropertyId: propertyID}, nil
	}
	answer.Fresh = r.GetFresh()
	made, err := s.Staff.IdentitySignIn(ctx, answer, r.GetDevice())
	if err != nil {
		return nil, err
	}
	return &propertyv1.FinishIdentitySignInResponse{Data: sessionToken(made)}, nil
}

// BeginIdentityLink begins to link the signed-in person to their account at the identity provider. The answer has the address there.
func (s *Identities) BeginIdentityLink(ctx context.Context, _ *propertyv1.BeginIdentityLinkRequest) (*propertyv1.BeginIdentityLinkResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.Staff.BeginIdentityLink(ctx, who.PersonID, who.TokenID)
	if err != nil {
		return nil, err
	}
	return &propertyv1.BeginIdentityLinkResponse{Data: identityCeremony(c)}, nil
}

// FinishIdentityLink checks the answer of the identity provider and links the signed-in person to the account, in place of an earlier one.
func (s *Identities) FinishIdentityLink(ctx context.Context, r *propertyv1.FinishIdentityLinkRequest) (*propertyv1.FinishIdentityLinkResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	link, err := s.Staff.PrepareIdentityLink(ctx, who.PersonID, who.TokenID, identityAnswer(ctx, r.GetState(), r.GetAnswer()))
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.FinishIdentityLinkResponse, error) {
		if err := link(tx); err != nil {
			return nil, err
		}
		return &propertyv1.FinishIdentityLinkResponse{}, s.record(ctx, tx, who)
	})
}

// DeleteIdentityLink removes the link of the signed-in person to the identity provider, if there is one. It fails for a person without a
// password.
func (s *Identities) DeleteIdentityLink(ctx context.Context, _ *propertyv1.DeleteIdentityLinkRequest) (*propertyv1.DeleteIdentityLinkResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.DeleteIdentityLinkResponse, error) {
		if err := staff.UnlinkIdentity(tx, who.PersonID); err != nil {
			return nil, err
		}
		return &propertyv1.DeleteIdentityLinkResponse{}, s.record(ctx, tx, who)
	})
}

// identityCeremony converts a sign-in or link that was begun at the identity provider.
func identityCeremony(c staff.IdentityCeremony) *propertyv1.IdentityCeremony {
	return &propertyv1.IdentityCeremony{State: c.State, Url: c.URL, EndsAt: timestamppb.New(c.EndsAt)}
}

// identityAnswer converts what the identity provider sent back with the browser. state is that of the call that began.
func identityAnswer(ctx context.Context, state string, a *propertyv1.IdentityAnswer) staff.IdentityAnswer {
	return staff.IdentityAnswer{
		State: state, Answer: openid.Answer{State: a.GetState(), Code: a.GetCode(), Issuer: a.GetIssuer()}, Network: clientNetwork(ctx), Trace: chain.From(ctx).Trace(),
	}
}
