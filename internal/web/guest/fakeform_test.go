package guest

import (
	"context"
	"maps"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

func (f *fakeAPI) GetForm(ctx context.Context, r *guestv1.GetFormRequest, _ ...grpc.CallOption) (*guestv1.GetFormResponse, error) {
	if r.GetGuestId() == "gst_9" || r.GetGuestId() == "" {
		return nil, unknown()
	}
	form, _ := proto.Clone(f.form).(*guestv1.Form)
	form.GuestId, form.Next = r.GetGuestId(), ""
	for _, s := range form.GetSteps() {
		for _, q := range s.GetFields() {
			if v, ok := f.answers[q.GetName()]; ok {
				q.Value = v
			}
			if q.GetRequired() && q.GetValue() == "" && form.GetNext() == "" {
				form.Next = s.GetName()
			}
		}
	}
	return &guestv1.GetFormResponse{Data: form}, f.call(ctx, staySession)
}

func (f *fakeAPI) ListForms(ctx context.Context, _ *guestv1.ListFormsRequest, _ ...grpc.CallOption) (*guestv1.ListFormsResponse, error) {
	out := &guestv1.ListFormsResponse{}
	for _, g := range f.stay.GetGuests() {
		got, err := f.GetForm(ctx, &guestv1.GetFormRequest{GuestId: g.GetId()})
		if err != nil {
			return nil, err
		}
		out.Data = append(out.Data, got.GetData())
	}
	return out, nil
}

func (f *fakeAPI) SaveStep(ctx context.Context, r *guestv1.SaveStepRequest, _ ...grpc.CallOption) (*guestv1.SaveStepResponse, error) {
	if err := f.once(ctx, r); err != nil {
		return nil, err
	}
	if f.stay.GetState() == "processed" {
		return nil, fault.New(fault.Precondition, fault.StayEnded, "the stay has ended")
	}
	f.language, f.ofBrowser = r.GetLanguage(), r.GetLanguageOfBrowser()
	if f.shownOnce {
		return nil, fault.New(fault.Aborted, fault.ShownOnce, "the answer was shown once")
	}
	if wrong := f.wrong; len(wrong) > 0 {
		f.wrong = nil
		return nil, fault.Fields(wrong...)
	}
	maps.Copy(f.answers, r.GetAnswers())
	got, err := f.GetForm(ctx, &guestv1.GetFormRequest{GuestId: r.GetGuestId()})
	return &guestv1.SaveStepResponse{Data: got.GetData()}, err
}

func (f *fakeAPI) SetParty(ctx context.Context, r *guestv1.SetPartyRequest, _ ...grpc.CallOption) (*guestv1.SetPartyResponse, error) {
	if r.GetAdultCount() > 8 {
		return nil, fault.Fields(fault.Field{Path: "adultCount", Reason: fault.TooMany}).Put("limit", "8")
	}
	if r.GetAdultCount() < 1 || r.GetChildCount() < 0 {
		return nil, fault.Fields(fault.Field{Path: "adultCount", Reason: fault.OutOfRange})
	}
	f.stay.AdultCount, f.stay.ChildCount = r.GetAdultCount(), r.GetChildCount()
	if companion := f.stay.GetGuests()[1:]; r.GetAdultCount() == 1 && len(companion) > 0 && !companion[0].GetInvited() { // one with a link stays
		f.stay.Guests, f.stay.CheckIn = f.stay.GetGuests()[:1], &guestv1.CheckIn{Stage: "confirmDetails"}
	}
	return &guestv1.SetPartyResponse{}, f.call(ctx, staySession)
}

func (f *fakeAPI) SetMailAddress(ctx context.Context, r *guestv1.SetMailAddressRequest, _ ...grpc.CallOption) (*guestv1.SetMailAddressResponse, error) {
	if r.GetEmail() == "" || strings.HasSuffix(r.GetEmail(), "booking.com") {
		return nil, fault.Fields(fault.Field{Path: "email", Reason: fault.NotAnAddress})
	}
	f.stay.NeedsMailAddress = false
	return &guestv1.SetMailAddressResponse{}, f.call(ctx, staySession)
}

func (f *fakeAPI) InviteCompanion(ctx context.Context, r *guestv1.InviteCompanionRequest, _ ...grpc.CallOption) (*guestv1.InviteCompanionResponse, error) {
	if f.minorCompanion {
		return nil, fault.New(fault.Precondition, fault.MinorNeedsAdult, "fill in the main guest's date of birth first")
	}
	if f.kept {
		return nil, fault.New(fault.Denied, fault.NotYourAnswer, "this guest has answered")
	}
	if r.GetEmail() == "" {
		return &guestv1.InviteCompanionResponse{Link: "lkl_passed", ExpiresAt: f.stay.GetTo()}, f.call(ctx, staySession)
	}
	if !strings.Contains(r.GetEmail(), "@") {
		return nil, fault.Fields(fault.Field{Path: "email", Message: "wrong"})
	}
	return &guestv1.InviteCompanionResponse{}, f.call(ctx, staySession)
}

func (f *fakeAPI) RemoveCompanion(ctx context.Context, _ *guestv1.RemoveCompanionRequest, _ ...grpc.CallOption) (*guestv1.RemoveCompanionResponse, error) {
	if f.kept {
		return nil, fault.New(fault.Denied, fault.NotYourAnswer, "this guest has answered")
	}
	f.stay.Guests = f.stay.GetGuests()[:1]
	return &guestv1.RemoveCompanionResponse{}, f.call(ctx, staySession)
}

func (f *fakeAPI) SetArrival(ctx context.Context, r *guestv1.SetArrivalRequest, _ ...grpc.CallOption) (*guestv1.SetArrivalResponse, error) {
	if _, err := time.Parse("15:04", r.GetTime()); err != nil && r.GetTime() != "" {
		return nil, fault.Fields(fault.Field{Path: "time", Reason: fault.OutOfRange})
	}
	f.stay.ArrivalTime = r.GetTime()
	return &guestv1.SetArrivalResponse{}, f.call(ctx, staySession)
}

func (f *fakeAPI) AcceptHouseRules(ctx context.Context, _ *guestv1.AcceptHouseRulesRequest, _ ...grpc.CallOption) (*guestv1.AcceptHouseRulesResponse, error) {
	f.stay.HouseRulesAcceptedAt = timestamppb.Now()
	if f.stay.GetCheckIn().GetStage() == "houseRules" {
		f.stay.CheckIn.Stage = "ready"
	}
	return &guestv1.AcceptHouseRulesResponse{}, f.call(ctx, staySession)
}

func (f *fakeAPI) SetSharing(ctx context.Context, r *guestv1.SetSharingRequest, _ ...grpc.CallOption) (*guestv1.SetSharingResponse, error) {
	if err := f.once(ctx, r); err != nil {
		return nil, err
	}
	for _, g := range f.stay.GetGuests() {
		for _, m := range r.GetMinors() {
			if g.GetId() == m.GetGuestId() {
				g.SharedGroups = m.GetGroups()
			}
		}
	}
	for _, g := range f.stay.GetShared() {
		on := strings.Contains(strings.Join(r.GetGroups(), " "), g.GetName())
		g.Shared = &on
	}
	return &guestv1.SetSharingResponse{}, nil
}
