package staff

import (
	"slices"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// propertyForm returns the form of the property's own settings: name, times, codes, and what an owed amount does.
func propertyForm(s *propertyv1.Property) settingsForm {
	return settingsForm{Name: "property", Etag: s.GetEtag(), Button: "staff.save", Groups: []group{
		{"staff.settings.house", "staff.settings.house.text", []kit.Input{
			{Name: "settings.name", Label: "staff.first.property", Hint: "staff.first.property.hint", Value: s.GetName(), Autocomplete: "organization"},
			{Name: "settings.timeZone", Label: "staff.first.zone", Hint: "staff.first.zone.hint", Value: s.GetTimeZone(), Autocomplete: "off"},
		}},
		{"staff.settings.hours", "staff.settings.hours.text", []kit.Input{
			{Name: "settings.checkInTime", Label: "staff.settings.checkInTime", Autocomplete: "off", Value: s.GetCheckInTime()},
			{Name: "settings.checkOutTime", Label: "staff.settings.checkOutTime", Autocomplete: "off", Value: s.GetCheckOutTime()},
			{Name: "settings.earlyInMinutes", Label: "staff.settings.early", Hint: "staff.settings.early.hint", Mode: "numeric", Value: digits(s.GetEarlyInMinutes())},
			{Name: "settings.lateOutMinutes", Label: "staff.settings.late", Hint: "staff.settings.late.hint", Mode: "numeric", Value: digits(s.GetLateOutMinutes())},
		}},
		{"staff.settings.codes", "staff.settings.codes.text", []kit.Input{
			{Name: "settings.pinLength", Label: "staff.settings.pin", Value: digits(s.GetPinLength()), Options: options("staff.pin.", "0", "6", "7", "8")},
			{Name: "settings.gatesAlone", Label: "staff.settings.gates", Hint: "staff.settings.gates.hint", Type: "switch", Value: flag(s.GetGatesAlone())},
			{Name: "settings.backupCodes", Label: "staff.settings.backup", Hint: "staff.settings.backup.hint", Type: "switch", Value: flag(s.GetBackupCodes())},
			{Name: "settings.accessStepUp", Label: "staff.settings.stepUp", Hint: "staff.settings.stepUp.hint", Type: "switch", Value: flag(s.GetAccessStepUp())},
		}},
		{"staff.settings.owing", "staff.settings.owing.text", []kit.Input{
			{Name: "settings.owingPolicy", Label: "staff.settings.owing.policy", Value: s.GetOwingPolicy(), Options: options("staff.owing.", "block", "allow", "threshold")},
			{Name: "settings.owingThresholdMinor", Label: "staff.settings.owing.most", Hint: "staff.settings.owing.most.hint", Mode: "numeric", Value: digits(s.GetOwingThresholdMinor())},
		}},
	}}
}

// lookForm returns the form of what guests see (language, color and contact), and of the mail address of the staff. Both are check-in
// settings.
func lookForm(s *propertyv1.CheckInSettings, languages []kit.Option) settingsForm {
	return settingsForm{Name: "look", Etag: s.GetEtag(), Button: "staff.settings.look.save", Groups: []group{
		{"staff.settings.look", "staff.settings.look.text", []kit.Input{
			{Name: "settings.language", Label: "staff.settings.language", Hint: "staff.settings.language.hint", Value: s.GetLanguage(), Options: languages},
			{Name: "settings.accent", Label: "staff.settings.accent", Hint: "staff.settings.accent.hint", Value: s.GetAccent(), Autocomplete: "off"},
		}},
		{"staff.settings.contact", "staff.settings.contact.text", []kit.Input{
			{Name: "settings.address", Label: "staff.settings.address", Type: "lines", Value: s.GetAddress()},
			{Name: "settings.directions", Label: "staff.settings.directions", Hint: "staff.settings.directions.hint", Type: "lines", Value: s.GetDirections()},
			{Name: "settings.deskPhone", Label: "staff.settings.phone", Hint: "staff.settings.phone.hint", Type: "tel", Value: s.GetDeskPhone(), Autocomplete: "off"},
			{Name: "settings.staffEmail", Label: "staff.settings.staffEmail", Hint: "staff.settings.staffEmail.hint", Type: "email", Value: s.GetStaffEmail(), Autocomplete: "off"},
		}},
	}}
}

// languageOptions returns the languages that have texts. It adds the stored language if that has none.
func languageOptions(p *page, stored string) (list []kit.Option) {
	tags := p.Languages
	if stored != "" && !slices.Contains(tags, stored) {
		tags = append(slices.Clone(tags), stored)
	}
	for _, tag := range tags {
		text := p.LanguageName(tag)
		if !slices.Contains(p.Languages, tag) {
			text = tag
		}
		list = append(list, kit.Option{Value: tag, Text: text})
	}
	return list
}

// showProperty handles the page of the property's settings.
func (s *site) showProperty(x *exchange) error { return x.propertyForms("", nil) }

// propertyForms renders the forms of the property. f is why the API refused the form named posted, or nil. An f that is not about it is
// returned.
func (x *exchange) propertyForms(posted string, f *fault.Fault) error {
	rules, err := x.checkInSettings()
	if err != nil {
		return err
	}
	languages := languageOptions(x.newPage("staff.settings.property"), rules.GetLanguage())
	return x.showForms(settingsView{Tab: "property", Forms: []settingsForm{propertyForm(x.property), lookForm(rules, languages)}}, posted, f)
}

// changeProperty handles the forms of the property. "property" stores settings of the property, and "look" check-in settings. It ignores
// any other form.
func (s *site) changeProperty(x *exchange) error {
	err := error(nil)
	switch x.Value("form") {
	case "property":
		err = x.saveProperty(&propertyv1.PropertySettings{
			Name: x.text("settings.name"), TimeZone: x.text("settings.timeZone"), CheckInTime: x.text("settings.checkInTime"), CheckOutTime: x.text("settings.checkOutTime"),
			EarlyInMinutes: x.number("settings.earlyInMinutes"), LateOutMinutes: x.number("settings.lateOutMinutes"), PinLength: x.number("settings.pinLength"),
			GatesAlone: x.isOn("settings.gatesAlone"), BackupCodes: x.isOn("settings.backupCodes"), AccessStepUp: x.isOn("settings.accessStepUp"),
			OwingPolicy: x.text("settings.owingPolicy"), OwingThresholdMinor: x.number("settings.owingThresholdMinor"),
		})
	case "look":
		address, directions := x.Value("settings.address"), x.Value("settings.directions")
		err = x.saveRules(&propertyv1.CheckInSettingsChange{
			Language: x.text("settings.language"), Accent: x.text("settings.accent"), Address: &address, Directions: &directions,
			DeskPhone: x.text("settings.deskPhone"), StaffEmail: x.text("settings.staffEmail"),
		})
	default:
		return x.Redirect("/app/settings/property")
	}
	return x.finishForm("property", err, func(f *fault.Fault) error { return x.propertyForms(x.Value("form"), f) })
}
