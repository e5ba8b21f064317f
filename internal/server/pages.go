package server

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/config"
	"latchkey.dev/internal/fault/envelope"
	"latchkey.dev/internal/web"
	"latchkey.dev/internal/web/guest"
	"latchkey.dev/internal/web/kit"
	"latchkey.dev/internal/web/operator"
	"latchkey.dev/internal/web/staff"
)

// webHandler creates all pages. They call the API over the in-process connection, through the same chain as every
// other client.
func (s *Server) webHandler(p *parts) (http.Handler, error) {
	return web.New(kit.Options{Logger: s.log, Secure: s.isSecure, Now: s.clock.Now, As: pageContext, Fault: envelope.FaultOf, Receive: p.chain.Receive}, guest.API{
		Links: guestv1.NewLinkServiceClient(p.local), Stays: guestv1.NewStayServiceClient(p.local), Forms: guestv1.NewFormServiceClient(p.local),
		CheckIns: guestv1.NewCheckInServiceClient(p.local), Kiosks: kioskv1.NewKioskServiceClient(p.local),
		Messages: guestv1.NewMessageServiceClient(p.local),
		Privacy:  guestv1.NewPrivacyServiceClient(p.local),
	}, staff.API{
		Passkeys: propertyv1.NewPasskeyServiceClient(p.local), Identities: knownProvider{propertyv1.NewIdentityServiceClient(p.local), p.provider},
		Sessions: propertyv1.NewSessionServiceClient(p.local), Properties: propertyv1.NewPropertyServiceClient(p.local), Days: propertyv1.NewDayServiceClient(p.local),
		Reservations: propertyv1.NewReservationServiceClient(p.local), CheckIns: propertyv1.NewCheckInServiceClient(p.local),
		Messages: propertyv1.NewMessageServiceClient(p.local), Mails: propertyv1.NewMailServiceClient(p.local), Locks: propertyv1.NewLockServiceClient(p.local),
		Events:  propertyv1.NewEventServiceClient(p.local),
		Bridges: propertyv1.NewBridgeServiceClient(p.local), Spaces: propertyv1.NewSpaceServiceClient(p.local), Gates: propertyv1.NewGateServiceClient(p.local),
		Notices: propertyv1.NewNoticeServiceClient(p.local), Codes: propertyv1.NewCodeServiceClient(p.local), Audit: propertyv1.NewAuditServiceClient(p.local),
		Mappings:     propertyv1.NewMappingServiceClient(p.local),
		Integrations: propertyv1.NewIntegrationServiceClient(p.local), Kiosks: propertyv1.NewKioskServiceClient(p.local),
		TestStays: propertyv1.NewTestStayServiceClient(p.local),
		People:    propertyv1.NewPersonServiceClient(p.local), Register: propertyv1.NewGuestRegisterServiceClient(p.local),
		Privacy:          propertyv1.NewPrivacyServiceClient(p.local),
		EnrolmentAddress: func(host string) (string, bool) { return enrolmentAddress(s.cfg, s.GRPCAddr(), host) },
	}, operator.API{
		Sessions: adminv1.NewOperatorSessionServiceClient(p.local), Installation: adminv1.NewInstallationServiceClient(p.local),
		Properties: adminv1.NewPropertyServiceClient(p.local), Owners: adminv1.NewOwnerServiceClient(p.local),
		Apps: adminv1.NewAppServiceClient(p.local), Tokens: adminv1.NewTokenServiceClient(p.local),
	})
}

// knownProvider is the client of pages for the identity service. It reads the identity provider, which is the same for all, past the rate
// limit: otherwise each view of the sign-in page would count as a call of the address, which a hotel's staff shares with its guests.
type knownProvider struct {
	propertyv1.IdentityServiceClient
	service propertyv1.IdentityServiceServer
}

// GetIdentityProvider calls the service in this process directly, without the checks and limits of other calls. It ignores call options.
func (k knownProvider) GetIdentityProvider(ctx context.Context, in *propertyv1.GetIdentityProviderRequest, _ ...grpc.CallOption) (*propertyv1.GetIdentityProviderResponse, error) {
	return k.service.GetIdentityProvider(ctx, in)
}

// enrolmentAddress returns the address at which bridges enrol, and whether they must do so without TLS, which they do on the same machine
// only. The port is that of the gRPC listener, which listens at bound. The host is that of --public-url or, without one, the host that the
// browser uses for this server: bound is of no use at another machine if the listener is bound to all addresses.
func enrolmentAddress(cfg config.Config, bound, host string) (address string, plaintext bool) {
	if public, err := url.Parse(cfg.PublicURL); err == nil && public.Hostname() != "" {
		host = public.Hostname()
	}
	_, port, _ := net.SplitHostPort(bound) // bound is the address of an open listener, which has a port
	return net.JoinHostPort(host, port), config.IsLoopback(host) && !cfg.TLS.On()
}

// pageContext returns the context with which a page calls the API: with the credential, language and options in c, and the client's
// address from r.
func pageContext(ctx context.Context, r *http.Request, c kit.Credential) context.Context {
	md := metadata.MD{}
	if c.Property != "" {
		md.Set(chain.HeaderProperty, c.Property)
	}
	if forwarded := r.Header[textproto.CanonicalMIMEHeaderKey(chain.HeaderForwardedFor)]; len(forwarded) > 0 {
		md[chain.HeaderForwardedFor] = forwarded
	}
	if c.Language != "" {
		md.Set("accept-language", c.Language)
	}
	if c.Token != "" {
		md.Set("authorization", "Bearer "+c.Token)
	}
	if c.Automatic {
		md.Set(chain.HeaderAutomatic, "1")
	}
	if c.Key != "" {
		md.Set(chain.HeaderIdempotencyKey, c.Key)
	}
	return metadata.NewOutgoingContext(chain.FromHTTP(ctx, r), md)
}

// isSecure reports whether the client uses TLS, to this server or, as the header X-Forwarded-Proto says, to a trusted proxy in front of it.
func (s *Server) isSecure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || r.Header.Get("X-Forwarded-Proto") != "https" {
		return false
	}
	for _, proxy := range s.cfg.TrustedProxies {
		if proxy.Contains(from.Addr().Unmap()) {
			return true
		}
	}
	return false
}
