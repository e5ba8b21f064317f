package staff

import (
	"context"
	"errors"
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/ent/personinvitation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/text"
)

// Invited is an invitation as the holder of its link sees it.
type Invited struct {
	Invitation
	PropertyName string
	Known        bool // a person with the invited address exists, who must prove who they are
}

// ViewInvitation returns the valid invitation whose link contains the secret, or the not-found fault errLink if there is none. The link
// stays unused.
func (s *Service) ViewInvitation(ctx context.Context, secret string) (Invited, error) {
	view := s.DB.View(ctx)
	row, err := s.findInvitation(view, secret)
	if err != nil {
		return Invited{}, err
	}
	invitation, err := invitationOf(view, s.Keys, row)
	if err != nil {
		return Invited{}, err
	}
	at, err := property.Get(view, row.PropertyID)
	if err != nil {
		return Invited{}, err
	}
	known, err := findPerson(view, s.Keys, invitation.Email)
	return Invited{Invitation: invitation, PropertyName: at.Name, Known: known != nil}, err
}

// findInvitation returns the valid invitation whose link contains the secret, or errLink if there is none. It also returns errLink for the
// secret of an [OwnerLink], which is not an invitation.
func (s *Service) findInvitation(tx *db.Tx, secret string) (*ent.PersonInvitation, error) {
	row, err := findLink(tx, s.Keys, secret)
	if err == nil && row.EmailMAC == nil {
		return nil, errLink
	}
	return row, err
}

// Acceptance is what an invited person sends to accept an invitation. The address of the PasswordSignIn is that of the invitation.
type Acceptance struct {
	PasswordSignIn
	Secret string
	Name   string // the name of a new person; ignored for a known one
	Code   string // a code of the authenticator app of a known person, or a recovery code; ignored without an app
}

// AcceptInvitation uses up the link, makes the invited person a member of the property, and signs the person in. It ends the other
// invitations to the address there; a member keeps the present role. It stores a new person. A known one must give the password and, with
// an authenticator app, a code: a missing code gives errNoCode and counts as no failed attempt. After an error, the link still works. If a
// known one has only passkeys, the session is pending: a recovery code finishes it ([Service.FinishSignIn]), and a passkey begins another
// session ([Service.PasskeySignIn]).
func (s *Service) AcceptInvitation(ctx context.Context, a Acceptance) (made Session, propertyID string, err error) {
	view := s.DB.View(ctx)
	row, err := s.findInvitation(view, a.Secret)
	if err != nil {
		return Session{}, "", err
	}
	invitation, err := invitationOf(view, s.Keys, row)
	if err != nil {
		return Session{}, "", err
	}
	a.Email = invitation.Email
	joining, err := s.prepareJoin(ctx, a.PasswordSignIn, a.Name)
	if err != nil {
		return Session{}, "", err
	}
	if joining.known != nil && joining.known.TotpConfirmedAt != nil {
		if a.Code == "" { // the password is right: it is no failed attempt
			err := s.DB.Write(ctx, func(tx *db.Tx) error {
				return takeBackAttempt(tx, passwordCounters(s.Keys, text.FoldAddress(a.Email), a.Network), 0)
			})
			return Session{}, "", errors.Join(errNoCode, err)
		}
		if err := s.countCode(ctx, joining.known.ID); err != nil {
			return Session{}, "", err
		}
		joining.code = a.Code
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		used, err := useLink(tx, s.Keys, a.Secret)
		if err != nil {
			return err
		}
		made, err = s.join(tx, joining, used, used.PropertyID)
		return err
	})
	if joining.known != nil {
		s.NoteRefusedCode(joining.known.ID, a.Trace, err)
	}
	return made, invitation.PropertyID, err
}

// endInvitationsTo deletes the invitations to an address at a property.
func endInvitationsTo(tx *db.Tx, propertyID string, emailMAC []byte) error {
	if _, err := tx.PersonInvitation.Delete().Where(personinvitation.PropertyID(propertyID), personinvitation.EmailMAC(emailMAC)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("end the invitations of a person: %w", err)
	}
	return nil
}
