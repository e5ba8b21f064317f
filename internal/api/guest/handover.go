package guest

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/mobilekey"
)

// HandOver creates the link with which a guest at a kiosk continues on one phone. It refuses a session that is not at a kiosk. It also
// fails after the session has shown the PIN, and after a phone has used a link of the session. The answer is a secret, so it is not stored
// under an Idempotency-Key; a new link replaces the former one.
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

// CreateDeviceLink creates the link with which a guest who used a mailed link opens the stay on a further device. It refuses any other
// session. The answer is a secret, so it is not stored under an Idempotency-Key; a new link replaces the former one.
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

// CreateSmartKeyLink creates the link with which the caller's browser gets a SmartKey, which ends with the session. A new link replaces the
// session's former unused one. It refuses a kiosk's session, and one that cannot see the PIN. The answer is a secret, so it is not stored
// under an Idempotency-Key.
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
