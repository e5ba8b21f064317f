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
	Messages guestv1.MessageServiceClient
	Privacy  guestv1.PrivacyServiceClient
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
var Paths = []string{"/g/", "/k/", "/q/", "/static/", "/theme/", "/icon/"}

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
	s.mux.HandleFunc("GET /icon/{name}", serveIcon)
	s.mux.HandleFunc("GET /k/sw.js", files.serveWorker("sw.js", "kiosk.css", "kiosk.js"))
	s.mux.HandleFunc("GET /g/sw.js", files.serveWorker("app-sw.js", "guest.css", "guest.js"))
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
		"GET /g/stays/{id}":                      s.deviceStay(s.showStay),
		"GET /g/stays/{id}/form":                 s.deviceStay(s.showStay),
		"GET /g/stays/{id}/form/{guest}":         s.deviceStay(s.openForm),
		"GET /g/stays/{id}/form/{guest}/{step}":  s.deviceStay(s.showStep),
		"POST /g/stays/{id}/form/{guest}/{step}": s.deviceStay(s.saveStep),
		"GET /g/stays/{id}/form/check":           s.deviceStay(s.showAnswers),
		"POST /g/stays/{id}/form/check":          s.deviceStay(s.confirmAnswers),
		"GET /g/stays/{id}/form/arrival":         s.deviceStay(s.showArrival),
		"POST /g/stays/{id}/form/arrival":        s.deviceStay(s.saveArrival),
		"GET /g/stays/{id}/form/rules":           s.deviceStay(s.showRules),
		"POST /g/stays/{id}/form/rules":          s.deviceStay(s.acceptRules),
		"GET /g/stays/{id}/form/share":           s.deviceStay(s.showSharing),
		"POST /g/stays/{id}/form/share":          s.deviceStay(s.saveSharing),
		"GET /g/stays/{id}/people":               s.deviceStay(s.showPeople),
		"POST /g/stays/{id}/people":              s.deviceStay(s.saveParty),
		"POST /g/stays/{id}/people/{guest}":      s.deviceStay(s.changePerson),
		"GET /g/stays/{id}/checkin":              s.deviceStay(s.showStage),
		"POST /g/stays/{id}/checkin":             s.deviceSession(s.takeStep),
		"GET /g/stays/{id}/email":                s.deviceStay(s.showEmail),
		"POST /g/stays/{id}/email":               s.deviceStay(s.saveEmail),
		"GET /g/stays/{id}/key":                  s.deviceStay(s.showKey),
		"GET /g/stays/{id}/key/doors":            s.deviceStay(s.showDoors),
		"GET /g/stays/{id}/key/help":             s.deviceStay(s.showShut),
		"GET /g/stays/{id}/group":                s.deviceStay(s.showGroup),
		"GET /g/stays/{id}/devices/another":      s.deviceStay(s.showAnother),
		"POST /g/stays/{id}/devices/another":     s.deviceStay(s.makeDeviceLink),
		"GET /g/stays/{id}/devices":              s.deviceStay(s.showDevices),
		"POST /g/stays/{id}/devices":             s.deviceStay(s.endDevices),
		"GET /g/stays/{id}/messages":             s.deviceStay(s.showMessages),
		"POST /g/stays/{id}/messages":            s.deviceStay(s.sendMessage),
		"GET /g/stays/{id}/messages/live":        s.deviceSession(s.followMessages),
		"GET /g/stays/{id}/ledger":               s.deviceStay(s.showLedger),
		"GET /g/stays/{id}/data":                 s.deviceStay(s.showData),
		"POST /g/stays/{id}/data":                s.deviceStay(s.changeData),
		"GET /g/stays/{id}/data/file":            s.deviceSession(s.downloadData),
		"GET /g/erasure/{receipt}":               s.showErasure,
		"GET /g/stays/{id}/calendar":             s.deviceStay(s.calendar),
		"GET /g/stays/{id}/app.webmanifest":      s.deviceStay(s.serveManifest),
		"POST /g/stays/{id}/key/link":            s.deviceSession(s.keyLink),
		"GET /g/offline":                         s.showOffline,
		"GET /g/k":                               s.showGreeted,
		"POST /g/k":                              s.drawPresentation,
		"GET /g/{$}":                             s.showFirst,
		"POST /g/{$}":                            s.openPasted,
		"POST /g/stays/{id}/help":                s.deviceStay(s.help),
		"POST /g/stays/{id}/end":                 s.deviceStay(s.endSession),

		"GET /q/{door}":  s.showDoor,
		"POST /q/{door}": s.findAtDoor,

		"GET /k/enrol":        s.showEnrol,
		"POST /k/enrol":       s.enrol,
		"GET /k/{$}":          s.tablet(s.showKiosk),
		"GET /k/closed":       s.showClosed,
		"GET /k/cut":          s.showCut,
		"GET /k/canceled":     s.tablet(s.showCanceled),
		"GET /k/find":         s.tablet(s.showFind),
		"POST /k/find":        s.tablet(s.findAtKiosk),
		"GET /k/which":        s.tablet(s.showFind),
		"POST /k/which":       s.tablet(s.findAtKiosk),
		"GET /k/you":          s.tabletStay(s.showYou),
		"GET /k/form":         s.tabletStay(s.openForm),
		"GET /k/form/{step}":  s.tabletStay(s.showStep),
		"POST /k/form/{step}": s.tabletStay(s.saveStep),
		"GET /k/confirm":      s.tabletStay(s.showStage),
		"POST /k/confirm":     s.tabletSession(s.takeStep),
		"GET /k/email":        s.tabletStay(s.showEmail),
		"POST /k/email":       s.tabletStay(s.saveEmail),
		"GET /k/asking":       s.tabletStay(s.showStage),
		"GET /k/stop":         s.tabletStay(s.showStage),
		"GET /k/phone":        s.tabletStay(s.showPhone),
		"GET /k/code":         s.tabletStay(s.showKey),
		"GET /k/code/doors":   s.tabletStay(s.showDoors),
		"POST /k/help":        s.tablet(s.kioskHelp),
		"POST /k/end":         s.tablet(s.endVisit),
	}
}
