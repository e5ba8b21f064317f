package guest

import (
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

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
	req := &guestv1.EndSessionRequest{DeviceId: x.Value("device")}
	if req.DeviceId == "" {
		req.Others = x.Value("others") == "yes"
	}
	if req.DeviceId == "" && !req.Others {
		return x.Redirect(x.flow.Below("devices")) // without a choice the API would end this device
	}
	if _, err := s.api.Stays.EndSession(x.callContext(), req); err != nil && s.Fault(err).Kind != fault.NotFound {
		return err
	}
	return x.Redirect(x.flow.Below("devices"))
}
