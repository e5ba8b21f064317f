// Package guest serves the pages of guests and check-in tablets. A page calls the same API as every other client, through generated
// clients. Every page works without script, except the enrolment of a tablet and the search on it: their script signs with the
// tablet's key.
package guest

import (
	"embed"
	"net/http"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	kioskv1 "latchkey.dev/gen/latchkey/kiosk/v1"
	"latchkey.dev/internal/web/kit"
)

// API has the clients of the API that the pages call.
type API struct {
	Links    guestv1.LinkServiceClient
	Stays    guestv1.StayServiceClient
	Forms    guestv1.FormServiceClient
	CheckIns guestv1.CheckInServiceClient
	Messages guestv1.MessageServiceClient
	Privacy  guestv1.PrivacyServiceClient
	Kiosks   kioskv1.KioskServiceClient
}

// site holds what the handlers of all pages share.
type site struct {
	*kit.Area
	api API
}

// Paths are the path patterns that the handler of [New] answers.
var Paths = []string{"/g/", "/k/", "/q/"}

//go:embed pages parts
var files embed.FS

// New returns the handler of the pages of guests and tablets.
func New(k *kit.Kit, api API) (http.Handler, error) {
	area, err := k.NewArea(files, functions)
	if err != nil {
		return nil, err
	}
	s := &site{Area: area, api: api}
	for pattern, h := range s.routes() {
		s.Mux.Handle(pattern, s.httpHandler(h))
	}
	s.Mux.HandleFunc("GET /k/sw.js", k.ServeWorker("sw.js", "kiosk.css", "kiosk.js"))
	s.Mux.HandleFunc("GET /g/sw.js", k.ServeWorker("app-sw.js", "guest.css", "guest.js"))
	s.Mux.Handle("/", s.httpHandler(func(x *exchange) error { return x.notFound() }))
	refuse := s.httpHandler(func(x *exchange) error {
		x.renderProblem(http.StatusForbidden, "web.problem.form")
		return nil
	})
	return kit.Protect(kit.HandleLook(s.Mux, s.httpHandler(s.saveLook)), refuse), nil
}

// routes returns the handler of each path pattern.
func (s *site) routes() map[string]handler {
	return map[string]handler{
		"GET /g/l/{secret}":                      s.showLink,
		"POST /g/l/{secret}":                     s.bindLink,
		"POST /g/l/{secret}/renew":               s.renewLink,
		"GET /g/stays/{id}":                      s.deviceStay(s.showStay),
		"GET /g/stays/{id}/form":                 s.deviceStay(s.showStay),
		"GET /g/stays/{id}/form/{guest}":         s.deviceStay(beforeTheEnd(s.openForm)),
		"GET /g/stays/{id}/form/{guest}/{step}":  s.deviceStay(beforeTheEnd(s.showStep)),
		"POST /g/stays/{id}/form/{guest}/{step}": s.deviceStay(s.saveStep),
		"GET /g/stays/{id}/form/check":           s.deviceStay(beforeTheEnd(s.showAnswers)),
		"POST /g/stays/{id}/form/check":          s.deviceStay(s.confirmAnswers),
		"GET /g/stays/{id}/form/arrival":         s.deviceStay(s.showArrival),
		"POST /g/stays/{id}/form/arrival":        s.deviceStay(s.saveArrival),
		"GET /g/stays/{id}/form/rules":           s.deviceStay(s.showRules),
		"POST /g/stays/{id}/form/rules":          s.deviceStay(s.acceptRules),
		"GET /g/stays/{id}/form/share":           s.deviceStay(s.showSharing),
		"POST /g/stays/{id}/form/share":          s.deviceStay(s.saveSharing),
		"GET /g/stays/{id}/{rest...}":            s.deviceStay(s.showUnknown),
		"GET /g/stays/{id}/people":               s.deviceStay(beforeTheEnd(s.showPeople)),
		"POST /g/stays/{id}/people":              s.deviceStay(beforeTheEnd(s.saveParty)),
		"POST /g/stays/{id}/people/{guest}":      s.deviceStay(beforeTheEnd(s.changePerson)),
		"GET /g/stays/{id}/checkin":              s.deviceStay(s.showStage),
		"POST /g/stays/{id}/checkin":             s.deviceSession(s.takeStep),
		"GET /g/stays/{id}/email":                s.deviceStay(s.showEmail),
		"POST /g/stays/{id}/email":               s.deviceStay(s.saveEmail),
		"GET /g/stays/{id}/key":                  s.deviceStay(s.showKey),
		"GET /g/stays/{id}/key/doors":            s.deviceStay(s.showDoors),
		"GET /g/stays/{id}/key/help":             s.deviceStay(s.showDoorHelp),
		"GET /g/stays/{id}/group":                s.deviceStay(s.showGroup),
		"GET /g/stays/{id}/devices/another":      s.deviceStay(beforeTheEnd(s.showAnother)),
		"POST /g/stays/{id}/devices/another":     s.deviceStay(beforeTheEnd(s.makeDeviceLink)),
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
		"GET /g/profile":                         s.findProfile,
		"GET /g/profile/{property}":              s.profileOf(s.showProfile),
		"POST /g/profile/{property}":             s.profileOf(s.changeProfile),
		"GET /g/profile/{property}/file":         s.profileOf(s.downloadProfile),
		"GET /g/stays/{id}/calendar":             s.deviceStay(s.calendar),
		"GET /g/stays/{id}/app.webmanifest":      s.deviceStay(s.serveManifest),
		"POST /g/stays/{id}/key/link":            s.deviceSession(s.keyLink),
		"GET /g/offline":                         s.showOffline,
		"GET /g/k":                               s.showGreeted,
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
		"GET /k/people":       s.tabletStay(s.showPartySize),
		"POST /k/people":      s.tabletStay(s.savePartySize),
		"GET /k/share":        s.tabletStay(s.showSharing),
		"POST /k/share":       s.tabletStay(s.saveSharing),
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
