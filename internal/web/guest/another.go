package guest

import (
	"net/http"
	"net/url"
	"regexp"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// newLinkView is the page of a new link. The page shows the link once, as text and as a QR code.
type newLinkView struct {
	Code qrCode
	Ends *timestamppb.Timestamp
	Text string // message kind: what the link is for
}

// showNewLink renders the page of a link that was just created. title is a message kind, secret the secret part of the link, ends when it
// expires, text the message kind about its purpose, and back the URL of the link "back". Only handlers of a POST call it, so that loading a
// page creates no link.
func (x *exchange) showNewLink(title, text, secret string, ends *timestamppb.Timestamp, back string) error {
	p := x.stayPage(title)
	p.Back, p.LookURL = back, "" // no choice of colors or language: a reload would lose the link
	p.Data = newLinkView{Code: x.qrOf("/g/l/" + url.PathEscape(secret)), Ends: ends, Text: text}
	return x.render(http.StatusOK, "newlink", p)
}

// anotherView is the page that offers a link for another device of the guest.
type anotherView struct {
	Partial bool // the guest found the booking with number and name at the property: the API lets such a device create no link
}

// showAnother handles the page that explains how to open the stay on another device.
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

// makeDeviceLink handles the button that creates a link for another device of the same guest. The link replaces an earlier one that no
// device has opened.
func (s *site) makeDeviceLink(x *exchange) error {
	made, err := s.api.Stays.CreateDeviceLink(x.callContext(), &guestv1.CreateDeviceLinkRequest{})
	if err != nil {
		return err
	}
	return x.showNewLink("web.another.title", "web.another.made", made.GetLink(), made.GetExpiresAt(), x.flow.Below("devices"))
}

// inviteByLink creates a link for a companion and shows it once, so that the main guest can pass it on. guestID is the companion. If the
// API refuses, notChanged answers.
func (s *site) inviteByLink(x *exchange, guestID string) error {
	made, err := s.api.Forms.InviteCompanion(x.callContext(), &guestv1.InviteCompanionRequest{GuestId: guestID})
	if err != nil {
		return x.notChanged(err, guestID)
	}
	return x.showNewLink("web.passOn.title", "web.passOn.text", made.GetLink(), made.GetExpiresAt(), x.flow.Below("people"))
}

// showGroup handles the page on which the booker of a group sees the progress of each room's check-in.
func (s *site) showGroup(x *exchange) error {
	found, err := s.api.Stays.ListGroup(x.callContext(), &guestv1.ListGroupRequest{})
	if err != nil {
		return err
	}
	p := x.stayPage("web.group.title")
	p.Data = found.GetData()
	return x.render(http.StatusOK, "group", p)
}

// pastedLink matches the link of a stay within a pasted text.
var pastedLink = regexp.MustCompile(`/g/l/([A-Za-z0-9_-]{1,64})`)

// showFirst handles the start page of the installed app. It redirects to a stay whose session this device has. Without one, it asks for the
// link: on an iPhone, an app on the home screen has its own cookies and does not know the stay.
func (s *site) showFirst(x *exchange) error {
	if id := x.keptStay(""); id != "" {
		return x.Redirect("/g/stays/" + id)
	}
	return x.askForLinkPage(http.StatusOK, "")
}

// openPasted handles the form in which the guest pastes the link of a stay. It redirects to that link. If the text has no such link, it
// shows the form again with an error.
func (s *site) openPasted(x *exchange) error {
	found := pastedLink.FindStringSubmatch(x.Value("link"))
	if found == nil {
		return x.askForLinkPage(http.StatusUnprocessableEntity, x.Value("link"))
	}
	return x.Redirect("/g/l/" + found[1])
}

// askForLinkPage renders the page that asks for the link of a stay. typed is what the guest pasted before, or "". Status 422 means that
// typed contains no such link.
func (x *exchange) askForLinkPage(status int, typed string) error {
	p := x.newPage(nil, "web.first.title")
	if status == http.StatusUnprocessableEntity {
		p.Wrong = []wrong{{ID: "f-link", Text: p.T("web.first.wrong")}}
	}
	p.Data = typed
	return x.render(status, "first", p)
}
