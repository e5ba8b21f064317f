package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// option is one choice of an HTML select. On means that it is selected.
type option struct {
	ID, Text string
	On       bool
}

// action is one button. Do is the value of the form field "do" that it sends.
type action struct{ Do, Text string }

// bookingView is one reservation, as the desk of the play page shows it.
type bookingView struct {
	ID, Name, Number, Place, From, To string
	Chips                             []note
	Actions                           []action
	Places, Conducts                  []option
	Open                              bool
}

var conductTexts = map[Conduct]string{
	Normal: "answers normally", Fails: "answers with an error", Lies: "answers 200 with an error in it", Hangs: "does not answer",
	NoUpdate: "checks in, but never sends the update",
}

var stateChips = map[string]note{
	"confirmed": {"", "confirmed"}, "started": {"ok", "checked in"}, "processed": {"", "checked out"}, "canceled": {"bad", "canceled"},
}

// demoOwing is the unpaid amount, in EUR, that the page and the demo set.
const demoOwing = 84.00

// viewBooking returns what the page shows of a reservation, and the actions of the desk for it. open keeps its controls open.
func viewBooking(b Booking, open bool) bookingView {
	v := bookingView{
		ID: b.ID, Name: bookerOf(b), Number: b.Text("pmsNumber"), From: b.Text("fromDate"), To: b.Text("toDate"), Open: open,
	}
	v.Places = places(placeOf(b.Fields))
	for _, o := range v.Places {
		if o.On {
			v.Place = o.Text
		}
	}
	state := b.Text("state")
	chip, ok := stateChips[state]
	if !ok {
		chip = note{"", state}
	}
	v.Chips = append(v.Chips, chip)
	status := statusOf(b.Fields)
	unpaid, ready := amountOf(status["owing"]) > 0, status["roomReady"] != false
	if unpaid {
		v.Chips = append(v.Chips, note{"warn", fmt.Sprintf("owes %.2f EUR", amountOf(status["owing"]))})
	}
	if !ready {
		v.Chips = append(v.Chips, note{"warn", "room not ready"})
	}
	if b.Conduct != Normal {
		v.Chips = append(v.Chips, note{"bad", "the PMS " + conductTexts[b.Conduct]})
	}
	v.Actions = deskActions(state, unpaid, ready)
	for _, c := range Conducts {
		v.Conducts = append(v.Conducts, option{string(c), conductTexts[c], c == b.Conduct})
	}
	return v
}

// bookerOf returns the name of the booker.
func bookerOf(b Booking) string {
	booker, _ := b.Fields["booker"].(map[string]any)
	return strings.TrimSpace(stringIn(booker, "firstName") + " " + stringIn(booker, "lastName"))
}

// deskActions returns the buttons of the desk for a reservation in a state.
func deskActions(state string, unpaid, ready bool) (out []action) {
	switch state {
	case "confirmed":
		out = append(out, action{"checkIn", "Check in at the desk"}, action{"cancel", "Cancel"})
	case "started":
		out = append(out, action{"checkOut", "Check out"})
	default:
		return nil
	}
	if unpaid {
		out = append(out, action{"pay", "Paid"})
	} else {
		out = append(out, action{"owe", fmt.Sprintf("Owes %.2f EUR", demoOwing)})
	}
	if ready {
		return append(out, action{"notReady", "Room is not ready"})
	}
	return append(out, action{"ready", "Room is ready"})
}

// places lists the rooms and beds of the PMS as options. on is the id of the selected one, or "".
func places(on string) (out []option) {
	for _, s := range PMSSpaces() {
		switch {
		case s.Type == "Dorm":
			continue
		case s.ParentID != "":
			out = append(out, option{s.ID, DormName + ", " + s.Name, s.ID == on})
		default:
			out = append(out, option{s.ID, s.Name, s.ID == on})
		}
	}
	return out
}

// placeOf returns the PMS's id of a reservation's bed or room.
func placeOf(fields map[string]any) string {
	if bed := stringIn(fields, "bedId"); bed != "" {
		return bed
	}
	return stringIn(fields, "roomId")
}

// placeFields returns the fields that move a reservation to a room or bed of the PMS, and the place's name. ok is false if there is no such
// place. fields has no bedId for a room.
func placeFields(id string) (fields map[string]any, name string, ok bool) {
	for _, o := range places(id) {
		if o.On {
			name, ok = o.Text, true
		}
	}
	room, _, bed := strings.Cut(id, "-")
	fields = map[string]any{"roomId": room}
	if bed {
		fields["bedId"] = id
	}
	return fields, name, ok
}

// nextNumber returns the first booking number that is higher than all of these reservations', and at least firstNumber.
func nextNumber(all []Booking) string {
	next := firstNumber
	for _, b := range all {
		if n, err := strconv.Atoi(b.Text("pmsNumber")); err == nil {
			next = max(next, n+1)
		}
	}
	return strconv.Itoa(next)
}

// createBooking handles the form for a new reservation: the PMS pushes one for two nights from today.
func (p *play) createBooking(rw http.ResponseWriter, r *http.Request) {
	fields, _, ok := placeFields(r.FormValue("place"))
	name := strings.TrimSpace(r.FormValue("name"))
	if !ok || name == "" || len(name) > 80 {
		p.redirectWithNote(rw, r, "desk", note{"bad", "Give a family name and choose a room or bed."})
		return
	}
	if r.FormValue("adults") == "2" {
		fields["adultCount"] = 2
	}
	number := nextNumber(p.w.PMS.Bookings())
	p.redirectWithNote(rw, r, "desk", p.pushFromPage(r.Context(), "B-"+number, newBooking(number, name, 2, fields),
		fmt.Sprintf("%s has the booking number %s. The invitation is on its way to the mailbox.", name, number)))
}

// changeBooking handles the buttons of a reservation at the desk: see deskAction.
func (p *play) changeBooking(rw http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !p.isBooking(id) {
		http.NotFound(rw, r)
		return
	}
	p.mu.Lock()
	p.opened = id
	p.mu.Unlock()
	p.redirectWithNote(rw, r, "desk", p.deskAction(r, id))
}

// deskAction does what the form field "do" names, such as "checkIn", "pay" or "move", with a reservation, as staff would do it in the
// PMS. It returns the note that the page shows.
func (p *play) deskAction(r *http.Request, id string) note {
	ctx, pms := r.Context(), p.w.PMS
	states := map[string]struct{ state, text string }{
		"checkIn":  {"started", "The guest is checked in at the desk. The service sends the key."},
		"checkOut": {"processed", "The guest is checked out. The code is being removed from the locks."},
		"cancel":   {"canceled", "The reservation is canceled."},
	}
	do := r.FormValue("do")
	if s, ok := states[do]; ok {
		return p.pushFromPage(ctx, id, map[string]any{"state": s.state}, s.text)
	}
	switch do {
	case "owe", "pay":
		amount, text := demoOwing, "The PMS says that the stay is not paid."
		if do == "pay" {
			amount, text = 0, "The PMS says that the stay is paid."
		}
		a, err := pms.SetOwing(ctx, id, amount)
		return pushNote(a, err, text)
	case "ready":
		return outcome(pms.SetRoomReady(id, true), "The room is ready. The service learns it when it asks.")
	case "notReady":
		return outcome(pms.SetRoomReady(id, false), "The room is not ready. The service learns it when it asks.")
	case "move":
		fields, name, ok := placeFields(r.FormValue("place"))
		if !ok {
			return note{"bad", "Choose a room or bed."}
		}
		if _, bed := fields["bedId"]; !bed {
			fields["bedId"] = nil // null clears the bed; without the field the bed would stay
		}
		return p.pushFromPage(ctx, id, fields, "The reservation is now for "+name+".")
	case "conduct":
		c := Conduct(r.FormValue("conduct"))
		if !slices.Contains(Conducts, c) {
			return note{"bad", "Choose how the PMS answers."}
		}
		pms.SetConduct(id, c)
		return note{"ok", "From now on the PMS " + conductTexts[c] + " for this reservation."}
	}
	return note{"bad", "Unknown action."}
}

// timeOfDay returns a time of day in the property's zone.
func (p *play) timeOfDay(at time.Time) string { return at.In(p.zone).Format("15:04:05") }
