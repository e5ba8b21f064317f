package staff

import (
	"net/http"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// gateRow is a gate, the door of a common area, with the rooms whose guests may open it.
type gateRow struct {
	*propertyv1.Gate
	Rooms []string // names of the first rooms; empty means all rooms
}

// gateRooms is how many rooms the list names for each gate.
const gateRooms = 5

// More returns the number of rooms that the list does not name.
func (g gateRow) More() int { return len(g.GetSpaceIds()) - len(g.Rooms) }

type gatesView struct {
	List    []gateRow
	Inputs  []kit.Input // of the form of a new gate
	Manages bool        // the person may change gates
}

// gates loads all gates of the property, the doors that several rooms share.
func (x *exchange) gates() ([]*propertyv1.Gate, error) {
	found, err := x.site.api.Gates.ListGates(x.call(), &propertyv1.ListGatesRequest{})
	return found.GetData().GetList(), err
}

// gatesOf returns those gates that guests of a room or bed may open. A gate that names no rooms is for all, and a bed has the gates of its
// dorm.
func gatesOf(s *propertyv1.Space, all []*propertyv1.Gate) (open []*propertyv1.Gate) {
	for _, g := range all {
		ids := g.GetSpaceIds()
		if len(ids) == 0 || slices.Contains(ids, s.GetId()) || slices.Contains(ids, s.GetParentSpaceId()) {
			open = append(open, g)
		}
	}
	return open
}

// gateInputs returns the form fields of the gate g, or those of a new gate if g is nil. own are the spaces of the property. Only rooms and
// dorms are choices, because guests of a bed open the gates of its dorm.
func gateInputs(g *propertyv1.Gate, own []*propertyv1.Space) []kit.Input {
	var rooms []kit.Option
	for _, s := range own {
		if s.ParentSpaceId == nil {
			rooms = append(rooms, kit.Option{Value: s.GetId(), Text: s.GetName()})
		}
	}
	inputs := []kit.Input{
		{Name: "name", Label: "staff.gate.name", Hint: "staff.gate.name.hint", Value: g.GetName(), Autocomplete: "off"},
		{Name: "floor", Label: "staff.room.floor", Value: g.GetFloor(), Autocomplete: "off"},
	}
	if len(rooms) > 0 {
		inputs = append(inputs, kit.Input{Name: "spaces", Label: "staff.gate.rooms", Hint: "staff.gate.rooms.hint", Type: "boxes", Value: strings.Join(g.GetSpaceIds(), " "), Options: rooms})
	}
	return inputs
}

// showGates handles the list of gates, the doors that several rooms share.
func (s *site) showGates(x *exchange) error { return x.gatesPage(nil) }

// gatesPage renders the list of gates and the form of a new one. f is why the API refused it, or nil. An f that is not about it is
// returned.
func (x *exchange) gatesPage(f *fault.Fault) error {
	own, err := x.ownSpaces()
	if err != nil {
		return err
	}
	list, err := x.gates()
	if err != nil {
		return err
	}
	names := fullNames(own)
	v := gatesView{Inputs: gateInputs(nil, own), Manages: x.may("manageSpaces")}
	for _, g := range list {
		row := gateRow{Gate: g}
		for _, id := range g.GetSpaceIds()[:min(len(g.GetSpaceIds()), gateRooms)] {
			row.Rooms = append(row.Rooms, names[id])
		}
		v.List = append(v.List, row)
	}
	p, status := x.newPage("staff.gates"), http.StatusOK
	if p.Here, p.Back = "spaces", "/app/spaces"; f != nil {
		status = http.StatusUnprocessableEntity
		if err := x.refuseGate(p, f, v.Inputs); err != nil {
			return err
		}
	}
	p.Data = v
	return x.render(status, "gates", p)
}

// refuseGate sets the posted values in inputs and adds the errors of f to the page. If another person has changed the gate, the page shows
// the stored values instead. A gate that still has a lock is an error of the page. It returns f if f is not about the form, and nil
// otherwise.
func (x *exchange) refuseGate(p *page, f *fault.Fault, inputs []kit.Input) error {
	if f.Reason == fault.Outdated { // the form shows what the other person stored
		p.refuseChanged()
		return nil
	}
	x.Posted(inputs)
	if f.Reason == fault.AlreadyExists {
		f = fault.Fields(fault.Field{Path: "name", Reason: fault.Duplicate})
	}
	if f.Reason == fault.InUse {
		p.Wrong = []kit.Wrong{{Title: p.T("staff.room.used"), Text: p.T("staff.gate.used.text")}}
		return nil
	}
	if f.Kind != fault.Invalid || !p.Refuse(f, inputs) {
		return f
	}
	return nil
}

// createGate handles the form of a new gate, a door that several rooms share. The lock of the gate is assigned later, on the page of the
// lock.
func (s *site) createGate(x *exchange) error {
	_, err := s.api.Gates.CreateGate(x.call(), &propertyv1.CreateGateRequest{Name: x.Value("name"), Floor: x.Value("floor"), SpaceIds: x.R.PostForm["spaces"]})
	if err != nil {
		return x.gatesPage(s.Fault(err))
	}
	return x.Redirect("/app/gates?done=saved")
}

type gateView struct {
	*propertyv1.Gate
	Inputs  []kit.Input
	Manages bool
}

// showGate handles the page of one gate, a door that several rooms share.
func (s *site) showGate(x *exchange) error { return x.gatePage(nil) }

// gatePage renders the page of the gate in the path, or a 404 page if there is no such gate. f is why the API refused the posted form, or
// nil. An f that is not about it is returned.
func (x *exchange) gatePage(f *fault.Fault) error {
	own, err := x.ownSpaces()
	if err != nil {
		return err
	}
	list, err := x.gates()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(g *propertyv1.Gate) bool { return g.GetId() == x.R.PathValue("id") })
	if at < 0 {
		return x.problem(http.StatusNotFound, "staff.problem.unknown")
	}
	v := gateView{Gate: list[at], Inputs: gateInputs(list[at], own), Manages: x.may("manageSpaces")}
	p, status := x.newPage("staff.room.title", "name", v.GetName()), http.StatusOK
	if p.Here, p.Back = "spaces", "/app/gates"; f != nil {
		status = http.StatusUnprocessableEntity
		if err := x.refuseGate(p, f, v.Inputs); err != nil {
			return err
		}
	}
	p.Data = v
	return x.render(status, "gate", p)
}

// changeGate handles the forms that change or delete a gate, a door that several rooms share. The API refuses to delete a gate with a lock.
func (s *site) changeGate(x *exchange) error {
	id, err := x.R.PathValue("id"), error(nil)
	to := "/app/gates?done=saved"
	switch x.Value("do") {
	case "save":
		_, err = s.api.Gates.UpdateGate(x.call(), &propertyv1.UpdateGateRequest{Id: id, Name: x.text("name"), Floor: x.text("floor"), Spaces: &propertyv1.SpaceIds{Ids: x.R.PostForm["spaces"]}, Etag: x.Value("etag")})
	case "delete":
		_, err = s.api.Gates.DeleteGate(x.call(), &propertyv1.DeleteGateRequest{Id: id})
		to = "/app/gates?done=deleted"
	default:
		to = "/app/gates/" + id
	}
	if err != nil {
		return x.gatePage(s.Fault(err))
	}
	return x.Redirect(to)
}
