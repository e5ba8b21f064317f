package guest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

const (
	linkSecret  = "lkl_link"
	staySession = "lks_stay"
	kioskToken  = "lkt_kiosk"
	thePin      = "480271"
)

// fakeAPI is an API with one stay. It answers like the service, and keeps what pages say.
type fakeAPI struct {
	guestv1.LinkServiceClient
	guestv1.StayServiceClient
	guestv1.FormServiceClient
	guestv1.CheckInServiceClient
	guestv1.MessageServiceClient
	guestv1.PrivacyServiceClient
	kioskv1.KioskServiceClient

	mu          sync.Mutex
	now         time.Time
	bound       bool
	renewed     bool // a new link replaced the link
	shownOnce   bool // the next SaveStep repeats one that was answered before
	sendsNoMail bool
	canceled    bool // the PMS canceled the stay, which ended the session
	revoked     bool // the session was ended

	kept           bool // the companion has answered on a link of their own
	minorCompanion bool // the companion is a minor, and the main guest has no date of birth
	stay           *guestv1.Stay
	form           *guestv1.Form
	answers        map[string]string
	wrong          []fault.Field            // with which the next SaveStep is refused
	keys           []string                 // idempotency keys of calls that change something
	sent           map[string]proto.Message // the request of each idempotency key
	revealed       int
	handed         int
	pins           *guestv1.Pins
	choices        []*guestv1.Choice
	kiosk          *kioskv1.Kiosk
	helped         int
	language       string // of the guest
	ofBrowser      bool   // the language of the last answers or check-in is that of the browser
	ended          int
	fails          *fault.Fault // with which every call is refused
	devices        []*guestv1.Device
	ledger         *guestv1.DisclosureList
	ledgerPage     string // the page token of the last call
	messages       []*guestv1.Message
	readUpTo       int32
	profile        *guestv1.KeptProfile
	opened         bool                                 // a device bound the link to the profile
	several        bool                                 // the installation has several properties
	asked          []*guestv1.RequestProfileLinkRequest // requests for a link to the profile
	erasure        *guestv1.Erasure                     // the erasure of the guest's data; nil: the session may not erase
	coming         chan *guestv1.Message                // what WatchMessages sends
}

type fakeCall struct{ token, key, language string }

type fakeKey struct{}

func fakeAs(ctx context.Context, _ *http.Request, c kit.Credential) context.Context {
	return context.WithValue(ctx, fakeKey{}, fakeCall{c.Token, c.Key, c.Language})
}

func fakeFault(err error) *fault.Fault {
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		return f
	}
	return fault.New(fault.Internal, "", "%s", err.Error())
}

var theProperty = &guestv1.PropertyFace{Id: "prp_1", Name: "Hostel Miramar", TimeZone: "Europe/Lisbon", Language: "en", DeskPhone: "+351210000000",
	Accent: "#3366cc", Address: "Rua do Mar 1\n1100 Lisboa", Directions: "Tram 28\nTo the end"}

func newFake() *fakeAPI {
	at := func(day, hour int) *timestamppb.Timestamp {
		return timestamppb.New(time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC))
	}
	yes := true
	return &fakeAPI{
		now:     time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		answers: map[string]string{}, sent: map[string]proto.Message{},
		pins: &guestv1.Pins{Pin: thePin, Gates: []*guestv1.GatePin{{GateId: "gat_1", Name: "Gate", Pin: "991122"}}},
		stay: &guestv1.Stay{
			Id: "rsv_1", Property: theProperty, Number: "8790", State: "confirmed", From: at(21, 15), To: at(23, 11), SpaceName: "Bed 1", ParentSpaceName: "Room 204",
			Guests:     []*guestv1.StayGuest{{Id: "gst_1", Role: "main", FirstName: "Ana", LastName: "Silva"}, {Id: "gst_2", Role: "companion", Invited: true}},
			AdultCount: 2, HouseRules: "Quiet after ten.\nNo candles.", PartnerName: "Mews", MaskedEmail: "a…@example.com", CodeMail: &guestv1.StayMail{State: "sent", MaskedTo: "a…@example.com"}, ArrivalTime: "15:00",
			Shared:  []*guestv1.SharedGroup{{Name: "identity", Shared: &yes, Fields: []string{"firstName", "lastName"}}, {Name: "contact", Fields: []string{"email"}}},
			Tasks:   []*guestv1.Task{{Kind: "you", State: "todo"}, {Kind: "companions", State: "todo"}, {Kind: "arrival", State: "done"}, {Kind: "houseRules", State: "todo"}, {Kind: "sharing", State: "blocked"}},
			CheckIn: &guestv1.CheckIn{Stage: "start", OpensOn: "2026-11-21", AskedAt: at(21, 15)},
		},
		form: &guestv1.Form{GuestId: "gst_1", Next: "name", Rule: "ES", MinSteps: 5, MaxSteps: 5, Steps: []*guestv1.FormStep{
			{Name: "name", Fields: []*guestv1.FormField{
				{Name: "firstName", Kind: "text", Required: true, Autocomplete: "given-name", MaxLength: 255},
				{Name: "lastName", Kind: "text", Required: true, Autocomplete: "family-name"},
			}, Reason: &guestv1.FormReason{Kind: "law", Source: "RD 933/2021", Url: "https://www.boe.es/", KeptUntil: "2029-11-23"}},
			{Name: "birth", Fields: []*guestv1.FormField{{Name: "birthDate", Kind: "date", Required: true}, {Name: "sex", Kind: "choice", Options: []string{"F", "M", "X"}}}},
			{Name: "document", Fields: []*guestv1.FormField{
				{Name: "document.type", Kind: "choice", Options: []string{"passport", "idCard", "driversLicense", "residencePermit", "other"}},
				{Name: "document.issuingCountry", Kind: "country", Value: "PT"},
			}, Reason: &guestv1.FormReason{Kind: "law", Source: "RD 933/2021"}},
			{Name: "property", Fields: []*guestv1.FormField{{Name: "own.plate", Kind: "text", Label: "Number plate"}, {Name: "own.age", Kind: "number", Label: "Age"}}, Reason: &guestv1.FormReason{Kind: "property"}},
			{Name: "contact", Fields: []*guestv1.FormField{{Name: "email", Kind: "email"}, {Name: "mobile", Kind: "phone"}}},
		}},
		devices: []*guestv1.Device{
			{Id: "gse_1", Kind: "mail", Device: "iPhone", CreatedAt: at(19, 9), UsedAt: at(20, 11), Current: true},
			{Id: "gse_2", Kind: "door", Device: "Android", CreatedAt: at(20, 8), UsedAt: at(20, 8)},
			{Id: "gse_3", Kind: "new", CreatedAt: at(20, 8), UsedAt: at(20, 9)},
		},
		kiosk: &kioskv1.Kiosk{Id: "ksk_1", Name: "Lobby", Property: theProperty, Challenge: "challenge", Door: "door_1"},
	}
}

// call checks a call's token and keeps its key.
func (f *fakeAPI) call(ctx context.Context, token string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, _ := ctx.Value(fakeKey{}).(fakeCall)
	if f.fails != nil {
		return f.fails
	}
	if token != "" && (c.token != token || token == staySession && (f.canceled || f.revoked)) {
		return fault.New(fault.Unauthenticated, "", "wrong token")
	}
	if c.key != "" {
		f.keys = append(f.keys, c.key)
	}
	return nil
}

// once is call for a change. Like the service it refuses a key that was used for another request.
func (f *fakeAPI) once(ctx context.Context, r proto.Message) error {
	if err := f.call(ctx, staySession); err != nil {
		return err
	}
	c, _ := ctx.Value(fakeKey{}).(fakeCall)
	key := string(r.ProtoReflect().Descriptor().FullName()) + " " + c.key
	if before := f.sent[key]; c.key != "" && before != nil && !proto.Equal(before, r) {
		return fault.New(fault.Invalid, fault.IdempotencyKeyReused, "this key was used for another request")
	}
	f.sent[key] = proto.Clone(r)
	return nil
}

func unknown() error { return fault.New(fault.NotFound, fault.LinkInvalid, "not found") }

func (f *fakeAPI) GetLink(ctx context.Context, r *guestv1.GetLinkRequest, _ ...grpc.CallOption) (*guestv1.GetLinkResponse, error) {
	if len(r.GetLink()) > 64 {
		return nil, fault.New(fault.Invalid, fault.InvalidFields, "link: too long")
	}
	if r.GetLink() == profileLink && f.profile != nil {
		return &guestv1.GetLinkResponse{Data: &guestv1.Link{Property: theProperty, Source: "profile", Bound: f.opened}}, f.call(ctx, "")
	}
	if r.GetLink() != linkSecret {
		return nil, unknown()
	}
	if f.canceled {
		return &guestv1.GetLinkResponse{Data: &guestv1.Link{Property: theProperty, Canceled: true}}, f.call(ctx, "")
	}
	if f.renewed {
		return nil, unknown()
	}
	out := &guestv1.Link{Property: theProperty, Initial: "A", FromDate: "2026-11-21", ToDate: "2026-11-23", Bound: f.bound, SendsNoMail: f.sendsNoMail}
	if f.bound && slices.Contains(r.GetSessions(), staySession) {
		out.StayId = f.stay.GetId()
	}
	return &guestv1.GetLinkResponse{Data: out}, f.call(ctx, "")
}

func (f *fakeAPI) session() *guestv1.Session {
	return &guestv1.Session{Token: staySession, StayId: f.stay.GetId(), ExpiresAt: timestamppb.New(time.Now().Add(time.Hour))}
}

func (f *fakeAPI) BindLink(ctx context.Context, r *guestv1.BindLinkRequest, _ ...grpc.CallOption) (*guestv1.BindLinkResponse, error) {
	if r.GetLink() == profileLink && !f.opened {
		f.opened = true
		return &guestv1.BindLinkResponse{Data: &guestv1.Session{Token: profileSession, ProfilePropertyId: theProperty.GetId(), ExpiresAt: timestamppb.New(time.Now().Add(time.Hour))}}, f.call(ctx, "")
	}
	if r.GetLink() != linkSecret || f.bound || f.canceled {
		return nil, unknown()
	}
	f.bound, f.language = true, r.GetLanguage()
	return &guestv1.BindLinkResponse{Data: f.session()}, f.call(ctx, "")
}

func (f *fakeAPI) RenewLink(ctx context.Context, _ *guestv1.RenewLinkRequest, _ ...grpc.CallOption) (*guestv1.RenewLinkResponse, error) {
	f.renewed = true
	return &guestv1.RenewLinkResponse{}, f.call(ctx, "")
}

func (f *fakeAPI) GetEndedSession(ctx context.Context, r *guestv1.GetEndedSessionRequest, _ ...grpc.CallOption) (*guestv1.GetEndedSessionResponse, error) {
	if r.GetToken() != staySession || !f.canceled && !f.revoked {
		return nil, fault.New(fault.NotFound, fault.StayNotFound, "no ended session")
	}
	out := &guestv1.EndedSession{Property: theProperty, Reason: "accessEnded"}
	if f.canceled {
		out.Reason = "canceled"
	}
	return &guestv1.GetEndedSessionResponse{Data: out}, f.call(ctx, "")
}

func (f *fakeAPI) GetDoor(ctx context.Context, r *guestv1.GetDoorRequest, _ ...grpc.CallOption) (*guestv1.GetDoorResponse, error) {
	if r.GetDoor() != "door_1" {
		return nil, unknown()
	}
	return &guestv1.GetDoorResponse{Data: theProperty}, f.call(ctx, "")
}

func (f *fakeAPI) found(number, name, choice string) (*guestv1.Found, error) {
	switch {
	case number == "limit":
		return nil, fault.New(fault.Exhausted, "tooManyAttempts", "wait").Retry(9*time.Minute + time.Second)
	case number == "day":
		return nil, fault.New(fault.Exhausted, "tooManyAttempts", "wait").Retry(20 * time.Hour)
	case number != "8790" || !strings.EqualFold(name, "silva"):
		return nil, fault.New(fault.NotFound, "stayNotFound", "not found")
	case len(f.choices) > 0 && choice == "":
		return &guestv1.Found{Choices: f.choices}, nil
	}
	return &guestv1.Found{Session: f.session()}, nil
}

// fakeLinks is the LinkService: one of its methods has the name of another service's.
type fakeLinks struct{ *fakeAPI }

func (f fakeLinks) FindStay(ctx context.Context, r *guestv1.FindStayRequest, _ ...grpc.CallOption) (*guestv1.FindStayResponse, error) {
	if err := f.call(ctx, ""); err != nil {
		return nil, err
	}
	found, err := f.found(r.GetNumber(), r.GetFamilyName(), r.GetChoice())
	return &guestv1.FindStayResponse{Data: found}, err
}

type fakeKiosks struct{ *fakeAPI }

func (f fakeKiosks) EnrolKiosk(ctx context.Context, r *kioskv1.EnrolKioskRequest, _ ...grpc.CallOption) (*kioskv1.EnrolKioskResponse, error) {
	if r.GetCode() != "ABCD-EFGH" || len(r.GetPublicKey()) == 0 {
		return nil, fault.New(fault.Invalid, fault.InvalidFields, "wrong")
	}
	return &kioskv1.EnrolKioskResponse{Data: &kioskv1.Enrolled{Token: kioskToken, KioskId: "ksk_1"}}, f.call(ctx, "")
}

func (f fakeKiosks) GetKiosk(ctx context.Context, _ *kioskv1.GetKioskRequest, _ ...grpc.CallOption) (*kioskv1.GetKioskResponse, error) {
	return &kioskv1.GetKioskResponse{Data: f.kiosk}, f.call(ctx, kioskToken)
}

func (f fakeKiosks) FindStay(ctx context.Context, r *kioskv1.FindStayRequest, _ ...grpc.CallOption) (*kioskv1.FindStayResponse, error) {
	if err := f.call(ctx, kioskToken); err != nil {
		return nil, err
	}
	if r.GetChallenge() != "challenge" || len(r.GetSignature()) != 64 {
		return nil, fault.New(fault.Denied, "", "no proof")
	}
	found, err := f.found(r.GetNumber(), r.GetFamilyName(), r.GetChoice())
	return &kioskv1.FindStayResponse{Data: found}, err
}

func (f fakeKiosks) RequestHelp(ctx context.Context, _ *kioskv1.RequestHelpRequest, _ ...grpc.CallOption) (*kioskv1.RequestHelpResponse, error) {
	f.helped++
	return &kioskv1.RequestHelpResponse{}, f.call(ctx, kioskToken)
}

func (f *fakeAPI) GetStay(ctx context.Context, _ *guestv1.GetStayRequest, _ ...grpc.CallOption) (*guestv1.GetStayResponse, error) {
	stay, _ := proto.Clone(f.stay).(*guestv1.Stay)
	if c, _ := ctx.Value(fakeKey{}).(fakeCall); c.language != "" {
		stay.HouseRules += "\nIn " + c.language + "."
	}
	return &guestv1.GetStayResponse{Data: stay}, f.call(ctx, staySession)
}

func (f *fakeAPI) RevealPin(ctx context.Context, _ *guestv1.RevealPinRequest, _ ...grpc.CallOption) (*guestv1.RevealPinResponse, error) {
	if err := f.call(ctx, staySession); err != nil {
		return nil, err
	}
	f.revealed++
	if f.stay.GetAtKiosk() && f.revealed > 1 || f.pins == nil {
		return nil, fault.New(fault.Precondition, "", "shown before")
	}
	return &guestv1.RevealPinResponse{Data: f.pins}, nil
}

func (f *fakeAPI) HandOver(ctx context.Context, _ *guestv1.HandOverRequest, _ ...grpc.CallOption) (*guestv1.HandOverResponse, error) {
	if !f.stay.GetAtKiosk() || f.revealed > 0 {
		return nil, fault.New(fault.Denied, fault.MainGuestOnly, "not at a kiosk")
	}
	f.handed++
	return &guestv1.HandOverResponse{Link: "lkl_handed"}, f.call(ctx, staySession)
}

func (f *fakeAPI) CreateDeviceLink(ctx context.Context, _ *guestv1.CreateDeviceLinkRequest, _ ...grpc.CallOption) (*guestv1.CreateDeviceLinkResponse, error) {
	f.handed++
	return &guestv1.CreateDeviceLinkResponse{Link: "lkl_device", ExpiresAt: f.stay.GetTo()}, f.call(ctx, staySession)
}

func (f *fakeAPI) ListGroup(ctx context.Context, _ *guestv1.ListGroupRequest, _ ...grpc.CallOption) (*guestv1.ListGroupResponse, error) {
	return &guestv1.ListGroupResponse{Data: &guestv1.Group{List: []*guestv1.GroupRoom{
		{SpaceName: "Room 204", FromDate: "2026-11-21", State: "ready", Complete: 2, Guests: 2, Own: true}, {FromDate: "2026-11-22", State: "todo", Guests: 3},
	}}}, f.call(ctx, staySession)
}

func (f *fakeAPI) ListDevices(ctx context.Context, _ *guestv1.ListDevicesRequest, _ ...grpc.CallOption) (*guestv1.ListDevicesResponse, error) {
	return &guestv1.ListDevicesResponse{Data: &guestv1.DeviceList{List: f.devices}}, f.call(ctx, staySession)
}

func (f *fakeAPI) ListDisclosures(ctx context.Context, r *guestv1.ListDisclosuresRequest, _ ...grpc.CallOption) (*guestv1.ListDisclosuresResponse, error) {
	f.ledgerPage = r.GetPageToken()
	return &guestv1.ListDisclosuresResponse{Data: f.ledger}, f.call(ctx, staySession)
}

func (f *fakeAPI) SetLanguage(ctx context.Context, r *guestv1.SetLanguageRequest, _ ...grpc.CallOption) (*guestv1.SetLanguageResponse, error) {
	f.language = r.GetLanguage()
	return &guestv1.SetLanguageResponse{}, f.call(ctx, staySession)
}

func (f *fakeAPI) EndSession(ctx context.Context, r *guestv1.EndSessionRequest, _ ...grpc.CallOption) (*guestv1.EndSessionResponse, error) {
	if r.GetDeviceId() == "" && !r.GetOthers() {
		f.ended++
		return &guestv1.EndSessionResponse{}, f.call(ctx, staySession)
	}
	left := slices.DeleteFunc(slices.Clone(f.devices), func(d *guestv1.Device) bool {
		return d.GetId() == r.GetDeviceId() || r.GetOthers() && !d.GetCurrent()
	})
	if len(left) == len(f.devices) && !r.GetOthers() {
		return nil, fault.New(fault.NotFound, fault.DeviceNotFound, "")
	}
	f.devices = left
	return &guestv1.EndSessionResponse{}, f.call(ctx, staySession)
}

func (f *fakeAPI) GetCheckIn(ctx context.Context, _ *guestv1.GetCheckInRequest, _ ...grpc.CallOption) (*guestv1.GetCheckInResponse, error) {
	return &guestv1.GetCheckInResponse{Data: f.stay.GetCheckIn()}, f.call(ctx, staySession)
}

func (f *fakeAPI) StartCheckIn(ctx context.Context, r *guestv1.StartCheckInRequest, _ ...grpc.CallOption) (*guestv1.StartCheckInResponse, error) {
	f.language, f.ofBrowser = r.GetLanguage(), r.GetLanguageOfBrowser()
	f.stay.CheckIn.Stage = "confirmDetails"
	return &guestv1.StartCheckInResponse{Data: f.stay.GetCheckIn()}, f.call(ctx, staySession)
}

func (f *fakeAPI) AskAgain(ctx context.Context, _ *guestv1.AskAgainRequest, _ ...grpc.CallOption) (*guestv1.AskAgainResponse, error) {
	f.stay.CheckIn.Stage, f.stay.CheckIn.Stops = "ready", nil
	return &guestv1.AskAgainResponse{Data: f.stay.GetCheckIn()}, f.call(ctx, staySession)
}

func (f *fakeAPI) ConfirmDetails(ctx context.Context, _ *guestv1.ConfirmDetailsRequest, _ ...grpc.CallOption) (*guestv1.ConfirmDetailsResponse, error) {
	f.stay.CheckIn.Stage = "houseRules"
	return &guestv1.ConfirmDetailsResponse{Data: f.stay.GetCheckIn()}, f.call(ctx, staySession)
}

func (f *fakeAPI) CompleteCheckIn(ctx context.Context, _ *guestv1.CompleteCheckInRequest, _ ...grpc.CallOption) (*guestv1.CompleteCheckInResponse, error) {
	f.stay.CheckIn.Stage, f.stay.CheckIn.AcceptedAt = "waiting", timestamppb.Now()
	return &guestv1.CompleteCheckInResponse{Data: f.stay.GetCheckIn()}, f.call(ctx, staySession)
}

func (f *fakeAPI) RequestHelp(ctx context.Context, _ *guestv1.RequestHelpRequest, _ ...grpc.CallOption) (*guestv1.RequestHelpResponse, error) {
	f.helped++
	return &guestv1.RequestHelpResponse{}, f.call(ctx, staySession)
}

// start makes the PMS's update arrive.
func (f *fakeAPI) start(pin string) {
	f.stay.State, f.stay.CheckIn.Stage, f.stay.OpensAt = "started", "checkedIn", f.stay.GetFrom()
	f.stay.Doors = []*guestv1.StayDoor{{Id: "door_1", Name: "Room 204", Kind: "room", Pin: pin, PinConfirmedAt: f.stay.GetFrom()}, {Id: "gat_1", Name: "Gate", Kind: "gate"}}
}
