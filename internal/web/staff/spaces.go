package staff

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/web/kit"
)

// spaceRows is the number of rows on a page if the person has chosen none, and mostSpaces the maximum. Each row offers at most spaceChoices
// free spaces of the PMS; the room's own page offers all. To bound the size of the page, all rows together have at most pageChoices, of
// which each row itself takes rowSize.
const (
	spaceRows    = 50
	mostSpaces   = 100
	spaceChoices = 40
	rowSize      = 10
	pageChoices  = 1600
)

// spaceRow is one room or bed of the property with its mapping.
type spaceRow struct {
	*propertyv1.Space
	Mapped  *propertyv1.PartnerSpace // the space of the PMS to which the room or bed is mapped, or nil
	Suggest string                   // name of the space of the PMS that is suggested because its name is similar, or ""
	Choices []kit.Option
	Choice  string             // id of the selected space of the PMS, or ""
	Lock    *lockRow           // nil without a lock, or if the person may not read locks
	Gates   []*propertyv1.Gate // gates that guests of the room may open
	Arrive  int32              // number of stays that begin in the room or bed today; 0 if the person may not read reservations
}

// Field returns the HTML id of the list with the row's choices.
func (r spaceRow) Field() string { return mapField(r.GetId()) }

// mapField returns the HTML id of the list of choices in the row of a space of the property.
func mapField(spaceID string) string { return "m-" + spaceID }

// NoLock returns the chip that says that a room has no lock.
func (spaceRow) NoLock() chip { return chip{"warn", "✕", "staff.room.noLock"} }

// spaceGates is how many gates each row names; the room's own page names all.
const spaceGates = 2

// NamedGates returns the names of the first gates, separated by commas, at most spaceGates.
func (r spaceRow) NamedGates() string {
	var names []string
	for _, g := range r.Gates[:min(len(r.Gates), spaceGates)] {
		names = append(names, g.GetName())
	}
	return strings.Join(names, ", ")
}

// MoreGates returns the number of gates that NamedGates leaves out. It can be negative, which means none.
func (r spaceRow) MoreGates() int { return len(r.Gates) - spaceGates }

// freeSpace is a space of the PMS that is not mapped.
type freeSpace struct {
	ExternalID, Name string
	Bed              bool
}

type spacesView struct {
	Rows         []spaceRow
	Conflicts    []conflictRow
	AllConflicts int32                     // number of conflicts on all pages
	OtherOnes    string                    // URL of the next page of conflicts, or ""
	PMS          []*propertyv1.Integration // connected PMSs
	Chosen       *propertyv1.Integration   // the PMS that the page shows; nil if none is connected
	Mapped, All  int                       // counts of mapped and of all spaces that the PMS lists
	Exact        int                       // number of suggestions with an identical name
	Missing      int                       // number of spaces of the PMS for which a room or bed can be created
	Free         []freeSpace               // the first active unmapped spaces of the PMS, which the person can drag onto a row
	AllFree      int                       // number of all active unmapped spaces, also of those not in Free; 0 if the person may not map
	LastChange   string                    // id of the latest change of the mapping that the page shows; "none": there is no change yet
	Before, Next string                    // URLs of the previous and the next page of rooms, or ""
	Page         int
	Manages      bool // the person may change rooms and their mapping
	ShowsLocks   bool
	Unread       *fault.Fault // why the spaces of the PMS could not be read, or nil
	Query        string       // the query "?pms=ID" that chooses the PMS on the pages of rooms, or "" with fewer than two PMSs
	Problem      string       // what Unread says, in the reader's language, or ""
}

// spacesData is the data that the pages about spaces share: the property's spaces, the connected PMSs, and the spaces that the chosen PMS
// lists.
type spacesData struct {
	own        []*propertyv1.Space
	pms        []*propertyv1.Integration
	chosen     *propertyv1.Integration
	listed     []*propertyv1.PartnerSpace
	lastChange string // id of the latest change of the mapping that the page shows; "none": there is no change yet
}

// wholePage is the page size for lists that are loaded completely. It is the maximum of the API.
const wholePage = 1000

// loadAllPages calls read with each page token until next is "", and returns the entries of all pages.
func loadAllPages[T any](read func(token string) (list []T, next string, err error)) (whole []T, err error) {
	for token := ""; ; {
		list, next, err := read(token)
		if err != nil {
			return nil, err
		}
		whole = append(whole, list...)
		if token = next; token == "" {
			return whole, nil
		}
	}
}

// ownSpaces loads the rooms, dorms and beds of the property, in the order of arrange.
func (x *exchange) ownSpaces() ([]*propertyv1.Space, error) {
	own, err := loadAllPages(func(token string) ([]*propertyv1.Space, string, error) {
		found, err := x.site.api.Spaces.ListSpaces(x.call(), &propertyv1.ListSpacesRequest{PageSize: wholePage, PageToken: token})
		return found.GetData().GetList(), found.GetData().GetNextPageToken(), err
	})
	return arrange(own), err
}

// loadSpaces loads the property's spaces and those of the PMS in the form or query or, without one, of the first PMS. If no PMS is
// connected, d has only the former.
func (x *exchange) loadSpaces() (d spacesData, err error) {
	if d.own, err = x.ownSpaces(); err != nil {
		return d, err
	}
	if d.pms, d.chosen, err = x.integrations(); err != nil || d.chosen == nil {
		return d, err
	}
	d.listed, d.lastChange, err = x.partnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: d.chosen.GetId()})
	sortByName(d.listed)
	return d, err
}

// integrations loads the connected apps, each of a PMS. Integrations without an app are left out. chosen is the app with the id "pms" of
// the posted form or the query; without a match, it is the first. It is nil if list is empty.
func (x *exchange) integrations() (list []*propertyv1.Integration, chosen *propertyv1.Integration, err error) {
	found, err := x.site.api.Integrations.ListIntegrations(x.call(), &propertyv1.ListIntegrationsRequest{})
	for _, i := range found.GetData().GetList() {
		if i.AppId == nil { // an integration without an app is for scripts of the property
			continue
		}
		list = append(list, i)
		if chosen == nil || i.GetId() == x.R.FormValue("pms") {
			chosen = i
		}
	}
	return list, chosen, err
}

// partnerSpaces loads all spaces of a PMS that r selects. It changes the page size and token in r. lastChange is the id of the latest
// change of the mapping before the list was loaded, or "none".
func (x *exchange) partnerSpaces(r *propertyv1.ListPartnerSpacesRequest) (list []*propertyv1.PartnerSpace, lastChange string, err error) {
	r.PageSize = wholePage
	list, err = loadAllPages(func(token string) ([]*propertyv1.PartnerSpace, string, error) {
		r.PageToken = token
		found, err := x.site.api.Mappings.ListPartnerSpaces(x.call(), r)
		if token == "" { // from the first page: a change while the others load then makes the form outdated
			lastChange = found.GetData().GetLastChangeId()
		}
		return found.GetData().GetList(), found.GetData().GetNextPageToken(), err
	})
	return list, lastChange, err
}

// mappedTo returns the space of the PMS to which a space of the property is mapped, or nil. spaceID must not be "", which is that of every
// space that is not mapped.
func (d spacesData) mappedTo(spaceID string) *propertyv1.PartnerSpace {
	at := slices.IndexFunc(d.listed, func(p *propertyv1.PartnerSpace) bool { return p.GetSpaceId() == spaceID })
	if at < 0 {
		return nil
	}
	return d.listed[at]
}

// choices returns the spaces of the PMS that s can be mapped to, in the order of d.listed: the current mapping, the space with the id
// chosen, suggestions, and up to most other free spaces (active; for a bed only beds, and for others none). The first option is "none".
// Options with equal names also show what distinguishes them.
func (d spacesData) choices(w kit.Words, s *propertyv1.Space, chosen string, most int) []kit.Option {
	var offered []*propertyv1.PartnerSpace
	free, equal := 0, map[string]int{}
	for _, p := range d.listed {
		fits := (p.GetType() == "Bed") == (s.GetType() == "Bed")
		own := p.GetSpaceId() == s.GetId() || p.GetSuggestedSpaceId() == s.GetId() || p.GetExternalId() == chosen
		if other := p.GetState() == "unmapped" && fits && p.GetIsActive(); other && !own {
			free++
		} else if !own {
			continue
		}
		if own || free <= most {
			offered = append(offered, p)
			equal[fullName(p)]++
		}
	}
	options := []kit.Option{{Kind: "staff.spaces.none"}}
	for _, p := range offered {
		text := fullName(p)
		switch {
		case equal[text] < 2:
		case p.GetState() == "gone":
			text = w.Text("staff.spaces.gone", message.Params{"name": text})
		default:
			text += " (" + p.GetExternalId() + ")"
		}
		options = append(options, kit.Option{Value: p.GetExternalId(), Text: text})
	}
	return options
}

// sortByName sorts spaces of the PMS by their full names: beds follow their dorms.
func sortByName(listed []*propertyv1.PartnerSpace) {
	slices.SortStableFunc(listed, func(a, b *propertyv1.PartnerSpace) int { return compareNames(fullName(a), fullName(b)) })
}

// fullName returns the full name of a space of the PMS.
func fullName(p *propertyv1.PartnerSpace) string {
	return text.FullName(p.GetParentName(), p.GetName())
}

// doorName returns the full name of the door of a lock or of a code, or "".
func doorName(of interface {
	GetDoorName() string
	GetDoorParentName() string
}) string {
	return text.FullName(of.GetDoorParentName(), of.GetDoorName())
}

// fullNames returns the full names of spaces of the property, by id. own must contain the dorm of each bed.
func fullNames(own []*propertyv1.Space) map[string]string {
	names, full := map[string]string{}, map[string]string{}
	for _, s := range own {
		names[s.GetId()] = s.GetName()
	}
	for _, s := range own {
		full[s.GetId()] = text.FullName(names[s.GetParentSpaceId()], s.GetName())
	}
	return full
}

// showSpaces handles the page with the rooms and their mapping.
func (s *site) showSpaces(x *exchange) error { return x.spacesPage(http.StatusOK, nil, nil) }

// spacesPage renders the conflicts of the mapping, and the rooms and beds with their mapping. unread is why the PMS's spaces could not be
// read, or nil. refuse adds the errors of a posted change to the page, or is nil. After a posted form, the rows show its choices: see
// postedChoice.
func (x *exchange) spacesPage(status int, unread *fault.Fault, refuse func(*page, spacesData)) error {
	d, err := x.loadSpaces()
	if err != nil {
		return err
	}
	v := spacesView{PMS: d.pms, Chosen: d.chosen, Manages: x.may("manageSpaces"), ShowsLocks: x.may("readLocks"), Unread: unread, LastChange: d.lastChange, Query: queryOfPMS(d.pms, d.chosen)}
	if unread != nil {
		v.Problem = unread.Meta["problem"]
	}
	for _, p := range d.listed {
		if p.GetState() == "gone" {
			continue
		}
		v.All++
		if p.GetState() == "mapped" {
			v.Mapped++
			continue
		}
		if p.GetConfidence() == "exact" {
			v.Exact++
		}
		if p.GetCreatable() {
			v.Missing++
		}
		if v.Manages && p.GetIsActive() {
			if v.AllFree++; v.AllFree <= spaceChoices {
				v.Free = append(v.Free, freeSpace{p.GetExternalId(), fullName(p), p.GetType() == "Bed"})
			}
		}
	}
	size := x.pageSize(spaceRows, mostSpaces)
	last := max(1, (len(d.own)+size-1)/size)
	v.Page, _ = strconv.Atoi(x.R.FormValue("page"))
	v.Page = min(max(v.Page, 1), last)
	if v.Page > 1 {
		v.Before = listURL("/app/spaces", "pms", v.Chosen.GetId(), "page", strconv.Itoa(v.Page-1))
	}
	if v.Page < last {
		v.Next = listURL("/app/spaces", "pms", v.Chosen.GetId(), "page", strconv.Itoa(v.Page+1))
	}
	shown := d.own[(v.Page-1)*size : min(v.Page*size, len(d.own))]
	var doors []string
	for _, own := range shown {
		doors = append(doors, own.GetId())
	}
	locks, err := x.locksOfDoors(doors...)
	if err != nil {
		return err
	}
	gates, err := x.gates()
	if err != nil {
		return err
	}
	arrivals, err := x.arrivals()
	if err != nil {
		return err
	}
	for _, own := range shown {
		row := spaceRow{Space: own, Mapped: d.mappedTo(own.GetId()), Gates: gatesOf(own, gates), Arrive: arrivals[own.GetId()]}
		if l := locks[own.GetId()]; l != nil {
			row.Lock = new(newLockRow(l, x.site.Now()))
		}
		row.Choice = x.postedChoice(d, own.GetId())
		if v.Manages && v.Chosen != nil {
			row.Choices = d.choices(x.words(), own, row.Choice, min(spaceChoices, pageChoices/len(shown)-rowSize))
		}
		for _, p := range d.listed {
			if p.GetSuggestedSpaceId() == own.GetId() {
				row.Suggest = fullName(p)
			}
		}
		v.Rows = append(v.Rows, row)
	}
	if err = x.addConflicts(&v, d); err != nil {
		return err
	}
	p := x.newPage("staff.area.spaces")
	p.Here, p.Data = "spaces", v
	x.resizable(p, size, mostSpaces, len(v.Rows), v.Page < last)
	if refuse != nil {
		refuse(p, d)
	}
	return x.render(status, "spaces", p)
}

// arrivals returns how many stays begin today in each room and bed, by its id. It returns nil if the person may not read reservations.
func (x *exchange) arrivals() (map[string]int32, error) {
	if !x.may("readReservations") {
		return nil, nil
	}
	found, err := x.site.api.Days.CountArrivals(x.call(), &propertyv1.CountArrivalsRequest{})
	counts := map[string]int32{}
	for _, s := range found.GetData().GetList() {
		counts[s.GetSpaceId()] = s.GetArrivals()
	}
	return counts, err
}

// unreadReasons are the errors, other than faults of the server, because of which the spaces of a PMS cannot be read. Each has a message.
var unreadReasons = []fault.Reason{fault.EndpointNotRegistered, fault.PartnerError, fault.PartnerUnavailable}

// refreshPartnerSpaces handles the button that reads the spaces of a PMS now. If they cannot be read for one of unreadReasons, the page of
// spaces shows why. It returns any other error.
func (s *site) refreshPartnerSpaces(x *exchange) error {
	pms := x.Value("pms")
	if pms == "" {
		return x.Redirect("/app/spaces")
	}
	_, err := s.api.Integrations.ReadSpaces(x.call(), &propertyv1.ReadSpacesRequest{Id: pms})
	if err == nil {
		return x.Redirect(listURL("/app/spaces", "pms", pms, "done", "read"))
	}
	f := s.Fault(err)
	if !slices.Contains(unreadReasons, f.Reason) {
		return err
	}
	return x.spacesPage(http.StatusOK, f, nil)
}
