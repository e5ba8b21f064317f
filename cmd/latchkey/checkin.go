package main

import (
	"context"
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
