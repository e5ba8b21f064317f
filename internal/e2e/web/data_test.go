package web_test

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
)

// privacy answers for the page of the guest's data.
type privacy struct {
	guestv1.PrivacyServiceClient
	script *scripted
}

func (c privacy) GetErasure(context.Context, *guestv1.GetErasureRequest, ...grpc.CallOption) (*guestv1.GetErasureResponse, error) {
	if c.script.erasure == nil {
		return nil, fault.New(fault.Denied, fault.MainGuestOnly, "")
	}
	return &guestv1.GetErasureResponse{Data: c.script.erasure}, nil
}

func (c privacy) GetErasureReceipt(context.Context, *guestv1.GetErasureReceiptRequest, ...grpc.CallOption) (*guestv1.GetErasureReceiptResponse, error) {
	return &guestv1.GetErasureReceiptResponse{Property: c.script.stay.GetProperty(), Data: c.script.erasure}, nil
}

func (c privacy) GetProfile(context.Context, *guestv1.GetProfileRequest, ...grpc.CallOption) (*guestv1.GetProfileResponse, error) {
	return &guestv1.GetProfileResponse{Data: c.script.profile}, nil
}

// erasing gives a page an erasure in a state.
func erasing(state string, afterStay, wholeParty bool) func(s *scripted) {
	return func(s *scripted) {
		s.erasure = &guestv1.Erasure{
			State: state, AfterStay: afterStay, WholeParty: wholeParty, RequestedAt: timestamppb.New(moment), DueAt: s.stay.GetTo(),
			Law: "DE", KeptUntil: "2027-11-23", Receipt: "lkr_ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		}
		if state == "done" {
			s.erasure.FinishedAt = timestamppb.New(moment)
		}
	}
}
