package guest

import (
	"net/http"
	"net/url"
	"regexp"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// newLinkView is a new link, which the page shows once, as a text and as a QR code.
type newLinkView struct {
	Code qrCode
	Ends *timestamppb.Timestamp
	Text string // the kind of the text that says what the link is for
}

// showNewLink shows a link that was just made. It answers a form, so that only the press of its button makes one.
func (x *exchange) showNewLink(title, text, secret string, ends *timestamppb.Timestamp, back string) error {
	p := x.stayPage(title)
	p.Back, p.LookURL = back, "" // a choice of the look would lose the link
	p.Data = newLinkView{Code: x.qrOf("/g/l/" + url.PathEscape(secret)), Ends: ends, Text: text}
	return x.render(http.StatusOK, "newlink", p)
}

// anotherView is the page that offers a link for a further device.
type anotherView struct {
	Partial bool // this device found the booking at the property, so it makes no link
}

// showAnother says how the guest opens the stay on a further device.
func (s *site) showAnother(x *exchange) error {
	devices, err := s.api.Stays.ListDevices(x.callContext(), &guestv1.ListDevicesRequest{})
	if err != nil {
		return err
	}
	p := x.stayPage("web.another.title")
	p.Back = x.flow.Below("devices")
	p.Data = anotherView{Partial: newDevicesView(devices.GetData().GetList()).Partial}
	return x.render(http.StatusOK, "another", p)
}

// makeDeviceLink shows the link for a further device of the guest.
func (s *site) makeDeviceLink(x *exchange) error {
	made, err := s.api.Stays.CreateDeviceLink(x.callContext(), &guestv1.CreateDeviceLinkRequest{})
	if err != nil {
		return err
	}
	return x.showNewLink("web.another.title", "web.another.made", made.GetLink(), made.GetExpiresAt(), x.flow.Below("devices"))
}

// inviteByLink shows the link of a companion, which the main guest passes on.
func (s *site) inviteByLink(x *exchange, guestID string) error {
	made, err := s.api.Forms.InviteCompanion(x.callContext(), &guestv1.InviteCompanionRequest{GuestId: guestID})
	if err != nil {
		return x.notInvited(err, guestID)
	}
	return x.showNewLink("web.passOn.title", "web.passOn.text", made.GetLink(), made.GetExpiresAt(), x.flow.Below("people"))
}

// showGroup shows the booker how far the rooms of the group are.
func (s *site) showGroup(x *exchange) error {
	found, err := s.api.Stays.ListGroup(x.callContext(), &guestv1.ListGroupRequest{})
	if err != nil {
		return err
	}
	p := x.stayPage("web.group.title")
	p.Data = found.GetData()
	return x.render(http.StatusOK, "group", p)
}

// pastedLink is a link of a stay in a text.
var pastedLink = regexp.MustCompile(`/g/l/([A-Za-z0-9_-]{1,64})`)

// showFirst moves to a stay that this device has. Without one it says how to open it: an icon on the home screen of an iPhone has a storage of
// its own, and begins here.
func (s *site) showFirst(x *exchange) error {
	if id := x.keptStay(""); id != "" {
		return x.Redirect("/g/stays/" + id)
	}
	return x.first(http.StatusOK, "")
}

// openPasted moves to the link that the guest pasted.
func (s *site) openPasted(x *exchange) error {
	found := pastedLink.FindStringSubmatch(x.Value("link"))
	if found == nil {
		return x.first(http.StatusUnprocessableEntity, x.Value("link"))
	}
	return x.Redirect("/g/l/" + found[1])
}

func (x *exchange) first(status int, typed string) error {
	p := x.newPage(nil, "web.first.title")
	if status != http.StatusOK {
		p.Wrong = []wrong{{ID: "f-link", Text: p.T("web.first.wrong")}}
	}
	p.Data = typed
	return x.render(status, "first", p)
}
