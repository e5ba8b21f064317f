package staff

import (
	"html"
	"net/http"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The palette is a search dialog on every page. It finds a stay, a room, a lock or a page by a few characters. The script loads the results
// from the page of this file.

// palettePage is a page that the palette can find. Name is a message kind, and right the right of a role or [Self].
type palettePage struct{ Name, URL, right string }

// furtherPages are pages that are neither in the menu nor pages of the settings.
var furtherPages = []palettePage{
	{"staff.palette.house", "/app/today?tab=house", "readReservations"},
	{"staff.palette.departures", "/app/today?tab=departures", "readReservations"},
	{"staff.palette.low", "/app/locks?show=low", "readLocks"},
	{"staff.palette.offline", "/app/locks?show=offline", "readLocks"},
	{"staff.batteries.title", "/app/locks/batteries", "readLocks"},
	{"staff.bridges.title", "/app/bridges", "readLocks"},
	{"staff.bridge.new", "/app/bridges/new", "manageBridges"},
	{"staff.spaces.add", "/app/spaces/new", "manageSpaces"},
	{"staff.code.new", "/app/codes/new", "manageAccess"},
	{"staff.gates", "/app/gates", "readProperty"},
	{"staff.sheet.title", "/app/spaces/import", "manageSpaces"},
	{"staff.changes", "/app/spaces/changes", "readProperty"},
	{"staff.register.title", "/app/register", "inspectRegister"},
	{"staff.kiosk.add", "/app/settings/kiosks", "manageSettings"},
	{"staff.palette.testMail", "/app/settings/mail", "manageSettings"},
	{"staff.people.invite", "/app/settings/people", "managePeople"},
	{"staff.audit.verify", "/app/audit?verify=yes", "readAudit"},
	{"staff.mynotices.title", "/app/account/notices", "readNotices"},
	{"staff.account.title", "/app/account", Self},
	{"staff.password.title", "/app/account/password", Self},
	{"staff.factor.title", "/app/account/second", Self},
}

// palettePages returns all pages that the person may use, in the order of the menus.
func (x *exchange) palettePages() (list []palettePage) {
	add := func(p palettePage) {
		if p.right == Self || x.may(p.right) {
			list = append(list, p)
		}
	}
	for _, a := range areas {
		add(palettePage{"staff.area." + a.Name, a.URL, a.right})
	}
	for _, t := range settingsTabs {
		add(palettePage{"staff.settings." + t.Name, t.URL, t.right})
	}
	for _, p := range furtherPages {
		add(p)
	}
	return list
}

type paletteView struct {
	Query string
	Stays []*propertyv1.Reservation
	Rooms []*propertyv1.Space
	Names map[string]string // full names of the rooms, by id
	Locks []*propertyv1.Lock
	Pages []palettePage
}

// Empty reports whether the query found nothing.
func (v paletteView) Empty() bool { return len(v.Stays)+len(v.Rooms)+len(v.Locks)+len(v.Pages) == 0 }

// maxPaletteFinds is how many stays the palette shows at most; the same for rooms and for locks.
const maxPaletteFinds = 6

// minPaletteQuery is the minimum length of a query for rooms and locks. Each such query loads all rooms and locks, so the first key press
// should not.
const minPaletteQuery = 2

// showPalette handles a query of the palette. It finds stays by name, number or room, and rooms, locks and pages by name; rooms and locks
// only with minPaletteQuery characters. It searches only what the person may see. An empty query finds all pages.
func (s *site) showPalette(x *exchange) error {
	p := x.newPage("staff.palette.title")
	v := paletteView{Query: strings.TrimSpace(x.R.URL.Query().Get("q"))}
	for _, page := range x.palettePages() {
		if contains(html.UnescapeString(string(p.T(page.Name))), v.Query) {
			v.Pages = append(v.Pages, page)
		}
	}
	if v.Query != "" && x.may("readReservations") {
		found, err := s.api.Reservations.ListReservations(x.call(), &propertyv1.ListReservationsRequest{Query: v.Query, PageSize: maxPaletteFinds})
		if err != nil {
			return err
		}
		v.Stays = found.GetData().GetList()
	}
	if len([]rune(v.Query)) >= minPaletteQuery {
		if err := x.findThings(&v); err != nil {
			return err
		}
	}
	p.Here, p.Data = "palette", v
	return x.render(http.StatusOK, "palette", p)
}

// findThings adds to v the rooms, beds and locks that the query finds and the person may see: at most maxPaletteFinds rooms and beds, and as
// many locks. It searches the full names of rooms and beds, and the name of a lock together with that of its door: see contains. It loads
// all of them, so the caller first checks that the query has minPaletteQuery characters.
func (x *exchange) findThings(v *paletteView) error {
	if x.may("readProperty") {
		own, err := x.ownSpaces()
		if err != nil {
			return err
		}
		v.Names = fullNames(own)
		for _, s := range own {
			if len(v.Rooms) < maxPaletteFinds && contains(v.Names[s.GetId()], v.Query) {
				v.Rooms = append(v.Rooms, s)
			}
		}
	}
	if !x.may("readLocks") {
		return nil
	}
	locks, err := x.locks(&propertyv1.ListLocksRequest{})
	for _, l := range locks {
		if len(v.Locks) < maxPaletteFinds && contains(l.GetName()+" "+doorName(l), v.Query) {
			v.Locks = append(v.Locks, l)
		}
	}
	return err
}

// contains reports whether a text contains all words of a query, in any order and case. It is true for an empty query.
func contains(text, query string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
