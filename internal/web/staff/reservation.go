package staff

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// doorRow is one door of the stay with its state.
type doorRow struct {
	*partnerv1.ExplainedDoor
	Chip   chip
	LockID string // id of the door's lock; "" if it has none, or if the person may not read locks
	Opens  bool   // the page has a button that opens the door
}

type reservationView struct {
	*propertyv1.Reservation
	URL      string
	Explain  *partnerv1.Explanation
	Doors    []doorRow
	Steps    []*partnerv1.ExplainedStep // the latest first
	CheckIn  *propertyv1.StaffCheckIn
	Clears   string // the check-in stage that waits for staff to clear (confirm) it: identityCheck or signature, or ""
	Unclear  bool   // the PMS has not answered a check-in call, so its result is unknown
	Mails    []*propertyv1.Mail
	Result   stayResult
	Access   accessView
	Manages  bool   // the person may use the buttons of the check-in
	Guests   bool   // the person may read guests' data and messages
	Messages bool   // the person may write messages
	Topics   string // topics of the changes that the page follows, separated by commas
}

// Follows returns the ids of what the page shows, separated by space characters: the reservation and the locks of its doors.
func (v reservationView) Follows() string {
	ids := []string{v.GetId()}
	for _, d := range v.Doors {
		if d.LockID != "" {
			ids = append(ids, d.LockID)
		}
	}
	return strings.Join(ids, " ")
}

// EmailParts splits the booker's email address after the @, where a narrow page breaks the line.
func (v reservationView) EmailParts() []string { return strings.SplitAfterN(v.GetEmail(), "@", 2) }

// Resends reports whether the page has a button that sends a mail again: one to a guest, whose address is known, while the guest still has a
// use for it. The confirmation of an erasure is not among them: its address is erased, as is that of a companion who was removed.
func (v reservationView) Resends(m *propertyv1.Mail) bool {
	switch m.GetKind() {
	case "erasure", "staff", "notices":
		return false
	}
	if m.GetGuestId() != "" && m.GetMaskedTo() == "" {
		return false
	}
	known := v.Email != nil || m.GetMaskedTo() != "" // a guest without an address in the PMS may have given one
	return known && !slices.Contains([]string{"canceled", "processed"}, v.GetState())
}

// reservation loads the reservation with this id. The error is NotFound if there is none.
func (x *exchange) reservation(id string) (*propertyv1.Reservation, error) {
	found, err := x.site.api.Reservations.ListReservations(x.call(), &propertyv1.ListReservationsRequest{Ids: []string{id}})
	if err != nil {
		return nil, err
	}
	if len(found.GetData().GetList()) == 0 {
		return nil, fault.New(fault.NotFound, fault.ReservationNotFound, "there is no such reservation")
	}
	return found.GetData().GetList()[0], nil
}

// money is an amount as the API sends it, a decimal number such as "84.00", with its currency in ISO 4217.
type money struct{ Amount, Currency string }

// Owed returns the amount that the guest owes, as the PMS last reported it, or nil if it never did. The amount in the check-in has
// priority, because it is newer than that in the reservation.
func (v reservationView) Owed() *money {
	switch {
	case v.CheckIn.GetOwing() != "":
		return &money{v.CheckIn.GetOwing(), v.CheckIn.GetOwingCurrency()}
	case v.Owing != nil:
		return &money{v.GetOwing(), v.GetOwingCurrency()}
	}
	return nil
}

// nameOf returns the full name of the booker.
func nameOf(r *propertyv1.Reservation) string {
	if r.GetFirstName() == "" {
		return r.GetLastName()
	}
	return r.GetFirstName() + " " + r.GetLastName()
}

// reservationPage returns the data of a page about a reservation. title is a message kind.
func (x *exchange) reservationPage(r *propertyv1.Reservation, title string) *page {
	p := x.newPage(title, "name", nameOf(r), "number", r.GetPmsNumber())
	p.Here, p.Back = "reservations", "/app/reservations/"+r.GetId()
	return p
}

// showReservation handles the page of a reservation.
func (s *site) showReservation(x *exchange) error {
	return x.showReservation(http.StatusOK, stayResult{Opened: x.takeOpened()}, nil)
}

// stayResult is the result of an action, which the page shows once.
type stayResult struct {
	Text   string               // kind of the message about why the action did nothing, or ""
	Opened *openResult          // result of opening a door, or nil
	PINs   *propertyv1.StayPins // PINs that were just revealed, or nil
}

// showReservation renders the reservation in the path with its doors, access and check-in. result is what an action did, or the zero value.
// wrong adds errors to the page, or is nil.
func (x *exchange) showReservation(status int, result stayResult, wrong func(*page)) error {
	id := x.R.PathValue("id")
	r, err := x.reservation(id)
	if err != nil {
		return err
	}
	api := x.site.api
	v := reservationView{Reservation: r, URL: "/app/reservations/" + id, Result: result, Manages: x.may("manageCheckIns"), Guests: x.may("readGuests"), Messages: x.may("writeMessages"), Topics: "reservations"}
	if x.may("readLocks") {
		v.Topics += ",locks"
	}
	explained, err := api.Reservations.ExplainReservation(x.call(), &propertyv1.ExplainReservationRequest{Id: id})
	if err != nil {
		return err
	}
	v.Explain = explained.GetData()
	v.Steps = slices.Clone(v.Explain.GetSteps())
	slices.Reverse(v.Steps)
	var doors []string
	for _, d := range v.Explain.GetDoors() {
		doors = append(doors, d.GetDoorId())
	}
	locks, err := x.locksOfDoors(doors...)
	if err != nil {
		return err
	}
	for _, d := range v.Explain.GetDoors() {
		lock := locks[d.GetDoorId()]
		v.Doors = append(v.Doors, doorRow{d, doorChip(d), lock.GetId(), x.canOpen(lock)})
	}
	v.Access = x.accessOf(v)
	c, err := api.CheckIns.GetCheckIn(x.call(), &propertyv1.GetCheckInRequest{ReservationId: id})
	if err != nil && x.site.Fault(err).Kind != fault.Precondition {
		return err
	}
	v.CheckIn = c.GetData()
	if stage := v.CheckIn.GetStage(); stage == "identityCheck" || stage == "signature" {
		v.Clears = stage
	}
	v.Unclear = slices.ContainsFunc(v.CheckIn.GetStops(), func(s *propertyv1.StaffStop) bool { return s.GetReason() == "noAnswer" })
	if v.Guests {
		sent, err := api.Mails.ListMails(x.call(), &propertyv1.ListMailsRequest{ReservationId: id, PageSize: 20})
		if err != nil {
			return err
		}
		v.Mails = sent.GetData().GetList()
	}
	p := x.reservationPage(r, "staff.reservation.title")
	p.Back, p.Data, p.secret = "/app/reservations", v, result.PINs != nil || r.Email != nil || r.Mobile != nil
	if wrong != nil {
		wrong(p)
	}
	return x.render(status, "reservation", p)
}

// locksOfDoors loads the locks of these doors, by the ids of the doors. The map is by the id of the door and lacks doors without a lock. It
// is nil if the person may not read locks, or if all ids are "". It removes "" from the slice doors in place.
func (x *exchange) locksOfDoors(doors ...string) (map[string]*propertyv1.Lock, error) {
	doors = slices.DeleteFunc(doors, func(id string) bool { return id == "" })
	if !x.may("readLocks") || len(doors) == 0 {
		return nil, nil
	}
	locks, err := x.locks(&propertyv1.ListLocksRequest{DoorIds: doors})
	byDoor := map[string]*propertyv1.Lock{}
	for _, l := range locks {
		if l.DoorId != nil {
			byDoor[l.GetDoorId()] = l
		}
	}
	return byDoor, err
}

// canOpen reports whether the person has the right to open locks remotely, and the lock supports it. It is false for nil.
func (x *exchange) canOpen(l *propertyv1.Lock) bool {
	return x.may("openDoors") && l.GetAbilities().GetRemoteUnlock()
}

// notCheckedIn is the API's reason why no door opens before the check-in. It is not a problem.
const notCheckedIn = "notCheckedIn"

// Early reports whether the doors do not open only because the guest has not checked in yet.
func (v reservationView) Early() bool { return v.Explain.GetReason() == notCheckedIn }

// doorChip returns the chip that shows whether a door opens for the guest.
func doorChip(d *partnerv1.ExplainedDoor) chip {
	if d.GetReason() == notCheckedIn {
		return chip{"info", "○", "staff.door.afterCheckIn"}
	}
	switch d.GetVerdict() {
	case "opens":
		return chip{"ok", "●", "staff.door.opens"}
	case "opensAt":
		return chip{"info", "○", "staff.door.opensAt"}
	case "doesNotOpen":
		return chip{"bad", "✕", "staff.door.doesNotOpen"}
	}
	return chip{"warn", "?", "staff.door.uncertain"}
}

// refuseReason shows the reservation again with the error of a posted reason. field is the HTML id of its input, and wrong the message
// kind.
func (x *exchange) refuseReason(field, wrong string) error {
	return x.showReservation(http.StatusUnprocessableEntity, stayResult{}, func(p *page) { p.refuseReason(field, wrong) })
}

// changeCheckIn handles the buttons of staff in the check-in of a reservation, such as to clear a stage (confirm an identity check), to
// waive an open amount, or to send the invitation again. Refusing a stage and waiving an amount need a reason. If the amount has changed
// meanwhile, nothing is waived. If the guest has no address for a mail, no mail is sent. The page shows each of these.
func (s *site) changeCheckIn(x *exchange) error {
	id, api := x.R.PathValue("id"), s.api.CheckIns
	if do := x.Value("do"); do == "refuse" || do == "waive" {
		if wrong := wrongReason(x.Value("reason"), "staff.reason.missing"); wrong != "" {
			return x.refuseReason("f-"+do, wrong)
		}
	}
	done, err := "", error(nil)
	switch x.Value("do") {
	case "clear":
		done = "cleared"
		_, err = api.ClearStage(x.call(), &propertyv1.ClearStageRequest{ReservationId: id, Stage: x.Value("stage")})
	case "refuse":
		done = "refused"
		_, err = api.ClearStage(x.call(), &propertyv1.ClearStageRequest{ReservationId: id, Stage: x.Value("stage"), RefuseBecause: x.Value("reason")})
	case "waive":
		done = "waived"
		_, err = api.WaiveOwing(x.call(), &propertyv1.WaiveOwingRequest{ReservationId: id, Owing: x.Value("owing"), Reason: x.Value("reason")})
	case "ask":
		done = "asked"
		_, err = api.AskAgain(x.call(), &propertyv1.AskAgainRequest{ReservationId: id})
	case "endCall":
		done = "callEnded"
		_, err = api.EndCall(x.call(), &propertyv1.EndCallRequest{ReservationId: id})
	case "resendMail":
		done = "mailSent"
		_, err = s.api.Mails.ResendMail(x.call(), &propertyv1.ResendMailRequest{Id: x.Value("mail")})
		if err != nil && s.Fault(err).Kind == fault.Invalid {
			done, err = "mailGone", nil
		}
	case "resend":
		done = "resent"
		_, err = api.ResendInvitation(x.call(), &propertyv1.ResendInvitationRequest{ReservationId: id})
		if err != nil && s.Fault(err).Reason == fault.NoGuestAddress {
			done, err = "noAddress", nil
		}
	}
	if err != nil && x.Value("do") == "waive" && s.Fault(err).Reason == fault.Outdated {
		return x.showReservation(http.StatusConflict, stayResult{}, (*page).refuseWaive)
	}
	if err != nil {
		return err
	}
	if done != "" {
		done = "?done=" + done
	}
	return x.Redirect("/app/reservations/" + id + done)
}

// backToReservation redirects a GET of an action's URL to the page with the action's button. The browser comes there after a confirmation
// of the second factor.
func (s *site) backToReservation(x *exchange) error {
	return x.Redirect("/app/reservations/" + x.R.PathValue("id"))
}

// openDoor handles the button that opens a door of the stay now. Without a reason, which the audit log records, or with one that is too
// long, it shows an error. A door without a lock that the person may open remotely gets the page for unknown paths. Nothing checks that the
// door belongs to the stay.
func (s *site) openDoor(x *exchange) error {
	reason := x.Value("reason")
	if wrong := wrongReason(reason, "staff.why.missing"); wrong != "" {
		return x.refuseReason("why-"+x.Value("door"), wrong)
	}
	locks, err := x.locksOfDoors(x.Value("door"))
	if err != nil {
		return err
	}
	lock := locks[x.Value("door")]
	if !x.canOpen(lock) {
		return x.problem(http.StatusNotFound, "staff.problem.unknown")
	}
	result, err := x.unlock(lock.GetId(), reason)
	if err != nil {
		return err
	}
	return x.redirectOpened("/app/reservations/"+x.R.PathValue("id"), cmp.Or(doorName(lock), lock.GetName()), result)
}

type guestsView struct {
	*propertyv1.Reservation
	URL     string
	List    []guestRow
	Privacy *privacyForms // nil: the person may not erase data
}

type guestRow struct {
	*propertyv1.GuestData
	Facts  []kit.Answer
	Number int // number of the guest on the page, from 1
}

// Name returns the name that the guest entered, or "".
func (g guestRow) Name() string {
	return strings.TrimSpace(g.GetPerson().GetFirstName() + " " + g.GetPerson().GetLastName())
}

// showGuests handles the page with the data that the guests entered.
func (s *site) showGuests(x *exchange) error { return x.showGuests(http.StatusOK, nil) }

// showGuests renders the page with the data that the guests entered. The API records this read in the audit log. wrong adds errors to the
// page, or is nil.
func (x *exchange) showGuests(status int, wrong func(*page)) error {
	r, err := x.reservation(x.R.PathValue("id"))
	if err != nil {
		return err
	}
	found, err := x.site.api.CheckIns.ListGuests(x.call(), &propertyv1.ListGuestsRequest{ReservationId: r.GetId()})
	if err != nil {
		return err
	}
	v := guestsView{Reservation: r, URL: "/app/reservations/" + r.GetId()}
	for _, g := range found.GetData().GetList() {
		v.List = append(v.List, guestRow{g, kit.AnswersOf(g.GetPerson()), len(v.List) + 1})
	}
	p := x.reservationPage(r, "staff.guests.title")
	if x.may("eraseGuests") {
		v.Privacy = x.privacyForms(p, v.List)
	}
	p.Data, p.secret = v, true
	if wrong != nil {
		wrong(p)
	}
	return x.render(status, "guests", p)
}
