package staff

import (
	"context"
	"fmt"

	"latchkey.dev/ent"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// joining is a person who is about to join a property: one who proved who they are, or a new one.
type joining struct {
	PasswordSignIn
	known      *ent.Person
	name, hash string // the name of a new person and the hash of their password
	code       string // a second-factor code of a known person; "": none was sent, so the session waits for it if the person has one
}

// prepareJoin does, outside of a transaction, what takes long before a person joins: it checks the password of a known person, or hashes
// the password of a new one. A known person keeps the stored name. A password that breaks the rules is a fault for both. For a known
// person, a wrong password gives errSignIn, and the attempt counts as failed until join takes it back.
func (s *Service) prepareJoin(ctx context.Context, c PasswordSignIn, name string) (joining, error) {
	if wrong := passwordProblem("password", c.Password); wrong != nil {
		return joining{}, fault.Fields(*wrong)
	}
	known, err := findPerson(s.DB.View(ctx), s.Keys, c.Email)
	if err != nil {
		return joining{}, err
	}
	if known != nil {
		known, err = s.checkPassword(ctx, c)
		return joining{PasswordSignIn: c, known: known}, err
	}
	if name, err = personName(name); err != nil {
		return joining{}, err
	}
	hash, err := hashPassword(ctx, c.Password)
	return joining{PasswordSignIn: c, name: name, hash: hash}, err
}

// join stores a new person, or checks a known one again (see createOrConfirmPerson). It makes the person a member of a property with the
// role of a link, which the caller has used up, and signs the person in. Without a code, the session of a person with a second factor is
// pending.
func (s *Service) join(tx *db.Tx, j joining, link *ent.PersonInvitation, propertyID string) (Session, error) {
	who, err := s.createOrConfirmPerson(tx, j)
	if err != nil {
		return Session{}, err
	}
	if err := s.admit(tx, who, link, propertyID, j.Trace); err != nil {
		return Session{}, err
	}
	now := tx.Now()
	if j.code == "" {
		return beginSession(tx, s.Keys, who, j.Device, now)
	}
	return createSession(tx, s.Keys, sessionSpec{personID: who.ID, device: j.Device, secondFactorAt: &now, provedAt: &now})
}

// admit makes a person a member of a property with the role of a link, and records that in the audit log. It changes the role of a member
// only for an owner link: see addMember, which refuses a disabled member for an invitation. It ends all invitations to the person's address
// at the property. The caller has marked the link as used and checked who the person is.
func (s *Service) admit(tx *db.Tx, who *ent.Person, link *ent.PersonInvitation, propertyID string, by Trace) error {
	if err := addMember(tx, propertyID, who.ID, link); err != nil {
		return err
	}
	if err := endInvitationsTo(tx, propertyID, who.EmailMAC); err != nil {
		return err
	}
	if err := recordAt(tx, s.Keys, propertyID, author(who.ID), by, audit.Done, link.ID, who.ID); err != nil {
		return fmt.Errorf("record who joined a property: %w", err)
	}
	return nil
}

// createOrConfirmPerson returns the person who joins. It stores a new person. For a known person it checks that the account has not changed
// since the password was checked, takes back the count of the attempt, and uses up the second-factor code, if there is one.
func (s *Service) createOrConfirmPerson(tx *db.Tx, j joining) (*ent.Person, error) {
	if j.known == nil {
		return createPerson(tx, s.Keys, j.Email, j.name, j.hash)
	}
	if err := s.confirmAttempt(tx, j.known, j.PasswordSignIn); err != nil {
		return nil, err
	}
	who, err := loadPerson(tx, j.known.ID)
	if err != nil || j.code == "" {
		return who, err
	}
	return who, s.useCode(tx, who, j.code)
}
