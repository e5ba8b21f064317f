package guest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

const theReceipt = "lkr_receipt"

func (f *fakeAPI) GetErasure(ctx context.Context, _ *guestv1.GetErasureRequest, _ ...grpc.CallOption) (*guestv1.GetErasureResponse, error) {
	if err := f.call(ctx, staySession); err != nil {
		return nil, err
	}
	if f.erasure == nil {
		return nil, fault.New(fault.Denied, fault.MainGuestOnly, "two facts")
	}
	return &guestv1.GetErasureResponse{Data: f.erasure}, nil
}

func (f *fakeAPI) ExportData(ctx context.Context, _ *guestv1.ExportDataRequest, _ ...grpc.CallOption) (*guestv1.ExportDataResponse, error) {
	if err := f.call(ctx, staySession); err != nil {
		return nil, err
	}
	return &guestv1.ExportDataResponse{Data: &guestv1.DataExport{PropertyName: "Hostel Miramar", Guests: []*guestv1.ExportedGuest{{Person: &guestv1.Person{FirstName: "Ana"}}}}}, nil
}

func (f *fakeAPI) RequestErasure(ctx context.Context, r *guestv1.RequestErasureRequest, _ ...grpc.CallOption) (*guestv1.RequestErasureResponse, error) {
	if err := f.call(ctx, staySession); err != nil {
		return nil, err
	}
	f.erasure.State, f.erasure.RequestedAt, f.erasure.Receipt, f.erasure.KeepsProfile = "requested", timestamppb.New(f.now), theReceipt, r.GetKeepProfile()
	return &guestv1.RequestErasureResponse{Data: f.erasure}, nil
}

func (f *fakeAPI) WithdrawErasure(ctx context.Context, _ *guestv1.WithdrawErasureRequest, _ ...grpc.CallOption) (*guestv1.WithdrawErasureResponse, error) {
	if err := f.call(ctx, staySession); err != nil {
		return nil, err
	}
	if f.erasure.GetState() != "requested" {
		return nil, fault.New(fault.Precondition, fault.ErasureNotPending, "none")
	}
	f.erasure.State = "none"
	return &guestv1.WithdrawErasureResponse{}, nil
}

func (f *fakeAPI) GetErasureReceipt(ctx context.Context, r *guestv1.GetErasureReceiptRequest, _ ...grpc.CallOption) (*guestv1.GetErasureReceiptResponse, error) {
	if r.GetReceipt() != theReceipt {
		return nil, fault.New(fault.NotFound, fault.NotFoundReason, "unknown")
	}
	return &guestv1.GetErasureReceiptResponse{Property: theProperty, Data: f.erasure}, f.call(ctx, "")
}

// A guest before the check-in has their data erased: the page asks whether they are sure, and the page of the receipt works without a session.
func TestErasureOnThePage(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.erasure = &guestv1.Erasure{State: "none", WholeParty: true, DueAt: timestamppb.New(f.now)}
	if !strings.Contains(b.shows("/g/stays/rsv_1", "My data").body, `href="/g/stays/rsv_1/data"`) {
		t.Error("the page of the stay has no link to the data")
	}
	b.shows("/g/stays/rsv_1/data", "everyone on this booking", "you check in at the desk", "booking system has data of its own", "They cannot be restored")
	unsure := b.do(http.MethodPost, "/g/stays/rsv_1/data", url.Values{"key": {"k1"}, "do": {"erase"}})
	if unsure.status != http.StatusUnprocessableEntity || f.erasure.GetState() != "none" {
		t.Fatalf("without the tick: %d, %s", unsure.status, f.erasure.GetState())
	}
	unsure.contains(t, "Tick this if you want your data erased")
	if !strings.Contains(unsure.body, `aria-invalid="true"`) || !strings.Contains(unsure.body, `href="#f-sure"`) {
		t.Errorf("the page does not name the box: %s", unsure.body)
	}
	b.moves("/g/stays/rsv_1/data", url.Values{"key": {"k2"}, "do": {"erase"}, "sure": {"yes"}}, "/g/erasure/"+theReceipt)
	stranger := f.client(t) // a device without a session
	stranger.shows("/g/erasure/"+theReceipt, "Your data will be erased", "Requested on")
	f.erasure.State, f.erasure.FinishedAt, f.revoked = "done", timestamppb.New(f.now), true
	f.erasure.Law, f.erasure.KeptUntil = "DE", "2027-11-23"
	done := stranger.shows("/g/erasure/"+theReceipt, "Your data are erased", "Hostel Miramar erased the data of everyone", "Germany", "23 November 2027", "Only an inspection reads it")
	if strings.Contains(done.body, "Ana") || strings.Contains(done.body, "8790") {
		t.Errorf("the page of the receipt shows personal data: %s", done.body)
	}
	if a := stranger.get("/g/erasure/lkr_other"); a.status != http.StatusNotFound {
		t.Errorf("another receipt: %d", a.status)
	}
}

func (f *fakeAPI) GetProfile(ctx context.Context, _ *guestv1.GetProfileRequest, _ ...grpc.CallOption) (*guestv1.GetProfileResponse, error) {
	return &guestv1.GetProfileResponse{Data: f.profile}, f.callForProfile(ctx)
}

func (f *fakeAPI) DeleteProfile(ctx context.Context, _ *guestv1.DeleteProfileRequest, _ ...grpc.CallOption) (*guestv1.DeleteProfileResponse, error) {
	if err := f.callForProfile(ctx); err != nil {
		return nil, err
	}
	f.profile = nil
	return &guestv1.DeleteProfileResponse{}, nil
}

// callForProfile accepts the session of a stay, and that of a link to a profile which exists.
func (f *fakeAPI) callForProfile(ctx context.Context) error {
	if c, _ := ctx.Value(fakeKey{}).(fakeCall); c.token == profileSession && f.profile != nil {
		return f.call(ctx, profileSession)
	}
	return f.call(ctx, staySession)
}

// The main guest sees that details are kept for the next stay, and deletes them. A companion has no such section.
func TestProfileOnThePage(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.profile = &guestv1.KeptProfile{Person: &guestv1.Person{FirstName: "Ana", LastName: "Souza"}, UpdatedAt: timestamppb.New(f.now)}
	f.erasure = &guestv1.Erasure{State: "none"}
	if strings.Contains(b.shows("/g/stays/rsv_1/data", "My data").body, "next stay") {
		t.Error("a companion sees the main guest's profile")
	}
	f.erasure.WholeParty = true
	if page := b.shows("/g/stays/rsv_1/data", "Kept for my next stay", "Ana Souza"); !strings.Contains(page.body, `href="/g/profile/prp_1"`) {
		t.Error("the page does not say where the guest finds the profile later")
	}
	b.moves("/g/stays/rsv_1/data", url.Values{"key": {"k1"}, "do": {"forget"}}, "/g/stays/rsv_1/data")
	if f.profile != nil || strings.Contains(b.shows("/g/stays/rsv_1/data", "My data").body, "Kept for my next stay") {
		t.Error("the profile is still kept")
	}
}

// The copy of the data is a file, which only the guest's device gets and no cache keeps.
func TestCopyOfTheData(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.erasure = &guestv1.Erasure{State: "none", WholeParty: true}
	if !strings.Contains(b.shows("/g/stays/rsv_1/data", "A copy of my data").body, `href="/g/stays/rsv_1/data/file"`) {
		t.Error("the page has no link to the file")
	}
	file := b.get("/g/stays/rsv_1/data/file")
	var copied guestv1.DataExport
	if err := protojson.Unmarshal([]byte(file.body), &copied); err != nil || copied.GetGuests()[0].GetPerson().GetFirstName() != "Ana" {
		t.Errorf("the file is %s: %v", file.body, err)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Content-Disposition": `attachment; filename="my-data.json"`, "Cache-Control": "no-store"} {
		if got := file.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if a := f.client(t).get("/g/stays/rsv_1/data/file"); a.status != http.StatusNotFound {
		t.Errorf("another device: %d", a.status)
	}
}

// A guest in house sees when their data are erased, and can change their mind. A companion erases only their own.
func TestErasureAfterTheStay(t *testing.T) {
	f := newFake()
	b := f.client(t)
	b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
	f.erasure = &guestv1.Erasure{State: "none", AfterStay: true, DueAt: f.stay.GetTo(), Law: "DE", KeptUntil: "2027-11-23"}
	b.shows("/g/stays/rsv_1/data", "The other guests of the booking keep theirs", "erased after your stay: by Mon 23 Nov, 11:00", "until 23 November 2027: Germany")
	b.moves("/g/stays/rsv_1/data", url.Values{"key": {"k1"}, "do": {"erase"}, "sure": {"yes"}}, "/g/stays/rsv_1/data")
	asked := b.shows("/g/stays/rsv_1/data", "Your data are erased by Mon 23 Nov, 11:00 at the latest", "Receipt of the erasure", "Keep my data after all")
	if !strings.Contains(asked.body, `href="/g/erasure/`+theReceipt) {
		t.Error("the page has no link to the receipt")
	}
	b.shows("/g/erasure/"+theReceipt, "Until then you can change your mind")
	for range 2 { // a second press
		b.moves("/g/stays/rsv_1/data", url.Values{"key": {"k2"}, "do": {"withdraw"}}, "/g/stays/rsv_1/data")
	}
	b.moves("/g/stays/rsv_1/data", url.Values{"key": {"k3"}}, "/g/stays/rsv_1/data")
	b.shows("/g/stays/rsv_1/data", "erased after your stay")
	f.erasure = nil
	b.shows("/g/stays/rsv_1/data", "This device found the booking at the property")
}
