package property

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/reservation"
)

// GetCheckInSettings returns the settings of self check-in, with the installation's retention periods and the etag for an update.
func (s *CheckIns) GetCheckInSettings(ctx context.Context, _ *propertyv1.GetCheckInSettingsRequest) (*propertyv1.GetCheckInSettingsResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	row, err := property.GetCheckInSettings(s.DB.View(ctx), propertyID)
	if err != nil {
		return nil, err
	}
	return &propertyv1.GetCheckInSettingsResponse{Data: s.settings(ctx, row)}, nil
}

// UpdateCheckInSettings changes the settings that the request has. A rule also changes others: see checkInChange. It refuses settings
// against the country's law, and periods longer than the installation's. An outdated etag is refused; without one it overwrites.
func (s *CheckIns) UpdateCheckInSettings(ctx context.Context, r *propertyv1.UpdateCheckInSettingsRequest) (*propertyv1.UpdateCheckInSettingsResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.UpdateCheckInSettingsResponse, error) {
		stored, err := property.GetCheckInSettings(tx, propertyID)
		if err != nil {
			return nil, err
		}
		if err := convert.CheckEtag(r.GetEtag(), s.settings(ctx, stored), notSettings...); err != nil {
			return nil, err
		}
		change := checkInChange(stored, r.GetSettings())
		wrong := slices.Concat(ruleProblems(stored, change), retentionProblems(change, s.KeepStays), change.Problems())
		if err := fault.Err(fault.Fields(wrong...)); err != nil {
			return nil, PrefixFields("settings", err)
		}
		row, err := property.UpdateCheckInSettings(tx, propertyID, change)
		if err != nil {
			return nil, PrefixFields("settings", err)
		}
		return &propertyv1.UpdateCheckInSettingsResponse{Data: s.settings(ctx, row)}, nil
	})
}

// checkInChange converts a change of the stored settings. A country rule in m other than the stored one also sets the identity check and
// the signature that its law asks for, unless m sets them. It sets who must fill in the form only if m does not, and the stored choice
// covers fewer guests than the law.
func checkInChange(stored *property.CheckInSettings, m *propertyv1.CheckInSettingsChange) property.CheckInChange {
	c := property.CheckInChange{
		Rule: m.Rule, IdentityCheck: m.IdentityCheck, Signature: m.Signature, HouseRules: m.HouseRules, StaffEmail: m.StaffEmail, DeskPhone: m.DeskPhone,
		Language: m.Language, Accent: m.Accent, Address: m.Address, Directions: m.Directions, WhoFills: m.WhoFills,
		InviteDays: intOrNil(m.InviteDays), RemindDays: intOrNil(m.RemindDays), KioskOfflineMinutes: intOrNil(m.KioskOfflineMinutes),
		KeepStayDays: intOrNil(m.KeepStayDays), MessageDays: intOrNil(m.MessageDays),
	}
	if m.Texts != nil {
		texts := map[string]property.LocalTexts{}
		for tag, t := range m.GetTexts().GetByLanguage() {
			texts[tag] = property.LocalTexts{HouseRules: t.GetHouseRules(), Directions: t.GetDirections(), Address: t.GetAddress()}
		}
		c.Texts = &texts
	}
	if law, ok := rule.Find(m.GetRule()); ok && m.Rule != nil && m.GetRule() != stored.Rule {
		if c.IdentityCheck == nil {
			c.IdentityCheck = new(orNone(law.IdentityCheck))
		}
		if c.Signature == nil {
			c.Signature = new(orNone(law.Signature))
		}
		if c.WhoFills == nil && !rule.Who(stored.WhoFills).Covers(law.Fills()) {
			c.WhoFills = new(string(law.Fills()))
		}
	}
	if m.Fields != nil {
		fields := []property.OwnField{}
		for _, f := range m.GetFields().GetList() {
			fields = append(fields, property.OwnField{Name: f.GetName(), Label: f.GetLabel(), Required: f.GetRequired(), MainOnly: f.GetMainOnly(), Labels: f.GetLabels()})
		}
		c.Fields = &fields
	}
	if m.MandatoryGroups != nil {
		groups := append([]string{}, m.GetMandatoryGroups().GetList()...)
		c.MandatoryGroups = &groups
	}
	if m.OftenCountries != nil {
		countries := append([]string{}, m.GetOftenCountries().GetList()...)
		c.OftenCountries = &countries
	}
	return c
}

// serverRetention returns how long the installation keeps each kind of data.
func (s *CheckIns) serverRetention() *propertyv1.ServerRetention {
	days := func(period time.Duration) int32 { return int32(period / (24 * time.Hour)) }
	return &propertyv1.ServerRetention{
		StayDays: days(s.KeepStays), EventDays: days(s.KeepEvents), AuditDays: days(s.KeepAudit), UndeliveredEventDays: days(event.UndeliveredGrace),
		CanceledStayDays: days(checkin.CanceledRetention), NoShowFormDays: days(guest.NoShowRetention), ProfileDays: days(guest.ProfileRetention),
		GuestSessionDays: days(guest.ExpiredRetention), TokenDays: days(credential.Retention), AnswerDays: days(idem.AnswerTTL),
		ErasureProofDays: days(guest.ErasureRetention), RemovedStayDays: days(reservation.TombstoneRetention),
	}
}

// retentionProblems returns an error for each changed period that is longer than the installation's. If installation is 0 or below a day,
// there is no limit.
func retentionProblems(c property.CheckInChange, installation time.Duration) (wrong []fault.Field) {
	most := int(installation / (24 * time.Hour))
	for _, f := range []struct {
		path string
		days *int
	}{{"keepStayDays", c.KeepStayDays}, {"messageDays", c.MessageDays}} {
		if f.days != nil && most > 0 && *f.days > most {
			wrong = append(wrong, fault.Field{Path: f.path, Reason: fault.OutOfRange, Message: fmt.Sprintf(
				"must be at most %d, the days for which this installation keeps reservations, or 0 for as long", most)})
		}
	}
	return wrong
}

// ruleProblems returns the errors of the settings as c leaves them: an unknown rule, a signature or a choice of who fills in the form that
// the rule's law does not allow, an unknown country, and an own field that the form already has. A conflict of a signature or a choice with
// the rule is an error of the former, also if c changes only the rule; if c changes neither of the two, it is not reported.
func ruleProblems(stored *property.CheckInSettings, c property.CheckInChange) (wrong []fault.Field) {
	name, signature, fills := valueOr(c.Rule, stored.Rule), valueOr(c.Signature, stored.Signature), rule.Who(valueOr(c.WhoFills, stored.WhoFills))
	law, ok := rule.Find(name)
	if !ok {
		wrong = append(wrong, fault.Field{Path: "rule", Reason: fault.WrongValue, Message: "must be one of the rules: " + ruleNames()})
		law = &rule.Rules[0]
	}
	if law.NoDrawnSignature && signature == guest.Drawn && (c.Rule != nil || c.Signature != nil) {
		wrong = append(wrong, fault.Field{Path: "signature", Reason: fault.Conflicting, Message: "a signature drawn on a screen does not count in " + law.Name + ": use paper, external or none"})
	}
	if !fills.Covers(law.Fills()) && (c.Rule != nil || c.WhoFills != nil) {
		wrong = append(wrong, fault.Field{Path: "whoFills", Reason: fault.Conflicting, Message: fewerThanTheLaw(law)})
	}
	for i, code := range listOrNone(c.OftenCountries) {
		if !rule.IsCountry(code) {
			wrong = append(wrong, fault.Field{
				Path: fmt.Sprintf("oftenCountries.list[%d]", i), Reason: fault.WrongValue, Message: "is no country: use the two letters of ISO 3166-1, such as PT",
			})
		}
	}
	if c.Fields == nil {
		return wrong
	}
	for i, f := range *c.Fields {
		if legal, ok := rule.LegalName(f.Name); ok {
			wrong = append(wrong, fault.Field{
				Path: fmt.Sprintf("fields.list[%d].name", i), Reason: fault.Conflicting,
				Message: "the form has this question itself (" + string(legal) + "): choose another name, or mark the group of the field as mandatory",
			})
		}
	}
	return wrong
}

// fewerThanTheLaw returns the error text for settings by which fewer guests fill in a form than the law requires.
func fewerThanTheLaw(law *rule.Rule) string {
	who := map[rule.Who]string{rule.Adults: "every adult", rule.All: "every guest, also of children"}[law.Fills()]
	return fmt.Sprintf("the law of %s (%s) asks for answers of %s: use %s, or the rule none if the law does not apply to you", law.Name, law.Source, who, law.Fills())
}

// valueOr returns a changed value, or the stored one.
func valueOr(changed *string, stored string) string {
	if changed != nil {
		return *changed
	}
	return stored
}

// listOrNone returns a changed list, or nil if it does not change.
func listOrNone(changed *[]string) []string {
	if changed == nil {
		return nil
	}
	return *changed
}

// orNone returns s, or the setting "none" if s is empty.
func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// ruleNames returns the names of all check-in rules, separated by commas, for an error message.
func ruleNames() string {
	var names []string
	for _, r := range rule.Rules {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// settings converts the check-in settings, with the installation's retention periods and the etag.
func (s *CheckIns) settings(ctx context.Context, row *property.CheckInSettings) *propertyv1.CheckInSettings {
	m := &propertyv1.CheckInSettings{
		Rule: row.Rule, MandatoryGroups: row.MandatoryGroups, IdentityCheck: row.IdentityCheck, Signature: row.Signature, HouseRules: row.HouseRules,
		InviteDays: int32(row.InviteDays), RemindDays: int32(row.RemindDays), KioskOfflineMinutes: int32(row.KioskOfflineMinutes), StaffEmail: row.StaffEmail, DeskPhone: row.DeskPhone,
		Language: row.Language, Accent: row.Accent, Address: row.Address, Directions: row.Directions, WhoFills: row.WhoFills,
		OftenCountries: row.OftenCountries, KeepStayDays: int32(row.KeepStayDays), MessageDays: int32(row.MessageDays),
	}
	if len(row.Texts) > 0 {
		m.Texts = map[string]*propertyv1.LocalTexts{}
	}
	for tag, t := range row.Texts {
		m.Texts[tag] = &propertyv1.LocalTexts{HouseRules: t.HouseRules, Directions: t.Directions, Address: t.Address}
	}
	if law, ok := rule.Find(row.Rule); ok {
		m.Limits = leftToProperty(ctx, law)
	}
	for _, f := range row.Fields {
		m.Fields = append(m.Fields, &propertyv1.OwnField{Name: f.Name, Label: f.Label, Required: f.Required, MainOnly: f.MainOnly, Labels: f.Labels})
	}
	m.ServerRetention = s.serverRetention()
	m.Etag = convert.Etag(m, notSettings...)
	return m
}

// notSettings are the fields of the settings that a caller cannot change. The etag leaves them out; limits depends on the call's language.
var notSettings = []string{"limits", "serverRetention"}

// leftToProperty describes, in the language of the call, the duties of a law that this service does not do for the property.
func leftToProperty(ctx context.Context, law *rule.Rule) string {
	return chain.Reader(ctx).Text(message.Message{Kind: law.LeftToProperty})
}

// ListCheckInRules lists the country rules for check-in, each as in force today.
func (s *CheckIns) ListCheckInRules(ctx context.Context, _ *propertyv1.ListCheckInRulesRequest) (*propertyv1.ListCheckInRulesResponse, error) {
	today := s.DB.View(ctx).Now()
	list := &propertyv1.CheckInRuleList{}
	for i := range rule.Rules {
		law := rule.Rules[i].On(today)
		list.List = append(list.List, &propertyv1.CheckInRule{
			Name: law.Name, Since: law.Since, Source: law.Source, Url: law.URL, AlsoUrl: law.Also, ReadOn: law.ReadOn, Limits: leftToProperty(ctx, law),
			Closed: law.Closed, KeepMonths: int32(law.KeepMonths), IdentityCheck: orNone(law.IdentityCheck), Signature: orNone(law.Signature),
			NoDrawnSignature: law.NoDrawnSignature, WhoFills: string(law.Fills()),
		})
	}
	return &propertyv1.ListCheckInRulesResponse{Data: list}, nil
}
