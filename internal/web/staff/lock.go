package staff

import (
	"cmp"
	"net/http"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// slotRow is one code slot of a lock.
type slotRow struct {
	*propertyv1.LockSlot
	Chip chip
	At   *timestamppb.Timestamp // when the code was first used, if Chip says so, else when the bridge last reported the slot; or nil
}

// evidenceChip returns the chip for the evidence about a code on a lock, the API's word for how sure it is: planned, verified or failed,
// for example. An unknown word gets the chip of unconfirmed.
func evidenceChip(evidence string) chip {
	switch evidence {
	case "planned", "queued", "sent":
		return chip{"info", "○", "staff.evidence.planned"}
	case "accepted":
		return chip{"info", "◐", "staff.evidence.accepted"}
	case "verified", "used":
		return chip{"ok", "●", "staff.evidence." + evidence}
	case "failed":
		return chip{"bad", "✕", "staff.evidence.failed"}
	case "removing":
		return chip{"warn", "◌", "staff.evidence.removing"}
	case "removed":
		return chip{"info", "◌", "staff.evidence.removed"}
	}
	return chip{"unknown", "?", "staff.evidence.unconfirmed"}
}

// newSlotRow returns a slot with the chip of its state.
func newSlotRow(sl *propertyv1.LockSlot) slotRow {
	r := slotRow{LockSlot: sl, Chip: evidenceChip(sl.GetEvidence()), At: sl.GetSeenAt()}
	if sl.GetUnmanaged() {
		r.Chip = chip{"unknown", "◇", "staff.slot.foreign"}
	} else if sl.GetEvidence() == "used" {
		r.At = sl.GetUsedAt()
	}
	return r
}

// choice is an option of a list of choices. Text is the shown name or, in the list of weekdays, a message kind.
type choice struct {
	Value, Text string
	Chosen      bool
}

type lockView struct {
	lockRow
	Slots          []slotRow
	Counts         slotCounts
	History        historyView
	Doors          []choice
	URL            string
	Opened         *openResult // result of opening the lock, or nil
	Opens, Manages bool        // the person may open the lock remotely, and name and assign it
	Bridge         string      // the name of the bridge
	Software       string      // software version of the bridge
	Name           kit.Input
	Why            kit.Input
}

// lockNameInput returns the form field with the name of a lock.
func lockNameInput() kit.Input {
	return kit.Input{Name: "name", Label: "staff.lock.name", Autocomplete: "off"}
}

// whyInput returns the form field with the reason of an action, for the audit log.
func whyInput() kit.Input {
	return kit.Input{Name: "reason", Label: "staff.why", Hint: "staff.why.hint", Autocomplete: "off"}
}

// maxReason is the maximum length of a reason for the audit log in characters, as the API limits it.
const maxReason = 500

// wrongReason returns the message kind of the error in a posted reason, or "" if the reason is valid: 1 to maxReason characters. missing is
// the message kind for an empty reason.
func wrongReason(reason, missing string) string {
	switch {
	case reason == "":
		return missing
	case utf8.RuneCountInString(reason) > maxReason:
		return "problem.tooLong"
	}
	return ""
}

// refuseReason makes the error of a posted reason the only one of the page. field is the HTML id of its input, and wrong the message kind.
func (p *page) refuseReason(field, wrong string) {
	p.Wrong = []kit.Wrong{{ID: field, Label: p.T("staff.why"), Text: p.T(wrong)}}
}

// showLock handles the page of one lock.
func (s *site) showLock(x *exchange) error { return x.lockPage(http.StatusOK, nil) }

// lockPage renders the page of the lock in the path, once with the result of opening it: see takeOpened. wrong adds errors to the page, or
// is nil.
func (x *exchange) lockPage(status int, wrong func(*page)) error {
	found, err := x.site.api.Locks.GetLock(x.call(), &propertyv1.GetLockRequest{Id: x.R.PathValue("id")})
	if err != nil {
		return err
	}
	l := found.GetData()
	v := lockView{
		lockRow: newLockRow(l, x.site.Now()), URL: "/app/locks/" + l.GetId(), Opened: x.takeOpened(), Manages: x.may("manageLocks"),
		Opens: x.may("openDoors") && l.GetAbilities().GetRemoteUnlock(), Name: lockNameInput(), Why: whyInput(),
	}
	v.Name.Value = l.GetName()
	v.Why.Value = x.Value("reason")
	if v.Opened != nil {
		v.Opened.Door = cmp.Or(doorName(l), l.GetName())
	}
	for _, sl := range found.GetSlots() {
		v.Slots = append(v.Slots, newSlotRow(sl))
	}
	v.Counts = countSlots(v.Slots)
	if v.History, err = x.lockHistory(l); err != nil {
		return err
	}
	bridges, err := x.site.api.Bridges.ListBridges(x.call(), &propertyv1.ListBridgesRequest{})
	if err != nil {
		return err
	}
	for _, b := range bridges.GetData().GetList() {
		if b.GetId() == l.GetBridgeId() {
			v.Bridge, v.Software = b.GetName(), b.GetSoftware()
		}
	}
	if v.Manages {
		if v.Doors, err = x.doors(l.GetDoorId()); err != nil {
			return err
		}
	}
	p := x.newPage("staff.lock.title", "name", l.GetName())
	p.Here, p.Back, p.Data = "locks", "/app/locks", v
	if wrong != nil {
		wrong(p)
	}
	return x.render(status, "lock", p)
}

// doors returns all doors of the property as choices: rooms, dorms and beds, then gates (doors that several rooms share). chosen are the
// ids of the selected doors.
func (x *exchange) doors(chosen ...string) (list []choice, err error) {
	own, err := x.ownSpaces()
	if err != nil {
		return nil, err
	}
	names := fullNames(own)
	for _, sp := range own {
		list = append(list, choice{sp.GetId(), names[sp.GetId()], slices.Contains(chosen, sp.GetId())})
	}
	gates, err := x.site.api.Gates.ListGates(x.call(), &propertyv1.ListGatesRequest{})
	for _, g := range gates.GetData().GetList() {
		list = append(list, choice{g.GetId(), g.GetName(), slices.Contains(chosen, g.GetId())})
	}
	return list, err
}

// changeLock handles the forms that rename a lock, or assign it to a door or (door "") to none. It shows an error if the name is invalid,
// if the lock was moved meanwhile, or if the door has another lock.
func (s *site) changeLock(x *exchange) error {
	id, done, err := x.R.PathValue("id"), "", error(nil)
	switch x.Value("do") {
	case "name":
		done = "lockNamed"
		_, err = s.api.Locks.UpdateLock(x.call(), &propertyv1.UpdateLockRequest{Id: id, Name: x.Value("name")})
	case "door":
		done = "lockAssigned"
		door, from := x.Value("door"), x.Value("from")
		_, err = s.api.Locks.AssignLock(x.call(), &propertyv1.AssignLockRequest{Id: id, DoorId: &door, FromDoorId: &from})
	}
	if err != nil {
		f := s.Fault(err)
		switch {
		case f.Kind == fault.Invalid && x.Value("do") == "name":
			return x.lockPage(http.StatusUnprocessableEntity, func(p *page) { p.Refuse(f, []kit.Input{lockNameInput()}) })
		case f.Reason == fault.Outdated:
			return x.lockPage(http.StatusConflict, func(p *page) { p.refuseDoor("staff.lock.door.outdated") })
		case f.Kind == fault.Exists || f.Kind == fault.Precondition:
			return x.lockPage(http.StatusConflict, func(p *page) { p.refuseDoor("staff.lock.door.taken") })
		}
		return err
	}
	return x.Redirect(listURL("/app/locks/"+id, "done", done))
}

// refuseDoor adds the error why a lock was not assigned to a door. why is its message kind.
func (p *page) refuseDoor(why string) {
	p.Wrong = []kit.Wrong{{ID: "f-door", Label: p.T("staff.lock.door"), Text: p.T(why)}}
}

// backToLock redirects a GET of an action's URL to the page with the action's button. The browser comes there after a confirmation of the
// second factor.
func (s *site) backToLock(x *exchange) error { return x.Redirect("/app/locks/" + x.R.PathValue("id")) }

// openLock handles the button that opens a lock. Without a reason, which the audit log records, or with one that is too long, it shows an
// error.
func (s *site) openLock(x *exchange) error {
	if wrong := wrongReason(x.Value("reason"), "staff.why.missing"); wrong != "" {
		return x.lockPage(http.StatusUnprocessableEntity, func(p *page) { p.refuseReason(whyInput().ID(), wrong) })
	}
	result, err := x.unlock(x.R.PathValue("id"), x.Value("reason"))
	if err != nil {
		return err
	}
	return x.redirectOpened("/app/locks/"+x.R.PathValue("id"), "", result)
}

// unlock opens a lock now. reason is for the audit log. result is opened, refused, expired, offline (nothing was sent), or unknown if the
// lock has not answered in time. err is any other error of the API.
func (x *exchange) unlock(lock, reason string) (result string, err error) {
	answer, err := x.site.api.Locks.UnlockLock(x.call(), &propertyv1.UnlockLockRequest{Id: lock, Reason: reason})
	if err != nil {
		switch f := x.site.Fault(err); {
		case f.Reason == fault.BridgeOffline, f.Reason == fault.NodeUnreachable:
			return "offline", nil
		case f.Kind == fault.Deadline, f.Kind == fault.Canceled:
			return "unknown", nil
		}
		return "", err
	}
	if result = answer.GetData().GetResult(); !slices.Contains(openResults, result) {
		result = "unknown"
	}
	return result, nil
}
