package staff

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/staff"
	"latchkey.dev/internal/web/kit"
)

// fakeAPI is an API with one person, one property and one reservation.
type fakeAPI struct {
	propertyv1.SessionServiceClient
	propertyv1.PropertyServiceClient
	propertyv1.ReservationServiceClient
	propertyv1.CheckInServiceClient
	propertyv1.MailServiceClient
	propertyv1.AuditServiceClient
	propertyv1.PersonServiceClient
	propertyv1.CodeServiceClient
	propertyv1.NoticeServiceClient
	propertyv1.LockServiceClient
	propertyv1.BridgeServiceClient
	propertyv1.IntegrationServiceClient

	role         staff.Role // of the person
	stay         *propertyv1.Reservation
	checkIn      *propertyv1.StaffCheckIn
	guests       []*propertyv1.GuestData
	entries      int64 // of the audit log
	code         *propertyv1.GetCodeResponse
	openProblems int32
	bridges      []*propertyv1.Bridge
	apps         []*propertyv1.App
	integrations []*propertyv1.Integration
	locks        []*propertyv1.Lock
	doors        []*partnerv1.ExplainedDoor // of the reservation
	refuses      error                      // why the actions about the access of a stay, and the sign-up of an owner, fail; or nil
}

func (f *fakeAPI) GetSession(context.Context, *propertyv1.GetSessionRequest, ...grpc.CallOption) (*propertyv1.GetSessionResponse, error) {
	at := &propertyv1.PersonProperty{PropertyId: "prp_1", Name: "Hostel Miramar", Role: string(f.role)}
	for _, r := range staff.RightsOf(f.role) {
		at.Rights = append(at.Rights, string(r))
	}
	return &propertyv1.GetSessionResponse{Data: &propertyv1.CurrentSession{Properties: []*propertyv1.PersonProperty{at}}}, nil
}

func (f *fakeAPI) GetProperty(context.Context, *propertyv1.GetPropertyRequest, ...grpc.CallOption) (*propertyv1.GetPropertyResponse, error) {
	return &propertyv1.GetPropertyResponse{Data: &propertyv1.Property{Id: "prp_1", Name: "Hostel Miramar", TimeZone: "Europe/Lisbon"}}, nil
}

func (f *fakeAPI) ListReservations(_ context.Context, r *propertyv1.ListReservationsRequest, _ ...grpc.CallOption) (*propertyv1.ListReservationsResponse, error) {
	list := &propertyv1.ReservationList{}
	if slices.Contains(r.GetIds(), f.stay.GetId()) {
		list.List = append(list.List, f.stay)
	}
	return &propertyv1.ListReservationsResponse{Data: list}, nil
}

func (f *fakeAPI) ExplainReservation(context.Context, *propertyv1.ExplainReservationRequest, ...grpc.CallOption) (*propertyv1.ExplainReservationResponse, error) {
	return &propertyv1.ExplainReservationResponse{Data: &partnerv1.Explanation{Doors: f.doors}}, nil
}

func (f *fakeAPI) GetCheckIn(context.Context, *propertyv1.GetCheckInRequest, ...grpc.CallOption) (*propertyv1.GetCheckInResponse, error) {
	return &propertyv1.GetCheckInResponse{Data: f.checkIn}, nil
}

func (f *fakeAPI) ListMails(context.Context, *propertyv1.ListMailsRequest, ...grpc.CallOption) (*propertyv1.ListMailsResponse, error) {
	return &propertyv1.ListMailsResponse{}, nil
}

func (f *fakeAPI) ListGuests(context.Context, *propertyv1.ListGuestsRequest, ...grpc.CallOption) (*propertyv1.ListGuestsResponse, error) {
	return &propertyv1.ListGuestsResponse{Data: &propertyv1.GuestList{List: f.guests}}, nil
}

func (f *fakeAPI) ListEntries(context.Context, *propertyv1.ListEntriesRequest, ...grpc.CallOption) (*propertyv1.ListEntriesResponse, error) {
	return &propertyv1.ListEntriesResponse{}, nil
}

// VerifyEntries verifies 20,000 entries, as the API does.
func (f *fakeAPI) VerifyEntries(_ context.Context, r *propertyv1.VerifyEntriesRequest, _ ...grpc.CallOption) (*propertyv1.VerifyEntriesResponse, error) {
	report := &propertyv1.AuditReport{FirstSeq: 1, LastSeq: f.entries}
	if next := max(r.GetFromSeq(), 1) + 20_000; next <= f.entries {
		report.NextSeq = next
	}
	return &propertyv1.VerifyEntriesResponse{Data: report}, nil
}

func (f *fakeAPI) ListPeople(context.Context, *propertyv1.ListPeopleRequest, ...grpc.CallOption) (*propertyv1.ListPeopleResponse, error) {
	return &propertyv1.ListPeopleResponse{}, nil
}

func (f *fakeAPI) GetCode(context.Context, *propertyv1.GetCodeRequest, ...grpc.CallOption) (*propertyv1.GetCodeResponse, error) {
	return f.code, nil
}

func (f *fakeAPI) ListNotices(context.Context, *propertyv1.ListNoticesRequest, ...grpc.CallOption) (*propertyv1.ListNoticesResponse, error) {
	return &propertyv1.ListNoticesResponse{Data: &propertyv1.NoticeList{Open: f.openProblems, MoreOpen: f.openProblems == 200}}, nil
}

func (f *fakeAPI) ListLocks(context.Context, *propertyv1.ListLocksRequest, ...grpc.CallOption) (*propertyv1.ListLocksResponse, error) {
	return &propertyv1.ListLocksResponse{Data: &propertyv1.LockList{List: f.locks}}, nil
}

func (f *fakeAPI) UnlockLock(context.Context, *propertyv1.UnlockLockRequest, ...grpc.CallOption) (*propertyv1.UnlockLockResponse, error) {
	return &propertyv1.UnlockLockResponse{Data: &propertyv1.Act{Result: "opened"}}, nil
}

func (f *fakeAPI) ListBridges(context.Context, *propertyv1.ListBridgesRequest, ...grpc.CallOption) (*propertyv1.ListBridgesResponse, error) {
	return &propertyv1.ListBridgesResponse{Data: &propertyv1.BridgeList{List: f.bridges}}, nil
}

func (f *fakeAPI) CreateBridge(context.Context, *propertyv1.CreateBridgeRequest, ...grpc.CallOption) (*propertyv1.CreateBridgeResponse, error) {
	return &propertyv1.CreateBridgeResponse{Data: f.bridges[0], JoinCode: "lkj_1"}, nil
}

func (f *fakeAPI) ExtendAccess(context.Context, *propertyv1.ExtendAccessRequest, ...grpc.CallOption) (*propertyv1.ExtendAccessResponse, error) {
	return &propertyv1.ExtendAccessResponse{}, f.refuses
}

func (f *fakeAPI) RevealPin(context.Context, *propertyv1.RevealPinRequest, ...grpc.CallOption) (*propertyv1.RevealPinResponse, error) {
	return &propertyv1.RevealPinResponse{Data: &propertyv1.StayPins{Pin: "123456"}}, f.refuses
}

func (f *fakeAPI) CreateFirstOwner(context.Context, *propertyv1.CreateFirstOwnerRequest, ...grpc.CallOption) (*propertyv1.CreateFirstOwnerResponse, error) {
	return nil, f.refuses
}

func (f *fakeAPI) ListApps(context.Context, *propertyv1.ListAppsRequest, ...grpc.CallOption) (*propertyv1.ListAppsResponse, error) {
	return &propertyv1.ListAppsResponse{Data: &propertyv1.AppList{List: f.apps}}, nil
}

func (f *fakeAPI) ListIntegrations(context.Context, *propertyv1.ListIntegrationsRequest, ...grpc.CallOption) (*propertyv1.ListIntegrationsResponse, error) {
	return &propertyv1.ListIntegrationsResponse{Data: &propertyv1.IntegrationList{List: f.integrations}}, nil
}

func fakeFault(err error) *fault.Fault {
	if err == nil {
		return nil
	}
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		return f
	}
	return fault.New(fault.Internal, "", "%s", err.Error())
}

// get returns the status and the body of a page that a signed-in person reads in a language.
func (f *fakeAPI) get(t *testing.T, path, language string) (int, string) {
	t.Helper()
	w := f.send(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil), language)
	return w.Code, w.Body.String()
}

// post returns the response to a form that a signed-in person posts in English.
func (f *fakeAPI) post(t *testing.T, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	form.Set("key", strings.Repeat("A", 26))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return f.send(t, r, "en")
}

// send returns the response to a request of a signed-in person.
func (f *fakeAPI) send(t *testing.T, r *http.Request, language string) *httptest.ResponseRecorder {
	t.Helper()
	return sendTo(t, API{
		Sessions: f, Properties: f, Reservations: f, CheckIns: f, Mails: f, Audit: f, People: f, Codes: f, Notices: f, Locks: f, Bridges: f, Integrations: f,
		EnrolmentAddress: func(host string) (string, bool) { return host + ":17070", true },
	}, r, language)
}

// sendTo returns the response to a request of a person with a session cookie.
func sendTo(t *testing.T, api API, r *http.Request, language string) *httptest.ResponseRecorder {
	t.Helper()
	k, err := kit.New(kit.Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Secure: func(*http.Request) bool { return false }, Fault: fakeFault, Now: func() time.Time { return noon },
		As: func(ctx context.Context, _ *http.Request, _ kit.Credential) context.Context { return ctx },
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := New(k, api)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: "lkx_1"})
	r.Header.Set("Accept-Language", language)
	pages.ServeHTTP(w, r)
	return w
}
