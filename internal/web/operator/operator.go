// Package operator serves the pages under /operator for the operators of the installation. They call the admin API with a session that an
// operator token opened. Sessions of staff do not open these pages.
//
// To add a page: write its handler and its template pages/NAME.html, and add its line to [site.routes]. A page in the menu also
// has a line in areas.
package operator

import (
	"embed"
	"net/http"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/web/kit"
)

// API has the clients of the API that the pages call.
type API struct {
	Sessions     adminv1.OperatorSessionServiceClient
	Installation adminv1.InstallationServiceClient
	Properties   adminv1.PropertyServiceClient
	Owners       adminv1.OwnerServiceClient
	Apps         adminv1.AppServiceClient
	Tokens       adminv1.TokenServiceClient
}

// site holds what the handlers of all pages share.
type site struct {
	*kit.Area
	api API
}

// Paths are the path patterns that the handler of [New] answers.
var Paths = []string{"/operator/"}

//go:embed pages parts
var files embed.FS

// New returns the handler of the pages under /operator. Without a session, only routes with Open work: others redirect to the sign-in page.
// The handler refuses forms that other sites post. The error is about invalid templates.
func New(k *kit.Kit, api API) (http.Handler, error) {
	area, err := k.NewArea(files, nil, kit.DeskParts)
	if err != nil {
		return nil, err
	}
	s := &site{Area: area, api: api}
	for _, r := range s.routes() {
		h := r.handle
		if !r.Open {
			h = s.requireSession(h)
		}
		s.Mux.Handle(r.Pattern, s.httpHandler(h))
	}
	s.Mux.Handle("/", s.httpHandler(s.showUnknown))
	refuse := s.httpHandler(func(x *exchange) error { return x.problem(http.StatusForbidden, "staff.problem.form") })
	return kit.Protect(kit.HandleLook(s.Mux, s.httpHandler(s.saveLook)), refuse), nil
}

// Route is one page or one action.
type Route struct {
	Pattern string
	Open    bool // works without a session
	handle  handler
}

// Routes returns all routes. A test checks with them which callers can open which page.
func Routes() []Route { return (&site{}).routes() }

// routes lists every page and action with its handler.
func (s *site) routes() []Route {
	return []Route{
		{"GET /operator/login", true, s.showLogin},
		{"POST /operator/login", true, s.login},
		{"POST /operator/logout", true, s.logout},

		{"GET /operator/{$}", false, s.showOverview},
		{"GET /operator/session", false, s.showSession},
		{"GET /operator/properties", false, s.showProperties},
		{"POST /operator/properties", false, s.createProperty},
		{"GET /operator/properties/{id}", false, s.showProperty},
		{"POST /operator/properties/{id}", false, s.changeProperty},
		{"GET /operator/properties/{id}/tokens", false, s.showStaffTokens},
		{"POST /operator/properties/{id}/tokens", false, s.changeStaffTokens},
		{"GET /operator/apps", false, s.showApps},
		{"POST /operator/apps", false, s.createApp},
		{"GET /operator/apps/{id}", false, s.showApp},
		{"POST /operator/apps/{id}", false, s.changeApp},
		{"GET /operator/tokens", false, s.showTokens},
		{"POST /operator/tokens", false, s.changeTokens},
		{"GET /operator/jobs", false, s.showJobs},
		{"POST /operator/jobs", false, s.changeJob},
	}
}

// area is an entry of the menu.
type area struct{ Name, URL string }

// areas are the entries of the menu, in this order.
var areas = []area{
	{"overview", "/operator/"},
	{"properties", "/operator/properties"},
	{"apps", "/operator/apps"},
	{"tokens", "/operator/tokens"},
	{"jobs", "/operator/jobs"},
}
