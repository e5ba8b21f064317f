package staff

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// The most rows of a page of spaces, and the most free spaces of the PMS that a row offers. A room's own page offers all.
const (
	spaceRows    = 50
	spaceChoices = 40
)

// spaceRow is one of our rooms or beds.
type spaceRow struct {
	*propertyv1.Space
	Mapped  *propertyv1.PartnerSpace // nil: none
	Suggest string                   // the name of the space of the PMS that has a similar name, or ""
	Choices []kit.Option
	Lock    *propertyv1.Lock // nil: none, or the person may not see locks
}

// NoLock is the state of a room whose door nothing opens.
func (spaceRow) NoLock() chip { return chip{"warn", "✕", "staff.room.noLock"} }

// conflictRow is one difference between the mapping and the PMS's listing.
type conflictRow struct {
	*propertyv1.Conflict
	Cures []cure
	Stays []*propertyv1.Reservation // the first of those that it touches
}

// Chip says what a conflict means: a guest may be kept out, or only names differ.
func (c conflictRow) Chip() chip {
	switch c.GetKind() {
	case "renamed", "retyped", "bedWithoutRoom", "duplicateId":
		return chip{"warn", "!", "staff.conflict.differs"}
	case "unreadable":
		return chip{"bad", "✕", "staff.conflict.unreadable"}
	}
	return chip{"bad", "✕", "staff.conflict.access"}
}

// More counts the reservations that are not named.
func (c conflictRow) More() int { return len(c.GetReservationIds()) - len(c.Stays) }

type spacesView struct {
	Rows         []spaceRow
	Conflicts    []conflictRow
	PMS          []*propertyv1.Integration // those that list spaces
	Chosen       *propertyv1.Integration   // nil: none
	Mapped, All  int                       // of the spaces that the PMS lists
	Exact        int                       // suggestions that differ in no word
	Missing      int                       // spaces of the PMS for which the property has none
	Before, Next string
	Page         int
	Manages      bool
	ShowsLocks   bool
	Problem      string // why the reading of the PMS's spaces failed, for staff
}

// spacesData is what the pages about spaces know.
type spacesData struct {
	own    []*propertyv1.Space
	pms    []*propertyv1.Integration
	chosen *propertyv1.Integration
	listed []*propertyv1.PartnerSpace
	locks  map[string]*propertyv1.Lock
}

// all reads the pages of a list.
func all[T any](read func(token string) (list []T, next string, err error)) (whole []T, err error) {
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

// loadSpaces reads our spaces, and those of the PMS that the address names or, without one, of the first.
func (x *exchange) loadSpaces() (d spacesData, err error) {
	api := x.site.api
	d.own, err = all(func(token string) ([]*propertyv1.Space, string, error) {
		found, err := api.Spaces.ListSpaces(x.call(), &propertyv1.ListSpacesRequest{PageSize: 200, PageToken: token})
		return found.GetData().GetList(), found.GetData().GetNextPageToken(), err
	})
	if err != nil {
		return d, err
	}
	d.own = arrange(d.own)
	integrations, err := api.Integrations.ListIntegrations(x.call(), &propertyv1.ListIntegrationsRequest{})
	if err != nil {
		return d, err
	}
	for _, i := range integrations.GetData().GetList() {
		if i.AppId == nil {
			continue
		}
		d.pms = append(d.pms, i)
		if d.chosen == nil || i.GetId() == x.R.FormValue("pms") {
			d.chosen = i
		}
	}
	if d.chosen == nil {
		return d, nil
	}
	d.listed, err = all(func(token string) ([]*propertyv1.PartnerSpace, string, error) {
		found, err := api.Mappings.ListPartnerSpaces(x.call(), &propertyv1.ListPartnerSpacesRequest{IntegrationId: d.chosen.GetId(), PageSize: 200, PageToken: token})
		return found.GetData().GetList(), found.GetData().GetNextPageToken(), err
	})
	return d, err
}

// loadLocks reads the locks, if the person may see them.
func (x *exchange) loadLocks() ([]*propertyv1.Lock, error) {
	if !x.may("readLocks") {
		return nil, nil
	}
	return x.allLocks()
}

// mappedTo returns the space of the PMS that a space is mapped to, or nil.
func (d spacesData) mappedTo(spaceID string) *propertyv1.PartnerSpace {
	at := slices.IndexFunc(d.listed, func(p *propertyv1.PartnerSpace) bool { return p.GetSpaceId() == spaceID })
	if at < 0 {
		return nil
	}
	return d.listed[at]
}

// choices returns what a space can be mapped to: what it is mapped to, what has a similar name, and at most a number of the others.
func (d spacesData) choices(s *propertyv1.Space, most int) []kit.Option {
	options := []kit.Option{{Kind: "staff.spaces.none"}}
	free := 0
	for _, p := range d.listed {
		fits := (p.GetType() == "Bed") == (s.GetType() == "Bed")
		own := p.GetSpaceId() == s.GetId() || p.GetSuggestedSpaceId() == s.GetId()
		if other := p.GetState() == "unmapped" && fits && p.GetIsActive(); other && !own {
			free++
		} else if !own {
			continue
		}
		if own || free <= most {
			options = append(options, kit.Option{Value: p.GetExternalId(), Text: d.named(p)})
		}
	}
	return options
}

// named is the name of a space of the PMS, of a bed with that of its room.
func (d spacesData) named(p *propertyv1.PartnerSpace) string {
	if p.ParentExternalId == nil {
		return p.GetName()
	}
	for _, room := range d.listed {
		if room.GetExternalId() == p.GetParentExternalId() {
			return room.GetName() + " · " + p.GetName()
		}
	}
	return p.GetName()
}

// spacesURL is the address of a page of spaces.
func spacesURL(pms string, page int, done string) string {
	q := url.Values{}
	for name, value := range map[string]string{"pms": pms, "done": done} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	if len(q) == 0 {
		return "/app/spaces"
	}
	return "/app/spaces?" + q.Encode()
}

func (s *site) showSpaces(x *exchange) error { return x.spacesPage(http.StatusOK, "", nil) }

// spacesPage shows our rooms and beds with what they are at the PMS, after the conflicts between the two.
func (x *exchange) spacesPage(status int, problem string, wrong *kit.Wrong) error {
	d, err := x.loadSpaces()
	if err != nil {
		return err
	}
	locks, err := x.loadLocks()
	if err != nil {
		return err
	}
	d.locks = map[string]*propertyv1.Lock{}
	for _, l := range locks {
		if l.DoorId != nil {
			d.locks[l.GetDoorId()] = l
		}
	}
	v := spacesView{PMS: d.pms, Chosen: d.chosen, Manages: x.may("manageSpaces"), ShowsLocks: x.may("readLocks"), Problem: problem}
	for _, p := range d.listed {
		if p.GetState() == "gone" {
			continue
		}
		v.All++
		if p.GetState() == "mapped" {
			v.Mapped++
		} else if p.GetConfidence() == "exact" {
			v.Exact++
		}
	}
	v.Missing = len(missingSpaces(d.listed, d.own))
	last := max(1, (len(d.own)+spaceRows-1)/spaceRows)
	v.Page, _ = strconv.Atoi(x.R.FormValue("page"))
	v.Page = min(max(v.Page, 1), last)
	if v.Page > 1 {
		v.Before = spacesURL(v.Chosen.GetId(), v.Page-1, "")
	}
	if v.Page < last {
		v.Next = spacesURL(v.Chosen.GetId(), v.Page+1, "")
	}
	for _, own := range d.own[(v.Page-1)*spaceRows : min(v.Page*spaceRows, len(d.own))] {
		row := spaceRow{Space: own, Mapped: d.mappedTo(own.GetId()), Lock: d.locks[own.GetId()]}
		if v.Manages && v.Chosen != nil {
			row.Choices = d.choices(own, spaceChoices)
		}
		for _, p := range d.listed {
			if p.GetSuggestedSpaceId() == own.GetId() {
				row.Suggest = d.named(p)
			}
		}
		v.Rows = append(v.Rows, row)
	}
	if v.Conflicts, err = x.conflicts(d); err != nil {
		return err
	}
	p := x.newPage("staff.area.spaces")
	p.Here, p.Data = "spaces", v
	if wrong != nil {
		p.Wrong = []kit.Wrong{*wrong}
	}
	return x.render(status, "spaces", p)
}

// The most conflicts of a page, and the most reservations that each names.
const (
	conflictRows  = 20
	conflictStays = 3
)

// conflicts returns the open conflicts of the chosen PMS.
func (x *exchange) conflicts(d spacesData) (rows []conflictRow, err error) {
	if d.chosen == nil {
		return nil, nil
	}
	found, err := x.site.api.Mappings.ListConflicts(x.call(), &propertyv1.ListConflictsRequest{IntegrationId: d.chosen.GetId(), PageSize: conflictRows})
	if err != nil {
		return nil, err
	}
	for _, c := range found.GetData().GetList() {
		row := conflictRow{Conflict: c}
		if x.may("manageSpaces") {
			row.Cures = curesOf(c, d.listed)
		}
		for _, id := range c.GetReservationIds() {
			if len(row.Stays) == conflictStays || !x.may("readReservations") {
				break
			}
			stay, err := x.reservation(id)
			if err != nil {
				return nil, err
			}
			row.Stays = append(row.Stays, stay)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// changeSpaces changes the mapping: all rows of the page, one conflict, or all suggestions.
func (s *site) changeSpaces(x *exchange) error {
	pms, done := x.Value("pms"), "mapped"
	if pms == "" {
		return x.Redirect("/app/spaces")
	}
	page, _ := strconv.Atoi(x.Value("page"))
	var change edit
	switch x.Value("do") {
	case "rows":
		var choices []spaceChoice
		for _, id := range x.R.PostForm["space"] {
			choices = append(choices, spaceChoice{spaceID: id, was: x.Value("was." + id), now: x.Value("map." + id)})
		}
		changes, twice := mappingChanges(choices)
		if twice != "" {
			return x.spacesPage(http.StatusUnprocessableEntity, "", &kit.Wrong{Title: x.words().T("staff.spaces.twice"), Text: x.words().T("staff.spaces.twice.text")})
		}
		change = x.editMappings(pms, changes)
	case "map":
		var changes []*propertyv1.Mapping
		spaces := x.R.PostForm["space"]
		for i, external := range x.R.PostForm["external"] {
			if i < len(spaces) {
				changes = append(changes, mapTo(external, spaces[i]))
			}
		}
		change = x.editMappings(pms, changes)
	case "exact":
		change = x.takeSuggestions(pms)
	case "create":
		change = func(bool) (*propertyv1.MappingPreview, error) { return nil, x.createFor(pms, x.Value("external")) }
	case "missing":
		done = "taken"
		change = func(bool) (*propertyv1.MappingPreview, error) { return nil, x.createFor(pms, "") }
	default:
		return x.Redirect(spacesURL(pms, page, ""))
	}
	if do := x.Value("do"); x.Value("preview") != "" && do != "create" && do != "missing" {
		return x.previewPage(change, spacesURL(pms, page, ""))
	}
	if _, err := change(false); err != nil {
		return err
	}
	return x.Redirect(spacesURL(pms, page, done))
}

// createFor creates what the property needs for one listed space or, for "", for all of them, and maps what has the same name.
func (x *exchange) createFor(pms, externalID string) error {
	d, err := x.loadSpaces()
	if err != nil {
		return err
	}
	if d.chosen.GetId() != pms {
		return fault.New(fault.NotFound, fault.IntegrationNotFound, "no such integration")
	}
	listed := d.listed
	if externalID != "" {
		listed = slices.DeleteFunc(slices.Clone(listed), func(p *propertyv1.PartnerSpace) bool { return p.GetExternalId() != externalID })
	}
	needed := missingSpaces(listed, d.own)
	if len(needed) == 0 {
		return nil
	}
	made, err := x.site.api.Spaces.BatchCreateSpaces(x.call(), &propertyv1.BatchCreateSpacesRequest{Spaces: needed[:min(len(needed), 500)]})
	if err != nil {
		return err
	}
	var changes []*propertyv1.Mapping
	for _, space := range made.GetData().GetList() {
		for _, p := range listed {
			if p.GetName() == space.GetName() && p.GetType() == space.GetType() && p.GetState() == "unmapped" {
				changes = append(changes, mapTo(p.GetExternalId(), space.GetId()))
				break
			}
		}
	}
	_, err = x.editMappings(pms, changes)(false)
	return err
}

// readSpaces reads the spaces of a PMS now. What the PMS answered wrong is said on the page.
func (s *site) readSpaces(x *exchange) error {
	pms := x.Value("pms")
	if pms == "" {
		return x.Redirect("/app/spaces")
	}
	_, err := s.api.Integrations.ReadSpaces(x.call(), &propertyv1.ReadSpacesRequest{Id: pms})
	if err == nil {
		return x.Redirect(spacesURL(pms, 0, "read"))
	}
	f := s.Fault(err)
	if !slices.Contains([]fault.Reason{fault.EndpointNotRegistered, fault.PartnerError, fault.PartnerUnavailable}, f.Reason) {
		return err
	}
	return x.spacesPage(http.StatusOK, f.Message, nil)
}
