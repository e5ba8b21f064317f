package staff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/membership"
	"latchkey.dev/ent/person"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/keyring"
)

// Caller manages the people of a property: a signed-in person, or a token of an owner, which has no person.
type Caller struct {
	PersonID string
	Role     Role
	Author   string // the caller in the audit log: an id such as staff:prs_..., not a readable name
}

// author returns the name of a person in the audit log: the id, never the readable name.
func author(personID string) string { return "staff:" + personID }

// Access is what a person has at a property. Without a role the person is not a member.
type Access struct {
	Role     Role
	Disabled bool
}

// isActiveOwner reports whether the person is an owner with access to this property. The person can still be disabled everywhere.
func (a Access) isActiveOwner() bool { return a.Role == Owner && !a.Disabled }

// accessChangeProblem returns why a caller has no right to change the access of a person, or nil. A change from and to the same access is
// no problem, for any caller. A caller cannot change their own access. otherOwners counts the active owners of the property without this
// person: the property must keep one.
func accessChangeProblem(by Caller, personID string, from, to Access, otherOwners int) error {
	switch {
	case from == to:
		return nil
	case by.PersonID == personID:
		return fault.New(fault.Precondition, fault.OwnMembership, "you cannot change your own role or access: ask another owner or manager")
	case !MayManage(by.Role, from.Role):
		return roleAbove(by.Role, from.Role)
	case to.Role != "" && !MayManage(by.Role, to.Role):
		return roleAbove(by.Role, to.Role)
	case from.isActiveOwner() && !to.isActiveOwner() && otherOwners == 0:
		return fault.New(fault.Precondition, fault.LastOwner, "the property has no other active owner: make another person owner first")
	}
	return nil
}

// roleAbove returns the error of a caller whose role own does not manage the role other.
func roleAbove(own, other Role) error {
	return fault.New(fault.Denied, fault.RoleAboveYours, "your role %s does not manage the role %s", own, other).Put("role", string(other))
}

// Member is a person who works at a property.
type Member struct {
	Profile
	Access
	HasSecondFactor bool
	UsedAt          *time.Time // the person's last call at the property, stored once a minute at most; nil: none yet
	JoinedAt        time.Time
}

// ListMembers returns the people of a property, also disabled ones, by name.
func ListMembers(view *db.Tx, keys *keyring.Ring, propertyID string) ([]Member, error) {
	rows, err := view.Membership.Query().Where(membership.PropertyID(propertyID)).Limit(maxMembers).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the people of a property: %w", err)
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.PersonID
	}
	people, err := view.Person.Query().Where(person.IDIn(ids...)).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the people of a property: %w", err)
	}
	passkeys, err := havePasskeys(view, ids)
	if err != nil {
		return nil, err
	}
	all := make([]Member, 0, len(rows))
	for _, who := range people {
		m, err := memberOf(view, keys, rows[slices.Index(ids, who.ID)], who, passkeys[who.ID])
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

// Names returns, by author such as "staff:prs_...", the names of the authors who are people or staff tokens of a property. It includes
// people who were removed, as long as the audit log is kept, and tokens that have ended. It omits authors of other kinds.
func Names(view *db.Tx, keys *keyring.Ring, propertyID string, authors []string) (map[string]string, error) {
	var ids, tokens []string
	for _, recorded := range authors {
		switch caller, ok := strings.CutPrefix(recorded, author("")); {
		case ok && id.Valid(id.Person, caller):
			ids = append(ids, caller)
		case ok && id.Valid(id.Token, caller):
			tokens = append(tokens, caller)
		}
	}
	names := map[string]string{}
	named, err := credential.TokenNames(view, propertyID, tokens)
	if err != nil {
		return nil, err
	}
	for tokenID, name := range named {
		names[author(tokenID)] = name
	}
	if len(ids) == 0 {
		return names, nil
	}
	members, err := view.Membership.Query().Where(membership.PropertyID(propertyID), membership.PersonIDIn(ids...)).Select(membership.FieldPersonID).Strings(view.Context())
	if err != nil {
		return nil, fmt.Errorf("find the people of a property: %w", err)
	}
	people, err := view.Person.Query().Where(person.IDIn(members...)).All(view.Context())
	if err != nil {
		return nil, fmt.Errorf("load the people of a property: %w", err)
	}
	for _, who := range people {
		profile, err := profileOf(view.Context(), keys, who)
		if err != nil {
			return nil, err
		}
		names[author(who.ID)] = profile.Name
	}
	return names, addFormerNames(view, keys, propertyID, ids, names)
}

// memberOf returns a member from the stored membership and person, with the decrypted profile.
func memberOf(view *db.Tx, keys *keyring.Ring, row *ent.Membership, who *ent.Person, hasPasskey bool) (Member, error) {
	profile, err := profileOf(view.Context(), keys, who)
	return Member{
		Profile: profile, Access: accessOf(row), HasSecondFactor: who.TotpConfirmedAt != nil || hasPasskey, UsedAt: row.UsedAt, JoinedAt: row.CreatedAt,
	}, err
}

// currentMember is [memberOf], but loads whether the person has a passkey.
func currentMember(tx *db.Tx, keys *keyring.Ring, row *ent.Membership, who *ent.Person) (Member, error) {
	passkeys, err := havePasskeys(tx, []string{who.ID})
	if err != nil {
		return Member{}, err
	}
	return memberOf(tx, keys, row, who, passkeys[who.ID])
}

// GetMember returns a person who works at a property, also a disabled one, or a not-found fault.
func GetMember(tx *db.Tx, keys *keyring.Ring, propertyID, personID string) (Member, error) {
	row, who, err := loadMember(tx, propertyID, personID)
	if err != nil {
		return Member{}, err
	}
	return currentMember(tx, keys, row, who)
}

// accessOf returns the role of a membership, and whether it is disabled.
func accessOf(row *ent.Membership) Access { return Access{Role(row.Role), row.DisabledAt != nil} }

// AccessChange changes the access of a person. A nil field changes nothing.
type AccessChange struct {
	Role     *Role
	Disabled *bool
}

// ChangeMember changes the role of a person at a property, or whether their access is disabled, if accessChangeProblem allows it. It ends
// invitations that the person made to roles that they may no longer give. Their sessions stay: each call checks the access again.
func ChangeMember(tx *db.Tx, keys *keyring.Ring, by Caller, propertyID, personID string, c AccessChange) (Member, error) {
	row, who, err := loadMember(tx, propertyID, personID)
	if err != nil {
		return Member{}, err
	}
	to := accessOf(row)
	if c.Role != nil {
		to.Role = *c.Role
	}
	if c.Disabled != nil {
		to.Disabled = *c.Disabled
	}
	if err := authorizeChange(tx, by, row, to); err != nil {
		return Member{}, err
	}
	if to == accessOf(row) {
		return currentMember(tx, keys, row, who)
	}
	update := tx.Membership.Update().Where(membership.PropertyID(propertyID), membership.ID(row.ID)).SetRole(string(to.Role))
	switch {
	case to.Disabled && row.DisabledAt == nil:
		update.SetDisabledAt(tx.Now())
	case !to.Disabled:
		update.ClearDisabledAt()
	}
	if err := update.Exec(tx.Context()); err != nil {
		return Member{}, fmt.Errorf("change the access of a person: %w", err)
	}
	if err := endInvitationsBy(tx, propertyID, personID, to); err != nil {
		return Member{}, err
	}
	if row, who, err = loadMember(tx, propertyID, personID); err != nil {
		return Member{}, err
	}
	return currentMember(tx, keys, row, who)
}

// RemoveMember ends the access of a person to a property, if accessChangeProblem allows it, and the invitations that the person made. The
// person's sessions stay, but reach the property no more. The name stays, see [Names].
func RemoveMember(tx *db.Tx, keys *keyring.Ring, by Caller, propertyID, personID string) error {
	row, who, err := loadMember(tx, propertyID, personID)
	if err != nil {
		return err
	}
	if err := authorizeChange(tx, by, row, Access{}); err != nil {
		return err
	}
	if err := storeFormerName(tx, keys, propertyID, who); err != nil {
		return err
	}
	if _, err := tx.Membership.Delete().Where(membership.PropertyID(propertyID), membership.ID(row.ID)).Exec(tx.Context()); err != nil {
		return fmt.Errorf("remove a person from a property: %w", err)
	}
	return endInvitationsBy(tx, propertyID, personID, Access{})
}

// loadMember returns the membership of a person at a property, also a disabled one, and the person, or the not-found fault PersonNotFound
// if the person does not work there.
func loadMember(tx *db.Tx, propertyID, personID string) (*ent.Membership, *ent.Person, error) {
	row, err := tx.Membership.Query().Where(membership.PropertyID(propertyID), membership.PersonID(personID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return nil, nil, fault.New(fault.NotFound, fault.PersonNotFound, "no person with this id works at the property: ListPeople lists them")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("load the access of a person: %w", err)
	}
	who, err := tx.Person.Query().Where(person.ID(personID)).Only(tx.Context())
	if err != nil {
		return nil, nil, fmt.Errorf("load a person: %w", err)
	}
	return row, who, nil
}

// authorizeChange returns why a caller has no right to change the access of a person, or nil. It loads the caller's role again, because it
// can have changed since the call was authorized.
func authorizeChange(tx *db.Tx, by Caller, row *ent.Membership, to Access) error {
	by, err := currentCaller(tx, by, row.PropertyID)
	if err != nil {
		return err
	}
	owners, err := tx.Membership.Query().Where(membership.PropertyID(row.PropertyID), membership.Role(string(Owner)), membership.DisabledAtIsNil(),
		membership.PersonIDNEQ(row.PersonID)).Select(membership.FieldPersonID).Strings(tx.Context())
	if err != nil {
		return fmt.Errorf("find the owners of a property: %w", err)
	}
	active, err := tx.Person.Query().Where(person.IDIn(owners...), person.DisabledAtIsNil()).Count(tx.Context())
	if err != nil {
		return fmt.Errorf("count the owners of a property: %w", err)
	}
	return accessChangeProblem(by, row.PersonID, accessOf(row), to, active)
}

// currentCaller returns a caller with the role that is stored now, "" without access. A token keeps its role.
func currentCaller(tx *db.Tx, by Caller, propertyID string) (Caller, error) {
	if by.PersonID == "" {
		return by, nil
	}
	by.Role = ""
	row, err := findMembership(tx, propertyID, by.PersonID)
	if row != nil {
		by.Role = Role(row.Role)
	}
	return by, err
}
