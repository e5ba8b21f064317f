package guest

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mobilekey"
)

// HandOver makes the link from a kiosk to the guest's phone. Its answer is a secret, so no call is stored by its idempotency key.
func (s *Stays) HandOver(ctx context.Context, _ *guestv1.HandOverRequest) (*guestv1.HandOverResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	var made guest.NewLink
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		made, err = guest.CreateHandOver(tx, s.Keys, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guestv1.HandOverResponse{Link: made.Secret, ExpiresAt: timestamppb.New(made.ExpiresAt)}, nil
}

// CreateDeviceLink makes the link to a further device of the guest. Its answer is a secret, so no call is stored by its idempotency key.
func (s *Stays) CreateDeviceLink(ctx context.Context, _ *guestv1.CreateDeviceLinkRequest) (*guestv1.CreateDeviceLinkResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	var made guest.NewLink
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		made, err = guest.CreateDeviceLink(tx, s.Keys, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guestv1.CreateDeviceLinkResponse{Link: made.Secret, ExpiresAt: timestamppb.New(made.ExpiresAt)}, nil
}

// CreateSmartKeyLink makes the link with which the caller's browser enrols. Its answer is a secret, so no call is stored by its
// idempotency key.
func (s *Stays) CreateSmartKeyLink(ctx context.Context, _ *guestv1.CreateSmartKeyLinkRequest) (*guestv1.CreateSmartKeyLinkResponse, error) {
	a, err := callerGuest(ctx)
	if err != nil {
		return nil, err
	}
	var made mobilekey.Link
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		made, err = guest.CreateKeyLink(tx, s.Keys, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guestv1.CreateSmartKeyLinkResponse{Link: made.Secret, ExpiresAt: timestamppb.New(made.Expires)}, nil
}
