package server

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/rest"
	"latchkey.dev/internal/web"
)

// front returns the handler of the HTTP listener: Connect and gRPC-Web by service path, the documentation, the pages of guests, tablets,
// staff and operators, and REST for all other paths. A path such as /a//b also goes to REST, which answers that there is no such route.
func (s *Server) front() http.Handler {
	mux := http.NewServeMux()
	for _, p := range s.parts.connect.Paths() {
		mux.Handle(p, s.parts.connect)
	}
	for _, p := range s.parts.docs.Paths() {
		mux.Handle(p, s.parts.docs)
	}
	for _, p := range web.Paths {
		mux.Handle(p, s.parts.web)
	}
	mux.Handle("/", s.parts.rest)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// For an unclean path, the mux would redirect with an HTML page. REST answers routeNotFound instead.
		if p := r.URL.Path; p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
			s.parts.rest.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// hsts sets, in an answer over TLS to this server, a header that makes browsers use only TLS for a year from then. It sets none if a proxy
// ends TLS.
func hsts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			w.Header()["Strict-Transport-Security"] = []string{"max-age=31536000"}
		}
		next.ServeHTTP(w, r)
	})
}

// restHandler creates the REST gateway.
func (s *Server) restHandler(p *parts) (*rest.Handler, error) {
	return rest.New(rest.Config{Logger: s.log, Conn: p.local, Admit: p.chain.Admit, Register: registerREST})
}

// registerREST registers the gateway handlers of all services that have REST routes.
func registerREST(ctx context.Context, mux *runtime.ServeMux, conn grpc.ClientConnInterface) error {
	for _, err := range []error{
		partnerv1.RegisterReservationServiceHandlerClient(ctx, mux, partnerv1.NewReservationServiceClient(conn)),
		partnerv1.RegisterEndpointServiceHandlerClient(ctx, mux, partnerv1.NewEndpointServiceClient(conn)),
		partnerv1.RegisterSpaceServiceHandlerClient(ctx, mux, partnerv1.NewSpaceServiceClient(conn)),
		partnerv1.RegisterIntegrationServiceHandlerClient(ctx, mux, partnerv1.NewIntegrationServiceClient(conn)),
		partnerv1.RegisterWebhookServiceHandlerClient(ctx, mux, partnerv1.NewWebhookServiceClient(conn)),
		propertyv1.RegisterPropertyServiceHandlerClient(ctx, mux, propertyv1.NewPropertyServiceClient(conn)),
		propertyv1.RegisterSpaceServiceHandlerClient(ctx, mux, propertyv1.NewSpaceServiceClient(conn)),
		propertyv1.RegisterGateServiceHandlerClient(ctx, mux, propertyv1.NewGateServiceClient(conn)),
		propertyv1.RegisterIntegrationServiceHandlerClient(ctx, mux, propertyv1.NewIntegrationServiceClient(conn)),
		propertyv1.RegisterApiKeyServiceHandlerClient(ctx, mux, propertyv1.NewApiKeyServiceClient(conn)),
		propertyv1.RegisterMappingServiceHandlerClient(ctx, mux, propertyv1.NewMappingServiceClient(conn)),
		propertyv1.RegisterBridgeServiceHandlerClient(ctx, mux, propertyv1.NewBridgeServiceClient(conn)),
		propertyv1.RegisterLockServiceHandlerClient(ctx, mux, propertyv1.NewLockServiceClient(conn)),
		propertyv1.RegisterNoticeServiceHandlerClient(ctx, mux, propertyv1.NewNoticeServiceClient(conn)),
		propertyv1.RegisterMailServiceHandlerClient(ctx, mux, propertyv1.NewMailServiceClient(conn)),
		propertyv1.RegisterCheckInServiceHandlerClient(ctx, mux, propertyv1.NewCheckInServiceClient(conn)),
		propertyv1.RegisterSmartKeyServiceHandlerClient(ctx, mux, propertyv1.NewSmartKeyServiceClient(conn)),
		guestv1.RegisterSmartKeyServiceHandlerClient(ctx, mux, guestv1.NewSmartKeyServiceClient(conn)),
		propertyv1.RegisterCodeServiceHandlerClient(ctx, mux, propertyv1.NewCodeServiceClient(conn)),
		propertyv1.RegisterReservationServiceHandlerClient(ctx, mux, propertyv1.NewReservationServiceClient(conn)),
		propertyv1.RegisterTestStayServiceHandlerClient(ctx, mux, propertyv1.NewTestStayServiceClient(conn)),
		propertyv1.RegisterDayServiceHandlerClient(ctx, mux, propertyv1.NewDayServiceClient(conn)),
		propertyv1.RegisterKioskServiceHandlerClient(ctx, mux, propertyv1.NewKioskServiceClient(conn)),
		propertyv1.RegisterAuditServiceHandlerClient(ctx, mux, propertyv1.NewAuditServiceClient(conn)),
		propertyv1.RegisterSessionServiceHandlerClient(ctx, mux, propertyv1.NewSessionServiceClient(conn)),
		propertyv1.RegisterPasskeyServiceHandlerClient(ctx, mux, propertyv1.NewPasskeyServiceClient(conn)),
		propertyv1.RegisterIdentityServiceHandlerClient(ctx, mux, propertyv1.NewIdentityServiceClient(conn)),
		propertyv1.RegisterPersonServiceHandlerClient(ctx, mux, propertyv1.NewPersonServiceClient(conn)),
		propertyv1.RegisterGuestRegisterServiceHandlerClient(ctx, mux, propertyv1.NewGuestRegisterServiceClient(conn)),
		guestv1.RegisterLinkServiceHandlerClient(ctx, mux, guestv1.NewLinkServiceClient(conn)),
		guestv1.RegisterStayServiceHandlerClient(ctx, mux, guestv1.NewStayServiceClient(conn)),
		guestv1.RegisterMessageServiceHandlerClient(ctx, mux, guestv1.NewMessageServiceClient(conn)),
		guestv1.RegisterPrivacyServiceHandlerClient(ctx, mux, guestv1.NewPrivacyServiceClient(conn)),
		propertyv1.RegisterPrivacyServiceHandlerClient(ctx, mux, propertyv1.NewPrivacyServiceClient(conn)),
		propertyv1.RegisterMessageServiceHandlerClient(ctx, mux, propertyv1.NewMessageServiceClient(conn)),
		guestv1.RegisterFormServiceHandlerClient(ctx, mux, guestv1.NewFormServiceClient(conn)),
		guestv1.RegisterCheckInServiceHandlerClient(ctx, mux, guestv1.NewCheckInServiceClient(conn)),
		kioskv1.RegisterKioskServiceHandlerClient(ctx, mux, kioskv1.NewKioskServiceClient(conn)),
		adminv1.RegisterPropertyServiceHandlerClient(ctx, mux, adminv1.NewPropertyServiceClient(conn)),
		adminv1.RegisterAppServiceHandlerClient(ctx, mux, adminv1.NewAppServiceClient(conn)),
		adminv1.RegisterTokenServiceHandlerClient(ctx, mux, adminv1.NewTokenServiceClient(conn)),
		adminv1.RegisterOwnerServiceHandlerClient(ctx, mux, adminv1.NewOwnerServiceClient(conn)),
		adminv1.RegisterOperatorSessionServiceHandlerClient(ctx, mux, adminv1.NewOperatorSessionServiceClient(conn)),
		adminv1.RegisterInstallationServiceHandlerClient(ctx, mux, adminv1.NewInstallationServiceClient(conn)),
	} {
		if err != nil {
			return fmt.Errorf("register the REST routes: %w", err)
		}
	}
	return nil
}
