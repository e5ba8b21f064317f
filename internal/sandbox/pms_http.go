package sandbox

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
)

// Handler serves what the service calls, and the PMS's own desk at /reservations.
func (p *PMS) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/spaces", p.asked("getSpaces", func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		reply(w, http.StatusOK, p.spaces)
	}))
	mux.HandleFunc("/check-in-status", p.asked("getCheckInStatus", p.status))
	mux.HandleFunc("POST /check-in", p.asked("checkIn", p.checkIn))
	mux.HandleFunc("GET /reservations", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		ids := slices.Sorted(maps.Keys(p.reservations))
		reply(w, http.StatusOK, map[string]any{"reservations": ids})
	})
	mux.HandleFunc("PATCH /reservations/{id}", p.desk)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "A property management system to play with.\n\n"+
			"GET   /reservations        what it has\n"+
			"PATCH /reservations/{id}   change one, as the desk would; it is pushed to Latchkey, whose answer you get\n"+
			"GET   /spaces?token=...    what Latchkey reads\n")
	})
	return mux
}

const mostBody = 1 << 20

// asked wraps a call of the service: it is noted, and refused without the token.
func (p *PMS) asked(action string, next func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
		if err != nil {
			reply(w, http.StatusBadRequest, failure("unreadable", "the body could not be read"))
			return
		}
		if !p.note(action, r, body) {
			reply(w, http.StatusUnauthorized, failure("wrongToken", "the token is not the one that was registered"))
			return
		}
		p.mu.Lock()
		broken := p.broken
		p.mu.Unlock()
		if broken != 0 {
			reply(w, broken, failure("broken", "the PMS is out of order"))
			return
		}
		next(w, r, body)
	}
}

// unknown is what the PMS says of a reservation it does not have.
var unknown = failure("reservationNotFound", "no such reservation")

func (p *PMS) status(w http.ResponseWriter, r *http.Request, _ []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held, ok := p.reservations[r.URL.Query().Get("reservationId")]
	if !ok {
		reply(w, http.StatusNotFound, unknown)
		return
	}
	out := map[string]any{"owing": 0, "owingCurrency": "EUR", "roomReady": true}
	for _, f := range []string{"owing", "owingCurrency", "roomReady"} {
		if v, ok := held[f]; ok {
			out[f] = v
		}
	}
	reply(w, http.StatusOK, out)
}

// checkIn checks a guest in and, as a PMS does, then pushes the changed reservation.
func (p *PMS) checkIn(w http.ResponseWriter, r *http.Request, body []byte) {
	var asked struct {
		ReservationID string `json:"reservationId"`
	}
	_ = json.Unmarshal(body, &asked)
	p.mu.Lock()
	_, ok := p.reservations[asked.ReservationID]
	p.mu.Unlock()
	if !ok {
		reply(w, http.StatusNotFound, unknown)
		return
	}
	if _, err := p.Push(r.Context(), asked.ReservationID, map[string]any{"state": "started"}); err != nil {
		reply(w, http.StatusBadGateway, failure("pushFailed", err.Error()))
		return
	}
	reply(w, http.StatusOK, map[string]any{})
}

// desk changes a reservation by hand.
func (p *PMS) desk(w http.ResponseWriter, r *http.Request) {
	var fields map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&fields); err != nil || fields == nil {
		reply(w, http.StatusBadRequest, failure("badJson", "send a JSON object of fields to change"))
		return
	}
	a, err := p.Push(r.Context(), r.PathValue("id"), fields)
	if err != nil {
		reply(w, http.StatusBadGateway, failure("pushFailed", err.Error()))
		return
	}
	reply(w, a.Status, a.Body)
}

func failure(reason, message string) map[string]any {
	return map[string]any{"error": map[string]any{"reason": reason, "message": message}}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
