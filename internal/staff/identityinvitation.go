package staff

import (
	"bytes"
	"context"
	"errors"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/openid"
)

var (
	errIdentityAddress   = fault.New(fault.Unauthenticated, fault.IdentityAddress, "the identity provider verified another address than the invited address: use the account of the invited address, or accept the invitation with a password")
	errIdentityOfOther   = fault.New(fault.Unauthenticated, fault.IdentityUnknown, "a person here has the invited address, and is not linked to this account of the identity provider: sign in with the password and link the account on the account page, or accept the invitation with the password")
	errIdentityCode      = fault.New(fault.Denied, fault.SecondFactorRequired, "you use an authenticator app: accept the invitation with your password and a code of the app; without a password, set one on your account page first")
	errIdentityElsewhere = fault.New(fault.Exists, fault.IdentityTaken, "your account of the identity provider is linked to a person here who has another address: ask for an invitation to that address")
)

// IdentityAcceptance is what an invited person sends after a sign-in at the identity provider, to accept an invitation.
type IdentityAcceptance struct {
	IdentityAnswer
	Secret string // the secret in the link of the invitation
	Name   string // the name of a new person; ignored for a known one
	Device string // what the device says it is, or ""
}

// invitationCeremony returns the ceremony with which a person accepts an invitation at the identity provider. The secret takes the place of
// the person, so that no other invitation can be accepted with it.
func invitationCeremony(secret string) ceremony {
	return ceremony{kind: identityInvitation, subject: secret}
}

// BeginIdentityInvitation begins a sign-in at the identity provider that accepts the invitation whose link contains the secret. It returns
// errLink if there is none, and leaves the link unused. name is the name that a new person entered, or nil if it is not known yet: a name
// that the acceptance would refuse is refused now.
func (s *Service) BeginIdentityInvitation(ctx context.Context, secret string, name *string) (IdentityCeremony, error) {
	invited, err := s.ViewInvitation(ctx, secret)
	if err != nil {
		return IdentityCeremony{}, err
	}
	if name != nil && !invited.Known {
		if _, err := personName(*name); err != nil {
			return IdentityCeremony{}, err
		}
	}
	return s.beginIdentity(ctx, invitationCeremony(secret))
}

// AcceptInvitationByIdentity uses up the link, makes the invited person a member of the property, and signs the person in. The provider
// must have verified the invited address. A new person is linked to the identity, and has no password. A known one must be linked already;
// one with an authenticator app is refused, and with passkeys the session is pending. After a refusal, the link still works. In all else it
// is like [Service.AcceptInvitation].
func (s *Service) AcceptInvitationByIdentity(ctx context.Context, a IdentityAcceptance) (made Session, propertyID string, err error) {
	view := s.DB.View(ctx)
	row, err := s.findInvitation(view, a.Secret)
	if err != nil {
		return Session{}, "", err
	}
	invitation, err := invitationOf(view, s.Keys, row)
	if err != nil {
		return Session{}, "", err
	}
	identity, err := s.redeem(ctx, invitationCeremony(a.Secret), a.IdentityAnswer)
	if err != nil {
		return Session{}, "", err
	}
	refused := "" // the id of the person who was refused
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		refused = "" // a former try of the transaction may have set it
		used, err := useLink(tx, s.Keys, a.Secret)
		if err != nil {
			return err
		}
		if identity.Email == "" || !bytes.Equal(emailMAC(s.Keys, identity.Email), used.EmailMAC) {
			return errIdentityAddress
		}
		who, isNew, err := s.personOfInvitation(tx, identity, invitation.Email, a.Name)
		if err != nil {
			if who != nil {
				refused = who.ID
			}
			return err
		}
		if err := s.admit(tx, who, used, used.PropertyID, a.Trace); err != nil {
			return err
		}
		if err := takeBackAttempt(tx, networkCounters(s.Keys, a.Network), 0); err != nil {
			return err
		}
		provedAt := identity.AuthenticatedAt
		if isNew { // the account has nothing to protect yet: this sign-in proves enough, even if the provider gives no time
			provedAt = tx.Now()
		}
		made, err = beginSession(tx, s.Keys, who, a.Device, provedAt)
		return err
	})
	if refused != "" {
		s.Failed.note(refused, a.Trace)
	}
	return made, invitation.PropertyID, err
}

// personOfInvitation returns the person who is linked to an identity, or creates and links one if no person has the address of the
// identity, which the caller has compared with the invited address email. A person who has that address must be linked already: otherwise a
// stranger could make an account at the provider with an address that they do not own, and would get access to the properties to which its
// owner is invited. It refuses a linked person who has another address, is disabled or has an authenticator app. isNew means that it
// created the person. With an error, who is the person who is refused, or nil.
func (s *Service) personOfInvitation(tx *db.Tx, identity openid.Identity, email, name string) (who *ent.Person, isNew bool, err error) {
	who, err = s.findIdentity(tx, identity)
	switch {
	case errors.Is(err, errIdentityUnknown) && who != nil:
		return who, false, errIdentityOfOther
	case errors.Is(err, errIdentityUnknown):
		who, err = s.createIdentityPerson(tx, identity, email, name)
		return who, true, err
	case err != nil:
		return nil, false, err
	case !bytes.Equal(who.EmailMAC, emailMAC(s.Keys, email)):
		return who, false, errIdentityElsewhere
	case who.DisabledAt != nil:
		return who, false, errAccountDisabled
	case who.TotpConfirmedAt != nil:
		return who, false, errIdentityCode
	}
	return who, false, nil
}

// createIdentityPerson creates a person without a password who is linked to an identity. It fails as personName, [createPerson] and
// linkIdentity do.
func (s *Service) createIdentityPerson(tx *db.Tx, identity openid.Identity, email, name string) (*ent.Person, error) {
	name, err := personName(name)
	if err != nil {
		return nil, err
	}
	who, err := createPerson(tx, s.Keys, email, name, "")
	if err != nil {
		return nil, err
	}
	return who, s.linkIdentity(tx, who.ID, identity)
}
