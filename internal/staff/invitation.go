package staff

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"latchkey.dev/ent"
	"latchkey.dev/ent/membership"
	"latchkey.dev/ent/personinvitation"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

const (
	// invitationLife is how long the link of an invitation works.
	invitationLife = 7 * 24 * time.Hour
	// maxInvitations bounds the open invitations of a property.
	maxInvitations = 100
)

// Invitation is an open invitation of a person to a property.
type Invitation struct {
	ID, PropertyID, Email string
	Role                  Role
	Round                 int // how often the link was replaced
	EndsAt, CreatedAt     time.Time
	// Secret is in the link. It is derived and not stored, so that the mail with the link is rendered when it is sent.
	Secret string
}

// invitationSecret derives the secret of an invitation's link. round counts how often the link was replaced; each round has another secret.
func invitationSecret(keys *keyring.Ring, invitationID string, round int) string {
	return keys.DeriveToken(keyring.PersonLink, invitationID, strconv.Itoa(round))
}

// invitationPurpose returns the purpose with which the address of an invitation is sealed.
func invitationPurpose(invitationID string) string { return "personInvitation/" + invitationID }

var errInvitation = fault.New(fault.NotFound, fault.InvitationNotFound, "the property has no open invitation with this id: ListPeople lists them")

// invitationOf decrypts a stored invitation.
func invitationOf(tx *db.Tx, keys *keyring.Ring, row *ent.PersonInvitation) (Invitation, error) {
	email, err := keys.Open(tx.Context(), keyring.System, invitationPurpose(row.ID), row.Email)
	if err != nil {
		return Invitation{}, err
	}
	return Invitation{
		ID: row.ID, PropertyID: row.PropertyID, Email: string(email), Role: Role(row.Role), Round: row.Round, EndsAt: row.EndsAt, CreatedAt: row.CreatedAt,
		Secret: invitationSecret(keys, row.ID, row.Round),
	}, nil
}

// ListInvitations returns the open invitations of a property, the latest first, with the secrets of their links: those that have not
// expired or ended with their token. It leaves out owner links.
func ListInvitations(view *db.Tx, keys *keyring.Ring, propertyID string) ([]Invitation, error) {
	rows, err := view.PersonInvitation.Query().
		Where(personinvitation.PropertyID(propertyID), personinvitation.EmailMACNotNil(), isOpen(view.Now())).
		Order(personinvitation.ByID(entsql.OrderDesc())).Limit(maxInvitations).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the invitations of a property: %w", err)
	}
	all := make([]Invitation, len(rows))
	for i, row := range rows {
		if all[i], err = invitationOf(view, keys, row); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// GetInvitation returns an open invitation of a property, or a not-found fault.
func GetInvitation(view *db.Tx, keys *keyring.Ring, propertyID, invitationID string) (Invitation, error) {
	row, err := loadInvitation(view, propertyID, invitationID)
	if err != nil {
		return Invitation{}, err
	}
	return invitationOf(view, keys, row)
}

// loadInvitation returns the row of an open invitation of a property, or the fault errInvitation if there is none.
func loadInvitation(tx *db.Tx, propertyID, invitationID string) (*ent.PersonInvitation, error) {
	row, err := tx.PersonInvitation.Query().Where(personinvitation.PropertyID(propertyID), personinvitation.ID(invitationID),
		personinvitation.EmailMACNotNil(), isOpen(tx.Now())).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, errInvitation
	}
	if err != nil {
		return nil, fmt.Errorf("load an invitation: %w", err)
	}
	return row, nil
}

// Invite stores an invitation of a person to a property, and sends no mail. It refuses a person who is a member already, more than
// maxInvitations open ones, and a role that by does not manage, also if an open invitation has that role. isNew means that the invitation
// or its link is new. If an open invitation has the same role and caller, nothing changes; otherwise it gets a new link, which belongs to
// the last caller. The link ends after invitationLife, when that person loses the right to give the role, or with the caller's token.
func Invite(tx *db.Tx, keys *keyring.Ring, by Caller, propertyID, email string, role Role) (made Invitation, isNew bool, err error) {
	if by, err = currentCaller(tx, by, propertyID); err != nil {
		return Invitation{}, false, err
	}
	if !MayManage(by.Role, role) {
		return Invitation{}, false, roleAbove(by.Role, role)
	}
	if err := requireNoMember(tx, keys, propertyID, email); err != nil {
		return Invitation{}, false, err
	}
	same := personinvitation.And(personinvitation.PropertyID(propertyID), personinvitation.EmailMAC(emailMAC(keys, email)))
	if _, err := tx.PersonInvitation.Delete().Where(same, personinvitation.Not(isOpen(tx.Now()))).Exec(tx.Context()); err != nil {
		return Invitation{}, false, fmt.Errorf("delete an ended invitation: %w", err)
	}
	former, err := tx.PersonInvitation.Query().Where(same).Only(tx.Context())
	switch {
	case ent.IsNotFound(err):
		made, err = createInvitation(tx, keys, by, propertyID, email, role)
		return made, true, err
	case err != nil:
		return Invitation{}, false, fmt.Errorf("find an invitation: %w", err)
	case former.Role == string(role) && former.InvitedBy == by.Author:
		made, err = invitationOf(tx, keys, former)
		return made, false, err
	}
	made, err = replaceLink(tx, keys, by, former, role)
	return made, true, err
}

// requireNoMember returns a fault if a person with the address is a member of the property, also a disabled one.
func requireNoMember(tx *db.Tx, keys *keyring.Ring, propertyID, email string) error {
	who, err := findPerson(tx, keys, email)
	if err != nil || who == nil {
		return err
	}
	member, err := tx.Membership.Query().Where(membership.PropertyID(propertyID), membership.PersonID(who.ID)).Exist(tx.Context())
	if err != nil {
		return fmt.Errorf("find a person at a property: %w", err)
	}
	if member {
		return fault.New(fault.Exists, fault.AlreadyExists, "a person with this address works at the property: change their role, or enable them")
	}
	return nil
}

// createInvitation stores a new invitation, unless the property has too many open ones.
func createInvitation(tx *db.Tx, keys *keyring.Ring, by Caller, propertyID, email string, role Role) (Invitation, error) {
	open, err := tx.PersonInvitation.Query().Where(personinvitation.PropertyID(propertyID), personinvitation.EmailMACNotNil(),
		isOpen(tx.Now())).Count(tx.Context())
	if err != nil {
		return Invitation{}, fmt.Errorf("count the invitations of a property: %w", err)
	}
	if open >= maxInvitations {
		return Invitation{}, fault.New(fault.Precondition, fault.TooMany, "the property has %d open invitations: withdraw one first", maxInvitations)
	}
	invitationID := id.New(id.PersonLink)
	sealed, err := keys.Seal(tx.Context(), keyring.System, invitationPurpose(invitationID), []byte(strings.TrimSpace(email)))
	if err != nil {
		return Invitation{}, fmt.Errorf("seal an address: %w", err)
	}
	row, err := tx.PersonInvitation.Create().SetID(invitationID).SetPropertyID(propertyID).SetMAC(linkMAC(keys, invitationSecret(keys, invitationID, 0))).
		SetEmailMAC(emailMAC(keys, email)).SetEmail(sealed).SetRole(string(role)).SetInvitedBy(by.Author).
		SetEndsAt(tx.Now().Add(invitationLife)).SetCreatedAt(tx.Now()).Save(tx.Context())
	if err != nil {
		return Invitation{}, fmt.Errorf("store an invitation: %w", err)
	}
	return invitationOf(tx, keys, row)
}

// replaceLink gives an invitation a new link, a role and a new end. The former link ends. It returns a fault if the caller's role does not
// manage the former role; the new role must be checked before.
func replaceLink(tx *db.Tx, keys *keyring.Ring, by Caller, row *ent.PersonInvitation, role Role) (Invitation, error) {
	if !MayManage(by.Role, Role(row.Role)) {
		return Invitation{}, roleAbove(by.Role, Role(row.Role))
	}
	round := row.Round + 1
	err := tx.PersonInvitation.Update().Where(personinvitation.PropertyID(row.PropertyID), personinvitation.ID(row.ID)).
		SetMAC(linkMAC(keys, invitationSecret(keys, row.ID, round))).SetRound(round).SetRole(string(role)).SetInvitedBy(by.Author).
		SetEndsAt(tx.Now().Add(invitationLife)).Exec(tx.Context())
	if err != nil {
		return Invitation{}, fmt.Errorf("replace the link of an invitation: %w", err)
	}
	return GetInvitation(tx, keys, row.PropertyID, row.ID)
}

// Reinvite replaces the link of an open invitation by a new one, with a new end. It returns errInvitation if the property has no such open
// one, and a fault if the caller does not manage its role. It sends no mail. The link then belongs to the caller: see [Invite].
func Reinvite(tx *db.Tx, keys *keyring.Ring, by Caller, propertyID, invitationID string) (Invitation, error) {
	row, err := loadInvitation(tx, propertyID, invitationID)
	if err != nil {
		return Invitation{}, err
	}
	if by, err = currentCaller(tx, by, propertyID); err != nil {
		return Invitation{}, err
	}
	return replaceLink(tx, keys, by, row, Role(row.Role))
}

// WithdrawInvitation ends an open invitation. It returns errInvitation if the property has no such open one, and a fault if the caller does
// not manage its role.
func WithdrawInvitation(tx *db.Tx, by Caller, propertyID, invitationID string) error {
	row, err := loadInvitation(tx, propertyID, invitationID)
	if err != nil {
		return err
	}
	if by, err = currentCaller(tx, by, propertyID); err != nil {
		return err
	}
	if !MayManage(by.Role, Role(row.Role)) {
		return roleAbove(by.Role, Role(row.Role))
	}
	if _, err := tx.PersonInvitation.Delete().Where(personinvitation.PropertyID(propertyID), personinvitation.ID(row.ID)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("end an invitation: %w", err)
	}
	return nil
}

// endInvitationsBy ends a person's invitations to roles that the person has lost the right to give. now is the person's access after the
// change. So a person who leaves cannot come back by an invitation of their own.
func endInvitationsBy(tx *db.Tx, propertyID, personID string, now Access) error {
	var lost []string
	for _, role := range Roles {
		if now.Disabled || !MayManage(now.Role, role) {
			lost = append(lost, string(role))
		}
	}
	_, err := tx.PersonInvitation.Delete().Where(personinvitation.PropertyID(propertyID), personinvitation.InvitedBy(author(personID)),
		personinvitation.RoleIn(lost...)).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("end the invitations of a person: %w", err)
	}
	return nil
}
