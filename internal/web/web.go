// Package web serves the pages of guests and check-in tablets. A page calls the same API as every other client: it holds generated
// clients, and no part of the domain. Every page works without script, except the enrolment of a tablet and the search on it, which
// need its key.
package web

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/fault"
)

// API is what pages call.
type API struct {
	Links    guestv1.LinkServiceClient
	Stays    guestv1.StayServiceClient
	Forms    guestv1.FormServiceClient
	CheckIns guestv1.CheckInServiceClient
	Kiosks   kioskv1.KioskServiceClient
	// As returns the context of a call for a request: with its client's address, a bearer token and an idempotency key. Both may be empty.
	As func(ctx context.Context, r *http.Request, token, key string) context.Context
	// Fault returns the fault of a call's error.
	Fault func(error) *fault.Fault
}

// Options are the settings of the pages.
type Options struct {
	Logger *slog.Logger
	// Secure reports whether the client uses TLS. Cookies are then bound to the host.
	Secure func(*http.Request) bool
	Now    func() time.Time
}

// site is the handler of all pages.
type site struct {
	api    API
	log    *slog.Logger
	secure func(*http.Request) bool
	now    func() time.Time
	pages  map[string]*template.Template
	files  *assets
	mux    *http.ServeMux
	// languages are those that guests choose from.
	languages languages
}

// Paths are the patterns of the paths that the pages need.
var Paths = []string{"/g/", "/k/", "/q/", "/static/", "/theme/"}

// New returns the handler of the pages.
func New(api API, o Options) (http.Handler, error) {
	if api.As == nil || api.Fault == nil || o.Logger == nil || o.Secure == nil || o.Now == nil {
		return nil, errors.New("web: As, Fault, Logger, Secure and Now are required")
	}
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	s := &site{api: api, log: o.Logger, secure: o.Secure, now: o.Now, pages: pages, files: files, mux: http.NewServeMux(), languages: newLanguages()}
	for pattern, h := range s.routes() {
		s.mux.Handle(pattern, s.httpHandler(h))
	}
	s.mux.HandleFunc("GET /static/{name}", files.serve)
	s.mux.HandleFunc("GET /theme/{name}", serveTheme)
	s.mux.HandleFunc("GET /k/sw.js", files.serveWorker)
	s.mux.Handle("/", s.httpHandler(func(x *exchange) error { return x.notFound() }))
	return s.protect(s.handleLook(s.mux)), nil
}

// handler answers one request. Its error becomes a page.
type handler func(x *exchange) error

// routes returns the handler of each pattern.
func (s *site) routes() map[string]handler {
	return map[string]handler{
		"GET /g/l/{secret}":                      s.showLink,
		"POST /g/l/{secret}":                     s.bindLink,
		"POST /g/l/{secret}/renew":               s.renewLink,
		"GET /g/stays/{id}":                      s.own(s.showStay),
		"GET /g/stays/{id}/form":                 s.own(s.showStay),
		"GET /g/stays/{id}/form/{guest}":         s.own(s.openForm),
		"GET /g/stays/{id}/form/{guest}/{step}":  s.own(s.showStep),
		"POST /g/stays/{id}/form/{guest}/{step}": s.own(s.saveStep),
		"GET /g/stays/{id}/form/check":           s.own(s.showAnswers),
		"POST /g/stays/{id}/form/check":          s.own(s.confirmAnswers),
		"GET /g/stays/{id}/form/arrival":         s.own(s.showArrival),
		"POST /g/stays/{id}/form/arrival":        s.own(s.saveArrival),
		"GET /g/stays/{id}/form/rules":           s.own(s.showRules),
		"POST /g/stays/{id}/form/rules":          s.own(s.acceptRules),
		"GET /g/stays/{id}/form/share":           s.own(s.showSharing),
		"POST /g/stays/{id}/form/share":          s.own(s.saveSharing),
		"GET /g/stays/{id}/people":               s.own(s.showPeople),
		"POST /g/stays/{id}/people":              s.own(s.saveParty),
		"POST /g/stays/{id}/people/{guest}":      s.own(s.changePerson),
		"GET /g/stays/{id}/checkin":              s.own(s.showStage),
		"POST /g/stays/{id}/checkin":             s.device(s.takeStep),
		"GET /g/stays/{id}/email":                s.own(s.showEmail),
		"POST /g/stays/{id}/email":               s.own(s.saveEmail),
		"GET /g/stays/{id}/key":                  s.own(s.showKey),
		"GET /g/stays/{id}/key/doors":            s.own(s.showDoors),
		"GET /g/stays/{id}/devices":              s.own(s.showDevices),
		"POST /g/stays/{id}/devices":             s.own(s.endDevices),
		"GET /g/stays/{id}/calendar":             s.own(s.calendar),
		"GET /g/{$}":                             s.showFirst,
		"POST /g/stays/{id}/help":                s.own(s.help),
		"POST /g/stays/{id}/end":                 s.own(s.endSession),

		"GET /q/{door}":  s.showDoor,
		"POST /q/{door}": s.findAtDoor,

		"GET /k/enrol":        s.showEnrol,
		"POST /k/enrol":       s.enrol,
		"GET /k/{$}":          s.tablet(s.showKiosk),
		"GET /k/closed":       s.showClosed,
		"GET /k/cut":          s.showCut,
		"GET /k/find":         s.tablet(s.showFind),
		"POST /k/find":        s.tablet(s.findAtKiosk),
		"GET /k/which":        s.tablet(s.showFind),
		"POST /k/which":       s.tablet(s.findAtKiosk),
		"GET /k/you":          s.visit(s.showYou),
		"GET /k/form":         s.visit(s.openForm),
		"GET /k/form/{step}":  s.visit(s.showStep),
		"POST /k/form/{step}": s.visit(s.saveStep),
		"GET /k/confirm":      s.visit(s.showStage),
		"POST /k/confirm":     s.guest(s.takeStep),
		"GET /k/email":        s.visit(s.showEmail),
		"POST /k/email":       s.visit(s.saveEmail),
		"GET /k/asking":       s.visit(s.showStage),
		"GET /k/stop":         s.visit(s.showStage),
		"GET /k/phone":        s.visit(s.showPhone),
		"GET /k/code":         s.visit(s.showKey),
		"GET /k/code/doors":   s.visit(s.showDoors),
		"POST /k/help":        s.tablet(s.kioskHelp),
		"POST /k/end":         s.tablet(s.endVisit),
	}
}
