package web_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web"
	"latchkey.dev/internal/web/guest"
	"latchkey.dev/internal/web/kit"
	"latchkey.dev/internal/web/operator"
	"latchkey.dev/internal/web/staff"
)

// scripted answers the calls of pages with fixed values, so that a test can show a page in any state.
type scripted struct {
	link        *guestv1.Link
	stay        *guestv1.Stay
	form        *guestv1.Form
	kiosk       *kioskv1.Kiosk
	pins        *guestv1.Pins
	choices     []*guestv1.Choice
	devices     []*guestv1.Device
	ledger      *guestv1.DisclosureList
	messages    []*guestv1.Message
	erasure     *guestv1.Erasure     // nil: the session may not erase
	profile     *guestv1.KeptProfile // nil: none is kept
	messageFail error
	ended       string // why the session was ended; "": it goes on
	fail        error  // of writing calls
	pinFail     error
	asking      chan struct{} // StartCheckIn waits until it is closed; nil: it does not wait
}

// moment is the time of the scripted pages.
var moment = time.Date(2026, 11, 21, 14, 5, 0, 0, time.UTC)

// serve starts a server of the pages and returns its address.
func (s *scripted) serve(t *testing.T) string {
	t.Helper()
	pages, err := web.New(kit.Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Secure: func(*http.Request) bool { return false },
		Now:    func() time.Time { return moment },
		As:     func(ctx context.Context, _ *http.Request, _ kit.Credential) context.Context { return ctx },
		Fault: func(err error) *fault.Fault {
			var f *fault.Fault
			if !errors.As(err, &f) {
				t.Errorf("a page failed: %v", err)
				return fault.New(fault.Internal, "", "")
			}
			return f
		},
	}, guest.API{
		Links: links{script: s}, Stays: stays{script: s}, Messages: messages{script: s}, Privacy: privacy{script: s}, Forms: forms{script: s}, CheckIns: checkIns{script: s}, Kiosks: kiosks{script: s},
	}, staff.API{}, operator.API{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	return server.URL
}

type links struct {
	guestv1.LinkServiceClient
	script *scripted
}

func (c links) GetLink(context.Context, *guestv1.GetLinkRequest, ...grpc.CallOption) (*guestv1.GetLinkResponse, error) {
	if c.script.link == nil {
		return nil, fault.New(fault.NotFound, "", "")
	}
	return &guestv1.GetLinkResponse{Data: c.script.link}, nil
}

func (c links) GetEndedSession(context.Context, *guestv1.GetEndedSessionRequest, ...grpc.CallOption) (*guestv1.GetEndedSessionResponse, error) {
	return &guestv1.GetEndedSessionResponse{Data: &guestv1.EndedSession{Property: c.script.link.GetProperty(), Reason: c.script.ended}}, nil
}

func (c links) RenewLink(context.Context, *guestv1.RenewLinkRequest, ...grpc.CallOption) (*guestv1.RenewLinkResponse, error) {
	return &guestv1.RenewLinkResponse{}, c.script.fail
}

func (c links) GetDoor(context.Context, *guestv1.GetDoorRequest, ...grpc.CallOption) (*guestv1.GetDoorResponse, error) {
	return &guestv1.GetDoorResponse{Data: c.script.kiosk.GetProperty()}, nil
}

func (c links) FindStay(context.Context, *guestv1.FindStayRequest, ...grpc.CallOption) (*guestv1.FindStayResponse, error) {
	return &guestv1.FindStayResponse{Data: &guestv1.Found{Choices: c.script.choices}}, c.script.fail
}

type messages struct {
	guestv1.MessageServiceClient
	script *scripted
}

func (c messages) ListMessages(_ context.Context, r *guestv1.ListMessagesRequest, _ ...grpc.CallOption) (*guestv1.ListMessagesResponse, error) {
	list := slices.Clone(c.script.messages[min(int(r.GetAfter()), len(c.script.messages)):])
	if r.GetNewestFirst() {
		slices.Reverse(list)
	}
	return &guestv1.ListMessagesResponse{Data: &guestv1.MessageList{List: list}}, c.script.messageFail
}

func (c messages) ReadMessages(context.Context, *guestv1.ReadMessagesRequest, ...grpc.CallOption) (*guestv1.ReadMessagesResponse, error) {
	return &guestv1.ReadMessagesResponse{}, nil
}

// WatchMessages has no message until its caller leaves.
func (c messages) WatchMessages(ctx context.Context, _ *guestv1.WatchMessagesRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[guestv1.WatchMessagesResponse], error) {
	return silent{ctx: ctx}, nil
}

// silent is a stream without messages.
type silent struct {
	grpc.ServerStreamingClient[guestv1.WatchMessagesResponse]
	ctx context.Context
}

func (s silent) Recv() (*guestv1.WatchMessagesResponse, error) {
	<-s.ctx.Done()
	return nil, io.EOF
}

type stays struct {
	guestv1.StayServiceClient
	script *scripted
}

func (c stays) GetStay(context.Context, *guestv1.GetStayRequest, ...grpc.CallOption) (*guestv1.GetStayResponse, error) {
	if c.script.ended != "" {
		return nil, fault.New(fault.Unauthenticated, "", "")
	}
	return &guestv1.GetStayResponse{Data: c.script.stay}, nil
}

// CreateSmartKeyLink does not answer while the page is open: the page shows the doors that a SmartKey will open.
func (c stays) CreateSmartKeyLink(ctx context.Context, _ *guestv1.CreateSmartKeyLinkRequest, _ ...grpc.CallOption) (*guestv1.CreateSmartKeyLinkResponse, error) {
	<-ctx.Done()
	return nil, fault.New(fault.Canceled, "", "")
}

func (c stays) RevealPin(context.Context, *guestv1.RevealPinRequest, ...grpc.CallOption) (*guestv1.RevealPinResponse, error) {
	return &guestv1.RevealPinResponse{Data: c.script.pins}, c.script.pinFail
}

func (c stays) HandOver(context.Context, *guestv1.HandOverRequest, ...grpc.CallOption) (*guestv1.HandOverResponse, error) {
	return &guestv1.HandOverResponse{Link: "lkl_ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, c.script.pinFail
}

func (c stays) CreateDeviceLink(context.Context, *guestv1.CreateDeviceLinkRequest, ...grpc.CallOption) (*guestv1.CreateDeviceLinkResponse, error) {
	return &guestv1.CreateDeviceLinkResponse{Link: "lkl_ABCDEFGHIJKLMNOPQRSTUVWXYZ", ExpiresAt: timestamppb.New(moment)}, nil
}

func (c stays) ListGroup(context.Context, *guestv1.ListGroupRequest, ...grpc.CallOption) (*guestv1.ListGroupResponse, error) {
	return &guestv1.ListGroupResponse{Data: &guestv1.Group{List: []*guestv1.GroupRoom{
		{SpaceName: "Bed 1", ParentSpaceName: "Room 204", FromDate: "2026-11-21", State: "checkedIn", Complete: 2, Guests: 2, Own: true},
		{SpaceName: longRoom[:40], FromDate: "2026-11-21", State: "ready", Complete: 1, Guests: 1},
		{FromDate: "2026-11-22", State: "todo", Complete: 1, Guests: 3}, {SpaceName: "Room 101", FromDate: "2026-11-20", State: "ended", Complete: 2, Guests: 2},
	}}}, nil
}

func (c stays) ListDevices(context.Context, *guestv1.ListDevicesRequest, ...grpc.CallOption) (*guestv1.ListDevicesResponse, error) {
	return &guestv1.ListDevicesResponse{Data: &guestv1.DeviceList{List: c.script.devices}}, nil
}

func (c stays) ListDisclosures(context.Context, *guestv1.ListDisclosuresRequest, ...grpc.CallOption) (*guestv1.ListDisclosuresResponse, error) {
	return &guestv1.ListDisclosuresResponse{Data: c.script.ledger}, nil
}

func (c stays) SetLanguage(context.Context, *guestv1.SetLanguageRequest, ...grpc.CallOption) (*guestv1.SetLanguageResponse, error) {
	return &guestv1.SetLanguageResponse{}, nil
}

func (c stays) EndSession(context.Context, *guestv1.EndSessionRequest, ...grpc.CallOption) (*guestv1.EndSessionResponse, error) {
	return &guestv1.EndSessionResponse{}, nil
}

type forms struct {
	guestv1.FormServiceClient
	script *scripted
}

func (c forms) GetForm(_ context.Context, r *guestv1.GetFormRequest, _ ...grpc.CallOption) (*guestv1.GetFormResponse, error) {
	if r.GetGuestId() != c.script.form.GetGuestId() {
		return nil, fault.New(fault.NotFound, "", "")
	}
	return &guestv1.GetFormResponse{Data: c.script.form}, nil
}

func (c forms) ListForms(context.Context, *guestv1.ListFormsRequest, ...grpc.CallOption) (*guestv1.ListFormsResponse, error) {
	return &guestv1.ListFormsResponse{Data: []*guestv1.Form{c.script.form}}, nil
}

func (c forms) SaveStep(context.Context, *guestv1.SaveStepRequest, ...grpc.CallOption) (*guestv1.SaveStepResponse, error) {
	return &guestv1.SaveStepResponse{Data: c.script.form}, c.script.fail
}

func (c forms) SetParty(context.Context, *guestv1.SetPartyRequest, ...grpc.CallOption) (*guestv1.SetPartyResponse, error) {
	return &guestv1.SetPartyResponse{}, c.script.fail
}

func (c forms) SetArrival(context.Context, *guestv1.SetArrivalRequest, ...grpc.CallOption) (*guestv1.SetArrivalResponse, error) {
	return &guestv1.SetArrivalResponse{}, c.script.fail
}

func (c forms) SetMailAddress(context.Context, *guestv1.SetMailAddressRequest, ...grpc.CallOption) (*guestv1.SetMailAddressResponse, error) {
	return &guestv1.SetMailAddressResponse{}, c.script.fail
}

func (c forms) InviteCompanion(context.Context, *guestv1.InviteCompanionRequest, ...grpc.CallOption) (*guestv1.InviteCompanionResponse, error) {
	return &guestv1.InviteCompanionResponse{Link: "lkl_ABCDEFGHIJKLMNOPQRSTUVWXYZ", ExpiresAt: timestamppb.New(moment)}, c.script.fail
}

type checkIns struct {
	guestv1.CheckInServiceClient
	script *scripted
}

func (c checkIns) GetCheckIn(context.Context, *guestv1.GetCheckInRequest, ...grpc.CallOption) (*guestv1.GetCheckInResponse, error) {
	return &guestv1.GetCheckInResponse{Data: c.script.stay.GetCheckIn()}, nil
}

func (c checkIns) StartCheckIn(context.Context, *guestv1.StartCheckInRequest, ...grpc.CallOption) (*guestv1.StartCheckInResponse, error) {
	if c.script.asking != nil {
		<-c.script.asking
	}
	return &guestv1.StartCheckInResponse{Data: c.script.stay.GetCheckIn()}, nil
}

func (c checkIns) RequestHelp(context.Context, *guestv1.RequestHelpRequest, ...grpc.CallOption) (*guestv1.RequestHelpResponse, error) {
	return &guestv1.RequestHelpResponse{}, nil
}

type kiosks struct {
	kioskv1.KioskServiceClient
	script *scripted
}

func (c kiosks) EnrolKiosk(context.Context, *kioskv1.EnrolKioskRequest, ...grpc.CallOption) (*kioskv1.EnrolKioskResponse, error) {
	return &kioskv1.EnrolKioskResponse{Data: &kioskv1.Enrolled{Token: "lkt_scripted"}}, c.script.fail
}

func (c kiosks) GetKiosk(context.Context, *kioskv1.GetKioskRequest, ...grpc.CallOption) (*kioskv1.GetKioskResponse, error) {
	return &kioskv1.GetKioskResponse{Data: c.script.kiosk}, nil
}

func (c kiosks) FindStay(context.Context, *kioskv1.FindStayRequest, ...grpc.CallOption) (*kioskv1.FindStayResponse, error) {
	return &kioskv1.FindStayResponse{Data: &guestv1.Found{Choices: c.script.choices}}, c.script.fail
}

func (c kiosks) RequestHelp(context.Context, *kioskv1.RequestHelpRequest, ...grpc.CallOption) (*kioskv1.RequestHelpResponse, error) {
	return &kioskv1.RequestHelpResponse{}, nil
}
