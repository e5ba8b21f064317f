package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// KeypadURL is the address of a door's keypad, with {doorId} for the door of an access plan.
func (w *World) KeypadURL() string {
	return "http://" + w.keypads.Addr().String() + "/doors/{doorId}/press"
}

// PMSURL is the PMS's own address.
func (w *World) PMSURL() string { return "http://" + w.pms.Addr().String() }

// Type types a PIN at a door's keypad.
func (w *World) Type(_ context.Context, doorID, pin string) (sim.Press, error) {
	return w.House.Press(w.doors[doorID], slot.PIN(pin))
}

// press serves the keypads: POST /doors/{doorId}/press with {"pin": "..."} answers {"opened", "reason"}.
func (w *World) press(rw http.ResponseWriter, r *http.Request) {
	door, ok := strings.CutPrefix(r.URL.Path, "/doors/")
	door, ok2 := strings.CutSuffix(door, "/press")
	address, known := w.doors[door]
	switch {
	case r.Method != http.MethodPost || !ok || !ok2:
		reply(rw, http.StatusNotFound, failure("routeNotFound", "POST /doors/{doorId}/press"))
		return
	case !known:
		reply(rw, http.StatusNotFound, failure("doorNotFound", "no door of this property has this id"))
		return
	}
	var in struct {
		PIN string `json:"pin"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 1<<10)).Decode(&in); err != nil {
		reply(rw, http.StatusBadRequest, failure("badJson", `the body must be {"pin": "..."}, with the PIN as a string`))
		return
	}
	p, err := w.House.Press(address, slot.PIN(in.PIN))
	if err != nil {
		reply(rw, http.StatusNotFound, failure("lockNotFound", err.Error()))
		return
	}
	reply(rw, http.StatusOK, map[string]any{"opened": p.Opened, "reason": p.Reason})
}
