package staff

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// chip is a state that a page shows as a colored mark with a text. Tone is ok, info, warn, bad or unknown, Mark a character that shows the
// tone without its color, and Text a message kind.
type chip struct{ Tone, Mark, Text string }

// dayTab is one of the three lists of a day: arrivals, guests in house, departures. Name is its name in the query, and list its name in the
// API. All counts its stays, and Left those whose guests have not checked in (arrivals) or out (departures).
type dayTab struct {
	Name, list string
	All, Left  int32
	URL        string
}

// dayRow is one stay in a list of a day.
type dayRow struct {
	*propertyv1.DayStay
	Chip    chip
	Fixes   []*propertyv1.ArrivalFix // problems that may lock out the guest
	CheckIn []string                 // kinds of messages about the stage of the check-in, or about what stops it
	Tone    string                   // tone of CheckIn
	Clears  string                   // the check-in stage that waits for staff to clear (confirm) it: identityCheck or signature, or ""
	Owes    bool                     // an open amount will stop the check-in, which has not begun
	Waives  bool                     // an open amount stops the check-in, which staff can waive
	Over    bool                     // nothing is left to do for this stay
}

type todayView struct {
	Tabs     []dayTab
	Tab, Day string
	Days     []link // links to other days
	Rows     []dayRow
	All      int    // number of arrivals of the day
	Need     int    // how many arrivals of the day need staff
	Left     int    // how many arrivals of the day Need does not cover, because the API has not checked them yet
	Needy    bool   // the page shows only the arrivals that need staff
	NeedyURL string // URL of the list with only the arrivals that need staff
	AllURL   string // URL of the whole list
	Next     string // URL of the next page, or ""
	URL      string // URL of this page
	MayClear bool   // the person may clear stages of the check-in and waive amounts

	RowKeys    string              // keyboard keys that lead from a row to another page, see keys.ts
	Topics     string              // topics of the changes that the page follows, separated by commas
	Offline    []*propertyv1.Kiosk // tablets that are offline now, on the page of today
	OfflineURL string              // page of the tablets, "" if the person may not see it or none is offline
}

// showToday handles the lists of a day: arrivals, guests in house and departures.
func (s *site) showToday(x *exchange) error { return x.todayPage(http.StatusOK, nil) }

// todayPage renders the list, day and page in the query; by default, the arrivals of today. For an unknown list it redirects there. refuse
// adds the errors of a posted form to the page, or is nil.
func (x *exchange) todayPage(status int, refuse func(*page)) error {
	q := x.R.URL.Query()
	tab := cmp.Or(q.Get("tab"), "arrivals")
	tabs := []dayTab{{Name: "arrivals", list: "arrivals"}, {Name: "house", list: "inHouse"}, {Name: "departures", list: "departures"}}
	at := slices.IndexFunc(tabs, func(t dayTab) bool { return t.Name == tab })
	if at < 0 {
		return x.Redirect("/app/today")
	}
	size, needy := x.pageSize(usualRows, mostFullRows), tab == "arrivals" && q.Get("need") == "staff"
	found, err := x.site.api.Days.ListDay(x.call(), &propertyv1.ListDayRequest{
		Date: q.Get("day"), Tab: tabs[at].list, PageSize: int32(size), PageToken: q.Get("page"), NeedsStaffOnly: needy,
	})
	if err != nil {
		return err
	}
	list := found.GetData()
	day, err := time.Parse(time.DateOnly, list.GetDate())
	if err != nil {
		return err
	}
	p := x.newPage("staff.today.title", "day", x.words().PlainDay(list.GetDate()))
	if list.GetDate() != p.Today() {
		p.Title = p.T("staff.today.other", "day", p.PlainDay(list.GetDate()))
	}
	c := list.GetCounts()
	tabs[0].All, tabs[0].Left, tabs[1].All, tabs[2].All, tabs[2].Left = c.GetArrivals(), c.GetArrivalsLeft(), c.GetInHouse(), c.GetDepartures(), c.GetDeparturesLeft()
	shown := ""
	if list.GetDate() != p.Today() {
		shown = list.GetDate()
	}
	for i := range tabs {
		tabs[i].URL = dayURL(tabs[i].Name, shown)
	}
	v := todayView{
		Tabs: tabs, Tab: tab, Day: list.GetDate(), Days: dayLinks(tab, p.Today(), day),
		All: int(c.GetArrivals()), Need: int(c.GetArrivalsNeedStaff()), Left: int(c.GetArrivals() - c.GetArrivalsChecked()),
		Needy: needy, AllURL: dayURL(tab, shown), NeedyURL: dayURL(tab, shown) + "&need=staff", MayClear: x.may("manageCheckIns"),
	}
	v.URL = v.AllURL
	if needy {
		v.URL = v.NeedyURL
	}
	if list.GetNextPageToken() != "" {
		v.Next = v.URL + "&page=" + url.QueryEscape(list.GetNextPageToken())
	}
	for _, stay := range list.GetList() {
		v.Rows = append(v.Rows, newDayRow(tab, stay))
	}
	if err := x.addKiosks(&v, list.GetDate() == p.Today()); err != nil {
		return err
	}
	v.RowKeys = x.rowKeys()
	slices.SortStableFunc(v.Rows, func(a, b dayRow) int { return cmp.Compare(finishedLast(a), finishedLast(b)) })
	p.Here, p.Data = "today", v
	x.resizable(p, size, mostFullRows, len(v.Rows), v.Next != "")
	if refuse != nil {
		refuse(p)
	}
	return x.render(status, "today", p)
}

// addKiosks adds the offline tablets to the page of today, if the person may see them, and the topics that the page follows. Notices are
// among the topics, because a problem of a stay's lock, or a tablet that goes offline, changes no reservation.
func (x *exchange) addKiosks(v *todayView, today bool) error {
	if v.Topics = "reservations"; x.may("readNotices") {
		v.Topics += ",notices"
	}
	if !today || !x.may("readProperty") {
		return nil
	}
	v.Topics += ",kiosks"
	found, err := x.site.api.Kiosks.ListKiosks(x.call(), &propertyv1.ListKiosksRequest{})
	if err != nil {
		return err
	}
	for _, k := range found.GetData().GetList() {
		if k.GetState() == "offline" {
			v.Offline = append(v.Offline, k)
		}
	}
	if len(v.Offline) > 0 && x.may("manageSettings") {
		v.OfflineURL = "/app/settings/kiosks"
	}
	return nil
}

// rowKeys returns the keyboard keys that lead from a row to the doors of the stay (o) and to its messages (m), as far as the person may use
// them.
func (x *exchange) rowKeys() (keys string) {
	if x.may("openDoors") {
		keys += "o"
	}
	if x.may("readGuests") {
		keys += "m"
	}
	return keys
}

// finishedLast returns the sort key of a row: 1 if nothing is left to do for the stay, and otherwise 0. So finished stays come last.
func finishedLast(r dayRow) int {
	if r.Over {
		return 1
	}
	return 0
}

// dayURL returns the URL of the list tab of a day, YYYY-MM-DD. An empty day is today, so a bookmark always shows the current day.
func dayURL(tab, day string) string {
	q := url.Values{"tab": {tab}}
	if day != "" {
		q.Set("day", day)
	}
	return "/app/today?" + q.Encode()
}

// dayLinks returns links to the list tab of yesterday, today (YYYY-MM-DD) and tomorrow. If day, the day of the page, is another one, links
// to the days before and after it come first.
func dayLinks(tab, today string, day time.Time) (links []link) {
	next := func(to time.Time, days int) string { return dayURL(tab, to.AddDate(0, 0, days).Format(time.DateOnly)) }
	now, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return nil
	}
	if !day.Equal(now) {
		links = []link{{next(day, -1), "staff.today.before"}, {next(day, 1), "staff.today.after"}}
	}
	return append(links, link{next(now, -1), "staff.today.yesterday"}, link{dayURL(tab, ""), "staff.area.today"}, link{next(now, 1), "staff.today.tomorrow"})
}

// newDayRow returns the row of a stay in the list named tab, with its chip and the state of its check-in.
func newDayRow(tab string, stay *propertyv1.DayStay) dayRow {
	r := dayRow{DayStay: stay}
	for _, fix := range stay.GetFixes() {
		if fix.GetSeverity() != "note" {
			r.Fixes = append(r.Fixes, fix)
		}
	}
	switch {
	case stay.GetState() == "processed":
		r.Chip, r.Over = chip{"unknown", "◌", "staff.day.left"}, tab == "departures"
	case tab == "departures":
		r.Chip = chip{"info", "○", "staff.day.inHouse"}
	default:
		if r.Chip = verdictChip(stay.GetVerdict()); stay.GetVerdict() == "ready" && stay.GetNeedsStaff() {
			r.Chip = chip{"warn", "◐", "staff.verdict.staff"} // the doors are ready, but the check-in stops before them
		}
		r.Over = tab == "arrivals" && stay.GetState() == "started" && stay.GetVerdict() == "ready"
	}
	c := stay.GetCheckIn()
	r.Waives = slices.Contains(c.GetStops(), "owing") && c.GetOwing() != ""
	switch stage := c.GetStage(); {
	case len(c.GetStops()) > 0:
		r.Tone = "warn"
		for _, stop := range c.GetStops() {
			r.CheckIn = append(r.CheckIn, "staff.stop."+stop)
		}
	case stage == "notToday" || stage == "start":
		r.CheckIn = []string{"staff.stage." + stage, "staff.form.open"}
		if c.GetFormComplete() {
			r.CheckIn[1] = "staff.form.done"
		}
		r.Owes = c.GetOwing() != ""
	case stage != "":
		r.CheckIn = []string{"staff.stage." + stage}
	}
	switch c.GetStage() {
	case "identityCheck", "signature":
		r.Clears, r.Tone = c.GetStage(), "warn"
	}
	return r
}

// verdictChip returns the chip that shows whether a guest can enter on arrival.
func verdictChip(verdict string) chip {
	switch verdict {
	case "ready":
		return chip{"ok", "●", "staff.verdict.ready"}
	case "atRisk":
		return chip{"warn", "◐", "staff.verdict.atRisk"}
	case "notReady":
		return chip{"bad", "✕", "staff.verdict.notReady"}
	}
	return chip{"unknown", "?", "staff.verdict.unknown"}
}

// waiveField returns the HTML id of the input for the reason why the open amount of a stay is waived.
func waiveField(reservationID string) string { return "why-" + reservationID }

// WaiveField returns the HTML id of the input for the reason why the open amount of the row's stay is waived.
func (r dayRow) WaiveField() string { return waiveField(r.GetReservationId()) }

// refuseWaive adds the error that the open amount has changed since the person saw it.
func (p *page) refuseWaive() {
	p.Wrong = []kit.Wrong{{Title: p.T("staff.waive.outdated"), Text: p.T("staff.waive.outdated.text")}}
}

// changeToday handles the buttons in a row of a day: they clear a stage of the check-in, such as an identity check, or waive an open
// amount, which needs a reason. It shows an error if the amount has changed meanwhile.
func (s *site) changeToday(x *exchange) error {
	id, done := x.Value("reservation"), "cleared"
	if x.Value("do") == "waive" {
		done = "waived"
		if wrong := wrongReason(x.Value("reason"), "staff.reason.missing"); wrong != "" {
			return x.todayPage(http.StatusUnprocessableEntity, func(p *page) { p.refuseReason(waiveField(id), wrong) })
		}
		_, err := s.api.CheckIns.WaiveOwing(x.call(), &propertyv1.WaiveOwingRequest{ReservationId: id, Owing: x.Value("owing"), Reason: x.Value("reason")})
		if err != nil && s.Fault(err).Reason == fault.Outdated {
			return x.todayPage(http.StatusConflict, (*page).refuseWaive)
		}
		if err != nil {
			return err
		}
	} else if _, err := s.api.CheckIns.ClearStage(x.call(), &propertyv1.ClearStageRequest{ReservationId: id, Stage: x.Value("stage")}); err != nil {
		return err
	}
	to := localPage(x.Value("from"))
	if to == "" {
		to = dayURL("arrivals", "")
	}
	return x.Redirect(to + "&done=" + done)
}
