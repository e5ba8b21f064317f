package staff

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-webauthn/webauthn/webauthn"

	"latchkey.dev/ent"
	"latchkey.dev/ent/passkey"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// maxPasskeys bounds the passkeys of a person.
const maxPasskeys = 20

// Passkey is a stored passkey with its decrypted credential.
type Passkey struct {
	*ent.Passkey
	credential webauthn.Credential
}

// Synced reports whether the passkey can be copied to other devices.
func (p Passkey) Synced() bool { return p.credential.Flags.BackupEligible }

// passkeyPurpose returns the purpose with which a passkey is sealed.
func passkeyPurpose(passkeyID string) string { return "passkey/" + passkeyID }

// passkeyMAC returns the keyed hash by which a passkey is found with the id of its credential.
func passkeyMAC(keys *keyring.Ring, credentialID []byte) []byte {
	return keys.MAC("passkey", string(credentialID))
}

// errNoPasskey returns the error for a passkey that the person does not have.
func errNoPasskey() error {
	return fault.New(fault.NotFound, fault.PasskeyNotFound, "you have no such passkey: list the passkeys to find it")
}

// sealCredential encrypts a credential for storing. It drops the attestation, for which the options do not ask.
func sealCredential(ctx context.Context, keys *keyring.Ring, passkeyID string, c webauthn.Credential) ([]byte, error) {
	c.Attestation = webauthn.CredentialAttestation{}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a passkey: %w", err)
	}
	sealed, err := keys.Seal(ctx, keyring.System, passkeyPurpose(passkeyID), raw)
	if err != nil {
		return nil, fmt.Errorf("seal a passkey: %w", err)
	}
	return sealed, nil
}

// openPasskey decrypts a stored passkey.
func openPasskey(ctx context.Context, keys *keyring.Ring, row *ent.Passkey) (Passkey, error) {
	raw, err := keys.Open(ctx, keyring.System, passkeyPurpose(row.ID), row.Credential)
	if err != nil {
		return Passkey{}, err
	}
	p := Passkey{Passkey: row}
	if err := json.Unmarshal(raw, &p.credential); err != nil {
		return Passkey{}, fmt.Errorf("decode a passkey: %w", err)
	}
	return p, nil
}

// ListPasskeys lists the passkeys of a person, the oldest first.
func ListPasskeys(view *db.Tx, keys *keyring.Ring, personID string) ([]Passkey, error) {
	rows, err := view.Passkey.Query().Where(passkey.PersonID(personID)).Order(ent.Asc(passkey.FieldCreatedAt), ent.Asc(passkey.FieldID)).Limit(maxPasskeys).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the passkeys of a person: %w", err)
	}
	all := make([]Passkey, len(rows))
	for i, row := range rows {
		if all[i], err = openPasskey(view.Context(), keys, row); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// findPasskey returns the passkey with a credential's id, or nil.
func findPasskey(tx *db.Tx, keys *keyring.Ring, credentialID []byte) (*Passkey, error) {
	row, err := tx.Passkey.Query().Where(passkey.MAC(passkeyMAC(keys, credentialID))).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a passkey: %w", err)
	}
	p, err := openPasskey(tx.Context(), keys, row)
	return &p, err
}

// createPasskey stores a new passkey of a person. It returns errPasskey if the credential is stored already.
func createPasskey(tx *db.Tx, keys *keyring.Ring, personID, name string, c webauthn.Credential) (Passkey, error) {
	passkeyID := id.New(id.Passkey)
	sealed, err := sealCredential(tx.Context(), keys, passkeyID, c)
	if err != nil {
		return Passkey{}, err
	}
	row, err := tx.Passkey.Create().SetID(passkeyID).SetPersonID(personID).SetMAC(passkeyMAC(keys, c.ID)).SetCredential(sealed).SetName(name).SetCreatedAt(tx.Now()).Save(tx.Context())
	if ent.IsConstraintError(err) {
		return Passkey{}, errPasskey
	}
	if err != nil {
		return Passkey{}, fmt.Errorf("store a passkey: %w", err)
	}
	return Passkey{row, c}, nil
}

// RenamePasskey gives a passkey of a person another name, or returns a not-found fault if the person has no such passkey.
func RenamePasskey(tx *db.Tx, keys *keyring.Ring, personID, passkeyID, name string) (Passkey, error) {
	name, err := passkeyName(name)
	if err != nil {
		return Passkey{}, err
	}
	n, err := tx.Passkey.Update().Where(passkey.PersonID(personID), passkey.ID(passkeyID)).SetName(name).Save(tx.Context())
	if err != nil {
		return Passkey{}, fmt.Errorf("rename a passkey: %w", err)
	}
	if n == 0 {
		return Passkey{}, errNoPasskey()
	}
	row, err := tx.Passkey.Query().Where(passkey.PersonID(personID), passkey.ID(passkeyID)).Only(tx.Context())
	if err != nil {
		return Passkey{}, fmt.Errorf("load a passkey: %w", err)
	}
	return openPasskey(tx.Context(), keys, row)
}

// passkeyName returns a name without the spaces around it, or a fault of the field name if it is blank. It does not limit the length, which
// the proto does.
func passkeyName(name string) (string, error) {
	if name = strings.TrimSpace(name); name == "" {
		return "", fault.Fields(fault.Field{Path: "name", Reason: fault.Required, Message: "must not be blank"})
	}
	return name, nil
}

// DeletePasskey deletes a passkey of a person, or returns a not-found fault if there is none. If it was the last second factor, the
// recovery codes end, too.
func DeletePasskey(tx *db.Tx, personID, passkeyID string) error {
	who, err := loadPerson(tx, personID)
	if err != nil {
		return err
	}
	n, err := tx.Passkey.Delete().Where(passkey.PersonID(personID), passkey.ID(passkeyID)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("delete a passkey: %w", err)
	}
	if n == 0 {
		return errNoPasskey()
	}
	has, err := hasSecondFactor(tx, who)
	if err != nil || has {
		return err
	}
	return deleteRecoveryCodes(tx, personID)
}

// hasSecondFactor reports whether a person uses an authenticator app or has a passkey.
func hasSecondFactor(tx *db.Tx, who *ent.Person) (bool, error) {
	if who.TotpConfirmedAt != nil {
		return true, nil
	}
	some, err := tx.Passkey.Query().Where(passkey.PersonID(who.ID)).Exist(tx.Context())
	if err != nil {
		return false, fmt.Errorf("look for passkeys: %w", err)
	}
	return some, nil
}

// havePasskeys returns a map with true for each of the people's ids who has a passkey, and no entry for the others.
func havePasskeys(view *db.Tx, people []string) (map[string]bool, error) {
	ids, err := view.Passkey.Query().Where(passkey.PersonIDIn(people...)).Limit(len(people) * maxPasskeys).Select(passkey.FieldPersonID).Strings(view.Context())
	if err != nil {
		return nil, fmt.Errorf("look for passkeys: %w", err)
	}
	have := map[string]bool{}
	for _, personID := range ids {
		have[personID] = true
	}
	return have, nil
}
