package staff

import (
	"context"
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// PasswordSignIn is what a person sends to sign in with a password.
type PasswordSignIn struct {
	Email, Password string
	Network         string // the client's network, by which failures are counted
	Device          string // what the device says it is, or ""
	Trace
}

// errSignIn is the error for every wrong address or password, so that it does not tell whether the address is known.
var errSignIn = fault.New(fault.Unauthenticated, fault.InvalidCredentials, "the e-mail address or the password is wrong")

// SignIn checks an address and a password, and creates a session. It returns errSignIn if they are wrong, and refuses to check them for a
// while after too many failures. If the person has a second factor, the session is pending: it has a challenge for [Service.FinishSignIn],
// and no token. The audit log gets an entry for a session that is not pending and, later, for a wrong password.
func (s *Service) SignIn(ctx context.Context, c PasswordSignIn) (made Session, err error) {
	who, err := s.checkPassword(ctx, c)
	if err != nil {
		return Session{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := s.confirmAttempt(tx, who, c); err != nil {
			return err
		}
		if made, err = beginSession(tx, s.Keys, who, c.Device, tx.Now()); err != nil || made.Token == "" {
			return err
		}
		return Record(tx, s.Keys, who.ID, c.Trace, audit.Done)
	})
	return made, err
}

// checkPassword returns the person whose address and password these are, or errSignIn, also for a disabled person. It does the same work
// for an unknown address: it counts the attempt (or refuses it after too many failures), looks the person up, and compares a hash. The
// attempt counts as failed until confirmAttempt is called. It queues a failure of a known person for the audit log.
func (s *Service) checkPassword(ctx context.Context, c PasswordSignIn) (*ent.Person, error) {
	err := s.DB.Write(ctx, func(tx *db.Tx) error { return countPasswordAttempt(tx, s.Keys, text.FoldAddress(c.Email), c.Network) })
	if err != nil {
		return nil, err
	}
	who, err := findPerson(s.DB.View(ctx), s.Keys, c.Email)
	if err != nil {
		return nil, err
	}
	hash := ""
	if who != nil {
		hash = who.Password
	}
	same, err := matchesPassword(ctx, c.Password, hash)
	if err != nil {
		return nil, err
	}
	if same && who.DisabledAt == nil {
		return who, nil
	}
	if who != nil {
		s.Failed.note(who.ID, c.Trace)
	}
	return nil, errSignIn
}

// confirmAttempt returns errSignIn if the password changed since [Service.checkPassword] compared it, and [credential.Refused] if the
// person was disabled. Otherwise it takes the count of the attempt back and remembers the network: see forgivePasswordAttempt.
func (s *Service) confirmAttempt(tx *db.Tx, who *ent.Person, c PasswordSignIn) error {
	current, err := loadPerson(tx, who.ID)
	if err != nil {
		return err
	}
	if current.Password != who.Password {
		return errSignIn
	}
	return forgivePasswordAttempt(tx, s.Keys, text.FoldAddress(c.Email), c.Network)
}

// confirmNoPassword returns [credential.Refused] if the person set a first password in another session meanwhile, which ended this session.
func confirmNoPassword(tx *db.Tx, personID string) error {
	current, err := loadPerson(tx, personID)
	if err != nil {
		return err
	}
	if current.Password != "" {
		return credential.Refused()
	}
	return nil
}

// PasswordChange is the request of a signed-in person for another password, or for the first one.
type PasswordChange struct {
	Who                            actor.Actor
	Network, Password, NewPassword string // Network is the client's; Password is the present one, empty if the person has none
	Trace
}

// Change stores, in a transaction, a change that was checked before, and returns the session that replaces the caller's.
type Change func(tx *db.Tx) (Session, error)

// PreparePasswordChange checks the present password of a signed-in person, or the step-up of one who has none, and hashes the new one. A
// wrong present password is a fault of the field password, and counts as a failed attempt. The returned Change stores and records it, ends
// every session of the person, and begins a new one on the caller's device.
func (s *Service) PreparePasswordChange(ctx context.Context, p PasswordChange) (Change, error) {
	if wrong := passwordProblem("newPassword", p.NewPassword); wrong != nil {
		return nil, fault.Fields(*wrong)
	}
	who, err := loadPerson(s.DB.View(ctx), p.Who.PersonID)
	if err != nil {
		return nil, err
	}
	confirm, err := s.allowChange(ctx, who, p)
	if err != nil {
		return nil, err
	}
	hash, err := hashPassword(ctx, p.NewPassword)
	if err != nil {
		return nil, err
	}
	return func(tx *db.Tx) (Session, error) {
		if err := confirm(tx); err != nil {
			return Session{}, err
		}
		if err := tx.Person.UpdateOneID(who.ID).SetPassword(hash).Exec(tx.Context()); err != nil {
			return Session{}, fmt.Errorf("change a password: %w", err)
		}
		if err := Record(tx, s.Keys, who.ID, p.Trace, audit.Done); err != nil {
			return Session{}, err
		}
		return rotateSession(tx, s.Keys, p.Who.PersonID, p.Who.TokenID)
	}, nil
}

// allowChange checks the present password of a person who asks for another one, or that a person without a password may set the first one.
// The returned function checks in the transaction of the change that the person is unchanged, and takes back the count of the attempt.
func (s *Service) allowChange(ctx context.Context, who *ent.Person, p PasswordChange) (func(tx *db.Tx) error, error) {
	switch {
	case who.Password == "" && p.Password != "":
		return nil, fault.Fields(fault.Field{Path: "password", Reason: fault.WrongValue, Message: "must be empty: you have no password yet"})
	case who.Password == "":
		return func(tx *db.Tx) error { return confirmNoPassword(tx, who.ID) }, StepUp(p.Who, Self, s.DB.View(ctx).Now())
	case p.Password == "":
		return nil, fault.Fields(fault.Field{Path: "password", Reason: fault.Required, Message: "is required: enter your present password"})
	}
	profile, err := profileOf(ctx, s.Keys, who)
	if err != nil {
		return nil, err
	}
	signIn := PasswordSignIn{Email: profile.Email, Password: p.Password, Network: p.Network, Trace: p.Trace}
	checked, err := s.checkPassword(ctx, signIn)
	if fault.Has(err, fault.InvalidCredentials) {
		return nil, fault.Fields(fault.Field{Path: "password", Reason: fault.WrongValue, Message: "is not your present password"})
	}
	if err != nil {
		return nil, err
	}
	return func(tx *db.Tx) error { return s.confirmAttempt(tx, checked, signIn) }, nil
}
