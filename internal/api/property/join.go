package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/staff"
)

// CreateFirstOwner uses up an operator's link: it makes a person owner of a property, which it creates if the link names none. A known
// person must give the password. The answer has a session or, for a known person with a second factor, the challenge of a sign-in.
func (s *Sessions) CreateFirstOwner(ctx context.Context, r *propertyv1.CreateFirstOwnerRequest) (*propertyv1.CreateFirstOwnerResponse, error) {
	made, propertyID, err := s.Staff.AcceptOwnerLink(ctx, staff.FirstOwner{
		PasswordSignIn: staff.PasswordSignIn{Email: r.GetEmail(), Password: r.GetPassword(), Network: clientNetwork(ctx), Device: r.GetDevice(), Trace: chain.From(ctx).Trace()},
		Secret:         r.GetSecret(), Name: r.GetName(), PropertyName: r.GetPropertyName(), TimeZone: r.GetTimeZone(),
	})
	if err != nil {
		return nil, err
	}
	return &propertyv1.CreateFirstOwnerResponse{Data: sessionToken(made), PropertyId: propertyID}, nil
}

// GetInvitation returns the property and role of an invitation to the holder of its link. The link stays unused.
func (s *Sessions) GetInvitation(ctx context.Context, r *propertyv1.GetInvitationRequest) (*propertyv1.GetInvitationResponse, error) {
	i, err := s.Staff.ViewInvitation(ctx, r.GetSecret())
	if err != nil {
		return nil, err
	}
	return &propertyv1.GetInvitationResponse{Data: &propertyv1.InvitationForPerson{
		PropertyName: i.PropertyName, Email: i.Email, Role: string(i.Role), EndsAt: timestamppb.New(i.EndsAt), Known: i.Known,
	}}, nil
}

// AcceptInvitation uses up the link of an invitation: it makes a person a member of a property, and opens a session. A member keeps the
// present role. A known person must give the password and, with an authenticator app, a code. With passkeys only, the person becomes a
// member as well, but the answer has the challenge of a sign-in and no session.
func (s *Sessions) AcceptInvitation(ctx context.Context, r *propertyv1.AcceptInvitationRequest) (*propertyv1.AcceptInvitationResponse, error) {
	made, propertyID, err := s.Staff.AcceptInvitation(ctx, staff.Acceptance{
		PasswordSignIn: staff.PasswordSignIn{Password: r.GetPassword(), Network: clientNetwork(ctx), Device: r.GetDevice(), Trace: chain.From(ctx).Trace()},
		Secret:         r.GetSecret(), Name: r.GetName(), Code: r.GetCode(),
	})
	if err != nil {
		return nil, err
	}
	return &propertyv1.AcceptInvitationResponse{Data: sessionToken(made), PropertyId: propertyID}, nil
}
