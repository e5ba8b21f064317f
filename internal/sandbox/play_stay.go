package sandbox

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// stayView is one guest's stay: the pages of the phone, and controls for what staff and the PMS do during the stay.
type stayView struct {
	ID, Name, Number string
	Page             string // Page is the address of the stay on the phone
	Said             string // Said is the latest message of the stay's conversations, preceded by its sender; empty: none
	Chips            []note
	Open             bool
}

// stayID returns the service's id of a reservation of the PMS, or "" if the service does not have it. It caches the id, which never
// changes.
func (p *play) stayID(ctx context.Context, id string) (string, error) {
	p.mu.Lock()
	known, ok := p.stays[id]
	p.mu.Unlock()
	if ok {
		return known, nil
	}
	a, err := p.w.PMS.Do(ctx, http.MethodGet, "/v1/reservations/find?pmsId="+id, nil)
	if err != nil {
		return "", err
	}
	if known = stringIn(a.Data(), "id"); known == "" {
		if a.Status == http.StatusNotFound {
			return "", nil
		}
		return "", fmt.Errorf("the service answered %d to the question for %s", a.Status, id)
	}
	p.mu.Lock()
	p.stays[id] = known
	p.mu.Unlock()
	return known, nil
}

// viewStays returns what the page shows of the stays that are not canceled and that the service has. opened is the reservation whose
// controls stay open.
func (p *play) viewStays(ctx context.Context, bookings []Booking, opened string) ([]stayView, error) {
	talks, err := propertyv1.NewMessageServiceClient(p.w.public).ListConversations(p.w.Staff(ctx), &propertyv1.ListConversationsRequest{PageSize: 200})
	if err != nil {
		return nil, err
	}
	erasures, err := propertyv1.NewPrivacyServiceClient(p.w.public).ListErasures(p.w.Staff(ctx), &propertyv1.ListErasuresRequest{PageSize: 200})
	if err != nil {
		return nil, err
	}
	var out []stayView
	for _, b := range bookings {
		if b.Text("state") == "canceled" {
			continue
		}
		id, err := p.stayID(ctx, b.ID)
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		v := stayView{ID: b.ID, Name: bookerOf(b), Number: b.Text("pmsNumber"), Page: "http://" + p.w.Server.HTTPAddr() + "/g/stays/" + id, Open: b.ID == opened}
		v.addMessages(talks.GetData().GetList(), id)
		v.addErasures(erasures.GetData().GetList(), id)
		out = append(out, v)
	}
	return out, nil
}

// addMessages adds to v the latest message and the number of unread ones in the conversations of a stay. talks are the conversations of all
// stays, the latest first; id is the service's id of the stay.
func (v *stayView) addMessages(talks []*propertyv1.Conversation, id string) {
	unread := 0
	for _, talk := range talks {
		if talk.GetReservationId() != id {
			continue
		}
		unread += int(talk.GetUnread())
		if v.Said == "" {
			from := map[bool]string{true: "The desk", false: "A guest"}[talk.GetLast().GetSender() == "property"]
			v.Said = from + ": " + talk.GetLast().GetText()
		}
	}
	if unread > 0 {
		v.Chips = append(v.Chips, note{"warn", fmt.Sprintf("%d unread", unread)})
	}
}

// addErasures adds to v the state of each erasure of data of a stay: of the whole party, or of a companion. id is the service's id of the
// stay.
func (v *stayView) addErasures(all []*propertyv1.ErasureItem, id string) {
	for _, e := range all {
		if e.GetReservationId() != id {
			continue
		}
		text := map[bool]string{true: "data", false: "a companion's data"}[e.GetGuestId() == ""]
		if e.GetErasure().GetState() == "done" {
			v.Chips = append(v.Chips, note{"ok", text + " erased"})
		} else {
			v.Chips = append(v.Chips, note{"warn", text + " will be erased"})
		}
	}
}

// changeStay handles the buttons of a stay, for what staff or the PMS does during it: see stayAction.
func (p *play) changeStay(rw http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !p.isBooking(id) {
		http.NotFound(rw, r)
		return
	}
	p.mu.Lock()
	p.openedStay = id
	p.mu.Unlock()
	p.redirectWithNote(rw, r, "stay", p.stayAction(r, id))
}

// isBooking reports whether the PMS has a reservation.
func (p *play) isBooking(id string) bool {
	return slices.ContainsFunc(p.w.PMS.Bookings(), func(b Booking) bool { return b.ID == id })
}

// stayAction does what the form field "do" names, such as "answer" or "erase", with a stay. id is the PMS's. It returns the note that the
// page shows.
func (p *play) stayAction(r *http.Request, id string) note {
	ctx := r.Context()
	stay, err := p.stayID(ctx, id)
	switch {
	case err != nil:
		return note{"bad", err.Error()}
	case stay == "":
		return note{"bad", "The service does not have this reservation."}
	}
	switch r.FormValue("do") {
	case "answer":
		text := strings.TrimSpace(r.FormValue("text"))
		if text == "" {
			return note{"bad", "Type a message first."}
		}
		_, err := propertyv1.NewMessageServiceClient(p.w.public).SendMessage(p.w.Staff(ctx), &propertyv1.SendMessageRequest{GuestId: stay, Text: text})
		return answered(err, "The message is on the guest's page. If the guest does not read it within ten minutes, a mail says that it is there.")
	case "read":
		a, err := p.w.PMS.Do(ctx, http.MethodGet, "/v1/reservations/"+stay+"/guests", nil)
		return disclosureNote(a, err)
	case "erase":
		_, err := propertyv1.NewPrivacyServiceClient(p.w.public).RequestErasure(p.w.Staff(ctx), &propertyv1.RequestErasureRequest{ReservationId: stay})
		return answered(err, "The data of the party will be erased when the stay has ended, within 24 hours. A mail confirms it to the guest.")
	}
	return note{"bad", "Unknown action."}
}

// answered returns the note of a call of staff: the service's error, or text if err is nil.
func answered(err error, text string) note {
	if err != nil {
		return note{"bad", "The service refused: " + status.Convert(err).Message()}
	}
	return note{"ok", text}
}

// withheldTexts has texts by the reason why the PMS is not allowed to read a guest's data. Any other reason reads "nothing".
var withheldTexts = map[string]string{"notShared": "nothing, because this guest shares nothing"}

// disclosureNote returns the note of what the PMS read about the guests of a stay, from the service's answer or the error.
func disclosureNote(a Answer, err error) note {
	reason, _ := a.Body["error"].(map[string]any)
	switch {
	case err != nil:
		return note{"bad", "The service did not answer the PMS: " + err.Error()}
	case a.Status != http.StatusOK:
		return note{"warn", "The PMS gets nothing: " + stringIn(reason, "message")}
	}
	var parts []string
	for _, g := range objectsIn(a.Data(), "list") {
		who := map[string]string{"main": "the main guest"}[stringIn(g, "role")]
		if who == "" {
			who = "a companion"
		}
		what := "nothing"
		if person, _ := g["person"].(map[string]any); len(person) > 0 {
			what = strings.Join(slices.Sorted(maps.Keys(person)), ", ")
		} else if text := withheldTexts[stringIn(g, "withheld")]; text != "" {
			what = text
		}
		parts = append(parts, "of "+who+": "+what)
	}
	if len(parts) == 0 {
		return note{"warn", "The PMS gets nothing: the stay has no guests."}
	}
	return note{"ok", "The PMS gets " + strings.Join(parts, "; ") + ". The guest sees each read on the page “Who read my data”."}
}

// exportStay handles the download of the data of a stay, as the main guest gets it. It answers 404 for a stay that the service does not
// have, such as one whose retention period is over.
func (p *play) exportStay(rw http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !p.isBooking(id) {
		http.NotFound(rw, r)
		return
	}
	stay, err := p.stayID(r.Context(), id)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadGateway)
		return
	}
	if stay == "" {
		http.NotFound(rw, r)
		return
	}
	found, err := propertyv1.NewPrivacyServiceClient(p.w.public).ExportGuestData(p.w.Staff(r.Context()), &propertyv1.ExportGuestDataRequest{ReservationId: stay})
	if status.Code(err) == codes.NotFound {
		http.NotFound(rw, r)
		return
	}
	if err != nil {
		http.Error(rw, "The service refused: "+status.Convert(err).Message(), http.StatusBadGateway)
		return
	}
	raw, err := protojson.MarshalOptions{Multiline: true}.Marshal(found.GetData())
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Content-Disposition", `attachment; filename="guest-`+id+`.json"`)
	_, _ = rw.Write(raw)
}
