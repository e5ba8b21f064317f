package guest

import (
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// devicesView is the list of the devices that are signed in to the guest's stay.
type devicesView struct {
	Devices []*guestv1.Device
	Others  int  // number of the other devices, which the guest can sign out
	Partial bool // the guest found the booking with number and name at the property: the API shows such a device only itself
}

// showDevices handles the list of the devices that are signed in to the guest's stay, so that they show its pages.
func (s *site) showDevices(x *exchange) error {
	found, err := s.api.Stays.ListDevices(x.callContext(), &guestv1.ListDevicesRequest{})
	if err != nil {
		return err
	}
	p := x.stayPage("web.devices.title")
	p.Data = newDevicesView(found.GetData().GetList())
	return x.render(http.StatusOK, "devices", p)
}

// newDevicesView returns the view of a list of devices.
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

// endDevices handles the buttons that sign out one other device of the guest, or all others. A device that is signed out already is no
// error.
func (s *site) endDevices(x *exchange) error {
	req := &guestv1.EndSessionRequest{DeviceId: x.Value("device")}
	if req.DeviceId == "" {
		req.Others = x.Value("others") == "yes"
	}
	if req.DeviceId == "" && !req.Others {
		return x.Redirect(x.flow.Below("devices")) // without an id, the API would sign out this device
	}
	if _, err := s.api.Stays.EndSession(x.callContext(), req); err != nil && s.Fault(err).Kind != fault.NotFound {
		return err
	}
	return x.Redirect(x.flow.Below("devices"))
}
