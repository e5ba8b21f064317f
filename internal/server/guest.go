package server

import (
	"google.golang.org/grpc"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	guestapi "latchkey.dev/internal/api/guest"
	kioskapi "latchkey.dev/internal/api/kiosk"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/partner"
)

// registerGuest registers the services for guests' pages and for check-in tablets.
func (s *Server) registerGuest(p *parts, to grpc.ServiceRegistrar) {
	deps := guestapi.Deps{
		DB: s.db, Memory: p.memory, Keys: s.keys, Reservations: p.reservations, CheckIns: p.checkIns, MailLink: p.mails.OrderLink, MailAddress: p.mails.Address,
		MailOutlet: p.mails.Outlet,
	}
	guestv1.RegisterCheckInServiceServer(to, &guestapi.CheckIns{Deps: deps, Service: p.checkIns})
	guestv1.RegisterLinkServiceServer(to, &guestapi.Links{Deps: deps})
	guestv1.RegisterStayServiceServer(to, &guestapi.Stays{Deps: deps})
	guestv1.RegisterFormServiceServer(to, &guestapi.Forms{Deps: deps})
	guestv1.RegisterMessageServiceServer(to, &guestapi.Messages{Deps: deps, Feed: p.feed})
	guestv1.RegisterPrivacyServiceServer(to, &guestapi.Privacy{Deps: deps})
	kioskv1.RegisterKioskServiceServer(to, &kioskapi.Kiosks{DB: s.db, Memory: p.memory, Keys: s.keys, CheckIns: p.checkIns, Closed: checkInClosed})
}

// checkInClosed returns why check-in at a property's kiosks is closed, or "" if it is open.
func checkInClosed(view *db.Tx, propertyID string) (fault.Reason, error) {
	down, err := partner.IsCheckInDown(view, propertyID)
	if err != nil || !down {
		return "", err
	}
	return fault.PartnerUnavailable, nil
}
