package property

import (
	"fmt"
	"net/mail"
	"strings"

	"latchkey.dev/ent"
	entsettings "latchkey.dev/ent/checkinsettings"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
)

// CheckInSettings are a property's rules of self check-in.
type CheckInSettings = ent.CheckInSettings

// OwnField is a question of the property.
type OwnField = schema.OwnField

// CheckInChange is a change of the rules of self check-in. Nil keeps a rule.
type CheckInChange struct {
	Rule, IdentityCheck, Signature, HouseRules, StaffEmail, DeskPhone, Language, Accent, Address, Directions, WhoFills *string
	InviteDays, RemindDays                                                                                             *int
	Fields                                                                                                             *[]OwnField
	MandatoryGroups                                                                                                    *[]string
}

// problems returns every invalid setting that the API's schema does not find. Paths are relative to the settings.
func (c CheckInChange) problems() []fault.Field {
	var wrong []fault.Field
	add := func(path string, r fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: message})
	}
	if v := c.StaffEmail; v != nil && *v != "" {
		if a, err := mail.ParseAddress(*v); err != nil || a.Address != *v {
			add("staffEmail", fault.BadFormat, "must be an email address such as desk@example.com, or empty")
		}
	}
	if v := c.DeskPhone; v != nil && strings.Trim(*v, "+0123456789 ()-./") != "" {
		add("deskPhone", fault.BadFormat, "must be a phone number as dialled from abroad, such as +351 21 123 4567, or empty")
	}
	if c.Fields != nil {
		named := map[string]bool{}
		for i, f := range *c.Fields {
			if named[f.Name] {
				add(fmt.Sprintf("fields.list[%d].name", i), fault.Duplicate, "another field has the same name")
			}
			named[f.Name] = true
		}
	}
	return wrong
}

// GetCheckInSettings returns the rules of self check-in, or their defaults if none are stored.
func GetCheckInSettings(tx *db.Tx, propertyID string) (*CheckInSettings, error) {
	row, err := tx.CheckInSettings.Query().Where(entsettings.PropertyID(propertyID), entsettings.ID(propertyID)).Only(tx.Context())
	if ent.IsNotFound(err) {
		return &CheckInSettings{
			ID: propertyID, PropertyID: propertyID, Rule: entsettings.DefaultRule, IdentityCheck: entsettings.DefaultIdentityCheck, Signature: entsettings.DefaultSignature,
			InviteDays: entsettings.DefaultInviteDays, RemindDays: entsettings.DefaultRemindDays, Language: entsettings.DefaultLanguage, WhoFills: entsettings.DefaultWhoFills,
		}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the check-in settings of %s: %w", propertyID, err)
	}
	return row, nil
}

// UpdateCheckInSettings changes rules of self check-in.
func UpdateCheckInSettings(tx *db.Tx, propertyID string, c CheckInChange) (*CheckInSettings, error) {
	if err := fault.Err(fault.Fields(c.problems()...)); err != nil {
		return nil, err
	}
	if _, err := Get(tx, propertyID); err != nil {
		return nil, err
	}
	stored, err := tx.CheckInSettings.Query().Where(entsettings.PropertyID(propertyID), entsettings.ID(propertyID)).Exist(tx.Context())
	if err == nil && !stored {
		err = tx.CheckInSettings.Create().SetID(propertyID).SetPropertyID(propertyID).SetCreatedAt(tx.Now()).Exec(tx.Context())
	}
	if err != nil {
		return nil, fmt.Errorf("store the check-in settings of %s: %w", propertyID, err)
	}
	u := tx.CheckInSettings.Update().Where(entsettings.PropertyID(propertyID), entsettings.ID(propertyID)).
		SetNillableRule(c.Rule).SetNillableIdentityCheck(c.IdentityCheck).SetNillableSignature(c.Signature).SetNillableHouseRules(c.HouseRules).
		SetNillableStaffEmail(c.StaffEmail).SetNillableDeskPhone(c.DeskPhone).SetNillableLanguage(c.Language).SetNillableAccent(c.Accent).
		SetNillableAddress(c.Address).SetNillableDirections(c.Directions).SetNillableWhoFills(c.WhoFills).
		SetNillableInviteDays(c.InviteDays).SetNillableRemindDays(c.RemindDays)
	if c.Fields != nil {
		u.SetFields(*c.Fields)
	}
	if c.MandatoryGroups != nil {
		u.SetMandatoryGroups(*c.MandatoryGroups)
	}
	if err := u.Exec(tx.Context()); err != nil {
		return nil, fmt.Errorf("change the check-in settings of %s: %w", propertyID, err)
	}
	if c.InviteDays != nil || c.RemindDays != nil {
		if err := tx.Invitation.Update().Where(invitation.PropertyID(propertyID)).SetNextAt(tx.Now()).Exec(tx.Context()); err != nil {
			return nil, fmt.Errorf("evaluate the invitations of %s again: %w", propertyID, err)
		}
	}
	return GetCheckInSettings(tx, propertyID)
}
