package staff

import (
	"net/http"
	"strconv"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// group is a part of a form. Title and Text are message kinds.
type group struct {
	Title, Text string
	Inputs      []kit.Input
}

// settingsForm is one form on a page of settings. Button is a message kind.
type settingsForm struct {
	Name   string
	Groups []group
	Button string
	Etag   string // etag of the shown settings; "" if a save may overwrite another person's changes
}

// Boxes returns the names of the switches and check boxes. The form posts these names in the field "box", because a browser leaves out a
// box that is not checked.
func (f settingsForm) Boxes() (names []string) {
	for _, g := range f.Groups {
		for _, i := range g.Inputs {
			if i.Type == "switch" || i.Type == "boxes" {
				names = append(names, i.Name)
			}
		}
	}
	return names
}

// settingsView is a page with forms of settings.
type settingsView struct {
	Tab    string
	Forms  []settingsForm
	Unsent int32                      // number of mails that were never sent, because there was no mail server when they were due
	Sent   *propertyv1.TestMailResult // result of the test mail, or nil
	Limits string                     // what the law requires, but this service does not do
	Kept   []string                   // what is stored and for how long, as message kinds
	Server []keptFor                  // how long the server stores the data whose time the property cannot change
	// Erasures are the latest erasures of guests' data.
	Erasures []*propertyv1.ErasureItem
}

// settingsTabs are the pages of settings, with the right that each needs.
var settingsTabs = []area{
	{"property", "/app/settings/property", "manageSettings"}, {"checkin", "/app/settings/checkin", "manageSettings"}, {"own", "/app/settings/questions", "manageSettings"},
	{"texts", "/app/settings/texts", "manageSettings"}, {"retention", "/app/settings/retention", "manageSettings"}, {"mail", "/app/settings/mail", "manageSettings"},
	{"integrations", "/app/settings/integrations", "manageSettings"}, {"kiosks", "/app/settings/kiosks", "manageSettings"}, {"people", "/app/settings/people", "managePeople"},
}

// settingsPage returns the data of a page of settings. tab is its name in settingsTabs.
func (x *exchange) settingsPage(tab string) *page {
	p := x.newPage("staff.settings." + tab)
	p.Here = "settings"
	for _, t := range settingsTabs {
		if x.may(t.right) {
			p.Tabs = append(p.Tabs, t)
		}
	}
	return p
}

// showForms renders a page of settings. If f is not nil, the form named posted shows its posted values and the errors of f. If f is
// outdated, inputs that another person has changed show the stored values. If f is not about that form, showForms returns f.
func (x *exchange) showForms(v settingsView, posted string, f *fault.Fault) error {
	status, p := http.StatusOK, x.settingsPage(v.Tab)
	for _, form := range v.Forms {
		if f == nil || form.Name != posted {
			continue
		}
		if f.Reason == fault.Outdated {
			status = http.StatusConflict
			x.keepUnchanged(p, f, form.Groups)
			continue
		}
		var inputs []kit.Input
		for i := range form.Groups {
			inputs = append(inputs, x.Posted(form.Groups[i].Inputs)...)
		}
		if status = http.StatusUnprocessableEntity; !p.Refuse(f, inputs) {
			return f
		}
	}
	p.Data = v
	return x.render(status, "settings", p)
}

// finishForm answers a posted form. err is the result of saving it. Without err, it redirects to the page of settings named tab. If the API
// refused fields, or the form is outdated, it calls show. Otherwise it returns err.
func (x *exchange) finishForm(tab string, err error, show func(f *fault.Fault) error) error {
	if err == nil {
		return x.Redirect("/app/settings/" + tab + "?done=saved")
	}
	if f := x.site.Fault(err); f.Kind == fault.Invalid && len(f.Fields) > 0 || f.Reason == fault.Outdated {
		return show(f)
	}
	return err
}

// text returns a posted value for an optional field of an API request. It is never nil: without a value, the API stores "".
func (x *exchange) text(name string) *string { return new(x.Value(name)) }

// isOn returns whether a posted switch is on, for an optional field of an API request. It is never nil: a missing switch is off.
func (x *exchange) isOn(name string) *bool { return new(x.Value(name) != "") }

// number returns a posted number, for an optional field of an API request. It is never nil: for any other text, also an empty one, it is
// -1, so that the API refuses it.
func (x *exchange) number(name string) *int32 {
	n, err := strconv.ParseInt(x.Value(name), 10, 32)
	if err != nil {
		n = -1
	}
	return new(int32(n))
}

// postedIfChanged returns a posted value, or nil if it equals the stored one. A missing value counts as "".
func (x *exchange) postedIfChanged(name, stored string) *string {
	if v := x.Value(name); v != stored {
		return &v
	}
	return nil
}

// digits returns a number as an input shows it, in decimal digits.
func digits(n int32) string { return strconv.Itoa(int(n)) }

// flag returns the value of a switch as in [kit.Input]: "yes" or "".
func flag(on bool) string {
	if on {
		return "yes"
	}
	return ""
}

// options returns choices for values. The label of each is the message prefix + value.
func options(prefix string, values ...string) (list []kit.Option) {
	for _, v := range values {
		list = append(list, kit.Option{Value: v, Kind: prefix + v})
	}
	return list
}

// checkInSettings loads the check-in settings, also called rules.
func (x *exchange) checkInSettings() (*propertyv1.CheckInSettings, error) {
	found, err := x.site.api.CheckIns.GetCheckInSettings(x.call(), &propertyv1.GetCheckInSettingsRequest{})
	return found.GetData(), err
}

// saveProperty stores settings of the property. If another person has changed one of them since the page was shown, it stores nothing and
// returns an error with the reason [fault.Outdated].
func (x *exchange) saveProperty(settings *propertyv1.PropertySettings) error {
	api := x.site.api.Properties
	return x.saveUnlessChanged(func(etag string) error {
		_, err := api.UpdateProperty(x.call(), &propertyv1.UpdatePropertyRequest{Settings: settings, Etag: etag})
		return err
	}, func() (string, error) {
		found, err := api.GetProperty(x.call(), &propertyv1.GetPropertyRequest{})
		return found.GetData().GetEtag(), err
	})
}

// saveRules stores check-in settings. If another person has changed one of them since the page was shown, it stores nothing and returns an
// error with the reason [fault.Outdated].
func (x *exchange) saveRules(settings *propertyv1.CheckInSettingsChange) error {
	return x.saveUnlessChanged(func(etag string) error {
		_, err := x.site.api.CheckIns.UpdateCheckInSettings(x.call(), &propertyv1.UpdateCheckInSettingsRequest{Settings: settings, Etag: etag})
		return err
	}, x.rulesEtag)
}

// rulesEtag loads the etag (version) of the check-in settings.
func (x *exchange) rulesEtag() (string, error) {
	found, err := x.checkInSettings()
	return found.GetEtag(), err
}

// checkInForm returns the form of the check-in settings. rules are the choices of the country whose law applies.
func checkInForm(s *propertyv1.CheckInSettings, rules []kit.Option) settingsForm {
	return settingsForm{Name: "checkin", Etag: s.GetEtag(), Button: "staff.save", Groups: []group{
		{"staff.settings.law", "staff.settings.law.text", []kit.Input{
			{Name: "settings.rule", Label: "staff.settings.rule", Hint: "staff.settings.rule.hint", Value: s.GetRule(), Options: rules},
			{Name: "settings.whoFills", Label: "staff.settings.who", Value: s.GetWhoFills(), Options: options("staff.who.", "lead", "adults", "all")},
			{Name: "settings.identityCheck", Label: "staff.settings.identity", Value: s.GetIdentityCheck(), Options: options("staff.identity.", "none", "compareAtDesk", "live")},
			{Name: "settings.signature", Label: "staff.settings.signature", Value: s.GetSignature(), Options: options("staff.signature.", "none", "drawn", "paper", "external")},
		}},
		{"staff.settings.questions", "staff.settings.questions.text", []kit.Input{
			{Name: "settings.mandatoryGroups", Label: "staff.settings.groups", Type: "boxes", Value: strings.Join(s.GetMandatoryGroups(), " "), Options: options("staff.group.", "identity", "contact", "home", "document", "birth")},
			{Name: "settings.oftenCountries", Label: "staff.settings.countries", Hint: "staff.settings.countries.hint", Value: strings.Join(s.GetOftenCountries(), " "), Autocomplete: "off"},
			{Name: "settings.houseRules", Label: "staff.settings.rules", Hint: "staff.settings.rules.hint", Type: "lines", Value: s.GetHouseRules()},
		}},
		{"staff.settings.times", "staff.settings.times.text", []kit.Input{
			{Name: "settings.inviteDays", Label: "staff.settings.invite", Mode: "numeric", Value: digits(s.GetInviteDays())},
			{Name: "settings.remindDays", Label: "staff.settings.remind", Hint: "staff.settings.remind.hint", Mode: "numeric", Value: digits(s.GetRemindDays())},
			{Name: "settings.kioskOfflineMinutes", Label: "staff.settings.offline", Hint: "staff.settings.offline.hint", Mode: "numeric", Value: digits(s.GetKioskOfflineMinutes())},
		}},
	}}
}

// showCheckInSettings handles the page of the check-in settings.
func (s *site) showCheckInSettings(x *exchange) error { return x.checkInForms("", nil) }

// checkInForms renders the check-in settings. f is why the API refused the form named posted, or nil. An f that is not about it is
// returned.
func (x *exchange) checkInForms(posted string, f *fault.Fault) error {
	stored, err := x.checkInSettings()
	if err != nil {
		return err
	}
	found, err := x.site.api.CheckIns.ListCheckInRules(x.call(), &propertyv1.ListCheckInRulesRequest{})
	if err != nil {
		return err
	}
	var rules []kit.Option
	for _, r := range found.GetData().GetList() {
		rule := kit.Option{Value: r.GetName(), Kind: "country." + r.GetName()}
		if !x.words().Has(rule.Kind) {
			rule.Kind = "staff.rule.none"
		}
		rules = append(rules, rule)
	}
	return x.showForms(settingsView{Tab: "checkin", Forms: []settingsForm{checkInForm(stored, rules)}, Limits: stored.GetLimits()}, posted, f)
}

// changeCheckInSettings handles the form of the check-in. Settings whose default comes from the law are sent only if changed, so that they
// follow when the country changes.
func (s *site) changeCheckInSettings(x *exchange) error {
	if x.Value("form") != "checkin" {
		return x.Redirect("/app/settings/checkin")
	}
	stored, err := x.checkInSettings()
	if err != nil {
		return err
	}
	houseRules := x.Value("settings.houseRules")
	countries := strings.FieldsFunc(strings.ToUpper(x.Value("settings.oftenCountries")), func(r rune) bool { return r == ' ' || r == ',' })
	err = x.saveRules(&propertyv1.CheckInSettingsChange{
		Rule: x.postedIfChanged("settings.rule", stored.GetRule()), WhoFills: x.postedIfChanged("settings.whoFills", stored.GetWhoFills()),
		IdentityCheck: x.postedIfChanged("settings.identityCheck", stored.GetIdentityCheck()), Signature: x.postedIfChanged("settings.signature", stored.GetSignature()),
		MandatoryGroups: &propertyv1.MandatoryGroups{List: x.R.PostForm["settings.mandatoryGroups"]}, OftenCountries: &propertyv1.OftenCountries{List: countries},
		HouseRules: &houseRules, InviteDays: x.number("settings.inviteDays"), RemindDays: x.number("settings.remindDays"), KioskOfflineMinutes: x.number("settings.kioskOfflineMinutes"),
	})
	return x.finishForm("checkin", err, func(f *fault.Fault) error { return x.checkInForms("checkin", f) })
}

// mailForm returns the form of the mail server and sender.
func mailForm(s *propertyv1.MailSettings) settingsForm {
	password := "staff.mailset.password.new"
	if s.GetHasPassword() {
		password = "staff.mailset.password.kept"
	}
	port := digits(s.GetPort())
	if s.GetPort() == 0 {
		port = "587"
	}
	return settingsForm{Name: "mail", Etag: s.GetEtag(), Button: "staff.save", Groups: []group{
		{"staff.mailset.server", "staff.mailset.server.text", []kit.Input{
			{Name: "settings.host", Label: "staff.mailset.host", Hint: "staff.mailset.host.hint", Value: s.GetHost(), Autocomplete: "off"},
			{Name: "settings.port", Label: "staff.mailset.port", Mode: "numeric", Value: port},
			{Name: "settings.security", Label: "staff.mailset.security", Value: s.GetSecurity(), Options: options("staff.security.", "starttls", "tls", "none")},
			{Name: "settings.user", Label: "staff.mailset.user", Value: s.GetUser(), Autocomplete: "off"},
			{Name: "settings.password", Label: "staff.password", Hint: password, Type: "password", Autocomplete: "new-password"},
		}},
		{"staff.mailset.sender", "staff.mailset.sender.text", []kit.Input{
			{Name: "settings.fromAddress", Label: "staff.mailset.from", Type: "email", Value: s.GetFromAddress(), Autocomplete: "off"},
			{Name: "settings.fromName", Label: "staff.mailset.fromName", Hint: "staff.mailset.fromName.hint", Value: s.GetFromName(), Autocomplete: "off"},
			{Name: "settings.replyTo", Label: "staff.mailset.replyTo", Type: "email", Value: s.GetReplyTo(), Autocomplete: "off"},
		}},
	}}
}

// testMailForm returns the form that sends a test mail. to is the suggested address.
func testMailForm(to string) settingsForm {
	return settingsForm{Name: "test", Button: "staff.mailset.test.do", Groups: []group{{"staff.mailset.test", "staff.mailset.test.text", []kit.Input{
		{Name: "to", Label: "staff.email", Type: "email", Value: to, Autocomplete: "email"},
	}}}}
}

// showMailSettings handles the page of the mail settings.
func (s *site) showMailSettings(x *exchange) error { return x.mailForms("", nil, nil) }

// mailForms renders the mail settings. f is why the API refused the form named posted, or nil. An f that is not about it is returned. sent
// is the result of a test mail, or nil.
func (x *exchange) mailForms(posted string, f *fault.Fault, sent *propertyv1.TestMailResult) error {
	found, err := x.site.api.Mails.GetMailSettings(x.call(), &propertyv1.GetMailSettingsRequest{})
	if err != nil {
		return err
	}
	stored := found.GetData()
	forms := []settingsForm{mailForm(stored), testMailForm(x.session.GetPerson().GetEmail())}
	return x.showForms(settingsView{Tab: "mail", Forms: forms, Unsent: stored.GetUnsent(), Sent: sent}, posted, f)
}

// changeMailSettings handles the forms of the mail settings and of the test mail. The test mail is sent at once, and the page shows its
// result. An empty password keeps the stored one.
func (s *site) changeMailSettings(x *exchange) error {
	form := x.Value("form")
	refuse := func(f *fault.Fault) error { return x.mailForms(form, f, nil) }
	switch form {
	case "mail":
		change := &propertyv1.MailSettingsChange{
			Host: x.text("settings.host"), Port: x.number("settings.port"), Security: x.text("settings.security"), User: x.text("settings.user"),
			FromAddress: x.text("settings.fromAddress"), FromName: x.text("settings.fromName"), ReplyTo: x.text("settings.replyTo"),
		}
		if password := x.passwordOf("settings.password"); password != "" {
			change.Password = &password
		}
		_, err := s.api.Mails.UpdateMailSettings(x.call(), &propertyv1.UpdateMailSettingsRequest{Settings: change, Etag: x.Value("etag")})
		return x.finishForm("mail", err, refuse)
	case "test":
		sent, err := s.api.Mails.SendTestMail(x.call(), &propertyv1.SendTestMailRequest{To: x.Value("to")})
		if err != nil {
			return x.finishForm("mail", err, refuse)
		}
		return x.mailForms("", nil, sent.GetData())
	}
	return x.Redirect("/app/settings/mail")
}
