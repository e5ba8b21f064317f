package sandbox

import (
	"context"
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// kiosk returns two codes of the demo's kiosk: the last part of the address in the QR code at the door, and the code that enrols the
// tablet.
func (w *World) kiosk() (door, code string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kioskDoor, w.kioskCode
}

// KioskCode returns the latest code that enrols the demo's check-in tablet, also if it was used, or "" without Play. A code works once.
func (w *World) KioskCode() string {
	_, code := w.kiosk()
	return code
}

// NewKioskCode makes a new enrolment code for the demo's tablet, which Play has set up. The enrolled tablet, if any, loses its access.
func (w *World) NewKioskCode(ctx context.Context) (string, error) {
	w.mu.Lock()
	id := w.kioskID
	w.mu.Unlock()
	k, err := propertyv1.NewKioskServiceClient(w.public).ResetKiosk(w.Staff(ctx), &propertyv1.ResetKioskRequest{Id: id})
	if err != nil {
		return "", err
	}
	w.setKiosk(k.GetData(), k.GetCode())
	return k.GetCode(), nil
}

// tabletState returns the state of the demo's check-in tablet: notEnrolled (also without Play), online or offline.
func (w *World) tabletState(ctx context.Context) (string, error) {
	w.mu.Lock()
	id := w.kioskID
	w.mu.Unlock()
	found, err := propertyv1.NewKioskServiceClient(w.public).ListKiosks(w.Staff(ctx), &propertyv1.ListKiosksRequest{})
	if err != nil {
		return "", err
	}
	for _, k := range found.GetData().GetList() {
		if k.GetId() == id {
			return k.GetState(), nil
		}
	}
	return "notEnrolled", nil
}

// setKiosk stores the demo's kiosk and the code that enrols its tablet.
func (w *World) setKiosk(k *propertyv1.Kiosk, code string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kioskID, w.kioskDoor, w.kioskCode = k.GetId(), k.GetDoor(), code
}

// renewKioskCode handles the button for a new enrolment code.
func (p *play) renewKioskCode(rw http.ResponseWriter, r *http.Request) {
	_, err := p.w.NewKioskCode(r.Context())
	p.redirectWithNote(rw, r, "kiosk", outcome(err, "The tablet has to enrol again. The new code works once, within an hour."))
}
