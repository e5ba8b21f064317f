package staff

import (
	"cmp"
	"fmt"
	"slices"

	"latchkey.dev/ent"
	"latchkey.dev/ent/membership"
	"latchkey.dev/ent/property"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
)

// PropertyRole is a property of a person, with the person's role there.
type PropertyRole struct {
	PropertyID, Name string
	Role             Role
}

// maxMembers bounds the people of a property, also disabled ones. Beyond it no new person can join; invitations do not count.
const maxMembers = 500

// addMember gives a person the role of a link at a property, up to maxMembers people. An owner link, which has no address, also makes a
// member an owner and enables a disabled one, because an operator created it. An invitation does not change the role of a member. It fails
// with errLink for a disabled one.
func addMember(tx *db.Tx, propertyID, personID string, link *ent.PersonInvitation) error {
	member, err := tx.Membership.Query().Where(membership.PropertyID(propertyID), membership.PersonID(personID)).Only(tx.Context())
	switch {
	case err == nil && link.EmailMAC == nil:
		return makeOwner(tx, member)
	case err == nil && member.DisabledAt != nil:
		return errLink
	case err == nil:
		return nil
	case !ent.IsNotFound(err):
		return fmt.Errorf("find a person at a property: %w", err)
	}
	members, err := tx.Membership.Query().Where(membership.PropertyID(propertyID)).Count(tx.Context())
	if err != nil {
		return fmt.Errorf("count the people of a property: %w", err)
	}
	if members >= maxMembers {
		return fault.New(fault.Precondition, fault.TooMany, "this property has %d people already; remove one first", maxMembers)
	}
	err = tx.Membership.Create().SetID(id.New(id.Membership)).SetPropertyID(propertyID).SetPersonID(personID).SetRole(link.Role).
		SetCreatedAt(tx.Now()).Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store a membership: %w", err)
	}
	return nil
}

// makeOwner gives a member the role of an owner, and access.
func makeOwner(tx *db.Tx, member *ent.Membership) error {
	err := tx.Membership.Update().Where(membership.PropertyID(member.PropertyID), membership.ID(member.ID)).
		SetRole(string(Owner)).ClearDisabledAt().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("make a member owner: %w", err)
	}
	return nil
}

// findMembership returns a person's membership at a property, or nil if there is none or it is disabled.
func findMembership(tx *db.Tx, propertyID, personID string) (*ent.Membership, error) {
	row, err := tx.Membership.Query().Where(membership.PropertyID(propertyID), membership.PersonID(personID), membership.DisabledAtIsNil()).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the role of a person: %w", err)
	}
	return row, nil
}

// PropertyRoles returns the properties at which a person works, by name, without those where their access is disabled.
func PropertyRoles(tx *db.Tx, personID string) ([]PropertyRole, error) {
	rows, err := tx.Membership.Query().Where(membership.PersonID(personID), membership.DisabledAtIsNil()).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("list the properties of a person: %w", err)
	}
	roles := make([]PropertyRole, len(rows))
	ids := make([]string, len(rows))
	for i, row := range rows {
		roles[i], ids[i] = PropertyRole{PropertyID: row.PropertyID, Role: Role(row.Role)}, row.PropertyID
	}
	names, err := tx.Property.Query().Where(property.IDIn(ids...)).All(tx.Context())
	if err != nil {
		return nil, fmt.Errorf("load the properties of a person: %w", err)
	}
	for _, p := range names {
		roles[slices.Index(ids, p.ID)].Name = p.Name
	}
	slices.SortFunc(roles, func(a, b PropertyRole) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.PropertyID, b.PropertyID))
	})
	return roles, nil
}
