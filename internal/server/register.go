package server

import (
	"context"
	"maps"
	"time"

	"google.golang.org/grpc"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	adminapi "latchkey.dev/internal/api/admin"
	guestapi "latchkey.dev/internal/api/guest"
	kioskapi "latchkey.dev/internal/api/kiosk"
	partnerapi "latchkey.dev/internal/api/partner"
	propertyapi "latchkey.dev/internal/api/property"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/staff"
)

// registerPartner creates the API services for partners and registers them with to. It also registers their functions with p.answers, which
// stores answers for repeated calls with an Idempotency-Key: Render completes a stored answer, StripPersonal removes what must not be
// stored.
func (s *Server) registerPartner(p *parts, to grpc.ServiceRegistrar) {
	p.partnerAPI = &partnerapi.Service{
		DB: s.db, Keys: s.keys, Answers: p.answers, Validator: p.validator, Registry: p.registry, CheckURL: p.pms.CheckURL, Tester: s.tester(p),
		ReadSpaces: p.readings.Soon, FirstSpaces: p.readings.First, KeepStays: s.cfg.KeepStays,
		TestDelivery: s.testDelivery, DeliverSoon: p.webhooks.Soon,
	}
	api := p.partnerAPI
	partnerv1.RegisterReservationServiceServer(to, api)
	partnerv1.RegisterEndpointServiceServer(to, api)
	partnerv1.RegisterSpaceServiceServer(to, api)
	partnerv1.RegisterIntegrationServiceServer(to, api)
	partnerv1.RegisterWebhookServiceServer(to, api)
	p.answers.Render[partnerv1.EndpointService_UpsertEndpoint_FullMethodName] = api.RenderEndpoint
	p.answers.Render[partnerv1.EndpointService_DeleteEndpoint_FullMethodName] = api.RenderDeleted
	p.answers.Render[partnerv1.ReservationService_ResetKeyChain_FullMethodName] = api.RenderReset
	p.answers.StripPersonal[partnerv1.ReservationService_ResetKeyChain_FullMethodName] = partnerapi.RemovePersonal
	for _, method := range []string{partnerv1.ReservationService_UpsertReservation_FullMethodName, partnerv1.ReservationService_BatchUpsertReservations_FullMethodName} {
		p.answers.Render[method], p.answers.StripPersonal[method] = api.RenderPersonal, partnerapi.RemovePersonal
	}
}

// registerStaffAndAdmin creates and registers the API services for a property's staff and for operators.
func (s *Server) registerStaffAndAdmin(p *parts, to grpc.ServiceRegistrar) {
	stays := propertyapi.Stays{Replan: p.reservations.Replan, CompleteDays: p.days.Soon}
	deps := propertyapi.Deps{
		DB: s.db, Answers: p.answers, Keys: s.keys, Validator: p.validator, Partners: p.registry, Mappings: p.spaces.Mappings, CA: p.ca, Stays: stays,
		KeepStays: s.cfg.KeepStays, KeepEvents: s.cfg.KeepEvents, KeepAudit: s.cfg.KeepAudit,
		ReadSpaces: func(ctx context.Context, propertyID, integrationID string) (message.Message, error) {
			out, err := p.spaces.ReadNow(ctx, propertyID, integrationID)
			if err != nil {
				return message.Message{}, err
			}
			return out.Problem, fault.Err(out.Failure)
		},
		TestEndpoint: s.tester(p).Test,
		Here:         p.node.Self(), Unsent: p.node.CountUnsent, OpenWithin: s.openWithin,
		SendCommand: func(ctx context.Context, o lock.UnlockCommand) (lock.Outcome, error) {
			ctx, end := s.span(ctx, "act on a lock")
			began := time.Now()
			done, err := p.node.SendCommand(ctx, o)
			s.measures.recordUnlock(began, done, err)
			end(err)
			return done, err
		},
	}
	services := propertyapi.New(deps)
	propertyv1.RegisterPropertyServiceServer(to, services.Property)
	propertyv1.RegisterSpaceServiceServer(to, services.Space)
	propertyv1.RegisterGateServiceServer(to, services.Gate)
	propertyv1.RegisterIntegrationServiceServer(to, services.Integration)
	propertyv1.RegisterApiKeyServiceServer(to, services.APIKey)
	propertyv1.RegisterMappingServiceServer(to, services.Mapping)
	propertyv1.RegisterBridgeServiceServer(to, services.Bridge)
	propertyv1.RegisterLockServiceServer(to, services.Lock)
	propertyv1.RegisterNoticeServiceServer(to, services.Notice)
	propertyv1.RegisterCodeServiceServer(to, services.Code)
	propertyv1.RegisterReservationServiceServer(to, services.Reservation)
	propertyv1.RegisterMailServiceServer(to, propertyapi.NewMails(deps, propertyapi.Mails{Preview: p.invitations.Preview, Switch: p.invitations.Switch, Test: p.mails.Test, Resend: p.mails.Resend, TakeBounce: p.mails.TakeBounce, Listed: p.mailServers.Lists}))
	propertyv1.RegisterKioskServiceServer(to, services.Kiosk)
	propertyv1.RegisterGuestRegisterServiceServer(to, services.Register)
	propertyv1.RegisterAuditServiceServer(to, services.Audit)
	propertyv1.RegisterPrivacyServiceServer(to, services.Privacy)
	propertyv1.RegisterTestStayServiceServer(to, services.TestStay)
	propertyv1.RegisterMessageServiceServer(to, &propertyapi.Messages{Deps: deps, Feed: p.feed})
	propertyv1.RegisterEventServiceServer(to, &propertyapi.Events{Feed: p.changes})
	for method, render := range propertyapi.Renderers(deps) {
		p.answers.Render[method] = render
	}
	maps.Copy(p.answers.StripPersonal, propertyapi.StripPersonal())
	propertyv1.RegisterDayServiceServer(to, &propertyapi.Days{Deps: deps, CheckIns: p.checkIns})
	propertyv1.RegisterCheckInServiceServer(to, &propertyapi.CheckIns{Deps: deps, Service: p.checkIns, MailLink: p.mails.OrderLink, GuestAddress: p.mails.GuestAddress})
	s.registerSmartKeys(p, to, deps)
	sessions := propertyapi.Sessions{Deps: deps, Staff: &staff.Service{DB: s.db, Keys: s.keys, Failed: p.failures, PublicURL: s.PublicURL, IdentityURL: s.identityURL, Provider: p.identities}}
	propertyv1.RegisterSessionServiceServer(to, &sessions)
	propertyv1.RegisterPasskeyServiceServer(to, &propertyapi.Passkeys{Sessions: sessions})
	p.provider = &propertyapi.Identities{Sessions: sessions}
	propertyv1.RegisterIdentityServiceServer(to, p.provider)
	propertyv1.RegisterPersonServiceServer(to, &propertyapi.People{Deps: deps, URL: s.invitationURL, Mail: p.mails.OrderJoin})
	operators := adminapi.New(adminapi.Deps{DB: s.db, Answers: p.answers, Keys: s.keys, Validator: p.validator, Partners: p.registry, Stays: stays, OwnerURL: s.ownerURL, Describe: s.describe, Jobs: s.jobs})
	adminv1.RegisterPropertyServiceServer(to, operators.Property)
	adminv1.RegisterAppServiceServer(to, operators.App)
	adminv1.RegisterTokenServiceServer(to, operators.Token)
	adminv1.RegisterOwnerServiceServer(to, operators.Owner)
	adminv1.RegisterOperatorSessionServiceServer(to, operators.Session)
	adminv1.RegisterInstallationServiceServer(to, operators.Installation)
}

// registerSmartKeys registers the SmartKey services for phones and for staff.
func (s *Server) registerSmartKeys(p *parts, to grpc.ServiceRegistrar, staff propertyapi.Deps) {
	propertyv1.RegisterSmartKeyServiceServer(to, propertyapi.NewSmartKeys(staff))
	guestv1.RegisterSmartKeyServiceServer(to, &guestapi.SmartKeys{DB: s.db, Keys: s.keys, Here: p.node.Self(), Greeting: p.node.Greet, SendCommand: staff.SendCommand, Unsent: staff.Unsent, OpenWithin: s.openWithin})
}

// registerGuest registers the services for guests' pages and for check-in tablets.
func (s *Server) registerGuest(p *parts, to grpc.ServiceRegistrar) {
	deps := guestapi.Deps{
		DB: s.db, Answers: p.answers, Keys: s.keys, Reservations: p.reservations, CheckIns: p.checkIns, MailLink: p.mails.OrderLink, MailAddress: p.mails.Address, ReadyAddress: p.mails.ReadyAddress,
		MailOutlet: p.mails.Outlet, MailProfile: p.mails.OrderProfile,
	}
	guestv1.RegisterCheckInServiceServer(to, &guestapi.CheckIns{Deps: deps, Service: p.checkIns})
	guestv1.RegisterLinkServiceServer(to, &guestapi.Links{Deps: deps})
	guestv1.RegisterStayServiceServer(to, &guestapi.Stays{Deps: deps})
	guestv1.RegisterFormServiceServer(to, &guestapi.Forms{Deps: deps})
	guestv1.RegisterMessageServiceServer(to, &guestapi.Messages{Deps: deps, Feed: p.feed})
	guestv1.RegisterPrivacyServiceServer(to, &guestapi.Privacy{Deps: deps})
	kioskv1.RegisterKioskServiceServer(to, &kioskapi.Kiosks{DB: s.db, Answers: p.answers, Keys: s.keys, CheckIns: p.checkIns, Closed: partner.CheckInClosed})
}
