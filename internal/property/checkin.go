package property

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"latchkey.dev/ent"
	entsettings "latchkey.dev/ent/checkinsettings"
	"latchkey.dev/ent/invitation"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/text"
)

// CheckInSettings are a property's rules of self check-in.
type CheckInSettings = ent.CheckInSettings

// LocalTexts are the texts of a property for guests in one language.
type LocalTexts = schema.LocalTexts

// OwnField is a question of the property.
type OwnField = schema.OwnField

// CheckInChange is a change of the rules of self check-in. A nil field changes nothing; a map or list replaces the stored one.
// KioskOfflineMinutes is the silence of a tablet after which staff get a notice; 0: never. KeepStayDays and MessageDays are those of
// [Retention].
type CheckInChange struct {
	Rule, IdentityCheck, Signature, HouseRules, StaffEmail, DeskPhone, Language, Accent, Address, Directions, WhoFills *string
	InviteDays, RemindDays, KioskOfflineMinutes, KeepStayDays, MessageDays                                             *int
	Texts                                                                                                              *map[string]LocalTexts
	Fields                                                                                                             *[]OwnField
	MandatoryGroups, OftenCountries                                                                                    *[]string
}

// Problems returns every invalid setting that the API's schema does not find, or nil. Paths are relative to the settings.
func (c CheckInChange) Problems() []fault.Field {
	var wrong []fault.Field
	add := func(path string, r fault.Reason, text string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: text})
	}
	if v := c.StaffEmail; v != nil && *v != "" && !text.IsAddress(*v) {
		add("staffEmail", fault.BadFormat, "must be an email address such as desk@example.com, or empty")
	}
	if v := c.DeskPhone; v != nil && strings.Trim(*v, "+0123456789 ()-./") != "" {
		add("deskPhone", fault.BadFormat, "must be a phone number as dialled from abroad, such as +351 21 123 4567, or empty")
	}
	if c.Fields != nil {
		wrong = append(wrong, ownFieldProblems(*c.Fields)...)
	}
	if c.Texts != nil {
		for _, tag := range slices.Sorted(maps.Keys(*c.Texts)) {
			if name, _ := message.Find(tag); name != tag {
				add("texts.byLanguage["+tag+"]", fault.WrongValue, "is not a language of this service: use "+strings.Join(message.Languages(), ", "))
			}
		}
	}
	return wrong
}

// ownFieldProblems returns the errors of the property's own questions: repeated names, in any case, blank labels and unknown languages.
func ownFieldProblems(fields []OwnField) (wrong []fault.Field) {
	named := map[string]bool{}
	for i, f := range fields {
		path := fmt.Sprintf("fields.list[%d].", i)
		if name := strings.ToLower(f.Name); named[name] {
			wrong = append(wrong, fault.Field{Path: path + "name", Reason: fault.Duplicate, Message: "another question has the same name: choose another one"})
		} else {
			named[name] = true
		}
		if strings.TrimSpace(f.Label) == "" {
			wrong = append(wrong, fault.Field{Path: path + "label", Reason: fault.Required, Message: "is blank: write the question that guests read"})
		}
		for _, tag := range slices.Sorted(maps.Keys(f.Labels)) {
			if strings.TrimSpace(f.Labels[tag]) == "" {
				wrong = append(wrong, fault.Field{Path: path + "labels[" + tag + "]", Reason: fault.Required, Message: "is blank: write the question in this language, or leave the language out"})
			}
			if _, err := language.Parse(tag); err != nil {
				wrong = append(wrong, fault.Field{Path: path + "labels[" + tag + "]", Reason: fault.WrongValue, Message: "is no language: use a BCP 47 tag, such as de or pt-BR"})
			}
		}
	}
	return wrong
}

// GetCheckInSettings returns the rules of self check-in, or their defaults if none are stored, also for an unknown property. The caller
// must not change the result, which may be shared.
func GetCheckInSettings(tx *db.Tx, propertyID string) (*CheckInSettings, error) {
	type settingsOf string
	return db.Cached(tx, []string{"check_in_settings"}, settingsOf(propertyID), func() (*CheckInSettings, error) {
		return loadCheckInSettings(tx, propertyID)
	})
}

// loadCheckInSettings is [GetCheckInSettings] without the cache.
func loadCheckInSettings(tx *db.Tx, propertyID string) (*CheckInSettings, error) {
	rows, err := tx.CheckInSettings.Read(tx.Context(), "property_id = $1 AND id = $2", propertyID, propertyID)
	if err != nil {
		return nil, fmt.Errorf("load the check-in settings of %s: %w", propertyID, err)
	}
	if len(rows) == 0 {
		return &CheckInSettings{
			ID: propertyID, PropertyID: propertyID, Rule: entsettings.DefaultRule, IdentityCheck: entsettings.DefaultIdentityCheck, Signature: entsettings.DefaultSignature,
			InviteDays: entsettings.DefaultInviteDays, RemindDays: entsettings.DefaultRemindDays, KioskOfflineMinutes: entsettings.DefaultKioskOfflineMinutes, Language: entsettings.DefaultLanguage, WhoFills: entsettings.DefaultWhoFills,
		}, nil
	}
	return rows[0], nil
}

// ListWithStaffEmail returns the ids of the properties that have an address for mails to staff.
func ListWithStaffEmail(view *db.Tx) ([]string, error) {
	ids, err := view.CheckInSettings.Query().Where(entsettings.StaffEmailNEQ("")).Order(entsettings.ByID()).IDs(view.Context())
	if err != nil {
		return nil, fmt.Errorf("list the properties with an address for staff: %w", err)
	}
	return ids, nil
}

// UpdateCheckInSettings changes rules of self check-in and returns all of them, or a fault with every invalid field of
// [CheckInChange.Problems]. For an unknown property it returns a not-found fault. If the change sets the days of invitations or reminders,
// it makes the property's invitations due now, so that they are planned again.
func UpdateCheckInSettings(tx *db.Tx, propertyID string, c CheckInChange) (*CheckInSettings, error) {
	if err := fault.Err(fault.Fields(c.Problems()...)); err != nil {
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
		SetNillableInviteDays(c.InviteDays).SetNillableRemindDays(c.RemindDays).SetNillableKioskOfflineMinutes(c.KioskOfflineMinutes).
		SetNillableKeepStayDays(c.KeepStayDays).SetNillableMessageDays(c.MessageDays)
	if c.Texts != nil {
		u.SetTexts(*c.Texts)
	}
	if c.Fields != nil {
		u.SetFields(*c.Fields)
	}
	if c.MandatoryGroups != nil {
		u.SetMandatoryGroups(*c.MandatoryGroups)
	}
	if c.OftenCountries != nil {
		u.SetOftenCountries(*c.OftenCountries)
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

// TextsIn returns a property's texts for guests in a language. A text that has no translation is in the property's default language. A text
// that is missing in the default language is "", even if it has a translation.
func TextsIn(s *CheckInSettings, language string) LocalTexts {
	local := s.Texts[language]
	in := func(standard, local string) string {
		if standard == "" {
			return ""
		}
		return cmp.Or(local, standard)
	}
	return LocalTexts{
		HouseRules: in(s.HouseRules, local.HouseRules),
		Directions: in(s.Directions, local.Directions),
		Address:    in(s.Address, local.Address),
	}
}

// LanguagesIn returns the language of each text that [TextsIn] returns: language, or the property's default language for a text without a
// translation. It is "" for a text that is "".
func LanguagesIn(s *CheckInSettings, language string) LocalTexts {
	local := s.Texts[language]
	of := func(standard, local string) string {
		switch {
		case standard == "":
			return ""
		case local == "":
			return s.Language
		}
		return language
	}
	return LocalTexts{
		HouseRules: of(s.HouseRules, local.HouseRules),
		Directions: of(s.Directions, local.Directions),
		Address:    of(s.Address, local.Address),
	}
}
