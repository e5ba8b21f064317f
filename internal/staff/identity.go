package staff

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/membership"
	"latchkey.dev/ent/person"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/openid"
)

// identityLife is how long a person may take at the identity provider.
const identityLife = 10 * time.Minute

var (
	errNoProvider       = fault.New(fault.Precondition, fault.ProviderMissing, "this server has no identity provider: sign in with your password or a passkey")
	errProviderDown     = fault.New(fault.Unavailable, fault.ProviderUnavailable, "the identity provider does not answer as it should: try again later, or sign in with your password or a passkey")
	errIdentity         = fault.New(fault.Unauthenticated, fault.IdentityRefused, "the answer of the identity provider does not fit, came too late, or was used: begin again")
	errIdentityUnknown  = fault.New(fault.Unauthenticated, fault.IdentityUnknown, "no person here is linked to this account of the identity provider: sign in with your password and link it on your account page, or ask for an invitation")
	errIdentityNotFresh = fault.New(fault.Unauthenticated, fault.IdentityNotFresh, "the identity provider does not say that you signed in there just now: sign in with your password or a passkey")
	errAccountDisabled  = fault.New(fault.Unauthenticated, fault.AccountDisabled, "you no longer have access to a property here: ask its owner")
	errNoPassword       = fault.New(fault.Precondition, fault.PasswordMissing, "you have no password: set one before you remove the link, or link another account in its place")
	errIdentityTaken    = fault.New(fault.Exists, fault.IdentityTaken, "another person here is linked to this account of the identity provider: use another account")
)

// IdentityCeremony is a sign-in at the identity provider that has begun and is not finished.
type IdentityCeremony struct {
	State  string // for the call that finishes the sign-in; the browser keeps it
	URL    string // the sign-in page of the identity provider, to which the browser is redirected
	EndsAt time.Time
}

// IdentityAnswer is what the browser sends after a sign-in at the identity provider.
type IdentityAnswer struct {
	State string // the State of the [IdentityCeremony] that the browser began
	openid.Answer
	// Fresh means that the ceremony required a new sign-in at the provider. If it is not as it was when the sign-in began, the sign-in is
	// refused.
	Fresh   bool
	Network string
	Trace
}

// flowOf returns what is sent to the identity provider for a ceremony. The values that must be secret are derived from the state, which
// only the browser that began has: nothing is stored, and a person who sees what the provider gets, or the URL, cannot finish the ceremony
// in another browser.
func (s *Service) flowOf(c ceremony, state string) openid.Flow {
	derive := func(use string) string {
		return base64.RawURLEncoding.EncodeToString(s.Keys.MAC("identity", use, c.kind, c.subject, c.sessionID, state))
	}
	return openid.Flow{
		State: derive("state"), Nonce: derive("nonce"), Verifier: derive("verifier"), RedirectURL: s.IdentityURL(), Fresh: c.kind == identityFresh,
	}
}

// beginIdentity returns the URL at which a browser signs in at the identity provider, and the state with which it finishes the ceremony. It
// fails if the server has no provider, or if the provider does not answer.
func (s *Service) beginIdentity(ctx context.Context, c ceremony) (IdentityCeremony, error) {
	if s.Provider == nil {
		return IdentityCeremony{}, errNoProvider
	}
	now := s.DB.View(ctx).Now()
	state := newState(now, identityLife)
	address, err := s.Provider.SignInURL(ctx, s.flowOf(c, state))
	if err != nil {
		return IdentityCeremony{}, errProviderDown.With(err)
	}
	return IdentityCeremony{State: state, URL: address, EndsAt: now.Add(identityLife)}, nil
}

// BeginIdentitySignIn begins a sign-in of any person at the identity provider. fresh requires a new sign-in of a person who is already
// signed in there. It returns an error without a provider, or if the provider does not answer.
func (s *Service) BeginIdentitySignIn(ctx context.Context, fresh bool) (IdentityCeremony, error) {
	return s.beginIdentity(ctx, signInCeremony(fresh))
}

// signInCeremony returns the ceremony of a sign-in of any person; fresh requires a new sign-in at the provider.
func signInCeremony(fresh bool) ceremony {
	if fresh {
		return ceremony{kind: identityFresh}
	}
	return ceremony{kind: identitySignIn}
}

// BeginIdentityLink begins to link the account of a signed-in person to one at the identity provider. It returns an error without a
// provider, or if the provider does not answer. It checks neither the session nor a former link: [Service.PrepareIdentityLink] does.
func (s *Service) BeginIdentityLink(ctx context.Context, personID, sessionID string) (IdentityCeremony, error) {
	return s.beginIdentity(ctx, ceremony{identityLink, personID, sessionID})
}

// redeem checks what the browser sent after a sign-in at the identity provider, and returns the person's identity there. It uses up the
// state before it asks the provider, so that the state works once, also if the provider is unavailable. The attempt counts as failed until
// the caller calls takeBackAttempt, except if the provider is unavailable, or the state has ended or was used.
func (s *Service) redeem(ctx context.Context, c ceremony, a IdentityAnswer) (openid.Identity, error) {
	if s.Provider == nil {
		return openid.Identity{}, errNoProvider
	}
	counters := networkCounters(s.Keys, a.Network)
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		end, ok := stateEnd(a.State, tx.Now(), identityLife)
		if !ok {
			return errIdentity
		}
		if err := countAttempt(tx, counters); err != nil {
			return err
		}
		return useState(tx, s.Keys, a.State, end, errIdentity)
	})
	if err != nil {
		return openid.Identity{}, err
	}
	who, err := s.Provider.Redeem(ctx, s.flowOf(c, a.State), a.Answer)
	if errors.Is(err, openid.ErrUnavailable) {
		return who, errors.Join(errProviderDown.With(err), s.DB.Write(ctx, func(tx *db.Tx) error { return takeBackAttempt(tx, counters, 0) }))
	}
	if err != nil {
		return who, errIdentity.With(err)
	}
	return who, nil
}

// IdentitySignIn signs a person in with an answer of the identity provider. The answer replaces the password only: with a second factor,
// the session is pending. It refuses an identity that is linked to no person, a person who is disabled or has access to no property, and,
// if a.Fresh is set, an answer that does not prove a new sign-in there. The audit log gets an entry for a session that is not pending and,
// later, for a refused person who is known.
func (s *Service) IdentitySignIn(ctx context.Context, a IdentityAnswer, device string) (made Session, err error) {
	identity, err := s.redeem(ctx, signInCeremony(a.Fresh), a)
	if err != nil {
		return Session{}, err
	}
	if a.Fresh && !provesNow(identity, s.DB.View(ctx).Now()) { // the person did sign in: it is no failed attempt
		return Session{}, errors.Join(errIdentityNotFresh, s.DB.Write(ctx, func(tx *db.Tx) error { return takeBackAttempt(tx, networkCounters(s.Keys, a.Network), 0) }))
	}
	refused := "" // the id of the person who was refused
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		refused = "" // a former try of the transaction may have set it
		who, err := s.findIdentity(tx, identity)
		if err == nil {
			err = requireAccess(tx, who)
		}
		if err != nil {
			if who != nil {
				refused = who.ID
			}
			return err
		}
		if err := takeBackAttempt(tx, networkCounters(s.Keys, a.Network), 0); err != nil {
			return err
		}
		if made, err = beginSession(tx, s.Keys, who, device, identity.AuthenticatedAt); err != nil || made.Token == "" {
			return err
		}
		return Record(tx, s.Keys, who.ID, a.Trace, audit.Done)
	})
	if refused != "" {
		s.Failed.note(refused, a.Trace)
	}
	return made, err
}

// provesNow reports whether a person signed in at the identity provider less than actor.StepUpWithin ago, which proves who they are now. It
// returns false if the provider does not say when.
func provesNow(i openid.Identity, now time.Time) bool {
	return now.Sub(i.AuthenticatedAt) < actor.StepUpWithin
}

// identityMAC returns the keyed hash by which a person at the identity provider is stored and found. subject is the provider's id of the
// person.
func (s *Service) identityMAC(subject string) []byte {
	return s.Keys.MAC("personIdentity", s.Provider.Issuer(), subject)
}

// findIdentity returns the person who is linked to an identity. Only issuer and subject are compared, not the address: at the provider, a
// stranger can have an account with an address that they do not own. With [errIdentityUnknown] it also returns the person with the address,
// if there is one.
func (s *Service) findIdentity(tx *db.Tx, identity openid.Identity) (*ent.Person, error) {
	row, err := tx.Person.Query().Where(person.IdentityMAC(s.identityMAC(identity.Subject))).Only(tx.Context())
	if err == nil {
		return row, nil
	}
	if !ent.IsNotFound(err) {
		return nil, fmt.Errorf("find the person of an identity: %w", err)
	}
	if identity.Email == "" {
		return nil, errIdentityUnknown
	}
	if row, err = findPerson(tx, s.Keys, identity.Email); err != nil {
		return nil, err
	}
	return row, errIdentityUnknown
}

// requireAccess returns errAccountDisabled for a person who is disabled, or who has access to no property.
func requireAccess(tx *db.Tx, who *ent.Person) error {
	some, err := tx.Membership.Query().Where(membership.PersonID(who.ID), membership.DisabledAtIsNil()).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("look for the properties of a person: %w", err)
	}
	if who.DisabledAt != nil || !some {
		return errAccountDisabled
	}
	return nil
}

// linkIdentity links a person to an identity, and replaces an earlier link. It returns errIdentityTaken if another person has the identity.
func (s *Service) linkIdentity(tx *db.Tx, personID string, identity openid.Identity) error {
	err := tx.Person.UpdateOneID(personID).SetIdentityMAC(s.identityMAC(identity.Subject)).SetIdentityIssuer(s.Provider.Issuer()).Exec(tx.Context())
	if ent.IsConstraintError(err) {
		return errIdentityTaken
	}
	if err != nil {
		return fmt.Errorf("link a person to an identity: %w", err)
	}
	return nil
}

// PrepareIdentityLink checks the identity provider's answer to [Service.BeginIdentityLink]. The returned function links the person, in a
// transaction of the caller, and replaces an earlier link. Until it has run, the attempt counts as failed. It refuses a disabled person.
func (s *Service) PrepareIdentityLink(ctx context.Context, personID, sessionID string, a IdentityAnswer) (func(tx *db.Tx) error, error) {
	identity, err := s.redeem(ctx, ceremony{identityLink, personID, sessionID}, a)
	if err != nil {
		return nil, err
	}
	return func(tx *db.Tx) error {
		if _, err := loadPerson(tx, personID); err != nil {
			return err
		}
		if err := s.linkIdentity(tx, personID, identity); err != nil {
			return err
		}
		return takeBackAttempt(tx, networkCounters(s.Keys, a.Network), 0)
	}, nil
}

// UnlinkIdentity ends the link of a person to the identity provider. Without a link, it does nothing. It fails for a person without a
// password, even if there are passkeys.
func UnlinkIdentity(tx *db.Tx, personID string) error {
	who, err := loadPerson(tx, personID)
	if err != nil {
		return err
	}
	if who.Password == "" {
		return errNoPassword
	}
	n, err := tx.Person.Update().Where(person.ID(personID)).ClearIdentityMAC().ClearIdentityIssuer().ClearAddressConfirmedAt().Save(tx.Context())
	if err != nil {
		return fmt.Errorf("unlink a person from an identity: %w", err)
	}
	if n == 0 {
		return credential.Refused()
	}
	return nil
}
