package main

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type checkInSettings struct {
	Rule          *string           `help:"The country rule, as in: latchkey checkin rules."`
	IdentityCheck *string           `placeholder:"HOW" help:"none, compareAtDesk or live."`
	Signature     *string           `placeholder:"HOW" help:"none, drawn, paper or external."`
	HouseRules    *string           `placeholder:"TEXT" help:"The house rules that guests accept. Empty: none."`
	Mandatory     *string           `placeholder:"GROUPS" help:"Groups of fields that every guest fills in and may share with the PMS, with commas between them: identity, contact, home, document, birth. Empty: none."`
	Often         *string           `placeholder:"COUNTRIES" help:"Countries that lists show first, with commas between them, such as PT,ES,FR. Empty: the country of the rule."`
	InviteDays    *int32            `placeholder:"DAYS" help:"Days before arrival when invitations are mailed."`
	RemindDays    *int32            `placeholder:"DAYS" help:"Days before arrival when guests are reminded. 0: never."`
	HouseRulesIn  map[string]string `mapsep:"none" placeholder:"LANGUAGE=TEXT" help:"The house rules in another language, such as de=TEXT. Repeat the flag for each language. An empty text removes it."`
	DirectionsIn  map[string]string `mapsep:"none" placeholder:"LANGUAGE=TEXT" help:"How to find the property, in another language."`
	AddressIn     map[string]string `mapsep:"none" placeholder:"LANGUAGE=TEXT" help:"The address in another language."`
	KeepStayDays  *int32            `placeholder:"DAYS" help:"Days that reservations with all their data are kept after their end, at least 30. 0: as long as --keep-stays of the server says, which is the longest."`
	MessageDays   *int32            `placeholder:"DAYS" help:"Days that messages with guests are kept after the end of the stay. 0: as long as the reservation."`
	KioskOffline  *int32            `placeholder:"MINUTES" help:"Minutes without a call of a tablet before staff get a notice, in the hours in which guests check in. 0: never."`
	StaffEmail    *string           `placeholder:"ADDRESS" help:"Where stops of check-ins are mailed. Empty: nowhere."`
	DeskPhone     *string           `placeholder:"NUMBER" help:"The desk's number, as dialled from abroad."`
	WhoFills      *string           `placeholder:"WHO" help:"Who fills in the form: lead, adults or all. Fewer guests than the country rule asks are refused."`
	Language      *string           `placeholder:"TAG" help:"Language of mails, and of pages if no language of the guest's browser is available, such as en."`
	Accent        *string           `placeholder:"COLOUR" help:"Colour of pages and mails: #RRGGBB. Empty: the default."`
	Address       *string           `placeholder:"TEXT" help:"Postal address, for guests. Empty: none."`
	Directions    *string           `placeholder:"TEXT" help:"How to find the property, for guests. Empty: none."`
}

// Help returns what --help adds: what happens without a flag, and examples.
func (checkInSettings) Help() string {
	return `Without a flag, the settings are shown. Example:
  latchkey checkin settings --rule PT --staff-email desk@example.com
  latchkey checkin settings --house-rules "Quiet from 22:00." --house-rules-in de="Ruhe ab 22 Uhr."
  latchkey checkin settings --keep-stay-days 90 --message-days 30`
}

// Run changes the settings of self check-in that the flags give. Without flags it prints them.
func (c *checkInSettings) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		client := propertyv1.NewCheckInServiceClient(s.conn)
		if reflect.ValueOf(*c).IsZero() {
			answer, err := client.GetCheckInSettings(s, &propertyv1.GetCheckInSettingsRequest{})
			return s.printAnswer(answer, err, func() { s.printCheckInSettings(answer.GetData()) })
		}
		change := &propertyv1.CheckInSettingsChange{
			Rule: c.Rule, IdentityCheck: c.IdentityCheck, Signature: c.Signature, HouseRules: c.HouseRules, InviteDays: c.InviteDays,
			RemindDays: c.RemindDays, KioskOfflineMinutes: c.KioskOffline, StaffEmail: c.StaffEmail, DeskPhone: c.DeskPhone, WhoFills: c.WhoFills,
			Language: c.Language, Accent: c.Accent, Address: c.Address, Directions: c.Directions,
			KeepStayDays: c.KeepStayDays, MessageDays: c.MessageDays,
		}
		if c.Mandatory != nil {
			change.MandatoryGroups = &propertyv1.MandatoryGroups{List: listOf(*c.Mandatory)}
		}
		if c.translates() {
			answer, err := client.GetCheckInSettings(s, &propertyv1.GetCheckInSettingsRequest{})
			if err != nil {
				return s.printAnswer(answer, err, nil)
			}
			change.Texts = &propertyv1.TextsByLanguage{ByLanguage: c.translate(answer.GetData().GetTexts())}
		}
		if c.Often != nil {
			change.OftenCountries = &propertyv1.OftenCountries{List: listOf(*c.Often)}
		}
		answer, err := client.UpdateCheckInSettings(s, &propertyv1.UpdateCheckInSettingsRequest{Settings: change})
		return s.printAnswer(answer, err, func() { s.printCheckInSettings(answer.GetData()) })
	})
}

// translates reports whether a flag gives a text in another language, such as --house-rules-in.
func (c *checkInSettings) translates() bool {
	return len(c.HouseRulesIn)+len(c.DirectionsIn)+len(c.AddressIn) > 0
}

// translate returns all texts by language after the change: copies of the stored texts, overwritten by those of the flags. It leaves out a
// language whose texts are all empty.
func (c *checkInSettings) translate(stored map[string]*propertyv1.LocalTexts) map[string]*propertyv1.LocalTexts {
	out := map[string]*propertyv1.LocalTexts{}
	for tag, t := range stored {
		out[tag] = proto.CloneOf(t)
	}
	set := func(texts map[string]string, change func(t *propertyv1.LocalTexts, text string)) {
		for tag, text := range texts {
			if out[tag] == nil {
				out[tag] = &propertyv1.LocalTexts{}
			}
			change(out[tag], text)
		}
	}
	set(c.HouseRulesIn, func(t *propertyv1.LocalTexts, text string) { t.HouseRules = text })
	set(c.DirectionsIn, func(t *propertyv1.LocalTexts, text string) { t.Directions = text })
	set(c.AddressIn, func(t *propertyv1.LocalTexts, text string) { t.Address = text })
	for tag, t := range out {
		if proto.Equal(t, &propertyv1.LocalTexts{}) {
			delete(out, tag)
		}
	}
	return out
}

// listOf splits the value of a flag into its items, which are separated by commas or spaces. It leaves out empty items.
func listOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// printCheckInSettings prints the settings of self check-in, and how long the server keeps data.
func (s *session) printCheckInSettings(x *propertyv1.CheckInSettings) {
	s.printFacts("rule", x.GetRule(), "identity check", x.GetIdentityCheck(), "signature", x.GetSignature(), "who fills in", x.GetWhoFills(),
		"mandatory", strings.Join(x.GetMandatoryGroups(), ", "), "often", strings.Join(x.GetOftenCountries(), ", "), "house rules", inOneLine(x.GetHouseRules()),
		"invite days", strconv.Itoa(int(x.GetInviteDays())), "remind days", strconv.Itoa(int(x.GetRemindDays())), "kiosk offline after", strconv.Itoa(int(x.GetKioskOfflineMinutes()))+" min",
		"staff email", x.GetStaffEmail(), "desk phone", x.GetDeskPhone(), "language", x.GetLanguage(), "accent", x.GetAccent(),
		"address", inOneLine(x.GetAddress()), "directions", inOneLine(x.GetDirections()), "limits", x.GetLimits(),
		"keep stays", inDays(x.GetKeepStayDays(), "as the installation does"), "keep messages", inDays(x.GetMessageDays(), "as long as the stay"))
	days := func(n int32) string { return inDays(n, "") }
	kept := x.GetServerRetention()
	s.printFacts("server keeps stays", days(kept.GetStayDays()), "server keeps events", days(kept.GetEventDays()), "server keeps audit log", days(kept.GetAuditDays()),
		"undelivered events", days(kept.GetUndeliveredEventDays()), "canceled stays", days(kept.GetCanceledStayDays()), "forms of no-shows", days(kept.GetNoShowFormDays()),
		"profiles", days(kept.GetProfileDays()), "expired guest sessions", days(kept.GetGuestSessionDays()), "ended tokens", days(kept.GetTokenDays()),
		"answers for retries", days(kept.GetAnswerDays()), "proofs of erasures", days(kept.GetErasureProofDays()), "hashes of removed stays", days(kept.GetRemovedStayDays()))
	for _, tag := range slices.Sorted(maps.Keys(x.GetTexts())) {
		t := x.GetTexts()[tag]
		s.printFacts("house rules in "+tag, inOneLine(t.GetHouseRules()), "directions in "+tag, inOneLine(t.GetDirections()), "address in "+tag, inOneLine(t.GetAddress()))
	}
}

// inDays returns n as text, such as "30 days". For 0, whose meaning depends on the setting, it returns the text none.
func inDays(n int32, none string) string {
	if n == 0 {
		return none
	}
	return strconv.Itoa(int(n)) + " days"
}

// inOneLine returns a text of several lines as one line, with " / " between them. It drops empty lines.
func inOneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), " / ")
}
