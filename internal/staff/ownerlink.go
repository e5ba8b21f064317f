package staff

import (
	"context"
	"fmt"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/personinvitation"
	"latchkey.dev/internal/audit"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/property"
)

// ownerLinkLife is how long a link for an owner works.
const ownerLinkLife = 24 * time.Hour

// OwnerLink is a link with which one person becomes owner of a property.
type OwnerLink struct {
	Secret, PropertyID string
	EndsAt             time.Time
}

var errLink = fault.New(fault.NotFound, fault.InvitationNotFound, "the link does not work: it is mistyped, used, replaced or too old; ask for a new one")

// linkMAC returns the keyed hash under which the secret of a link is stored and found.
func linkMAC(keys *keyring.Ring, secret string) []byte { return keys.MAC("personLink", secret) }

// CreateOwnerLink creates a link with which one person becomes owner of a property within ownerLinkLife, ends the property's earlier owner
// links, and records that in the property's audit log. by is the author, such as "operator:tok_...": the link ends with that token. If
// propertyID is empty, the person creates a property with the link; then it ends the earlier links without a property, and no log has an
// entry.
func CreateOwnerLink(tx *db.Tx, keys *keyring.Ring, propertyID, by string, t Trace) (OwnerLink, error) {
	same := personinvitation.PropertyIDIsNil()
	if propertyID != "" {
		if _, err := property.Get(tx, propertyID); err != nil {
			return OwnerLink{}, err
		}
		same = personinvitation.PropertyID(propertyID)
	}
	if _, err := tx.PersonInvitation.Delete().Where(same, personinvitation.EmailMACIsNil()).Exec(tx.Context()); err != nil {
		return OwnerLink{}, fmt.Errorf("end the links of an owner: %w", err)
	}
	l := OwnerLink{Secret: keyring.NewToken(keyring.PersonLink), PropertyID: propertyID, EndsAt: tx.Now().Add(ownerLinkLife)}
	create := tx.PersonInvitation.Create().SetID(id.New(id.PersonLink)).SetMAC(linkMAC(keys, l.Secret)).SetRole(string(Owner)).
		SetInvitedBy(by).SetEndsAt(l.EndsAt).SetCreatedAt(tx.Now())
	if propertyID != "" {
		create.SetPropertyID(propertyID)
	}
	if err := create.Exec(tx.Context()); err != nil {
		return OwnerLink{}, fmt.Errorf("store the link of an owner: %w", err)
	}
	if propertyID == "" {
		return l, nil
	}
	return l, recordAt(tx, keys, propertyID, by, t, audit.Done)
}

// findLink returns the valid link with a secret: an invitation, or a link of an owner, which has no address. It returns errLink if there is
// none.
func findLink(tx *db.Tx, keys *keyring.Ring, secret string) (*ent.PersonInvitation, error) {
	if !keyring.IsToken(secret, keyring.PersonLink) {
		return nil, errLink
	}
	row, err := tx.PersonInvitation.Query().Where(personinvitation.MAC(linkMAC(keys, secret)), isOpen(tx.Now())).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errLink
	}
	if err != nil {
		return nil, fmt.Errorf("find the link of a person: %w", err)
	}
	return row, nil
}

// useLink deletes a valid link and returns its row, or returns errLink if there is none. Of two callers at the same time only one succeeds.
func useLink(tx *db.Tx, keys *keyring.Ring, secret string) (*ent.PersonInvitation, error) {
	row, err := findLink(tx, keys, secret)
	if err != nil {
		return nil, err
	}
	n, err := tx.PersonInvitation.Delete().Where(personinvitation.ID(row.ID), personinvitation.MAC(row.MAC)).Exec(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("end the link of a person: %w", err)
	}
	if n == 0 {
		return nil, errLink
	}
	return row, nil
}

// FirstOwner is what a person sends to become owner with an [OwnerLink].
type FirstOwner struct {
	PasswordSignIn
	Secret, Name           string // Secret is in the link; Name is that of a new person, and ignored for a known one
	PropertyName, TimeZone string // of the property to create; both must be empty if the link names a property
}

// AcceptOwnerLink uses up an [OwnerLink], or returns errLink if the secret is not that of a valid one. It makes the person, also a member
// of lower role or a disabled one, an owner of the property that the link names, and signs the person in. If the link names no property, it
// creates one first. A known person must give the password; with a second factor, the session is pending.
func (s *Service) AcceptOwnerLink(ctx context.Context, f FirstOwner) (made Session, propertyID string, err error) {
	l, err := findLink(s.DB.View(ctx), s.Keys, f.Secret)
	if err == nil && l.EmailMAC != nil {
		err = errLink
	}
	if err != nil {
		return Session{}, "", err
	}
	settings := property.Settings{Name: &f.PropertyName, TimeZone: &f.TimeZone}
	if propertyID = l.PropertyID; propertyID == "" {
		if err := settingsError(settings.Complete()); err != nil {
			return Session{}, "", err
		}
		if propertyID, err = property.NewID(ctx, s.Keys); err != nil {
			return Session{}, "", err
		}
	} else if f.PropertyName != "" || f.TimeZone != "" {
		return Session{}, "", fault.Fields(fault.Field{Path: "propertyName", Reason: fault.Conflicting, Message: "the link names a property already: leave propertyName and timeZone out"})
	}
	joining, err := s.prepareJoin(ctx, f.PasswordSignIn, f.Name)
	if err != nil {
		return Session{}, "", err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		used, err := useLink(tx, s.Keys, f.Secret)
		if err != nil {
			return err
		}
		if used.PropertyID == "" {
			if _, err := property.Create(tx, s.Keys, propertyID, settings); err != nil {
				return err
			}
		}
		made, err = s.join(tx, joining, used, propertyID)
		return err
	})
	return made, propertyID, err
}

// settingsError renames the field "name" in a fault about a property's settings to "propertyName", its name in the request of [FirstOwner].
// The result has only the fields of the fault. It returns other errors, and nil, unchanged.
func settingsError(err error) error {
	f, ok := fault.Of(err)
	if !ok {
		return err
	}
	fields := append([]fault.Field(nil), f.Fields...)
	for i := range fields {
		if fields[i].Path == "name" {
			fields[i].Path = "propertyName"
		}
	}
	return fault.Fields(fields...)
}
