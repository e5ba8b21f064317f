package staff

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// codeRow is a code that does not belong to a stay (a staff, one-time or backup code), with its state.
type codeRow struct {
	*propertyv1.Code
	Chip chip
}

// newCodeRow returns a code with the chip of its state. A code is open by the time only: openCodeChip shows whether locks have it.
func newCodeRow(c *propertyv1.Code) codeRow {
	r := codeRow{c, chip{"unknown", "?", "staff.code.state.other"}}
	switch c.GetState() {
	case "open":
		r.Chip = chip{"info", "●", "staff.code.state.open"} // by the time only: whether a lock has the code is not known here
	case "waiting":
		r.Chip = chip{"info", "○", "staff.code.state.waiting"}
	case "ended":
		if r.Chip = (chip{"info", "◌", "staff.code.state.ended"}); !c.GetRemoved() {
			r.Chip = chip{"warn", "◌", "staff.code.state.removing"}
		}
	}
	return r
}

// evidenceRanks orders the evidence of codes that should be on a lock, the worst first. Other evidence, such as "removing", is about a lock
// from which the code is being removed.
var evidenceRanks = []string{"failed", "unconfirmed", "planned", "queued", "sent", "accepted", "verified", "used"}

// openCodeChip returns the chip of a code whose time has come. places are its locks. Whether the code opens follows from the worst evidence
// among them; a code that is on no lock opens nothing.
func openCodeChip(places []*propertyv1.CodePlace) chip {
	worst, on := len(evidenceRanks), 0
	for _, at := range places {
		if rank := slices.Index(evidenceRanks, at.GetEvidence()); rank >= 0 {
			worst, on = min(worst, rank), on+1
		}
	}
	if on == 0 {
		return chip{"warn", "✕", "staff.code.state.nowhere"}
	}
	switch of := evidenceChip(evidenceRanks[worst]); {
	case of.Tone == "ok":
		return chip{"ok", "●", "staff.code.state.opens"}
	case evidenceRanks[worst] == "accepted":
		return of
	case of.Tone == "bad" && on > 1:
		return chip{"bad", "✕", "staff.code.state.missing"}
	case of.Tone == "bad":
		return of
	case on == 1:
		return chip{"warn", "◐", of.Text}
	}
	return chip{"warn", "◐", "staff.code.state.partly"}
}

type codesView struct {
	Tabs    []tab
	Rows    []codeRow
	Lock    *propertyv1.Lock // the lock whose codes alone the page shows; nil for all codes, or if the person may not read locks
	Kind    string           // shows only the codes of this kind; "" for all
	Ended   bool             // the list includes codes that have ended
	Other   string           // URL that shows or hides codes that have ended
	Next    string           // URL of the next page, or ""
	Manages bool             // the person may create codes
	Sets    bool             // the person may switch on backup codes
	Live    bool             // the page updates itself when locks report on codes
}

// codeKinds are the kinds of codes by which the list can be filtered, as the API names them; "" is all.
var codeKinds = []string{"", "staff", "oneTime", "backup"}

// showCodes handles the list of staff codes, one-time codes and backup codes.
func (s *site) showCodes(x *exchange) error {
	q := x.R.URL.Query()
	kind, ended := q.Get("show"), ""
	if !slices.Contains(codeKinds, kind) {
		return x.Redirect("/app/codes")
	}
	v := codesView{Kind: kind, Ended: q.Get("ended") != "", Manages: x.may("manageAccess"), Sets: x.may("manageSettings"), Live: x.may("readLocks")}
	lock := q.Get("lock")
	if lock != "" && x.may("readLocks") {
		of, err := s.api.Locks.GetLock(x.call(), &propertyv1.GetLockRequest{Id: lock})
		if err != nil {
			return err
		}
		v.Lock = of.GetData()
	}
	if v.Ended {
		ended = "yes"
		v.Other = listURL("/app/codes", "show", kind, "lock", lock)
	} else {
		v.Other = listURL("/app/codes", "show", kind, "lock", lock, "ended", "yes")
	}
	size := x.pageSize(usualRows, mostRows)
	found, err := s.api.Codes.ListCodes(x.call(), &propertyv1.ListCodesRequest{PageSize: int32(size), Kind: kind, LockId: lock, Ended: v.Ended, PageToken: q.Get("page")})
	if err != nil {
		return err
	}
	for _, k := range codeKinds {
		t := tab{Name: "staff.codes.tab." + k, URL: listURL("/app/codes", "show", k, "ended", ended), Count: -1, Here: k == kind}
		if k == "" {
			t.Name = "staff.codes.tab.all"
		}
		v.Tabs = append(v.Tabs, t)
	}
	for _, c := range found.GetData().GetList() {
		v.Rows = append(v.Rows, newCodeRow(c))
	}
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/codes", "show", kind, "lock", lock, "ended", ended, "page", next)
	}
	p := x.newPage("staff.codes.title")
	if v.Lock != nil {
		p = x.newPage("staff.codes.backup", "door", cmp.Or(doorName(v.Lock), v.Lock.GetName()))
		p.Back = "/app/locks/" + v.Lock.GetId()
	}
	p.Here, p.Data = "codes", v
	x.resizable(p, size, mostRows, len(v.Rows), v.Next != "")
	return x.render(http.StatusOK, "codes", p)
}

// placeRow is the state of a code on one lock.
type placeRow struct {
	*propertyv1.CodePlace
	Chip chip
}

// Answer returns the kind of the message about why the lock did not store the code, or "" if it did or has not answered yet.
func (r placeRow) Answer() string {
	if result := r.GetResult(); result != "" && result != "ok" {
		return "staff.result." + result
	}
	return ""
}

type codeView struct {
	codeRow
	URL              string
	Places           []placeRow
	PIN              string // shown only in the response to the form
	DoorPINs         []*propertyv1.DoorPin
	Shown            bool // the PIN was just revealed
	Reveals, Manages bool // the person may see the PIN, and revoke the code; false for an ended code
	Live             bool // the page updates itself when locks report on the code
	Why              kit.Input
}

// NameOf returns the name of a door of the code, or its id.
func (v codeView) NameOf(door string) string {
	for _, at := range v.Places {
		if at.GetDoorId() == door {
			return doorName(at)
		}
	}
	return door
}

// showCode handles the page of one code.
func (s *site) showCode(x *exchange) error { return x.codePage(http.StatusOK, nil, nil) }

// codePage renders a code and its state on each lock. shown has the PIN if it was just revealed, or is nil. wrong adds errors to the page,
// or is nil.
func (x *exchange) codePage(status int, shown *propertyv1.RevealCodeResponse, wrong func(*page)) error {
	found, err := x.site.api.Codes.GetCode(x.call(), &propertyv1.GetCodeRequest{Id: x.R.PathValue("id")})
	if err != nil {
		return err
	}
	c := found.GetData()
	v := codeView{
		codeRow: newCodeRow(c), URL: "/app/codes/" + c.GetId(), PIN: shown.GetPin(), DoorPINs: shown.GetDoorPins(), Shown: shown != nil, Why: whyInput(), Live: x.may("readLocks"),
		Reveals: x.may("revealPins") && c.GetState() != "ended", Manages: x.may("manageAccess") && c.GetState() != "ended",
	}
	if shown == nil {
		v.Why.Value = x.Value("reason")
	}
	if c.GetState() == "open" {
		v.Chip = openCodeChip(found.GetPlaces())
	}
	for _, at := range found.GetPlaces() {
		v.Places = append(v.Places, placeRow{at, evidenceChip(at.GetEvidence())})
	}
	p := x.newPage("staff.code.title", "holder", c.GetHolder())
	if c.GetHolder() == "" {
		p.Title = p.Or("staff.code.kind."+c.GetKind(), "staff.codes.title")
	}
	p.Here, p.Back, p.Data, p.secret = "codes", "/app/codes", v, true
	if wrong != nil {
		wrong(p)
	}
	return x.render(status, "code", p)
}

// backToCode redirects a GET of an action's URL to the page with the action's button. The browser comes there after a confirmation of the
// second factor.
func (s *site) backToCode(x *exchange) error { return x.Redirect("/app/codes/" + x.R.PathValue("id")) }

// revealCode handles the button that shows the PIN of a code. Without a reason, which the audit log records, or with one that is too long,
// it shows an error.
func (s *site) revealCode(x *exchange) error {
	if wrong := wrongReason(x.Value("reason"), "staff.code.why.missing"); wrong != "" {
		return x.codePage(http.StatusUnprocessableEntity, nil, func(p *page) { p.refuseReason(whyInput().ID(), wrong) })
	}
	shown, err := s.api.Codes.RevealCode(x.call(), &propertyv1.RevealCodeRequest{Id: x.R.PathValue("id"), Reason: x.Value("reason")})
	if err != nil {
		return err
	}
	return x.codePage(http.StatusOK, shown, nil)
}

// revokeCode handles the button that revokes a code. The code ends at once, but it opens a lock until the lock has removed it.
func (s *site) revokeCode(x *exchange) error {
	id := x.R.PathValue("id")
	if _, err := s.api.Codes.RevokeCode(x.call(), &propertyv1.RevokeCodeRequest{Id: id}); err != nil {
		return err
	}
	return x.Redirect("/app/codes/" + id + "?done=codeRevoked")
}

// newCodeView is the form of a new code with the posted values.
type newCodeView struct {
	Stay           string // id of the stay for which the form is prefilled, or ""
	Kind, From, To string
	All            bool
	Holder, Until  kit.Input
	Doors, Days    []choice
}

// newCodePage renders the form of a new code: with the posted values, prefilled for the stay in the query, or empty. wrong adds errors to
// the page, or is nil.
func (x *exchange) newCodePage(status int, wrong func(*page)) error {
	posted, back, stay := x.R.PostForm, "/app/codes", x.R.URL.Query().Get("stay")
	if stay != "" && x.may("readReservations") {
		back = "/app/reservations/" + stay
		filled, err := x.codeForStay(stay)
		if err != nil {
			return err
		}
		if x.R.Method == http.MethodGet {
			posted = filled
		}
	}
	value := func(name string) string { return strings.TrimSpace(posted.Get(name)) }
	v := newCodeView{
		Stay: stay, Kind: value("kind"), From: value("from"), To: value("to"), All: value("all") == "yes",
		Holder: kit.Input{Name: "holder", Label: "staff.code.holder", Hint: "staff.code.holder.hint", Autocomplete: "off", Value: value("holder")},
		Until:  kit.Input{Name: "until", Label: "staff.code.until", Hint: "staff.code.until.hint", Type: "datetime-local", Value: value("until")},
	}
	for day := 1; day <= 7; day++ {
		v.Days = append(v.Days, choice{strconv.Itoa(day), "weekday." + strconv.Itoa(day%7), slices.Contains(posted["day"], strconv.Itoa(day))})
	}
	var err error
	if v.Doors, err = x.doors(posted["door"]...); err != nil {
		return err
	}
	p := x.newPage("staff.code.new")
	p.Here, p.Back, p.Data = "codes", back, v
	if wrong != nil {
		wrong(p)
	}
	return x.render(status, "code-new", p)
}

// showNewCode handles the page with the form of a new code.
func (s *site) showNewCode(x *exchange) error { return x.newCodePage(http.StatusOK, nil) }

// codeRequest converts the posted form of a new code to an API request. wrong has the names of missing or invalid parts of the form, such
// as "hours": the caller must not send r then. It does not check the holder, and of kind and hours only whether they are complete. Without
// a day and an hour, the code works at any time. zone is the time zone of the property.
func codeRequest(form map[string][]string, zone *time.Location) (r *propertyv1.CreateCodeRequest, wrong []string) {
	first := func(name string) string {
		if len(form[name]) == 0 {
			return ""
		}
		return form[name][0]
	}
	r = &propertyv1.CreateCodeRequest{Kind: first("kind"), Holder: first("holder"), DoorIds: form["door"], AllRooms: first("all") == "yes"}
	if r.GetKind() == "" {
		wrong = append(wrong, "kind")
	}
	if until := first("until"); until != "" {
		at, err := time.ParseInLocation("2006-01-02T15:04", until, zone)
		if err != nil {
			wrong = append(wrong, "until")
		} else {
			r.NotAfter = timestamppb.New(at)
		}
	}
	if len(r.GetDoorIds()) == 0 && !r.GetAllRooms() {
		wrong = append(wrong, "door")
	}
	var days []int32
	for _, text := range form["day"] {
		if day, err := strconv.ParseInt(text, 10, 32); err == nil {
			days = append(days, int32(day))
		}
	}
	from, to := first("from"), first("to")
	switch {
	case len(days) == 0 && from == "" && to == "": // no hours: the code works at any time
	case len(days) == 0 || from == "" || to == "":
		wrong = append(wrong, "hours")
	default:
		r.Hours = []*propertyv1.WeeklyHours{{Days: days, From: from, To: to}}
	}
	return r, wrong
}

// createCode handles the form of a new code, and redirects to the page of the code, which does not show the PIN at once. For missing or
// invalid parts it shows the form again with the errors.
func (s *site) createCode(x *exchange) error {
	zone, err := clock.Zone(x.property.GetTimeZone())
	if err != nil {
		return err
	}
	r, wrong := codeRequest(x.R.PostForm, zone)
	refuse := func(names []string) error {
		return x.newCodePage(http.StatusUnprocessableEntity, func(p *page) {
			for _, name := range inPageOrder(names) {
				p.Wrong = append(p.Wrong, kit.Wrong{ID: "f-" + name, Label: p.T("staff.code." + name), Text: p.T("staff.code." + name + ".missing")})
			}
		})
	}
	if r.GetHolder() == "" {
		wrong = append(wrong, "holder")
	}
	if len(wrong) > 0 {
		return refuse(wrong)
	}
	made, err := s.api.Codes.CreateCode(x.call(), r)
	if err != nil {
		f := s.Fault(err)
		if f.Kind != fault.Invalid {
			return err
		}
		var names []string
		for _, field := range f.Fields {
			names = append(names, codeField(field.Path))
		}
		return refuse(names)
	}
	return x.Redirect("/app/codes/" + made.GetData().GetId() + "?done=codeMade")
}

// inPageOrder returns parts of the form of a new code in their order on the page, each once.
func inPageOrder(names []string) []string {
	all := []string{"kind", "holder", "door", "hours", "until"}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(names, name) })
}

// codeField returns the part of the form, such as "hours", to which a refused field of the API request belongs. An unknown field belongs to
// "door".
func codeField(path string) string {
	switch {
	case path == "kind" || path == "holder":
		return path
	case len(path) >= 5 && path[:5] == "hours":
		return "hours"
	case path == "notAfter" || path == "notBefore":
		return "until"
	}
	return "door"
}
