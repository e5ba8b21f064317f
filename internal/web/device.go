package web

import (
	"net/http"
	"strings"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// deviceNames are the devices that a list of sessions names, and what their browsers call them. The first that fits counts: an iPad also
// says Mac, and Android also says Linux.
var deviceNames = []struct{ said, name string }{
	{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"Linux", "Linux"},
}

// deviceOf returns what a browser's device is, or "". Nothing else of the User-Agent is kept.
func deviceOf(userAgent string) string {
	for _, d := range deviceNames {
		if strings.Contains(userAgent, d.said) {
			return d.name
		}
	}
	return ""
}

// devicesView is the list of the devices that act for the guest.
type devicesView struct {
	Devices []*guestv1.Device
	Others  int  // devices that the guest can end
	Partial bool // the API shows this device only itself: it found the booking at the property
}

// showDevices lists the devices that open the guest's stay.
func (s *site) showDevices(x *exchange) error {
	found, err := s.api.Stays.ListDevices(x.callContext(), &guestv1.ListDevicesRequest{})
	if err != nil {
		return err
	}
	p := x.stayPage("web.devices.title")
	p.Data = newDevicesView(found.GetData().GetList())
	return x.render(http.StatusOK, "devices", p)
}

func newDevicesView(list []*guestv1.Device) devicesView {
	v := devicesView{Devices: list}
	for _, d := range list {
		if !d.GetCurrent() {
			v.Others++
		} else {
			v.Partial = d.GetKind() != "mail" && d.GetKind() != "device"
		}
	}
	return v
}

// endDevices ends one other device of the guest, or all others. A device that has ended meanwhile needs nothing more.
func (s *site) endDevices(x *exchange) error {
	req := &guestv1.EndSessionRequest{DeviceId: x.value("device")}
	if req.DeviceId == "" {
		req.Others = x.value("others") == "yes"
	}
	if req.DeviceId == "" && !req.Others {
		return x.redirect(x.flow.Below("devices")) // without a choice the API would end this device
	}
	if _, err := s.api.Stays.EndSession(x.callContext(), req); err != nil && s.api.Fault(err).Kind != fault.NotFound {
		return err
	}
	return x.redirect(x.flow.Below("devices"))
}
