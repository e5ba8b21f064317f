package staff

import (
	"net/http"
	"slices"
	"strconv"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// How many rows a page of spaces has without a choice and at most, and the most free spaces of the PMS that a row offers. A room's own page
// offers all.
const (
	spaceRows    = 50
	mostSpaces   = 100
	spaceChoices = 40
)

// spaceRow is one of our rooms or beds.
type spaceRow struct {
	*propertyv1.Space
	Mapped  *propertyv1.PartnerSpace // nil: none
	Suggest string                   // the name of the space of the PMS that has a similar name, or ""
	Choices []kit.Option
	Choice  string           // the space of the PMS that is chosen
	Lock    *propertyv1.Lock // nil: none, or the person may not see locks
}

// Field is the id of the row's choice.
func (r spaceRow) Field() string { return mapField(r.GetId()) }

func mapField(spaceID string) string { return "m-" + spaceID }

// NoLock is the state of a room whose door nothing opens.
func (spaceRow) NoLock() chip { return chip{"warn", "✕", "staff.room.noLock"} }

// freeSpace is a space of the PMS that is not mapped.
type freeSpace struct {
	ExternalID, Name string
	Bed              bool
}

type spacesView struct {
	Rows         []spaceRow
	Conflicts    []conflictRow
	AllConflicts int32                     // also on the other pages
	OtherOnes    string                    // the address of the next page of conflicts, or ""
	PMS          []*propertyv1.Integration // those that list spaces
	Chosen       *propertyv1.Integration   // nil: none
	Mapped, All  int                       // of the spaces that the PMS lists
	Exact        int                       // suggestions that differ in no word
	Missing      int                       // spaces of the PMS for which the property has none
	Free         []freeSpace               // spaces of the PMS to drag onto a row
	AllFree      int                       // also those that do not fit on the page
	LastChange   string                    // the latest change of the mapping that the page shows
	Before, Next string
	Page         int
	Manages      bool
	ShowsLocks   bool
	Problem      string // why the reading of the PMS's spaces failed, for staff
}

// spacesData is what the pages about spaces know.
type spacesData struct {
	own        []*propertyv1.Space
	pms        []*propertyv1.Integration
	chosen     *propertyv1.Integration
	listed     []*propertyv1.PartnerSpace
	lastChange string // the latest change of the mapping that the page shows
}

// wholePage is the page size of the lists that a page reads as a whole: the most that the API allows.
const wholePage = 1000

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

// ownSpaces reads our spaces, in the order of [arrange].
func (x *exchange) ownSpaces() ([]*propertyv1.Space, error) {
	own, err := all(func(token string) ([]*propertyv1.Space, string, error) {
		found, err := x.site.api.Spaces.ListSpaces(x.call(), &propertyv1.ListSpacesRequest{PageSize: wholePage, PageToken: token})
		return found.GetData().GetList(), found.GetData().GetNextPageToken(), err
	})
	return arrange(own), err
}

// loadSpaces reads our spaces, and those of the PMS that the address names or, without one, of the first.
func (x *exchange) loadSpaces() (d spacesData, err error) {
	if d.own, err = x.ownSpaces(); err != nil {
		return d, err
	}
	if d.pms, d.chosen, err = x.integrations(); err != nil || d.chosen == nil {
		return d, err
	}
	d.listed, d.lastChange, err = x.partnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: d.chosen.GetId()})
	return d, err
}

// integrations returns the connected apps and the app that the address names or, without one, the first.
func (x *exchange) integrations() (list []*propertyv1.Integration, chosen *propertyv1.Integration, err error) {
	found, err := x.site.api.Integrations.ListIntegrations(x.call(), &propertyv1.ListIntegrationsRequest{})
	for _, i := range found.GetData().GetList() {
		if i.AppId == nil { // the property's own scripts
			continue
		}
		list = append(list, i)
		if chosen == nil || i.GetId() == x.R.FormValue("pms") {
			chosen = i
		}
	}
	return list, chosen, err
}

// partnerSpaces reads every page of a list of a PMS's spaces. lastChange is the latest change of the mapping that they show.
func (x *exchange) partnerSpaces(r *propertyv1.ListPartnerSpacesRequest) (list []*propertyv1.PartnerSpace, lastChange string, err error) {
	r.PageSize = wholePage
	list, err = all(func(token string) ([]*propertyv1.PartnerSpace, string, error) {
		r.PageToken = token
		found, err := x.site.api.Mappings.ListPartnerSpaces(x.call(), r)
		if token == "" { // a change while the other pages are read makes this one too old
			lastChange = found.GetData().GetLastChangeId()
		}
		return found.GetData().GetList(), found.GetData().GetNextPageToken(), err
	})
	return list, lastChange, err
}

// mappedTo returns the space of the PMS that a space is mapped to, or nil.
func (d spacesData) mappedTo(spaceID string) *propertyv1.PartnerSpace {
	at := slices.IndexFunc(d.listed, func(p *propertyv1.PartnerSpace) bool { return p.GetSpaceId() == spaceID })
	if at < 0 {
		return nil
	}
	return d.listed[at]
}

// choices returns what a space can be mapped to: what it is mapped to, what a person chose for it, what has a similar name, and at most a number of the
// others.
func (d spacesData) choices(s *propertyv1.Space, chosen string, most int) []kit.Option {
	options := []kit.Option{{Kind: "staff.spaces.none"}}
	free := 0
	for _, p := range d.listed {
		fits := (p.GetType() == "Bed") == (s.GetType() == "Bed")
		own := p.GetSpaceId() == s.GetId() || p.GetSuggestedSpaceId() == s.GetId() || p.GetExternalId() == chosen
		if other := p.GetState() == "unmapped" && fits && p.GetIsActive(); other && !own {
			free++
		} else if !own {
			continue
		}
		if own || free <= most {
			options = append(options, kit.Option{Value: p.GetExternalId(), Text: fullName(p)})
		}
	}
	return options
}

// fullName is the name of a space of the PMS, of a bed with that of its room.
func fullName(p *propertyv1.PartnerSpace) string {
	if p.GetParentName() == "" {
		return p.GetName()
	}
	return p.GetParentName() + " · " + p.GetName()
}

func (s *site) showSpaces(x *exchange) error { return x.spacesPage(http.StatusOK, "", nil) }

// spacesPage shows our rooms and beds with what they are at the PMS, after the conflicts between the two.
// problem says why the PMS's spaces could not be read, and refuse adds what is wrong with a posted change.
func (x *exchange) spacesPage(status int, problem string, refuse func(*page, spacesData)) error {
	d, err := x.loadSpaces()
	if err != nil {
		return err
	}
	v := spacesView{PMS: d.pms, Chosen: d.chosen, Manages: x.may("manageSpaces"), ShowsLocks: x.may("readLocks"), Problem: problem, LastChange: d.lastChange}
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
		if v.Manages && p.GetIsActive() {
			if v.AllFree++; v.AllFree <= spaceChoices {
				v.Free = append(v.Free, freeSpace{p.GetExternalId(), fullName(p), p.GetType() == "Bed"})
			}
		}
	}
	v.Missing = len(missingSpaces(d.listed, d.own))
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
	for _, own := range shown {
		row := spaceRow{Space: own, Mapped: d.mappedTo(own.GetId()), Lock: locks[own.GetId()]}
		if row.Choice = row.Mapped.GetExternalId(); status == http.StatusUnprocessableEntity && x.R.PostForm.Has("map."+own.GetId()) {
			row.Choice = x.Value("map." + own.GetId())
		}
		if v.Manages && v.Chosen != nil {
			row.Choices = d.choices(own, row.Choice, spaceChoices)
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

// readSpaces reads the spaces of a PMS now. What the PMS answered wrong is said on the page.
func (s *site) readSpaces(x *exchange) error {
	pms := x.Value("pms")
	if pms == "" {
		return x.Redirect("/app/spaces")
	}
	_, err := s.api.Integrations.ReadSpaces(x.call(), &propertyv1.ReadSpacesRequest{Id: pms})
	if err == nil {
		return x.Redirect(listURL("/app/spaces", "pms", pms, "done", "read"))
	}
	f := s.Fault(err)
	if !slices.Contains([]fault.Reason{fault.EndpointNotRegistered, fault.PartnerError, fault.PartnerUnavailable}, f.Reason) {
		return err
	}
	return x.spacesPage(http.StatusOK, f.Message, nil)
}
