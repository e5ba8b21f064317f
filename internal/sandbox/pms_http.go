package sandbox

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
)

// Handler returns the handler of the PMS: the endpoints for the service, and /reservations, by which a person or a test changes
// reservations.
func (p *PMS) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/spaces", p.authorized("getSpaces", func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		writeJSON(w, http.StatusOK, p.spaces)
	}))
	mux.HandleFunc("/check-in-status", p.authorized("getCheckInStatus", p.serveCheckInStatus))
	mux.HandleFunc("POST /check-in", p.authorized("checkIn", p.serveCheckIn))
	mux.HandleFunc("GET /reservations", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		ids := slices.Sorted(maps.Keys(p.reservations))
		writeJSON(w, http.StatusOK, map[string]any{"reservations": ids})
	})
	mux.HandleFunc("PATCH /reservations/{id}", p.serveChange)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "A simulated property management system.\n\n"+
			"GET   /reservations        its reservations\n"+
			"PATCH /reservations/{id}   change one; the PMS pushes it to Latchkey and returns the answer\n"+
			"GET   /spaces?token=...    its rooms and beds, for Latchkey\n")
	})
	return mux
}

// maxBodySize bounds the body of a request to the PMS, in bytes.
const maxBodySize = 1 << 20

// authorized wraps the endpoint for an action. It records each call, refuses calls without the token, and passes the body to next. After
// FailCalls it answers itself.
func (p *PMS) authorized(action string, next func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodySize))
		if err != nil {
			writeJSON(w, http.StatusBadRequest, errorBody("unreadable", "the body could not be read"))
			return
		}
		if !p.recordCall(action, r, body) {
			writeJSON(w, http.StatusUnauthorized, errorBody("wrongToken", "wrong token"))
			return
		}
		p.mu.Lock()
		broken := p.failStatus
		p.mu.Unlock()
		if broken != 0 {
			writeJSON(w, broken, errorBody("broken", "the PMS is broken"))
			return
		}
		next(w, r, body)
	}
}

// serveChange handles a change of a reservation by a person or a test: it pushes the change to the service and returns the service's
// answer.
func (p *PMS) serveChange(w http.ResponseWriter, r *http.Request) {
	var fields map[string]any
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodySize)).Decode(&fields); err != nil || fields == nil {
		writeJSON(w, http.StatusBadRequest, errorBody("badJson", "send a JSON object of fields to change"))
		return
	}
	a, err := p.Push(r.Context(), r.PathValue("id"), fields)
	if err != nil {
		writeJSON(w, http.StatusBadGateway, errorBody("pushFailed", err.Error()))
		return
	}
	writeJSON(w, a.Status, a.Body)
}

// errorBody returns the body of an error answer.
func errorBody(reason, message string) map[string]any {
	return map[string]any{"error": map[string]any{"reason": reason, "message": message}}
}

// writeJSON answers with a status and v as JSON.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
