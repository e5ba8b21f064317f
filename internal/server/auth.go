package server

import (
	"context"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	lockv1 "latchkey.dev/gen/latchkey/lock/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/guest"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/kiosk"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/staff"
)

// authenticators returns the function that authenticates a call, for each API area by its proto package. Each refuses the credentials of
// other areas. On the operators' socket, a call to the operators' area needs no credential, nor does one to the staff's area that names a
// property. The area of bridges accepts none.
func (s *Server) authenticators(p *parts) map[string]chain.Authenticator {
	return map[string]chain.Authenticator{
		string(partnerv1.File_latchkey_partner_v1_reservation_proto.Package()): func(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
			return p.registry.Authenticate(ctx, partner.Credentials{ClientToken: c.ClientToken, AccessToken: c.AccessToken, Bearer: c.Bearer, APIKey: c.APIKey})
		},
		string(propertyv1.File_latchkey_property_v1_property_proto.Package()): func(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
			if c.UnixSocket && c.Property != "" && hasNoCredential(c) {
				return credential.OfSocket(s.db.View(ctx), c.Property)
			}
			if keyring.IsToken(c.Bearer, keyring.PersonSession) {
				return s.authenticateSession(ctx, c)
			}
			return s.authenticateToken(ctx, c.Bearer, actor.Staff)
		},
		string(adminv1.File_latchkey_admin_v1_property_proto.Package()): func(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
			if c.UnixSocket && hasNoCredential(c) {
				return actor.Actor{Kind: actor.Operator, ID: "socket"}, nil
			}
			if keyring.IsToken(c.Bearer, keyring.OperatorSession) {
				return s.authenticateOperator(ctx, c)
			}
			return s.authenticateToken(ctx, c.Bearer, actor.Operator)
		},
		string(guestv1.File_latchkey_guest_v1_stay_proto.Package()): func(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
			return guest.Authenticate(s.db.View(ctx), s.keys, c.Bearer)
		},
		string(kioskv1.File_latchkey_kiosk_v1_kiosk_proto.Package()): func(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
			return kiosk.Authenticate(s.db.View(ctx), s.keys, c.Bearer)
		},
		string(lockv1.File_latchkey_lock_v1_bridge_proto.Package()): func(context.Context, chain.Credentials) (actor.Actor, error) {
			return actor.Actor{}, credential.Refused()
		},
	}
}

// hasNoCredential reports whether a call has no credential. A call over the operators' socket needs none, but one that was sent is
// checked.
func hasNoCredential(c chain.Credentials) bool {
	return c.Bearer+c.ClientToken+c.AccessToken+c.APIKey == ""
}

// authenticateSession returns the staff member whose session token the call has. If the stored time of its last use is old, it stores a new
// one. Automatic calls of an open page do not count as use, so that the session ends when the person does nothing for a while. If the use
// cannot be stored, the call is still allowed.
func (s *Server) authenticateSession(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
	a, err := staff.Authenticate(s.db.View(ctx), s.keys, c.Bearer, c.Property)
	if err == nil && !c.Automatic && staff.UseIsOld(a, s.clock.Now()) {
		if err := s.db.Write(ctx, func(tx *db.Tx) error { return staff.MarkUsed(tx, a) }); err != nil {
			s.log.WarnContext(ctx, "the last use of a session cannot be stored", "error", err)
		}
	}
	return a, err
}

// authenticateOperator returns the operator whose session token the call has, and stores the use of the session like authenticateSession.
func (s *Server) authenticateOperator(ctx context.Context, c chain.Credentials) (actor.Actor, error) {
	a, err := credential.AuthenticateSession(s.db.View(ctx), s.keys, c.Bearer)
	if err == nil && !c.Automatic && credential.UseIsOld(a, s.clock.Now()) {
		if err := s.db.Write(ctx, func(tx *db.Tx) error { return credential.MarkUsed(tx, a) }); err != nil {
			s.log.WarnContext(ctx, "the last use of an operator's session cannot be stored", "error", err)
		}
	}
	return a, err
}

// authenticateToken returns the actor with a token of the given kind, staff or operator. For a token of another kind it returns
// [credential.Refused].
func (s *Server) authenticateToken(ctx context.Context, token string, kind actor.Kind) (actor.Actor, error) {
	a, err := credential.Authenticate(ctx, s.db, s.keys, token)
	if err == nil && a.Kind != kind {
		err = credential.Refused()
	}
	if err != nil {
		return actor.Actor{}, err
	}
	return a, nil
}
