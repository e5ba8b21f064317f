package staff

import (
	"net/http"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// noticeRow is one notice with a link to its object.
type noticeRow struct {
	*propertyv1.Notice
	Chip  chip
	Touch link // link to the object of the notice; the zero link if it has no page
}

// subjectLink returns the link to the page of the object with this id, such as lck_... for a lock. It returns the zero link if that kind of
// object has no page, or if its page belongs to the settings and may reports that the person lacks the right to them.
func subjectLink(id string, may func(right string) bool) link {
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case "rsv":
		return link{"/app/reservations/" + id, "staff.touch.reservation"}
	case "lck":
		return link{"/app/locks/" + id, "staff.touch.lock"}
	case "brg":
		return link{"/app/bridges/" + id, "staff.touch.bridge"}
	case "cod":
		return link{"/app/codes/" + id, "staff.touch.code"}
	case "cfl":
		return link{"/app/spaces", "staff.touch.spaces"}
	case "int":
		if may("manageSettings") {
			return link{"/app/settings/integrations", "staff.touch.integrations"}
		}
	case "ksk":
		if may("manageSettings") {
			return link{"/app/settings/kiosks", "staff.touch.kiosks"}
		}
	}
	return link{}
}

// newNoticeRow returns a notice with the chip that shows whether its problem is still open. A notice without a problem that ends, such as an
// alarm, is neither open nor resolved. may reports whether the person has a right.
func newNoticeRow(n *propertyv1.Notice, may func(right string) bool) noticeRow {
	r := noticeRow{Notice: n, Chip: chip{"info", "◌", "staff.notice.once"}, Touch: subjectLink(n.GetSubject(), may)}
	if strings.HasPrefix(n.GetKind(), "mapping") && strings.HasPrefix(n.GetSubject(), "int_") { // several conflicts of an integration
		r.Touch = link{listURL("/app/spaces", "pms", n.GetSubject()), "staff.touch.spaces"}
	}
	switch {
	case n.GetStands():
		r.Chip = chip{"warn", "◐", "staff.notice.open"}
	case n.GetResolvedAt() != nil:
		r.Chip = chip{"info", "◌", "staff.notice.over"}
	}
	return r
}

// callsFirst compares two notices for sorting: it orders the open calls for help before all other notices, because a guest waits.
func callsFirst(a, b noticeRow) int {
	calls := func(r noticeRow) int {
		if r.GetStands() && (r.GetKind() == "checkInHelp" || r.GetKind() == "kioskHelp") {
			return 0
		}
		return 1
	}
	return calls(a) - calls(b)
}

type noticesView struct {
	Tabs    []tab
	Rows    []noticeRow
	Unread  bool     // the page shows only unread notices, of the groups that the person has chosen to see
	Open    int      // if the page shows no notice: how many problems are still open, including those whose notices are read or hidden; otherwise 0
	Many    bool     // Open is only a lower limit: still more problems are open
	Mark    []string // ids of the unread notices that the page shows; one button marks them all as read
	More    bool     // there are unread notices that are not in Mark
	Next    string   // URL of the next page, or ""
	Manages bool     // the person may mark notices as read
}

// showNotices handles the list of notices: all, or only the unread ones in the groups that the person has chosen to see.
func (s *site) showNotices(x *exchange) error {
	q := x.R.URL.Query()
	all := q.Get("show") == "all"
	size := x.pageSize(usualRows, mostFullRows)
	found, err := s.api.Notices.ListNotices(x.call(), &propertyv1.ListNoticesRequest{PageSize: int32(size), UnreadOnly: !all, MineOnly: !all, PageToken: q.Get("page")})
	if err != nil {
		return err
	}
	v := noticesView{Unread: !all, Manages: x.may("manageNotices"), Tabs: []tab{
		{Name: "staff.notices.unread", URL: "/app/notices", Count: int(found.GetData().GetUnread()), Here: !all},
		{Name: "staff.notices.all", URL: "/app/notices?show=all", Count: -1, Here: all},
	}}
	for _, n := range found.GetData().GetList() {
		v.Rows = append(v.Rows, newNoticeRow(n, x.may))
		if v.Unread && v.Manages && n.ReadAt == nil {
			v.Mark = append(v.Mark, n.GetId())
		}
	}
	slices.SortStableFunc(v.Rows, callsFirst)
	if v.Unread && len(v.Rows) == 0 {
		v.Open, v.Many = int(found.GetData().GetOpen()), found.GetData().GetMoreOpen()
	}
	v.More = int(found.GetData().GetUnread()) > len(v.Mark)
	if next := found.GetData().GetNextPageToken(); next != "" {
		v.Next = listURL("/app/notices", "show", q.Get("show"), "page", next)
	}
	p := x.newPage("staff.notices.title")
	p.Here, p.Data = "notices", v
	x.resizable(p, size, mostFullRows, len(v.Rows), v.Next != "")
	return x.render(http.StatusOK, "notices", p)
}

// readNotices handles the buttons that mark one notice, or all that the page shows, as read for all staff of the property. It marks only
// the posted ones and none that came later, because a notice that is read is not mailed any more.
func (s *site) readNotices(x *exchange) error {
	ids := x.R.PostForm["notice"]
	if len(ids) == 0 {
		return x.Redirect("/app/notices")
	}
	if _, err := s.api.Notices.MarkNoticesRead(x.call(), &propertyv1.MarkNoticesReadRequest{Ids: ids}); err != nil {
		return err
	}
	return x.Redirect("/app/notices?done=noticeRead")
}
