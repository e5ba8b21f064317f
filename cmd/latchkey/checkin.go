package main

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type checkInCommands struct {
	remote `embed:""`

	Show      checkInShow      `cmd:"" help:"Show where the check-in of a reservation is, and what holds it back."`
	Clear     checkInClear     `cmd:"" help:"Clear or refuse the identity check or the signature of a guest."`
	Waive     checkInWaive     `cmd:"" help:"Let a guest who owes an amount check in. The reason is recorded."`
	Ask       checkInAsk       `cmd:"" help:"Ask the PMS again at once, or repeat a checkIn call without an answer."`
	EndCall   checkInEndCall   `cmd:"" name:"end-call" help:"End a checkIn call without an answer, if the PMS shows that the guest is not checked in."`
	Resend    checkInResend    `cmd:"" help:"Mail the booker a new link."`
	Guests    checkInGuests    `cmd:"" help:"Show the guests of a reservation with their data. The read is recorded."`
	Sign      checkInSign      `cmd:"" name:"signature" help:"Write the signature that a guest drew on a screen as an SVG image. The read is recorded."`
	Devices   checkInDevices   `cmd:"" help:"List the devices that act for the guests of a reservation."`
	EndDevice checkInEndDevice `cmd:"" name:"end-device" help:"End the session of one device at once, such as of a lost phone."`
	Settings  checkInSettings  `cmd:"" help:"Show or change the rules of self check-in."`
	Rules     checkInRules     `cmd:"" help:"List the country rules that a property can choose."`
	Register  checkInRegister  `cmd:"" help:"Show the official forms of guests, in house and departed, to an inspector. The read is recorded."`
}

type checkInShow struct {
	ID string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
}

func (checkInShow) Help() string {
	return `Example:
  latchkey checkin show 4711`
}

// Run prints where the check-in of a reservation is, and what holds it back.
func (c *checkInShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).GetCheckIn(s, &propertyv1.GetCheckInRequest{ReservationId: x.GetId()})
		return s.printAnswer(answer, err, func() { s.printCheckIn(answer.GetData()) })
	})
}

// printCheckIn prints how far the check-in of a reservation is, what stops it, and what staff have cleared, refused or waived.
func (s *session) printCheckIn(c *propertyv1.StaffCheckIn) {
	s.printFacts("stage", c.GetStage(), "guest arrives at", c.GetArrivalTime(), "house rules accepted", formatTime(c.GetHouseRulesAcceptedAt()),
		"began", formatTime(c.GetBeganAt()), "PMS asked", formatTime(c.GetAskedAt()),
		"next call to the PMS", formatTime(c.GetNextAskAt()), "checkIn accepted", formatTime(c.GetAcceptedAt()))
	for _, stop := range c.GetStops() {
		s.say("%s", stop.GetText())
		if stop.GetEndpoint() != "" {
			s.printFacts("  endpoint", stop.GetEndpoint(), "call", stop.GetCallId(), "last answer", formatTime(stop.GetLastAnsweredAt()), "since", formatTime(stop.GetSince()),
				"said", strings.TrimSpace(stop.GetPartnerReason()+" "+stop.GetPartnerMessage()))
		}
	}
	for _, stage := range c.GetCleared() {
		verb := "cleared"
		switch {
		case stage.GetRefused() != "":
			verb = "refused (" + stage.GetRefused() + ")"
		case stage.GetOwing() != "":
			verb = "waived (" + stage.GetOwing() + " " + stage.GetOwingCurrency() + ")"
		}
		s.say("%s %s by %s, %s.", stage.GetStage(), verb, stage.GetBy(), formatTime(stage.GetAt()))
	}
	for _, g := range c.GetGuests() {
		if open := g.GetOpenUntilDeparture(); len(open) > 0 {
			s.say("The law wants an answer of the %s guest before departure: %s.", g.GetRole(), strings.Join(open, ", "))
		}
	}
}

type checkInClear struct {
	ID     string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
	Stage  string `arg:"" enum:"identityCheck,signature" help:"identityCheck or signature."`
	Refuse string `placeholder:"REASON" help:"Refuse the stage for this reason, instead of clearing it."`
}

// Help returns examples for --help.
func (checkInClear) Help() string {
	return `Examples:
  latchkey checkin clear 4711 identityCheck
  latchkey checkin clear 4711 identityCheck --refuse "another person than in the document"`
}

type checkInWaive struct {
	ID     string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
	Owing  string `arg:"" help:"The amount that is owed, with its currency, as latchkey checkin show prints it."`
	Reason string `required:"" help:"Why, for the audit log."`
}

// Help returns what --help adds: what a waiver does not cover, and an example.
func (checkInWaive) Help() string {
	return `A larger amount stops the check-in again. A PMS error and a room that is not ready cannot be waived. Example:
  latchkey checkin waive 4711 "20.00 EUR" --reason "pays on departure"`
}

// Run lets a guest who owes the given amount check in anyway. It fails if another amount is owed now. A larger amount stops the check-in
// again.
func (c *checkInWaive) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).WaiveOwing(s, &propertyv1.WaiveOwingRequest{ReservationId: x.GetId(), Owing: c.Owing, Reason: c.Reason})
		return s.printAnswer(answer, err, func() { s.printCheckIn(answer.GetData()) })
	})
}

// Run records that staff have cleared a stage of a check-in that a person must decide, such as the identity check, or with --refuse refused
// it. It fails if the check-in has ended or does not need the stage. Before the day of arrival, a stage can only be refused.
func (c *checkInClear) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).ClearStage(s, &propertyv1.ClearStageRequest{
			ReservationId: x.GetId(), Stage: c.Stage, RefuseBecause: c.Refuse,
		})
		return s.printAnswer(answer, err, func() { s.printCheckIn(answer.GetData()) })
	})
}

type checkInAsk struct {
	ID string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
}

// Help returns examples for --help.
func (checkInAsk) Help() string {
	return `Examples:
  latchkey checkin ask 4711
  latchkey checkin ask Lovelace`
}

// Run makes the server ask the PMS again about a check-in at once. It asks nothing, and does not fail, if the guest has not begun the
// check-in or the PMS has accepted it. If a checkIn call got no answer, the server repeats that call.
func (c *checkInAsk) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).AskAgain(s, &propertyv1.AskAgainRequest{ReservationId: x.GetId()})
		return s.printAnswer(answer, err, func() { s.printCheckIn(answer.GetData()) })
	})
}

type checkInEndCall struct {
	ID string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
}

// Help returns what --help adds: what to check at the PMS before, and an example.
func (checkInEndCall) Help() string {
	return `Look at the PMS first. If the guest is checked in there, do not end the call: let the PMS send the reservation as started. If the
guest is not checked in, end the call; the guest's next press makes another call under a new idempotency key. Example:
  latchkey checkin end-call 4711`
}

// Run ends a checkIn call to the PMS that got no answer, so that the guest's next press makes a new call. It fails if there is no such
// call, or it still runs. Staff must check first that the guest is not checked in at the PMS.
func (c *checkInEndCall) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).EndCall(s, &propertyv1.EndCallRequest{ReservationId: x.GetId()})
		return s.printAnswer(answer, err, func() { s.printCheckIn(answer.GetData()) })
	})
}

type checkInResend struct {
	ID string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
}

// Help returns what --help adds: which links still work, and an example.
func (checkInResend) Help() string {
	return `Only the newest link works, except on a device that opened an earlier one. Example:
  latchkey checkin resend 4711`
}

// Run mails the booker of a reservation a new link to the check-in. Earlier links end, except on devices that opened them. It fails without
// a usable address, for a canceled stay, and seven days after a stay.
func (c *checkInResend) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).ResendInvitation(s, &propertyv1.ResendInvitationRequest{ReservationId: x.GetId()})
		return s.printAnswer(answer, err, func() { s.say("A new link is mailed to the booker of %s.", x.GetPmsNumber()) })
	})
}

type checkInDevices struct {
	ID string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
}

func (checkInDevices) Help() string {
	return `Example:
  latchkey checkin devices 4711`
}

// Run lists the devices that act for the guests of a reservation.
func (c *checkInDevices) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).ListDevices(s, &propertyv1.ListDevicesRequest{ReservationId: x.GetId()})
		return s.printAnswer(answer, err, func() { s.printDevices(answer.GetData().GetList()) })
	})
}

// printDevices prints a table of the phones and browsers that act for the guests of a reservation.
func (s *session) printDevices(devices []*propertyv1.GuestDevice) {
	var rows [][]string
	for _, d := range devices {
		who := "main guest"
		if d.GetGuestId() != "" {
			who = d.GetGuestId()
		}
		from := d.GetDevice()
		rows = append(rows, []string{from.GetId(), from.GetKind(), from.GetDevice(), who, formatTime(from.GetCreatedAt()), formatTime(from.GetUsedAt()), formatTime(from.GetExpiresAt())})
	}
	s.printTable("No device acts for this reservation's guests.", []string{"id", "by", "device", "guest", "since", "last used", "until"}, rows)
}

type checkInEndDevice struct {
	ID     string `arg:"" name:"reservation" help:"The reservation's number or id, or the booker's name."`
	Device string `arg:"" help:"The id of the session, as in: latchkey checkin devices."`
}

// Help returns what --help adds: how the guest gets a new link, and an example.
func (checkInEndDevice) Help() string {
	return `The guest asks for a new link on the page of the old one, or you send one: latchkey checkin resend. Example:
  latchkey checkin end-device 4711 ses_01JD3Q`
}

// Run ends the session of one device of a guest, with its SmartKeys. It fails if the reservation has no such active session.
func (c *checkInEndDevice) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		x, err := s.findReservation(c.ID)
		if err != nil {
			return err
		}
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).EndDevice(s, &propertyv1.EndDeviceRequest{ReservationId: x.GetId(), Id: c.Device})
		return s.printAnswer(answer, err, func() { s.say("Ended %s.", c.Device) })
	})
}

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

type checkInRules struct{}

// Help returns what --help adds: how to choose a rule, and examples.
func (checkInRules) Help() string {
	return `Choose one with: latchkey checkin settings --rule PT. Examples:
  latchkey checkin rules
  latchkey checkin rules --json`
}

// Run lists the country rules for check-in from which a property can choose one.
func (*checkInRules) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewCheckInServiceClient(s.conn).ListCheckInRules(s, &propertyv1.ListCheckInRulesRequest{})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, x := range answer.GetData().GetList() {
				rows = append(rows, []string{x.GetName(), x.GetSince(), x.GetSource(), x.GetWhoFills(), x.GetLimits()})
			}
			s.printTable("There is no rule.", []string{"rule", "since", "law", "who fills in", "limits"}, rows)
		})
	})
}
