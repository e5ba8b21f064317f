package guest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

const profileLink, profileSession = "lkl_profile", "lks_profile"

func (f *fakeAPI) GetProperty(ctx context.Context, r *guestv1.GetPropertyRequest, _ ...grpc.CallOption) (*guestv1.GetPropertyResponse, error) {
	if id := r.GetPropertyId(); id != "" && id != theProperty.GetId() || id == "" && f.several {
		return nil, fault.New(fault.NotFound, fault.NotFoundReason, "unknown")
	}
	return &guestv1.GetPropertyResponse{Data: theProperty, SendsNoMail: f.sendsNoMail}, f.call(ctx, "")
}

func (f *fakeAPI) RequestProfileLink(ctx context.Context, r *guestv1.RequestProfileLinkRequest, _ ...grpc.CallOption) (*guestv1.RequestProfileLinkResponse, error) {
	if !strings.Contains(r.GetEmail(), "@") {
		return nil, fault.Fields(fault.Field{Path: "email", Reason: fault.BadFormat, Message: "is no address"})
	}
	f.asked = append(f.asked, r)
	return &guestv1.RequestProfileLinkResponse{}, f.call(ctx, "")
}

// A guest without a stay requests a link, opens it on one device, sees each kept answer, copies and deletes them.
func TestProfileWithoutAStay(t *testing.T) {
	f := newFake()
	b := f.client(t)
	if a := b.get("/g/profile"); a.header.Get("Location") != "/g/profile/prp_1" {
		t.Errorf("the page of the only property: %d, %v", a.status, a.header)
	}
	ask := b.shows("/g/profile/prp_1", "Enter the email address of your booking")
	if strings.Contains(ask.body, "Ana") {
		t.Error("a stranger sees a name")
	}
	wrong := b.do(http.MethodPost, "/g/profile/prp_1", url.Values{"key": {"k1"}, "email": {"ana"}})
	if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.body, `value="ana"`) || len(f.asked) != 0 {
		t.Errorf("a wrong address: %d, %s", wrong.status, wrong.body)
	}
	b.moves("/g/profile/prp_1", url.Values{"key": {"k2"}, "email": {"ana@example.com"}}, "/g/profile/prp_1?done=asked")
	b.shows("/g/profile/prp_1?done=asked", "If Hostel Miramar keeps something under this address")
	if len(f.asked) != 1 || f.asked[0].GetPropertyId() != "prp_1" || f.asked[0].GetLanguage() != "en" {
		t.Errorf("requested: %v", f.asked)
	}
	f.profile = &guestv1.KeptProfile{UpdatedAt: timestamppb.New(f.now), Person: &guestv1.Person{
		FirstName: "Ana", LastName: "Souza", BirthDate: "1990-05-02", Nationality: "PT", FurtherNationalities: []string{"BR"}, Sex: "F",
		Address:  &guestv1.PostalAddress{Street: "Rua 1", Country: "PT"},
		Document: &guestv1.TravelDocument{Type: "passport", Number: "CA12"}, Own: map[string]string{"plate": "AA-00"},
	}}
	for range 2 {
		b.shows("/g/l/"+profileLink, "The link shows the details that Hostel Miramar keeps", "Show what is kept")
	}
	b.moves("/g/l/"+profileLink, formOfLink(), "/g/profile/prp_1")
	f.client(t).shows("/g/l/"+profileLink, "This link was opened before", "Ask for a new link")
	b.shows("/g/profile/prp_1", "Ana", "Souza", "2 May 1990", "Portugal", "Brazil", "Rua 1", "Passport", "CA12", "AA-00", "last used on")
	if a := f.client(t).get("/g/profile/prp_1"); strings.Contains(a.body, "Souza") {
		t.Error("another device sees the profile")
	}
	forget := url.Values{"key": {"k3"}, "do": {"forget"}}
	b.moves("/g/profile/prp_1", forget, "/g/profile/prp_1?done=deleted")
	b.shows("/g/profile/prp_1?done=deleted", "Hostel Miramar has deleted the details")
	b.moves("/g/profile/prp_1", forget, "/g/profile/prp_1?done=ended") // a second press, or one after the session has ended
	if a := b.shows("/g/profile/prp_1?done=ended", "nothing was deleted now", "Enter the email address of your booking"); strings.Contains(a.body, "has deleted") {
		t.Error("the page says that a press without a session deleted the details")
	}
	if f.profile != nil {
		t.Error("the profile is left")
	}
	b.shows("/g/profile/prp_1", "Enter the email address of your booking")
	for _, path := range []string{"/g/profile/prp_other", "/g/profile/a%20b"} {
		if a := b.get(path); a.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	f.sendsNoMail = true
	if a := b.shows("/g/profile/prp_1", "sends no mails now"); strings.Contains(a.body, "<form method=\"post\" action=\"/g/profile") {
		t.Error("the page offers a mail that is not sent")
	}
	f.several = true
	b.shows("/g/profile", "Each property has a page of its own")
}

// The guest chooses whether an erasure covers the kept answers. It does unless the guest says otherwise, also without the choice on the page.
func TestErasureAsksAboutTheProfile(t *testing.T) {
	for choice, keeps := range map[string]bool{"": false, "delete": false, "keep": true} {
		f := newFake()
		b := f.client(t)
		b.moves("/g/l/"+linkSecret, formOfLink(), "/g/stays/rsv_1")
		f.erasure = &guestv1.Erasure{State: "none", WholeParty: true, DueAt: timestamppb.New(f.now)}
		if strings.Contains(b.shows("/g/stays/rsv_1/data", "My data").body, `name="profile"`) {
			t.Error("the page asks about a profile that does not exist")
		}
		f.profile = &guestv1.KeptProfile{Person: &guestv1.Person{FirstName: "Ana"}, UpdatedAt: timestamppb.New(f.now)}
		page := b.shows("/g/stays/rsv_1/data", "Delete them too", "Keep them for my next stay")
		if !strings.Contains(page.body, `value="delete" checked`) {
			t.Error("the page does not suggest to delete the profile")
		}
		unsure := b.do(http.MethodPost, "/g/stays/rsv_1/data", url.Values{"key": {"k1"}, "do": {"erase"}, "profile": {choice}})
		if strings.Contains(unsure.body, `value="keep" checked`) != keeps {
			t.Errorf("%q: the page forgets the choice", choice)
		}
		b.moves("/g/stays/rsv_1/data", url.Values{"key": {"k2"}, "do": {"erase"}, "sure": {"yes"}, "profile": {choice}}, "/g/erasure/"+theReceipt)
		if f.erasure.GetKeepsProfile() != keeps {
			t.Errorf("%q: keeps %t", choice, f.erasure.GetKeepsProfile())
		}
		f.erasure.State, f.erasure.FinishedAt = "done", timestamppb.New(f.now)
		if done := b.shows("/g/erasure/"+theReceipt, "Your data are erased"); strings.Contains(done.body, "/g/profile/prp_1") != keeps {
			t.Errorf("%q: the receipt is %s", choice, done.body)
		}
	}
}
