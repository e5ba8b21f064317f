package staff

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"latchkey.dev/ent"
	"latchkey.dev/ent/person"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/openid"
	"latchkey.dev/internal/text"
)

// Row is a person as stored.
type Row = ent.Person

// Service signs people in and out. Passwords are hashed outside of transactions, because that takes long.
type Service struct {
	DB     *db.DB
	Keys   *keyring.Ring
	Failed *Failures // writes failed sign-ins to the audit log; nil: it gets none. The limits of attempts do not need it
	// PublicURL returns the address of the pages. Passkeys belong to its host name.
	PublicURL func() string
	// IdentityURL returns the address of the page to which the identity provider redirects people after the sign-in there. It is not used
	// without a provider.
	IdentityURL func() string
	Provider    *openid.Provider // signs people in with another account; nil: the operator named none
}

// Profile is what is known of a person.
type Profile struct {
	ID, Name, Email string
	HasApp          bool   // uses an authenticator app
	HasPassword     bool   // false: the person joined at an identity provider and has set none
	Issuer          string // of the identity provider with which the person signs in, or ""
}

// emailMAC returns the keyed hash by which a person is found with a mail address.
func emailMAC(keys *keyring.Ring, email string) []byte {
	return keys.MAC("personEmail", text.FoldAddress(email))
}

// emailPurpose returns the purpose with which the mail address of a person is sealed.
func emailPurpose(personID string) string { return "person/" + personID + "/email" }

// namePurpose returns the purpose with which the name of a person is sealed.
func namePurpose(personID string) string { return "person/" + personID + "/name" }

// findPerson returns the person with an address, or nil.
func findPerson(tx *db.Tx, keys *keyring.Ring, email string) (*ent.Person, error) {
	row, err := tx.Person.Query().Where(person.EmailMAC(emailMAC(keys, email))).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a person: %w", err)
	}
	return row, nil
}

// loadPerson returns a person, or the error [credential.Refused] if the person does not exist or is disabled.
func loadPerson(tx *db.Tx, personID string) (*ent.Person, error) {
	row, err := tx.Person.Query().Where(person.ID(personID), person.DisabledAtIsNil()).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, credential.Refused()
	}
	if err != nil {
		return nil, fmt.Errorf("load a person: %w", err)
	}
	return row, nil
}

// createPerson stores a new person with the hash of their password; empty: none. If the address is in use, it returns a fault Aborted.
func createPerson(tx *db.Tx, keys *keyring.Ring, email, name, hash string) (*ent.Person, error) {
	ctx, personID := tx.Context(), id.New(id.Person)
	sealedEmail, err := keys.Seal(ctx, keyring.System, emailPurpose(personID), []byte(strings.TrimSpace(email)))
	if err != nil {
		return nil, fmt.Errorf("seal an address: %w", err)
	}
	sealedName, err := keys.Seal(ctx, keyring.System, namePurpose(personID), []byte(name))
	if err != nil {
		return nil, fmt.Errorf("seal a name: %w", err)
	}
	row, err := tx.Person.Create().SetID(personID).SetEmailMAC(emailMAC(keys, email)).SetEmail(sealedEmail).SetName(sealedName).
		SetPassword(hash).SetCreatedAt(tx.Now()).Save(ctx)
	if ent.IsConstraintError(err) {
		return nil, fault.New(fault.Aborted, fault.AlreadyExists, "a person with this address was created at the same time; try again")
	}
	if err != nil {
		return nil, fmt.Errorf("store a person: %w", err)
	}
	return row, nil
}

// profileOf decrypts the profile of a stored person.
func profileOf(ctx context.Context, keys *keyring.Ring, row *ent.Person) (Profile, error) {
	email, err := keys.Open(ctx, keyring.System, emailPurpose(row.ID), row.Email)
	if err != nil {
		return Profile{}, err
	}
	name, err := keys.Open(ctx, keyring.System, namePurpose(row.ID), row.Name)
	if err != nil {
		return Profile{}, err
	}
	return Profile{ID: row.ID, Name: string(name), Email: string(email), HasApp: row.TotpConfirmedAt != nil, HasPassword: row.Password != "", Issuer: row.IdentityIssuer}, nil
}

// maxName bounds the characters of a person's name.
const maxName = 120

// personName returns a name without the spaces around it, or why it is refused: it is blank, or has more than maxName letters. The error is
// about the field "name".
func personName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", fault.Fields(fault.Field{Path: "name", Reason: fault.Required, Message: "must not be blank"})
	case utf8.RuneCountInString(name) > maxName:
		return "", fault.Fields(fault.Field{Path: "name", Reason: fault.TooLong, Message: fmt.Sprintf("has at most %d characters", maxName)})
	}
	return name, nil
}

// AnyPerson reports whether the installation has a person, also a disabled one.
func AnyPerson(view *db.Tx) (bool, error) {
	some, err := view.Person.Query().Exist(view.Context())
	if err != nil {
		return false, fmt.Errorf("look for people: %w", err)
	}
	return some, nil
}
