package staff

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
	"latchkey.dev/internal/web/kit"
)

type roomView struct {
	*propertyv1.Space
	Chosen          *propertyv1.Integration  // the PMS whose mapping the page shows; nil if none is connected
	LastChange      string                   // id of the latest change of the mapping that the page shows; "none": there is no change yet
	Mapped          *propertyv1.PartnerSpace // the space of the PMS to which the room is mapped, or nil
	Choices         []kit.Option             // the spaces of the PMS to which the person can map the room; nil without a PMS, or if the person may not change the room
	Lock            *lockRow                 // nil without a lock, or if the person may not read locks
	Locks           []kit.Option             // locks without a door; none if the person may not read locks
	Gates           []*propertyv1.Gate       // gates that guests of the room may open
	Inputs          []kit.Input
	Manages, Places bool   // the person may change the room, and assign locks
	ShowsLocks      bool   // the person may read locks: the page shows the lock and updates itself on changes
	Query           string // the query "?pms=ID" that chooses the PMS, or "" with fewer than two PMSs
}

// roomInputs returns the form fields of a room or bed.
func roomInputs(s *propertyv1.Space) []kit.Input {
	active := ""
	if s.GetIsActive() {
		active = "yes"
	}
	return []kit.Input{
		{Name: "name", Label: "staff.room.name", Value: s.GetName(), Autocomplete: "off"},
		{Name: "floor", Label: "staff.room.floor", Value: s.GetFloor(), Autocomplete: "off"},
		{Name: "isActive", Label: "staff.room.active", Hint: "staff.room.active.hint", Type: "switch", Value: active},
	}
}

// roomName returns the full name of a room or bed. For a bed it loads the dorm.
func (x *exchange) roomName(s *propertyv1.Space) (string, error) {
	if s.GetParentSpaceId() == "" {
		return s.GetName(), nil
	}
	dorm, err := x.site.api.Spaces.GetSpace(x.call(), &propertyv1.GetSpaceRequest{Id: s.GetParentSpaceId()})
	return text.FullName(dorm.GetData().GetName(), s.GetName()), err
}

// showRoom handles the page of one room or bed.
func (s *site) showRoom(x *exchange) error { return x.roomPage(http.StatusOK, nil) }

// roomPage renders the room or bed in the path with its mapping and lock. f is why the API refused the posted form, or nil. An f that is
// not about the form is returned.
func (x *exchange) roomPage(status int, f *fault.Fault) error {
	found, err := x.site.api.Spaces.GetSpace(x.call(), &propertyv1.GetSpaceRequest{Id: x.R.PathValue("id")})
	if err != nil {
		return err
	}
	v := roomView{Space: found.GetData(), Inputs: roomInputs(found.GetData()), Manages: x.may("manageSpaces"), Places: x.may("manageLocks"), ShowsLocks: x.may("readLocks")}
	if err := x.addMapping(&v); err != nil {
		return err
	}
	gates, err := x.gates()
	if err != nil {
		return err
	}
	v.Gates = gatesOf(v.Space, gates)
	here, err := x.locksOfDoors(v.GetId())
	if err != nil {
		return err
	}
	if l := here[v.GetId()]; l != nil {
		v.Lock = new(newLockRow(l, x.site.Now()))
	}
	if v.ShowsLocks {
		spare, err := x.locks(&propertyv1.ListLocksRequest{UnassignedOnly: true})
		if err != nil {
			return err
		}
		for _, l := range spare {
			v.Locks = append(v.Locks, kit.Option{Value: l.GetId(), Text: l.GetName()})
		}
	}
	name, err := x.roomName(v.Space)
	if err != nil {
		return err
	}
	p := x.newPage("staff.room.title", "name", name)
	switch {
	case f == nil:
	case x.Value("lock") != "":
		p.Wrong = []kit.Wrong{{Title: p.T("staff.people.refused"), Text: p.T("staff.lock.door.outdated")}}
	case f.Reason == fault.AlreadyExists:
		v.Inputs = x.Posted(v.Inputs)
		p.Wrong = []kit.Wrong{{ID: "f-name", Label: p.T("staff.room.name"), Text: p.T("staff.room.taken")}}
	case f.Reason == fault.Outdated && x.Value("do") == "save":
		p.refuseChanged()
	case f.Reason == fault.Outdated:
		p.refuseOutdated()
	case f.Reason == fault.InUse:
		p.Wrong = []kit.Wrong{{Title: p.T("staff.room.used"), Text: p.T("staff.room.used.text")}}
	default:
		v.Inputs = x.Posted(v.Inputs)
		if !p.Refuse(f, v.Inputs) {
			return f
		}
	}
	p.Here, p.Back, p.Data = "spaces", "/app/spaces"+v.Query, v
	return x.render(status, "room", p)
}

// addMapping adds to v the space of the PMS to which the room is mapped and, if the person may change it, the choices of other spaces. The
// PMS is the one in the query or, without one, the first. Without a connected PMS it adds nothing.
func (x *exchange) addMapping(v *roomView) (err error) {
	all, chosen, err := x.integrations()
	if v.Chosen = chosen; err != nil || chosen == nil {
		return err
	}
	v.Query = queryOfPMS(all, chosen)
	// This call is first, so that a change between the two calls makes the form outdated. Otherwise the form could overwrite the change.
	mapped, lastChange, err := x.partnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: v.Chosen.GetId(), SpaceId: v.GetId()})
	if err != nil {
		return err
	}
	if v.LastChange = lastChange; len(mapped) > 0 {
		v.Mapped = mapped[0]
	}
	if v.Manages {
		free, _, err := x.partnerSpaces(&propertyv1.ListPartnerSpacesRequest{IntegrationId: v.Chosen.GetId(), UnmappedOnly: true})
		if err != nil {
			return err
		}
		listed := append(mapped, free...)
		sortByName(listed)
		v.Choices = spacesData{listed: listed}.choices(x.words(), v.Space, "", len(free))
	}
	return nil
}

// queryOfPMS returns the query "?pms=ID" for pages that show the chosen PMS, or "" if the property has no other.
func queryOfPMS(all []*propertyv1.Integration, chosen *propertyv1.Integration) string {
	if len(all) < 2 {
		return ""
	}
	return listURL("", "pms", chosen.GetId())
}

// changeRoom handles the forms that change, map or delete a room or bed. If the API refuses that, the page shows why.
func (s *site) changeRoom(x *exchange) error {
	id, done, pms := x.R.PathValue("id"), "saved", x.R.URL.Query().Get("pms")
	err := error(nil)
	switch x.Value("do") {
	case "save":
		name, floor, active := x.Value("name"), x.Value("floor"), x.Value("isActive") != ""
		_, err = s.api.Spaces.UpdateSpace(x.call(), &propertyv1.UpdateSpaceRequest{Id: id, Name: &name, Floor: &floor, IsActive: &active, Etag: x.Value("etag")})
	case "map":
		changes, _ := mappingChanges([]spaceChoice{{id, x.Value("was"), x.Value("map")}})
		_, err = x.editMappings(x.Value("pms"), x.Value("lastChange"), changes)(false)
	case "delete":
		if _, err = s.api.Spaces.DeleteSpace(x.call(), &propertyv1.DeleteSpaceRequest{Id: id}); err == nil {
			return x.Redirect(listURL("/app/spaces", "pms", pms, "done", "deleted"))
		}
	default:
		return x.Redirect(listURL("/app/spaces/rooms/"+id, "pms", pms))
	}
	if err != nil {
		if f := s.Fault(err); slices.Contains([]fault.Reason{fault.AlreadyExists, fault.InUse, fault.Outdated}, f.Reason) || f.Kind == fault.Invalid && len(f.Fields) > 0 {
			return x.roomPage(http.StatusUnprocessableEntity, f)
		}
		return err
	}
	return x.Redirect(listURL("/app/spaces/rooms/"+id, "pms", pms, "done", done))
}

// placeLock handles the forms that assign a lock to the door of a room or bed, or remove it from the door. It shows an error if the lock
// was moved meanwhile, or if the door has another lock.
func (s *site) placeLock(x *exchange) error {
	lock, door := x.Value("lock"), x.R.PathValue("id")
	at, pms := "/app/spaces/rooms/"+door, x.R.URL.Query().Get("pms")
	if lock == "" {
		return x.Redirect(listURL(at, "pms", pms))
	}
	from := "" // the door that the lock had when the page was shown: none, because the form offers only locks without a door
	if x.Value("do") == "take" {
		door, from = "", door
	}
	_, err := s.api.Locks.AssignLock(x.call(), &propertyv1.AssignLockRequest{Id: lock, DoorId: &door, FromDoorId: &from})
	if err == nil {
		return x.Redirect(listURL(at, "pms", pms, "done", "saved"))
	}
	if f := s.Fault(err); f.Reason == fault.Outdated || f.Reason == fault.InUse {
		return x.roomPage(http.StatusConflict, f)
	}
	return err
}

type newRoomsView struct {
	One, Many []kit.Input
}

// oneRoom returns the form fields of one new room or bed. own are the spaces of the property, whose dorms are the choices for a bed.
func oneRoom(own []*propertyv1.Space) []kit.Input {
	parents := []kit.Option{{Kind: "staff.room.noDorm"}}
	for _, s := range own {
		if s.GetType() == "Dorm" {
			parents = append(parents, kit.Option{Value: s.GetId(), Text: s.GetName()})
		}
	}
	return []kit.Input{
		{Name: "space.type", Label: "staff.room.type", Value: "Room", Options: options("staff.type.", "Room", "Dorm", "Bed")},
		{Name: "space.name", Label: "staff.room.name", Autocomplete: "off"},
		{Name: "space.floor", Label: "staff.room.floor", Autocomplete: "off"},
		{Name: "space.parentSpaceId", Label: "staff.room.dorm", Hint: "staff.room.dorm.hint", Options: parents},
	}
}

// manyRooms returns the form field with a list of new rooms, see roomsOf.
func manyRooms() []kit.Input {
	return []kit.Input{{Name: "list", Label: "staff.rooms.list", Hint: "staff.rooms.list.hint", Type: "lines"}}
}

// showNewRooms handles the page with the forms of new rooms.
func (s *site) showNewRooms(x *exchange) error {
	own, err := x.ownSpaces()
	if err != nil {
		return err
	}
	return x.newRooms(http.StatusOK, x.newPage("staff.rooms.title"), newRoomsView{oneRoom(own), manyRooms()})
}

// newRooms renders the page with the forms of new rooms.
func (x *exchange) newRooms(status int, p *page, v newRoomsView) error {
	p.Here, p.Back, p.Data = "spaces", "/app/spaces", v
	return x.render(status, "rooms", p)
}

// createRooms handles the forms of new rooms. They create one room or bed, or a list of at most maxRooms: all of the list or, if one line
// is invalid, none.
func (s *site) createRooms(x *exchange) error {
	own, err := x.ownSpaces()
	if err != nil {
		return err
	}
	p, v := x.newPage("staff.rooms.title"), newRoomsView{oneRoom(own), manyRooms()}
	if x.Value("do") != "many" {
		v.One = x.Posted(v.One)
		return x.finishRooms(p, v, v.One, func() error {
			_, err := s.api.Spaces.CreateSpace(x.call(), &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{
				Type: x.Value("space.type"), Name: x.Value("space.name"), Floor: x.Value("space.floor"), ParentSpaceId: x.Value("space.parentSpaceId"),
			}})
			return err
		})
	}
	v.Many = x.Posted(v.Many)
	rooms, wrong := roomsOf(x.Value("list"))
	if len(wrong) > 0 || len(rooms) == 0 || len(rooms) > maxRooms {
		text := p.T("staff.rooms.count")
		if len(wrong) > 0 {
			text = p.T("staff.rooms.lines", "lines", joinNumbers(wrong))
		}
		p.Wrong = []kit.Wrong{{ID: "f-list", Label: p.T("staff.rooms.list"), Text: text}}
		return x.newRooms(http.StatusUnprocessableEntity, p, v)
	}
	return x.finishRooms(p, v, v.Many, func() error {
		_, err := s.api.Spaces.BatchCreateSpaces(x.call(), &propertyv1.BatchCreateSpacesRequest{Spaces: rooms})
		return err
	})
}

// finishRooms calls create, which stores the new rooms, and redirects to the page of spaces. If the API refuses the rooms, it shows the
// page of new rooms again with errors. It returns other errors unchanged. inputs are those of the posted form.
func (x *exchange) finishRooms(p *page, v newRoomsView, inputs []kit.Input, create func() error) error {
	err := create()
	if err == nil {
		return x.Redirect("/app/spaces?done=created")
	}
	last := inputs[len(inputs)-1]
	named := inputs[min(1, len(inputs)-1)]
	switch f := x.site.Fault(err); {
	case f.Reason == fault.AlreadyExists:
		p.Wrong = []kit.Wrong{{ID: named.ID(), Label: p.T(named.Label), Text: p.T("staff.room.taken")}}
	case f.Kind == fault.Invalid && p.Refuse(f, inputs):
	case f.Kind == fault.Invalid && last.Type == "lines":
		p.Wrong = []kit.Wrong{{ID: last.ID(), Label: p.T(last.Label), Text: p.T("staff.rooms.refused")}}
	default:
		return err
	}
	return x.newRooms(http.StatusUnprocessableEntity, p, v)
}

// joinNumbers returns the numbers separated by commas, at most the first ten.
func joinNumbers(numbers []int) string {
	var texts []string
	for _, n := range numbers[:min(len(numbers), 10)] {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ", ")
}
