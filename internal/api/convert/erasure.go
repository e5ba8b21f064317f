package convert

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/guest"
)

// Erasure converts how far an erasure is. receipt is its receipt, or empty.
func Erasure(e guest.Erasure, receipt string) *guestv1.Erasure {
	out := &guestv1.Erasure{
		State: "none", WholeParty: e.GuestID == "", AfterStay: e.AfterStay, DueAt: Time(e.DueAt), Law: e.Law, KeptUntil: e.KeptOn(), Receipt: receipt,
	}
	if e.Row == nil {
		return out
	}
	out.State, out.RequestedAt = "requested", timestamppb.New(e.Row.CreatedAt)
	if e.Row.FinishedAt != nil {
		out.State, out.FinishedAt = "done", timestamppb.New(*e.Row.FinishedAt)
	}
	return out
}
