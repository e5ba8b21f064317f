package staff

import (
	"net/http"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// slotRow is one slot of a lock.
type slotRow struct {
	*propertyv1.LockSlot
	Chip chip
	At   *timestamppb.Timestamp // of what the chip says
}

// evidenceChip says what is known about a code on a lock.
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

func newSlotRow(sl *propertyv1.LockSlot) slotRow {
	r := slotRow{LockSlot: sl, Chip: evidenceChip(sl.GetEvidence()), At: sl.GetSeenAt()}
	if sl.GetUnmanaged() {
		r.Chip = chip{"unknown", "◇", "staff.slot.foreign"}
	} else if sl.GetEvidence() == "used" {
		r.At = sl.GetUsedAt()
	}
	return r
}

// choice is an option of a list from which a person chooses.
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
	Opened         string // the result of an opening: the message staff.open.RESULT, or ""
	Opens, Manages bool
	Bridge         string // the name of the bridge
	Software       string // of the bridge
	Name           kit.Input
	Why            kit.Input
}

func lockNameInput() kit.Input {
	return kit.Input{Name: "name", Label: "staff.lock.name", Autocomplete: "off"}
}
func whyInput() kit.Input {
	return kit.Input{Name: "reason", Label: "staff.why", Hint: "staff.why.hint", Autocomplete: "off"}
}

// maxReason is how many characters the API takes of a reason for the audit log.
const maxReason = 500

// wrongReason returns the message of what is wrong with a reason, or "".
func wrongReason(reason, missing string) string {
	switch {
	case reason == "":
		return missing
	case utf8.RuneCountInString(reason) > maxReason:
		return "problem.tooLong"
	}
	return ""
}

// refuseReason says in the error summary what is wrong with a reason.
func (p *page) refuseReason(field, wrong string) {
	p.Wrong = []kit.Wrong{{ID: field, Label: p.T("staff.why"), Text: p.T(wrong)}}
}

func (s *site) showLock(x *exchange) error { return x.lockPage(http.StatusOK, "", nil) }

// lockPage shows a lock. wrong are lines of the error summary, and opened is the result of an opening.
func (x *exchange) lockPage(status int, opened string, wrong func(*page)) error {
	found, err := x.site.api.Locks.GetLock(x.call(), &propertyv1.GetLockRequest{Id: x.R.PathValue("id")})
	if err != nil {
		return err
	}
	l := found.GetData()
	v := lockView{
		lockRow: newLockRow(l, x.site.Now()), URL: "/app/locks/" + l.GetId(), Opened: opened, Manages: x.may("manageLocks"),
		Opens: x.may("openDoors") && l.GetAbilities().GetRemoteUnlock(), Name: lockNameInput(), Why: whyInput(),
	}
	v.Name.Value = l.GetName()
	if opened == "" {
		v.Why.Value = x.Value("reason")
	}
	for _, sl := range found.GetSlots() {
		v.Slots = append(v.Slots, newSlotRow(sl))
	}
	v.Counts = countSlots(v.Slots)
	if v.History, err = x.lockHistory(l.GetId(), l.GetStatus()); err != nil {
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

// doors returns all doors of the property, to choose from: rooms, dorms and beds, and then gates.
func (x *exchange) doors(chosen ...string) (list []choice, err error) {
	own, err := x.ownSpaces()
	if err != nil {
		return nil, err
	}
	for _, sp := range own {
		list = append(list, choice{sp.GetId(), sp.GetName(), slices.Contains(chosen, sp.GetId())})
	}
	gates, err := x.site.api.Gates.ListGates(x.call(), &propertyv1.ListGatesRequest{})
	for _, g := range gates.GetData().GetList() {
		list = append(list, choice{g.GetId(), g.GetName(), slices.Contains(chosen, g.GetId())})
	}
	return list, err
}

// changeLock names a lock, or puts it on a door.
func (s *site) changeLock(x *exchange) error {
	id, done, err := x.R.PathValue("id"), "", error(nil)
	switch x.Value("do") {
	case "name":
		done = "lockNamed"
		_, err = s.api.Locks.UpdateLock(x.call(), &propertyv1.UpdateLockRequest{Id: id, Name: x.Value("name")})
	case "door":
		done = "lockAssigned"
		door := x.Value("door")
		_, err = s.api.Locks.AssignLock(x.call(), &propertyv1.AssignLockRequest{Id: id, DoorId: &door})
	}
	if err != nil {
		f := s.Fault(err)
		switch {
		case f.Kind == fault.Invalid && x.Value("do") == "name":
			return x.lockPage(http.StatusUnprocessableEntity, "", func(p *page) { p.Refuse(f, []kit.Input{lockNameInput()}) })
		case f.Kind == fault.Exists || f.Kind == fault.Precondition:
			return x.lockPage(http.StatusConflict, "", func(p *page) {
				p.Wrong = []kit.Wrong{{ID: "f-door", Label: p.T("staff.lock.door"), Text: p.T("staff.lock.door.taken")}}
			})
		}
		return err
	}
	return x.Redirect(listURL("/app/locks/"+id, "done", done))
}

// backToLock is where a confirmed second factor leads: the page with the button.
func (s *site) backToLock(x *exchange) error { return x.Redirect("/app/locks/" + x.R.PathValue("id")) }

// openLock opens a lock from its page. The reason goes to the audit log.
func (s *site) openLock(x *exchange) error {
	if wrong := wrongReason(x.Value("reason"), "staff.why.missing"); wrong != "" {
		return x.lockPage(http.StatusUnprocessableEntity, "", func(p *page) { p.refuseReason(whyInput().ID(), wrong) })
	}
	result, err := x.unlock(x.R.PathValue("id"), x.Value("reason"))
	if err != nil {
		return err
	}
	return x.lockPage(http.StatusOK, "staff.open."+result, nil)
}

// unlock opens a lock now. It never says more than the lock answered.
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
