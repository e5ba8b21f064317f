package staff

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// accessView has the actions about the access of a stay that the page offers to the person.
type accessView struct {
	Reveals  bool // the page offers to show the PINs
	Replaces bool // the page offers to replace the PIN
	Extends  bool // the page offers to extend the access of the guest, who has checked in
	Creates  bool // the page links to the form of a one-time code for the doors of the stay
	Codes    bool // the page links to the backup codes of the stay's locks
	Until    kit.Input
}

// Any reports whether the page has any button about the access. Codes is a link and does not count.
func (v accessView) Any() bool { return v.Reveals || v.Replaces || v.Extends || v.Creates }

// stayExtension is the extension of the access that the form suggests, counted from the planned end of the stay.
const stayExtension = 2 * time.Hour

// localMinute is the time format of the HTML input datetime-local.
const localMinute = "2006-01-02T15:04"

// accessOf returns which actions about the access of a stay the page offers to the person. Only a confirmed or started stay with a door
// allows actions, except to read the backup codes.
func (x *exchange) accessOf(v reservationView) accessView {
	state := v.GetState()
	current := (state == "confirmed" || state == "started") && len(v.Doors) > 0
	coded := current && v.hasPIN()
	return accessView{
		Reveals: coded && x.may("revealPins"), Replaces: coded && x.may("manageAccess"), Creates: current && x.may("manageAccess"),
		Extends: current && state == "started" && x.may("manageAccess"), Codes: x.may("readAccess"), Until: x.untilInput(v.Reservation),
	}
}

// hasPIN reports whether the guest is checked in and a PIN was chosen for a door, as far as its evidence says: also one that the lock
// refused or whose removal is not proven. It is also true if no PIN was possible ("failed"); then the API refuses: see doorsHaveNoCode. It
// returns false before the check-in and after the end of the stay, even if a lock still has a PIN.
func (v reservationView) hasPIN() bool {
	return v.GetState() == "started" && slices.ContainsFunc(v.Doors, func(d doorRow) bool {
		return !slices.Contains([]string{"", "none", "planned", "removed"}, d.GetEvidence())
	})
}

// untilInput returns the form field with the new end of a stay's access: the posted time or, without one, stayExtension after the planned
// end. Times are in the time zone of the property.
func (x *exchange) untilInput(r *propertyv1.Reservation) kit.Input {
	in := kit.Input{Name: "until", Label: "staff.stay.until", Hint: "staff.stay.until.hint", Type: "datetime-local", Value: x.Value("until")}
	if zone, err := clock.Zone(x.property.GetTimeZone()); err == nil && in.Value == "" {
		in.Value = r.GetTo().AsTime().Add(stayExtension).In(zone).Format(localMinute)
	}
	return in
}

// doorsHaveNoCode shows the reservation again with the reason, if the API refused an action because no door of the stay has a code. It
// returns other errors unchanged.
func (x *exchange) doorsHaveNoCode(err error) error {
	if x.site.Fault(err).Reason != fault.NoAccess {
		return err
	}
	return x.showReservation(http.StatusConflict, stayResult{Text: "staff.stay.noAccess"}, nil)
}

// finishAccess answers an action about the access of a stay. Without err it redirects to the reservation, which shows the confirmation
// done, one of results. For the API's error err see doorsHaveNoCode.
func (x *exchange) finishAccess(err error, done string) error {
	if err != nil {
		return x.doorsHaveNoCode(err)
	}
	return x.Redirect("/app/reservations/" + x.R.PathValue("id") + "?done=" + done)
}

// revealPIN handles the button that shows the PINs of a stay. Without a reason, which the audit log records, it shows an error.
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

// replacePIN handles the form that replaces the PIN of a stay. Without a reason, which the audit log records, it shows an error. A guest
// who may be mailed gets a mail with the new PIN.
func (s *site) replacePIN(x *exchange) error {
	if wrong := wrongReason(x.Value("reason"), "staff.reason.missing"); wrong != "" {
		return x.refuseReason("why-replace", wrong)
	}
	_, err := s.api.Reservations.ReplacePin(x.call(), &propertyv1.ReplacePinRequest{Id: x.R.PathValue("id"), Reason: x.Value("reason")})
	return x.finishAccess(err, "pinReplaced")
}

// extendAccess handles the form that extends the access of a stay beyond its planned end, by at most 24 hours. It needs a reason. An
// invalid time shows the reservation again with an error.
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

// codeForStay returns form values for a new one-time code that opens the doors of a stay until its end. If the stay has ended, the end of
// the code is left empty. It leaves out former doors, also if a code of the stay may still open them: another guest may have that room.
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
		if !isFormerDoor(d) {
			form.Add("door", d.GetDoorId())
		}
	}
	return form, nil
}

// isFormerDoor reports whether a stay has left a door: its code there is being removed, or stays only until the new room opens.
func isFormerDoor(d *partnerv1.ExplainedDoor) bool {
	return d.GetReason() == "movingOut" || d.GetEvidence() == "removing" || d.GetEvidence() == "removed"
}

// backupCodesOf returns the URL of the list of a lock's backup codes. done is the confirmation on that page, one of results, or "".
func backupCodesOf(lock, done string) string {
	return listURL("/app/codes", "show", "backup", "lock", lock, "done", done)
}

// backToBackupCodes redirects a GET of an action's URL to the page with the action's button. The browser comes there after a confirmation
// of the second factor.
func (s *site) backToBackupCodes(x *exchange) error {
	return x.Redirect(backupCodesOf(x.R.PathValue("id"), ""))
}

// swapBackupCodes handles the button that replaces the backup codes of a lock, such as after a guest has used one.
func (s *site) swapBackupCodes(x *exchange) error {
	id := x.R.PathValue("id")
	if _, err := s.api.Codes.SwapBackupCodes(x.call(), &propertyv1.SwapBackupCodesRequest{LockId: id}); err != nil {
		return err
	}
	return x.Redirect(backupCodesOf(id, "swapped"))
}
