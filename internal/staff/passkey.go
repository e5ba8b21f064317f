package staff

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"latchkey.dev/ent/passkey"
	"latchkey.dev/ent/recoverycode"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

var (
	errPasskey         = fault.New(fault.Invalid, fault.PasskeyRefused, "the answer of the browser does not fit, came too late, or was used: begin again")
	errTooManyPasskeys = fault.New(fault.Precondition, fault.TooManyPasskeys, "you have %d passkeys: delete one first", maxPasskeys)
)

// Ceremony is what a browser needs to use a passkey: Options for the browser, and the State that it sends back with its answer.
type Ceremony struct{ State, Options string }

// relyingParty returns the relying party (WebAuthn's word for the site) of the public address, or a fault if that has no host name.
// Browsers bind a passkey to the host name and send the origin.
func (s *Service) relyingParty() (*webauthn.WebAuthn, error) {
	host, origin := relyingPartyOf(s.PublicURL())
	if host == "" {
		return nil, fault.New(fault.Precondition, fault.PasskeysUnavailable, "passkeys need a public address with a host name: set --public-url")
	}
	rp, err := webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: "Latchkey", RPOrigins: []string{origin}, AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired},
	})
	if err != nil {
		return nil, fmt.Errorf("the public address is no relying party of passkeys: %w", err)
	}
	return rp, nil
}

// relyingPartyOf returns the host name and the origin of an address. Both are "" for an IP address, which cannot have passkeys, except that
// the loopback gets the name localhost.
func relyingPartyOf(address string) (host, origin string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	host = u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		if !ip.IsLoopback() {
			return "", ""
		}
		host = "localhost"
	}
	origin = u.Scheme + "://" + host
	if port := u.Port(); port != "" {
		origin += ":" + port
	}
	return host, origin
}

// account is a person with passkeys, as the WebAuthn library needs them.
type account struct {
	Profile
	passkeys []Passkey
}

// WebAuthnID returns the id of the person, which authenticators store.
func (a account) WebAuthnID() []byte { return []byte(a.ID) }

// WebAuthnName returns the person's mail address.
func (a account) WebAuthnName() string { return a.Email }

// WebAuthnDisplayName returns the person's name.
func (a account) WebAuthnDisplayName() string { return a.Name }

// WebAuthnCredentials returns the credentials of all the person's passkeys.
func (a account) WebAuthnCredentials() []webauthn.Credential {
	all := make([]webauthn.Credential, len(a.passkeys))
	for i, p := range a.passkeys {
		all[i] = p.credential
	}
	return all
}

// loadAccount loads a person with the passkeys. For one who does not exist or is disabled, it returns [credential.Refused].
func (s *Service) loadAccount(tx *db.Tx, personID string) (account, error) {
	row, err := loadPerson(tx, personID)
	if err != nil {
		return account{}, err
	}
	profile, err := profileOf(tx.Context(), s.Keys, row)
	if err != nil {
		return account{}, err
	}
	all, err := ListPasskeys(tx, s.Keys, personID)
	return account{profile, all}, err
}

// expected returns what the library compares the authenticator's answer with: the challenge, which is derived from state, the host name and
// the person.
func (s *Service) expected(c ceremony, rp *webauthn.WebAuthn, personID, state string) webauthn.SessionData {
	return webauthn.SessionData{
		Challenge: base64.RawURLEncoding.EncodeToString(c.challengeOf(s.Keys, state)), RelyingPartyID: rp.Config.RPID, UserID: []byte(personID),
		UserVerification: protocol.VerificationRequired, CredParams: webauthn.CredentialParametersDefault(),
	}
}

// begun returns a ceremony that has begun, with its options as JSON for the browser.
func begun(state string, options any) (Ceremony, error) {
	raw, err := json.Marshal(options)
	if err != nil {
		return Ceremony{}, fmt.Errorf("encode the options of a passkey: %w", err)
	}
	return Ceremony{state, string(raw)}, nil
}

// BeginPasskey begins to add a passkey to the account of a signed-in person. It fails if the person has maxPasskeys already.
func (s *Service) BeginPasskey(ctx context.Context, personID, sessionID string) (Ceremony, error) {
	rp, err := s.relyingParty()
	if err != nil {
		return Ceremony{}, err
	}
	view := s.DB.View(ctx)
	who, err := s.loadAccount(view, personID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(who.passkeys) >= maxPasskeys {
		return Ceremony{}, errTooManyPasskeys
	}
	creation, _, err := rp.BeginRegistration(who, webauthn.WithExclusions(webauthn.Credentials(who.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin to add a passkey: %w", err)
	}
	state := newState(view.Now(), challengeLife)
	creation.Response.Challenge = ceremony{passkeyRegistration, personID, sessionID}.challengeOf(s.Keys, state)
	return begun(state, creation.Response)
}

// NewPasskey is a passkey that was added, with the session that replaces the caller's. It has recovery codes if the person had none.
type NewPasskey struct {
	Passkey
	Session       Session
	RecoveryCodes []string
}

// AddPasskey finishes what [Service.BeginPasskey] began: it stores the passkey, creates recovery codes if there are none, and replaces the
// session of the call by one with a confirmed second factor. It returns errPasskey for a wrong, late or repeated answer.
func (s *Service) AddPasskey(tx *db.Tx, personID, sessionID string, a Answer, name string) (made NewPasskey, err error) {
	rp, err := s.relyingParty()
	if err != nil {
		return made, err
	}
	if name, err = passkeyName(name); err != nil {
		return made, err
	}
	end, ok := stateEnd(a.State, tx.Now(), challengeLife)
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(a.Credential))
	if err != nil || !ok {
		return made, errPasskey
	}
	who, err := s.loadAccount(tx, personID)
	if err != nil {
		return made, err
	}
	if len(who.passkeys) >= maxPasskeys {
		return made, errTooManyPasskeys
	}
	credential, err := rp.CreateCredential(who, s.expected(ceremony{passkeyRegistration, personID, sessionID}, rp, personID, a.State), parsed)
	if err != nil {
		return made, errPasskey
	}
	if err := useState(tx, s.Keys, a.State, end, errPasskey); err != nil {
		return made, err
	}
	if made.Passkey, err = createPasskey(tx, s.Keys, personID, name, *credential); err != nil {
		return made, err
	}
	codes, err := tx.RecoveryCode.Query().Where(recoverycode.PersonID(personID)).Exist(tx.Context())
	if err != nil {
		return made, fmt.Errorf("look for recovery codes: %w", err)
	}
	if !codes {
		if made.RecoveryCodes, err = createRecoveryCodes(tx, s.Keys, personID); err != nil {
			return made, err
		}
	}
	made.Session, err = replaceSession(tx, s.Keys, personID, sessionID)
	return made, err
}

// Answer is what a browser sends to finish a ceremony: its state, and the credential as JSON.
type Answer struct{ State, Credential string }

// BeginPasskeySignIn begins a sign-in with a passkey of any person. It stores nothing. It fails if the public address cannot have passkeys.
func (s *Service) BeginPasskeySignIn(ctx context.Context) (Ceremony, error) {
	rp, err := s.relyingParty()
	if err != nil {
		return Ceremony{}, err
	}
	state := newState(s.DB.View(ctx).Now(), challengeLife)
	assertion, _, err := rp.BeginDiscoverableLogin(webauthn.WithChallenge(ceremony{kind: passkeySignIn}.challengeOf(s.Keys, state)))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin a sign-in with a passkey: %w", err)
	}
	return begun(state, assertion.Response)
}

// PasskeySignIn signs a person in with a passkey, which counts as both factors: the session is not pending. A refused passkey is the fault
// InvalidCredentials. The audit log gets an entry for the sign-in or, later, for the refusal of a known passkey.
func (s *Service) PasskeySignIn(ctx context.Context, a Answer, device string, t Trace) (made Session, err error) {
	known := "" // the id of the person whose passkey was refused
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		known = "" // a former try of the transaction may have set it
		personID, err := s.usePasskey(tx, ceremony{kind: passkeySignIn}, a)
		if fault.Has(err, fault.PasskeyRefused) {
			known = personID
		}
		if err != nil {
			return err
		}
		if err := Record(tx, s.Keys, personID, t, audit.Done); err != nil {
			return err
		}
		now := tx.Now()
		made, err = createSession(tx, s.Keys, sessionSpec{personID: personID, device: device, secondFactorAt: &now, provedAt: &now})
		return err
	})
	if known != "" {
		s.Failed.note(known, t)
	}
	if fault.Has(err, fault.PasskeyRefused) {
		err = fault.New(fault.Unauthenticated, fault.InvalidCredentials, "the passkey is unknown or was refused: try again, or sign in with your password")
	}
	return made, err
}

// BeginPasskeyConfirmation begins to confirm the second factor of a signed-in person with a passkey. It fails if the person has none.
func (s *Service) BeginPasskeyConfirmation(ctx context.Context, personID, sessionID string) (Ceremony, error) {
	rp, err := s.relyingParty()
	if err != nil {
		return Ceremony{}, err
	}
	view := s.DB.View(ctx)
	who, err := s.loadAccount(view, personID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(who.passkeys) == 0 {
		return Ceremony{}, fault.New(fault.Precondition, fault.SecondFactorMissing, "you have no passkey: begin with BeginPasskeyRegistration")
	}
	state := newState(view.Now(), challengeLife)
	assertion, _, err := rp.BeginLogin(who, webauthn.WithChallenge(ceremony{passkeyConfirmation, personID, sessionID}.challengeOf(s.Keys, state)))
	if err != nil {
		return Ceremony{}, fmt.Errorf("begin to confirm with a passkey: %w", err)
	}
	return begun(state, assertion.Response)
}

// ConfirmWithPasskey finishes what [Service.BeginPasskeyConfirmation] began: it replaces the session of the call by one with a confirmed
// second factor. It returns errPasskey for a wrong, late or repeated answer.
func (s *Service) ConfirmWithPasskey(tx *db.Tx, personID, sessionID string, a Answer) (Session, error) {
	if _, err := s.usePasskey(tx, ceremony{passkeyConfirmation, personID, sessionID}, a); err != nil {
		return Session{}, err
	}
	return replaceSession(tx, s.Keys, personID, sessionID)
}

// NoteRefusedPasskey queues an entry in the audit log if err means that the passkey of a signed-in person was refused. It does nothing for
// other errors and for nil.
func (s *Service) NoteRefusedPasskey(personID string, t Trace, err error) {
	if fault.Has(err, fault.PasskeyRefused) {
		s.Failed.note(personID, t)
	}
}

// usePasskey checks the answer of a browser to a ceremony, and stores that the passkey and the state of the answer were used. It returns
// the id of the passkey's owner. With an error, the id is empty, except if a passkey is known and fits the ceremony, and it is refused or
// the use of the state cannot be stored.
func (s *Service) usePasskey(tx *db.Tx, c ceremony, a Answer) (personID string, err error) {
	rp, err := s.relyingParty()
	if err != nil {
		return "", err
	}
	end, ok := stateEnd(a.State, tx.Now(), challengeLife)
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(a.Credential))
	if err != nil || !ok {
		return "", errPasskey
	}
	p, err := findPasskey(tx, s.Keys, parsed.RawID)
	if err != nil {
		return "", err
	}
	if p == nil || c.subject != "" && c.subject != p.PersonID || c.subject == "" && len(parsed.Response.UserHandle) == 0 {
		return "", errPasskey
	}
	who, err := s.loadAccount(tx, p.PersonID)
	if fault.Has(err, fault.InvalidCredentials) { // the person is disabled
		return p.PersonID, errPasskey
	}
	if err != nil {
		return "", err
	}
	used, err := rp.ValidateLogin(who, s.expected(c, rp, p.PersonID, a.State), parsed)
	if err != nil || used.Authenticator.CloneWarning {
		// CloneWarning means that the sign count did not grow: another device has a copy of the passkey.
		return p.PersonID, errPasskey
	}
	if err := useState(tx, s.Keys, a.State, end, errPasskey); err != nil {
		return p.PersonID, err
	}
	sealed, err := sealCredential(tx.Context(), s.Keys, p.ID, *used)
	if err != nil {
		return "", err
	}
	n, err := tx.Passkey.Update().Where(passkey.ID(p.ID), passkey.PersonID(p.PersonID)).SetCredential(sealed).SetUsedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return "", fmt.Errorf("store the use of a passkey: %w", err)
	}
	if n == 0 {
		return "", credential.Refused()
	}
	return p.PersonID, nil
}
