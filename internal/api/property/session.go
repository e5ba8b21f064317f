package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
)

// Sessions implements SessionService. Its calls belong to a person and not to a property.
type Sessions struct {
	propertyv1.UnimplementedSessionServiceServer
	Deps
	Staff *staff.Service
}

// callerPerson returns the signed-in person who makes a call. It refuses tokens and other callers.
func callerPerson(ctx context.Context) (actor.Actor, error) {
	a, ok := actor.From(ctx)
	if !ok || a.Kind != actor.Staff || a.PersonID == "" {
		return actor.Actor{}, credential.Refused()
	}
	return a, nil
}

// clientNetwork returns the network that counts as one client for limits on attempts, or "" if it is unknown.
func clientNetwork(ctx context.Context) string {
	call := chain.From(ctx)
	if call == nil || !call.Client.IsValid() {
		return ""
	}
	return chain.ClientNetwork(call.Client)
}

// SignIn checks a person's password. After too many failures it refuses to check for a while. The answer has a session, or the challenge of
// a sign-in that waits for the second factor.
func (s *Sessions) SignIn(ctx context.Context, r *propertyv1.SignInRequest) (*propertyv1.SignInResponse, error) {
	made, err := s.Staff.SignIn(ctx, staff.PasswordSignIn{Email: r.GetEmail(), Password: r.GetPassword(), Network: clientNetwork(ctx), Device: r.GetDevice(), Trace: chain.From(ctx).Trace()})
	if err != nil {
		return nil, err
	}
	return &propertyv1.SignInResponse{Data: sessionToken(made)}, nil
}

// GetSession returns the session of the call, its person, and the properties where the person works.
func (s *Sessions) GetSession(ctx context.Context, _ *propertyv1.GetSessionRequest) (*propertyv1.GetSessionResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	row, profile, err := staff.LoadSession(view, s.Keys, who)
	if err != nil {
		return nil, err
	}
	roles, err := staff.PropertyRoles(view, who.PersonID)
	if err != nil {
		return nil, err
	}
	out := &propertyv1.CurrentSession{
		Person: &propertyv1.Person{Id: profile.ID, Name: profile.Name, Email: profile.Email}, Session: sessionMessage(row, who), HasSecondFactor: who.SecondFactor.Enrolled, HasAuthenticatorApp: profile.HasApp,
		HasIdentityLink: profile.Issuer != "", HasPassword: profile.HasPassword,
	}
	for _, p := range roles {
		place := &propertyv1.PersonProperty{PropertyId: p.PropertyID, Name: p.Name, Role: string(p.Role)}
		for _, right := range staff.RightsOf(p.Role) {
			place.Rights = append(place.Rights, string(right))
		}
		out.Properties = append(out.Properties, place)
	}
	return &propertyv1.GetSessionResponse{Data: out}, nil
}

// ListSessions lists the valid sessions of the signed-in person on all devices, the latest first.
func (s *Sessions) ListSessions(ctx context.Context, _ *propertyv1.ListSessionsRequest) (*propertyv1.ListSessionsResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := staff.ListSessions(s.DB.View(ctx), who.PersonID)
	if err != nil {
		return nil, err
	}
	out := &propertyv1.SessionList{}
	for _, row := range rows {
		out.List = append(out.List, sessionMessage(row, who))
	}
	return &propertyv1.ListSessionsResponse{Data: out}, nil
}

// EndSession ends one session of the signed-in person, on any device. It fails if the person has no such session.
func (s *Sessions) EndSession(ctx context.Context, r *propertyv1.EndSessionRequest) (*propertyv1.EndSessionResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.EndSessionResponse, error) {
		return &propertyv1.EndSessionResponse{}, staff.EndSession(tx, who.PersonID, r.GetId())
	})
}

// SignOutEverywhere ends all sessions of the signed-in person, also the caller's.
func (s *Sessions) SignOutEverywhere(ctx context.Context, _ *propertyv1.SignOutEverywhereRequest) (*propertyv1.SignOutEverywhereResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.SignOutEverywhereResponse, error) {
		if err := staff.EndAllSessions(tx, who.PersonID); err != nil {
			return nil, err
		}
		return &propertyv1.SignOutEverywhereResponse{}, s.record(ctx, tx, who)
	})
}

// ChangePassword replaces the password of the signed-in person, who gives the present one, or sets the first one. It ends all sessions. The
// answer has a new session for the caller's device.
func (s *Sessions) ChangePassword(ctx context.Context, r *propertyv1.ChangePasswordRequest) (*propertyv1.ChangePasswordResponse, error) {
	who, err := callerPerson(ctx)
	if err != nil {
		return nil, err
	}
	change, err := s.Staff.PreparePasswordChange(ctx, staff.PasswordChange{
		Who: who, Network: clientNetwork(ctx), Password: r.GetPassword(), NewPassword: r.GetNewPassword(), Trace: chain.From(ctx).Trace(),
	})
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*propertyv1.ChangePasswordResponse, error) {
		made, err := change(tx)
		if err != nil {
			return nil, err
		}
		return &propertyv1.ChangePasswordResponse{Data: sessionToken(made)}, nil
	})
}

// record adds a call that changes the person's account to the audit logs of the properties where the person works, at most 50.
func (s *Sessions) record(ctx context.Context, tx *db.Tx, who actor.Actor) error {
	return staff.Record(tx, s.Keys, who.PersonID, chain.From(ctx).Trace(), audit.Done)
}

// sessionToken converts a new session with its token, or the challenge of a sign-in that waits for the second factor.
func sessionToken(s staff.Session) *propertyv1.SessionToken {
	return &propertyv1.SessionToken{Token: s.Token, Challenge: s.Challenge, SessionId: s.ID, EndsAt: timestamppb.New(s.EndsAt)}
}

// sessionMessage converts a session and marks it if it is the caller's.
func sessionMessage(row *staff.SessionRow, who actor.Actor) *propertyv1.Session {
	return &propertyv1.Session{
		Id: row.ID, Device: row.Device, Current: row.ID == who.TokenID,
		CreatedAt: timestamppb.New(row.CreatedAt), UsedAt: timestamppb.New(row.UsedAt), EndsAt: timestamppb.New(row.EndsAt),
	}
}
