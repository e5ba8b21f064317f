package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
)

// People implements PersonService.
type People struct {
	propertyv1.UnimplementedPersonServiceServer
	Deps
	// URL returns the address of the page that a link opens.
	URL func(secret string) string
	// Mail orders the mail with the link of an invitation. It returns false if it orders none: the property has no mail server, or its
	// managers, who set the server, could read the link of a higher role.
	Mail func(tx *db.Tx, i staff.Invitation, language string) (bool, error)
}

// peopleCaller returns the caller of a call that manages people. A token counts as an owner, because these calls refuse tokens of lower
// roles.
func peopleCaller(ctx context.Context) staff.Caller {
	a, _ := actor.From(ctx)
	by := staff.Caller{PersonID: a.PersonID, Role: staff.Owner, Author: a.Author()}
	if a.PersonID != "" {
		by.Role = staff.Role(a.Role)
	}
	return by
}

// ListPeople lists the people of the property by name, and the open invitations.
func (s *People) ListPeople(ctx context.Context, _ *propertyv1.ListPeopleRequest) (*propertyv1.ListPeopleResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	view := s.DB.View(ctx)
	members, err := staff.ListMembers(view, s.Keys, propertyID)
	if err != nil {
		return nil, err
	}
	invitations, err := staff.ListInvitations(view, s.Keys, propertyID)
	if err != nil {
		return nil, err
	}
	list := &propertyv1.PeopleList{}
	for _, m := range members {
		list.List = append(list.List, memberMessage(ctx, m))
	}
	for _, i := range invitations {
		list.Invitations = append(list.Invitations, invitationMessage(i))
	}
	return &propertyv1.ListPeopleResponse{Data: list}, nil
}

// InvitePerson invites a person to the property with a role. The answer has the link, and whether it was mailed. Repeating the caller's own
// invitation returns the same link and mails nothing; an open one by another caller or with another role gets a new link. It refuses a
// person who is a member, and a role that the caller does not manage.
func (s *People) InvitePerson(ctx context.Context, r *propertyv1.InvitePersonRequest) (*propertyv1.InvitePersonResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.InvitePersonResponse, error) {
		i, isNew, err := staff.Invite(tx, s.Keys, peopleCaller(ctx), propertyID, r.GetEmail(), staff.Role(r.GetRole()))
		if err != nil {
			return nil, err
		}
		mailed := false
		if isNew {
			if mailed, err = s.Mail(tx, i, r.GetLanguage()); err != nil {
				return nil, err
			}
		}
		return &propertyv1.InvitePersonResponse{Data: invitationMessage(i), Link: s.link(i), Mailed: mailed}, nil
	})
}

// ReinvitePerson replaces the link of an open invitation, whose former link ends. The answer has the new link, and whether it was mailed.
// It fails if the caller does not manage the role in it.
func (s *People) ReinvitePerson(ctx context.Context, r *propertyv1.ReinvitePersonRequest) (*propertyv1.ReinvitePersonResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.ReinvitePersonResponse, error) {
		i, err := staff.Reinvite(tx, s.Keys, peopleCaller(ctx), propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		mailed, err := s.Mail(tx, i, r.GetLanguage())
		return &propertyv1.ReinvitePersonResponse{Data: invitationMessage(i), Link: s.link(i), Mailed: mailed}, err
	})
}

// WithdrawInvitation ends an open invitation. It fails if the caller does not manage the role in it.
func (s *People) WithdrawInvitation(ctx context.Context, r *propertyv1.WithdrawInvitationRequest) (*propertyv1.WithdrawInvitationResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.WithdrawInvitationResponse, error) {
		return &propertyv1.WithdrawInvitationResponse{}, staff.WithdrawInvitation(tx, peopleCaller(ctx), propertyID, r.GetId())
	})
}

// UpdatePerson changes the role of a member, or disables or enables the member's access to the property. Invitations that the member is no
// longer allowed to make then end. It fails for the caller's own access, for a present or new role that the caller does not manage, and if
// no active owner would be left. It refuses an outdated etag; without one it overwrites.
func (s *People) UpdatePerson(ctx context.Context, r *propertyv1.UpdatePersonRequest) (*propertyv1.UpdatePersonResponse, error) {
	change := staff.AccessChange{Disabled: r.Disabled}
	if r.Role != nil {
		role := staff.Role(r.GetRole())
		change.Role = &role
	}
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdatePersonResponse, error) {
		stored, err := staff.GetMember(tx, s.Keys, propertyID, r.GetId())
		if err != nil {
			return nil, err
		}
		if err := convert.CheckEtag(r.GetEtag(), accessMessage(stored)); err != nil {
			return nil, err
		}
		m, err := staff.ChangeMember(tx, s.Keys, peopleCaller(ctx), propertyID, r.GetId(), change)
		if err != nil {
			return nil, err
		}
		return &propertyv1.UpdatePersonResponse{Data: memberMessage(ctx, m)}, nil
	})
}

// RemovePerson ends a member's access to the property, and the invitations by the member. It fails for the caller's own access, for a
// member whose role the caller does not manage, and for the last active owner.
func (s *People) RemovePerson(ctx context.Context, r *propertyv1.RemovePersonRequest) (*propertyv1.RemovePersonResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RemovePersonResponse, error) {
		return &propertyv1.RemovePersonResponse{}, staff.RemoveMember(tx, s.Keys, peopleCaller(ctx), propertyID, r.GetId())
	})
}

// link returns the link of an invitation, which contains its secret.
func (s *People) link(i staff.Invitation) *propertyv1.InvitationLink {
	return &propertyv1.InvitationLink{Url: s.URL(i.Secret), Secret: i.Secret}
}

// invitationMessage converts an invitation without its link.
func invitationMessage(i staff.Invitation) *propertyv1.PersonInvitation {
	return &propertyv1.PersonInvitation{Id: i.ID, Email: i.Email, Role: string(i.Role), EndsAt: timestamppb.New(i.EndsAt), CreatedAt: timestamppb.New(i.CreatedAt)}
}

// memberMessage converts a member of the property, and marks the caller.
func memberMessage(ctx context.Context, m staff.Member) *propertyv1.Member {
	a, _ := actor.From(ctx)
	return &propertyv1.Member{
		Id: m.ID, Name: m.Name, Email: m.Email, Role: string(m.Role), Disabled: m.Disabled, HasSecondFactor: m.HasSecondFactor,
		UsedAt: convert.OptionalTime(m.UsedAt), CreatedAt: timestamppb.New(m.JoinedAt), Current: a.PersonID == m.ID, Etag: convert.Etag(accessMessage(m)),
	}
}

// accessMessage returns the fields of a member that other people change; the etag covers them. CreatedAt is included, so that the etag
// changes if a person leaves and joins again.
func accessMessage(m staff.Member) *propertyv1.Member {
	return &propertyv1.Member{Id: m.ID, Role: string(m.Role), Disabled: m.Disabled, CreatedAt: timestamppb.New(m.JoinedAt)}
}
