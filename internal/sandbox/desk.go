package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"latchkey.dev/internal/pms"
)

// Conduct is how the PMS answers getCheckInStatus and checkIn for one reservation.
type Conduct string

const (
	Normal   Conduct = ""         // Normal answers, and sends the update after a check-in
	Fails    Conduct = "fails"    // Fails answers 500
	Lies     Conduct = "lies"     // Lies answers 200 with an error in the body
	Hangs    Conduct = "hangs"    // Hangs does not answer
	NoUpdate Conduct = "noUpdate" // NoUpdate checks the guest in and never sends the change
)

const (
	maxHang     = time.Minute // maxHang ends a call that hangs, later than the service gives up
	maxKeys     = 1000        // maxKeys is how many idempotency keys the PMS remembers: it forgets the oldest
	pushTimeout = 15 * time.Second
)

// Conducts are all values of Conduct.
var Conducts = []Conduct{Normal, Fails, Lies, Hangs, NoUpdate}

// desk is the state of the PMS's front desk.
type desk struct {
	conducts map[string]Conduct        // conducts has each conduct that is not Normal, by reservation id, or by checkInOnly + id
	keys     map[string]string         // keys has the reservation of each idempotency key with which a guest was checked in
	keyOrder []string                  // keyOrder has the keys of keys, oldest first
	shared   map[string]map[string]any // shared has the main guest in each reservation's last checkIn with an effect
	checkIns map[string]int            // checkIns counts the effects of checkIn per reservation
}

// newDesk returns the state of a front desk without reservations.
func newDesk() desk {
	return desk{conducts: map[string]Conduct{}, keys: map[string]string{}, shared: map[string]map[string]any{}, checkIns: map[string]int{}}
}

// Booking is a reservation as the desk lists it.
type Booking struct {
	ID       string
	Fields   map[string]any
	Conduct  Conduct
	CheckIns int // CheckIns counts the checkIn calls of the service that had an effect
}

// Text returns a field that is a string, or "".
func (b Booking) Text(name string) string { return stringIn(b.Fields, name) }

// Bookings lists the reservations of the PMS, ordered by pmsNumber and id.
func (p *PMS) Bookings() []Booking {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Booking, 0, len(p.reservations))
	for id, fields := range p.reservations {
		out = append(out, Booking{ID: id, Fields: maps.Clone(fields), Conduct: p.desk.conducts[id], CheckIns: p.desk.checkIns[id]})
	}
	slices.SortFunc(out, func(a, b Booking) int {
		return cmp.Or(cmp.Compare(a.Text("pmsNumber"), b.Text("pmsNumber")), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// SetConduct changes how the PMS answers getCheckInStatus and checkIn for a reservation, until the next call.
func (p *PMS) SetConduct(id string, c Conduct) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c == Normal {
		delete(p.desk.conducts, id)
	} else {
		p.desk.conducts[id] = c
	}
}

// SetCheckInConduct is SetConduct for checkIn only, where it takes precedence: getCheckInStatus is still answered as SetConduct says.
func (p *PMS) SetCheckInConduct(id string, c Conduct) { p.SetConduct(checkInOnly+id, c) }

// checkInOnly is the prefix of those ids in desk.conducts whose conduct applies to checkIn only, before that of the plain id.
const checkInOnly = "checkIn/"

// SetRoomReady changes whether getCheckInStatus reports the room as ready. The PMS sends no update, so the service must ask. Like
// [PMS.Push] it creates an unknown reservation.
func (p *PMS) SetRoomReady(id string, ready bool) error {
	return p.mergeReservation(id, map[string]any{"roomReady": ready})
}

// SetOwing changes the unpaid amount of a reservation, in EUR, and pushes the change to the service as [PMS.Push] does.
func (p *PMS) SetOwing(ctx context.Context, id string, amount float64) (Answer, error) {
	return p.Push(ctx, id, map[string]any{"owing": amount, "owingCurrency": "EUR"})
}

// SharedGuest returns the data of the main guest that the service sent with its last checkIn of a reservation, or nil.
func (p *PMS) SharedGuest(id string) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.desk.shared[id]
}

// CheckInCount returns how many calls of checkIn had an effect on a reservation. A repeated idempotency key has none.
func (p *PMS) CheckInCount(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.desk.checkIns[id]
}

// conductOf returns how the PMS answers for a reservation, apart from [PMS.SetCheckInConduct], and its fields. known is false if the PMS
// has no such reservation.
func (p *PMS) conductOf(id string) (c Conduct, fields map[string]any, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fields, known = p.reservations[id]
	return p.desk.conducts[id], maps.Clone(fields), known
}

// answerByConduct answers a call wrongly or not at all, as the conduct demands. It returns false, without an answer, for Normal and
// NoUpdate, for which the endpoint itself answers.
func (p *PMS) answerByConduct(w http.ResponseWriter, r *http.Request, c Conduct) bool {
	switch c {
	case Fails:
		writeJSON(w, http.StatusInternalServerError, errorBody("pmsBroken", "the PMS answers with an error: the play page switches this off"))
	case Lies:
		writeJSON(w, http.StatusOK, errorBody("pmsBroken", "the PMS answers 200 with an error: the play page switches this off"))
	case Hangs:
		select {
		case <-r.Context().Done():
		case <-p.ctx.Done():
		case <-time.After(maxHang):
		}
	default:
		return false
	}
	return true
}

var reservationNotFound = errorBody("reservationNotFound", "no such reservation")

// serveCheckInStatus answers getCheckInStatus, as the reservation's conduct demands.
func (p *PMS) serveCheckInStatus(w http.ResponseWriter, r *http.Request, _ []byte) {
	c, fields, known := p.conductOf(r.URL.Query().Get("reservationId"))
	if p.answerByConduct(w, r, c) {
		return
	}
	if !known {
		writeJSON(w, http.StatusNotFound, reservationNotFound)
		return
	}
	writeJSON(w, http.StatusOK, statusOf(fields))
}

// statusOf returns the answer of getCheckInStatus for a reservation. Without the fields, nothing is owed and the room is ready.
func statusOf(fields map[string]any) map[string]any {
	out := map[string]any{"owing": 0, "owingCurrency": "EUR", "roomReady": true}
	for _, f := range []string{"owing", "owingCurrency", "roomReady"} {
		if v, ok := fields[f]; ok {
			out[f] = v
		}
	}
	return out
}

// serveCheckIn checks a guest in, unless the reservation's conduct demands another answer. It refuses if the reservation is neither
// confirmed nor started, the stay is not paid, or the room is not ready. Like a real PMS, it pushes the changed reservation after its
// answer, except with NoUpdate. A repeated Idempotency-Key has no second effect.
func (p *PMS) serveCheckIn(w http.ResponseWriter, r *http.Request, body []byte) {
	var asked struct {
		ReservationID string         `json:"reservationId"`
		MainCustomer  map[string]any `json:"mainCustomer"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		writeJSON(w, http.StatusBadRequest, errorBody("badJson", "the body must be a JSON object with reservationId"))
		return
	}
	id := asked.ReservationID
	c, fields, known := p.conductOf(id)
	if only, _, _ := p.conductOf(checkInOnly + id); only != Normal {
		c = only
	}
	if p.answerByConduct(w, r, c) {
		return
	}
	if !known {
		writeJSON(w, http.StatusNotFound, reservationNotFound)
		return
	}
	first := p.takeKey(r.Header.Get(pms.HeaderIdempotencyKey), id)
	if first {
		if refusal := refuseCheckIn(fields); refusal != nil {
			p.dropKey(r.Header.Get(pms.HeaderIdempotencyKey))
			writeJSON(w, http.StatusUnprocessableEntity, refusal)
			return
		}
	}
	if !first {
		writeJSON(w, http.StatusOK, map[string]any{})
		return
	}
	p.countCheckIn(id, asked.MainCustomer)
	writeJSON(w, http.StatusOK, map[string]any{})
	if c == NoUpdate {
		_ = p.mergeReservation(id, map[string]any{"state": "started"})
		return
	}
	p.runLater(func() {
		ctx, cancel := context.WithTimeout(p.ctx, pushTimeout)
		defer cancel()
		if _, err := p.Push(ctx, id, map[string]any{"state": "started"}); err != nil && p.ctx.Err() == nil {
			slog.Warn("the simulated PMS could not send an update", slog.Any("error", err))
		}
	})
}

// refuseCheckIn returns the error with which the PMS refuses to check a guest in, or nil if it does not.
func refuseCheckIn(fields map[string]any) map[string]any {
	status := statusOf(fields)
	state := stringIn(fields, "state")
	switch {
	case state != "confirmed" && state != "started":
		return errorBody("notConfirmed", "the reservation is not confirmed")
	case amountOf(status["owing"]) > 0:
		return errorBody("owing", "the stay is not paid")
	case status["roomReady"] == false:
		return errorBody("roomNotReady", "the room is not ready")
	}
	return nil
}

// amountOf returns the value of a reservation's field as a number, or 0 if it is not a number.
func amountOf(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int:
		return float64(v)
	}
	return 0
}

// runLater runs a function in the background, unless the PMS is closed. Close waits for it.
func (p *PMS) runLater(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() == nil {
		p.running.Go(f)
	}
}

// takeKey records the idempotency key of a checkIn for a reservation, and reports whether it is new. An empty key is always new. Only the
// last maxKeys are remembered.
func (p *PMS) takeKey(key, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, taken := p.desk.keys[key]; taken {
		return false
	}
	if key == "" {
		return true
	}
	p.desk.keys[key] = id
	p.desk.keyOrder = append(p.desk.keyOrder, key)
	if len(p.desk.keyOrder) > maxKeys {
		delete(p.desk.keys, p.desk.keyOrder[0])
		p.desk.keyOrder = p.desk.keyOrder[1:]
	}
	return true
}

// dropKey forgets a key, because the call with it was refused.
func (p *PMS) dropKey(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.desk.keys, key)
	p.desk.keyOrder = slices.DeleteFunc(p.desk.keyOrder, func(k string) bool { return k == key })
}

// countCheckIn records that checkIn had an effect, and the guest's data that the call contained.
func (p *PMS) countCheckIn(id string, guest map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.desk.shared[id] = guest
	p.desk.checkIns[id]++
}
