package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// KeypadURL returns the URL of the keypads, with the placeholder {doorId} for the door.
func (w *World) KeypadURL() string {
	return "http://" + w.keypads.Addr().String() + "/doors/{doorId}/press"
}

// PMSURL returns the base URL of the PMS.
func (w *World) PMSURL() string { return "http://" + w.pms.Addr().String() }

// TypePIN types a PIN at a door's keypad, and returns whether the lock opened or why not. An error means that the door has no lock.
func (w *World) TypePIN(_ context.Context, doorID, pin string) (sim.Press, error) {
	return w.Site.Press(w.doors[doorID], slot.PIN(pin))
}

// servePress serves the keypads: POST /doors/{doorId}/press with {"pin": "..."} answers {"opened", "reason"}.
func (w *World) servePress(rw http.ResponseWriter, r *http.Request) {
	door, ok := strings.CutPrefix(r.URL.Path, "/doors/")
	door, ok2 := strings.CutSuffix(door, "/press")
	address, known := w.doors[door]
	switch {
	case r.Method != http.MethodPost || !ok || !ok2:
		writeJSON(rw, http.StatusNotFound, errorBody("routeNotFound", "POST /doors/{doorId}/press"))
		return
	case !known:
		writeJSON(rw, http.StatusNotFound, errorBody("doorNotFound", "no door of this property has this id"))
		return
	}
	var in struct {
		PIN string `json:"pin"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<10)).Decode(&in); err != nil {
		writeJSON(rw, http.StatusBadRequest, errorBody("badJson", `the body must be {"pin": "..."}, with the PIN as a string`))
		return
	}
	p, err := w.Site.Press(address, slot.PIN(in.PIN))
	if err != nil {
		writeJSON(rw, http.StatusNotFound, errorBody("lockNotFound", err.Error()))
		return
	}
	writeJSON(rw, http.StatusOK, map[string]any{"opened": p.Opened, "reason": p.Reason})
}
