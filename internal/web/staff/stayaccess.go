package staff

import (
	"net/http"
	"net/url"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// accessView is what the person can do about the access of a stay.
type accessView struct {
	Reveals  bool // show the PINs
	Replaces bool // replace the PIN
	Extends  bool // extend the access of a guest in house
	Creates  bool // create a one-time code for the doors of the stay
	Codes    bool // read the backup codes of its locks
	Until    kit.Input
}

// Any reports whether the page has a button for the access.
func (v accessView) Any() bool { return v.Reveals || v.Replaces || v.Extends || v.Creates }

// stayExtension is how long after the planned end of the stay the form of an extension ends, until the person changes it.
const stayExtension = 2 * time.Hour

// localMinute is the format of an input for a day and a time.
const localMinute = "2006-01-02T15:04"

// accessOf returns what the person can do about the access of a stay. A stay that has ended, or has no door, has no access.
func (x *exchange) accessOf(v reservationView) accessView {
	state := v.GetState()
	current := (state == "confirmed" || state == "started") && len(v.Doors) > 0
	return accessView{
		Reveals: current && x.may("revealPins"), Replaces: current && x.may("manageAccess"), Creates: current && x.may("manageAccess"),
		Extends: current && state == "started" && x.may("manageAccess"), Codes: x.may("readAccess"), Until: x.untilInput(v.Reservation),
	}
}

// untilInput returns the input of the new end of a stay's access, with what was posted.
func (x *exchange) untilInput(r *propertyv1.Reservation) kit.Input {
	in := kit.Input{Name: "until", Label: "staff.stay.until", Hint: "staff.stay.until.hint", Type: "datetime-local", Value: x.Value("until")}
	if zone, err := clock.Zone(x.property.GetTimeZone()); err == nil && in.Value == "" {
		in.Value = r.GetTo().AsTime().Add(stayExtension).In(zone).Format(localMinute)
	}
	return in
}

// doorsHaveNoCode shows the stay again after a fault that says that no door of it has a code. It returns another fault unchanged.
func (x *exchange) doorsHaveNoCode(err error) error {
	if x.site.Fault(err).Reason != fault.NoAccess {
		return err
	}
	return x.showReservation(http.StatusConflict, stayResult{Text: "staff.stay.noAccess"}, nil)
}

// finishAccess answers a posted form about the access of a stay.
func (x *exchange) finishAccess(err error, done string) error {
	if err != nil {
		return x.doorsHaveNoCode(err)
	}
	return x.Redirect("/app/reservations/" + x.R.PathValue("id") + "?done=" + done)
}

// revealPIN shows the PINs of a stay. The reason goes to the audit log.
func (s *site) revealPIN(x *exchange) error {
	if wrong := wrongReason(x.Value("reason"), "staff.code.why.missing"); wrong != "" {
		return x.refuseReason("why-reveal", wrong)
	}
	shown, err := s.api.Reservations.RevealPin(x.call(), &propertyv1.RevealPinRequest{Id: x.R.PathValue("id"), Reason: x.Value("reason")})
	if err != nil {
		return x.doorsHaveNoCode(err)
	}
	return x.showReservation(http.StatusOK, stayResult{PINs: shown.GetData()}, nil)
}

// replacePIN gives a stay another PIN.
func (s *site) replacePIN(x *exchange) error {
	if wrong := wrongReason(x.Value("reason"), "staff.reason.missing"); wrong != "" {
		return x.refuseReason("why-replace", wrong)
	}
	_, err := s.api.Reservations.ReplacePin(x.call(), &propertyv1.ReplacePinRequest{Id: x.R.PathValue("id"), Reason: x.Value("reason")})
	return x.finishAccess(err, "pinReplaced")
}

// extendAccess extends the access of a stay beyond its planned end.
func (s *site) extendAccess(x *exchange) error {
	if wrong := wrongReason(x.Value("reason"), "staff.reason.missing"); wrong != "" {
		return x.refuseReason("why-extend", wrong)
	}
	zone, err := clock.Zone(x.property.GetTimeZone())
	if err != nil {
		return err
	}
	refuse := func() error {
		return x.showReservation(http.StatusUnprocessableEntity, stayResult{}, func(p *page) {
			p.Wrong = []kit.Wrong{{ID: "f-until", Label: p.T("staff.stay.until"), Text: p.T("staff.stay.until.wrong")}}
		})
	}
	until, err := time.ParseInLocation(localMinute, x.Value("until"), zone)
	if err != nil {
		return refuse()
	}
	_, err = s.api.Reservations.ExtendAccess(x.call(), &propertyv1.ExtendAccessRequest{
		Id: x.R.PathValue("id"), Until: timestamppb.New(until), Reason: x.Value("reason"),
	})
	if err != nil && s.Fault(err).Kind == fault.Invalid {
		return refuse()
	}
	return x.finishAccess(err, "extended")
}

// codeForStay fills in the form of a new code for a stay: a one-time code for its doors, until it ends.
func (x *exchange) codeForStay(id string) (url.Values, error) {
	r, err := x.reservation(id)
	if err != nil {
		return nil, err
	}
	explained, err := x.site.api.Reservations.ExplainReservation(x.call(), &propertyv1.ExplainReservationRequest{Id: id})
	if err != nil {
		return nil, err
	}
	zone, err := clock.Zone(x.property.GetTimeZone())
	if err != nil {
		return nil, err
	}
	form := url.Values{"kind": {"oneTime"}, "holder": {nameOf(r)}}
	if to := r.GetTo().AsTime(); to.After(x.site.Now()) {
		form.Set("until", to.In(zone).Format(localMinute))
	}
	for _, d := range explained.GetData().GetDoors() {
		form.Add("door", d.GetDoorId())
	}
	return form, nil
}

// backupCodesOf returns the address of the list of a lock's backup codes.
func backupCodesOf(lock, done string) string {
	return listURL("/app/codes", "show", "backup", "lock", lock, "done", done)
}

// backToBackupCodes is where a confirmed second factor leads: the page with the button.
func (s *site) backToBackupCodes(x *exchange) error {
	return x.Redirect(backupCodesOf(x.R.PathValue("id"), ""))
}

// swapBackupCodes replaces the backup codes of a lock, such as after a guest has used one.
func (s *site) swapBackupCodes(x *exchange) error {
	id := x.R.PathValue("id")
	if _, err := s.api.Codes.SwapBackupCodes(x.call(), &propertyv1.SwapBackupCodesRequest{LockId: id}); err != nil {
		return err
	}
	return x.Redirect(backupCodesOf(id, "swapped"))
}
