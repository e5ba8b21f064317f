package guest

import (
	"cmp"
	"context"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
)

// Privacy implements PrivacyService.
type Privacy struct {
	guestv1.UnimplementedPrivacyServiceServer
	Deps
}

// GetErasure returns the progress of the pending erasure of the caller's data, or what a request for it would erase. It needs a session
// with the mailed link.
func (s *Privacy) GetErasure(ctx context.Context, _ *guestv1.GetErasureRequest) (*guestv1.GetErasureResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.loadPartyAtUse(ctx, a)
	if err != nil {
		return nil, err
	}
	e, err := guest.ErasureOf(s.DB.View(ctx), p, a)
	if err != nil {
		return nil, err
	}
	return &guestv1.GetErasureResponse{Data: convert.Erasure(e, e.Receipt(s.Keys))}, nil
}

// RequestErasure requests the erasure of the caller's data, for the main guest those of the whole party. It needs a session with the mailed
// link. With keep_profile, which is ignored unless the main guest sets it, the answers kept for the next stay remain. While a request is
// pending, another one changes nothing.
func (s *Privacy) RequestErasure(ctx context.Context, r *guestv1.RequestErasureRequest) (*guestv1.RequestErasureResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.RequestErasureResponse, error) {
		e, err := guest.RequestErasure(tx, s.Keys, a, r.GetKeepProfile())
		if err != nil {
			return nil, err
		}
		return &guestv1.RequestErasureResponse{Data: convert.Erasure(e, e.Receipt(s.Keys))}, nil
	})
}

// WithdrawErasure withdraws the pending request for an erasure of the caller's data, also one that staff made. It needs a session with the
// mailed link, and fails if none is pending.
func (s *Privacy) WithdrawErasure(ctx context.Context, _ *guestv1.WithdrawErasureRequest) (*guestv1.WithdrawErasureResponse, error) {
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.WithdrawErasureResponse, error) {
		return &guestv1.WithdrawErasureResponse{}, guest.WithdrawErasure(tx, a)
	})
}

// GetProfile returns the caller's answers that the property keeps for the next stay, if there are any. The caller has a session of the link
// to these answers, or the main guest's session of a stay, with the mailed link; it refuses any other session.
func (s *Privacy) GetProfile(ctx context.Context, _ *guestv1.GetProfileRequest) (*guestv1.GetProfileResponse, error) {
	if a, ok := callerOfProfile(ctx); ok {
		kept, err := s.openedProfile(s.DB.View(ctx), a)
		return &guestv1.GetProfileResponse{Data: kept}, err
	}
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.loadPartyAtUse(ctx, a)
	if err != nil {
		return nil, err
	}
	answers, at, err := guest.ProfileOf(s.DB.View(ctx), s.Keys, p, a)
	return &guestv1.GetProfileResponse{Data: convert.KeptProfile(answers, at)}, err
}

// DeleteProfile deletes the caller's answers that the property keeps for the next stay, if there are any. A session of a stay must be the
// main guest's, with the mailed link; one of the link to these answers ends too.
func (s *Privacy) DeleteProfile(ctx context.Context, _ *guestv1.DeleteProfileRequest) (*guestv1.DeleteProfileResponse, error) {
	if a, ok := callerOfProfile(ctx); ok {
		return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*guestv1.DeleteProfileResponse, error) {
			return &guestv1.DeleteProfileResponse{}, guest.DeleteOpenedProfile(tx, a)
		})
	}
	return writeAsGuest(ctx, s.Deps, func(tx *db.Tx, a actor.Actor) (*guestv1.DeleteProfileResponse, error) {
		return &guestv1.DeleteProfileResponse{}, guest.DeleteProfile(tx, s.Keys, a)
	})
}

// ExportData returns a copy of the caller's data; for a session of the link to a kept profile, only that profile. It refuses a session of a
// stay without the mailed link.
func (s *Privacy) ExportData(ctx context.Context, _ *guestv1.ExportDataRequest) (*guestv1.ExportDataResponse, error) {
	if a, ok := callerOfProfile(ctx); ok {
		out, err := s.exportProfile(ctx, a)
		return &guestv1.ExportDataResponse{Data: out}, err
	}
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.loadPartyAtUse(ctx, a)
	if err != nil {
		return nil, err
	}
	out, err := convert.Export(s.DB.View(ctx), s.Keys, p, a)
	if err != nil {
		return nil, err
	}
	return &guestv1.ExportDataResponse{Data: out}, nil
}

// GetErasureReceipt returns the progress of the erasure that a receipt names. It needs no session, and fails for an unknown receipt.
func (s *Privacy) GetErasureReceipt(ctx context.Context, r *guestv1.GetErasureReceiptRequest) (*guestv1.GetErasureReceiptResponse, error) {
	view := s.DB.View(ctx)
	e, err := guest.FindReceipt(view, s.Keys, r.GetReceipt())
	if err != nil {
		return nil, err
	}
	face, _, err := faceOf(view, e.Row.PropertyID)
	if err != nil {
		return nil, err
	}
	return &guestv1.GetErasureReceiptResponse{Property: face, Data: convert.Erasure(e, r.GetReceipt())}, nil
}

// usualDisclosures is the number of lines on a page if the request sets none.
const usualDisclosures = 100

// ListDisclosures returns a page of the ledger of disclosures: which partners read which data of the guests that the caller sees. If the
// session may not access the stay (Party.MayAccess), the answer has no lines and Partial is true.
func (s *Stays) ListDisclosures(ctx context.Context, r *guestv1.ListDisclosuresRequest) (*guestv1.ListDisclosuresResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.loadPartyAtUse(ctx, a)
	if err != nil {
		return nil, err
	}
	out := &guestv1.DisclosureList{Partial: !p.MayAccess(a)}
	if !out.Partial {
		page := guest.LedgerPage{Size: cmp.Or(int(r.GetPageSize()), usualDisclosures), Token: r.GetPageToken()}
		out.List, out.NextPageToken, err = convert.Disclosures(s.DB.View(ctx), p, a, page)
		out.More = out.GetNextPageToken() != ""
	}
	return &guestv1.ListDisclosuresResponse{Data: out}, err
}
