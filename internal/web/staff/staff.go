// Package staff serves the dashboard of a property for its staff: the pages under /app. A page calls the same API as every other client,
// with the session of the person who is signed in.
//
// To add a page: write its handler and its template pages/NAME.html, and add its line to [site.routes]. A page in the menu also
// has a line in areas.
package staff

import (
	"embed"
	"html/template"
	"net/http"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/web/kit"
)

// API has the clients of the API that the pages call.
type API struct {
	Sessions     propertyv1.SessionServiceClient
	Passkeys     propertyv1.PasskeyServiceClient
	Identities   propertyv1.IdentityServiceClient
	Properties   propertyv1.PropertyServiceClient
	Days         propertyv1.DayServiceClient
	Reservations propertyv1.ReservationServiceClient
	CheckIns     propertyv1.CheckInServiceClient
	Messages     propertyv1.MessageServiceClient
	Mails        propertyv1.MailServiceClient
	Locks        propertyv1.LockServiceClient
	Events       propertyv1.EventServiceClient
	Bridges      propertyv1.BridgeServiceClient
	Spaces       propertyv1.SpaceServiceClient
	Gates        propertyv1.GateServiceClient
	Notices      propertyv1.NoticeServiceClient
	Codes        propertyv1.CodeServiceClient
	Audit        propertyv1.AuditServiceClient
	Mappings     propertyv1.MappingServiceClient
	Integrations propertyv1.IntegrationServiceClient
	Kiosks       propertyv1.KioskServiceClient
	People       propertyv1.PersonServiceClient
	Register     propertyv1.GuestRegisterServiceClient
	TestStays    propertyv1.TestStayServiceClient
	Privacy      propertyv1.PrivacyServiceClient

	// EnrolmentAddress returns the address and port at which bridges enrol, and whether they must do so without TLS. host is the host by which
	// the browser reaches this server.
	EnrolmentAddress func(host string) (address string, plaintext bool)
}

// site holds what the handlers of all pages share.
type site struct {
	*kit.Area
	api API
}

// Paths are the path patterns that the handler of [New] answers.
var Paths = []string{"/app/"}

//go:embed pages parts
var files embed.FS

// New returns the handler of the pages under /app. It refuses forms of other sites with 403, and checks the right of each route. An unknown
// path gets the error page of staff. The error is about invalid templates.
func New(k *kit.Kit, api API) (http.Handler, error) {
	area, err := k.NewArea(files, template.FuncMap{"more": func(list []*propertyv1.ArrivalFix) int { return len(list) - 1 }, "feed": newFeed, "feedAt": newFeedAt}, kit.DeskParts)
	if err != nil {
		return nil, err
	}
	s := &site{Area: area, api: api}
	for _, r := range s.routes() {
		s.Mux.Handle(r.Pattern, s.httpHandler(s.require(r.Right, r.handle)))
	}
	s.Mux.Handle("/", s.httpHandler(s.showUnknown))
	refuse := s.httpHandler(func(x *exchange) error { return x.problem(http.StatusForbidden, "staff.problem.form") })
	return kit.Protect(kit.HandleLook(s.Mux, s.httpHandler(s.saveLook)), refuse), nil
}

// Values of Route.Right for routes that need no right of a role.
const (
	Anyone = ""     // works without a session
	Self   = "self" // every signed-in person
)

// Route is one page or one action of the dashboard.
type Route struct {
	Pattern string
	Right   string // right that the person's role must have, as the API names it; or Anyone or Self
	handle  handler
}

// Routes returns all routes. A test checks with them which roles can open which page.
func Routes() []Route { return (&site{}).routes() }

// routes lists every page and action with the right that it needs and its handler.
func (s *site) routes() []Route {
	return []Route{
		{"GET /app/login", Anyone, s.showLogin},
		{"POST /app/login", Anyone, s.login},
		{"GET /app/login/second", Anyone, s.showSecond},
		{"POST /app/login/second", Anyone, s.finishLogin},
		{"POST /app/login/passkey/begin", Anyone, s.beginPasskeyLogin},
		{"POST /app/login/passkey", Anyone, s.passkeyLogin},
		{"GET /app/login/oidc", Anyone, s.beginIdentityLogin},
		{"GET " + IdentityPath, Anyone, s.finishIdentity},
		{"GET /app/first/{secret}", Anyone, s.showFirst},
		{"POST /app/first/{secret}", Anyone, s.createOwner},
		{"GET " + InvitationPath + "{secret}", Anyone, s.showInvite},
		{"POST " + InvitationPath + "{secret}", Anyone, s.acceptInvite},
		{"POST /app/logout", Anyone, s.logout},

		{"GET /app/{$}", Self, s.showHome},
		{"POST /app/property", Self, s.chooseProperty},
		{"GET /app/confirm", Self, s.showConfirm},
		{"POST /app/confirm", Self, s.confirm},
		{"POST /app/confirm/passkey/begin", Self, s.beginPasskeyConfirm},
		{"POST /app/confirm/passkey", Self, s.passkeyConfirm},
		{"GET /app/today", "readReservations", s.showToday},
		{"POST /app/today", "manageCheckIns", s.changeToday},
		{"GET /app/palette", Self, s.showPalette},
		{"GET /app/dev/parts", Self, s.showParts},
		{"GET /app/live", Self, s.follow},
		{"GET /app/reservations", "readReservations", s.showReservations},
		{"GET /app/reservations/{id}", "readReservations", s.showReservation},
		{"POST /app/reservations/{id}", "manageCheckIns", s.changeCheckIn},
		{"GET /app/reservations/{id}/guests", "readGuests", s.showGuests},
		{"GET /app/reservations/{id}/guests/data", "eraseGuests", s.backToGuests},
		{"POST /app/reservations/{id}/guests/data", "eraseGuests", s.downloadGuestData},
		{"GET /app/reservations/{id}/guests/erase", "eraseGuests", s.backToGuests},
		{"POST /app/reservations/{id}/guests/erase", "eraseGuests", s.eraseGuestData},
		{"GET /app/reservations/{id}/messages", "readGuests", s.showMessages},
		{"POST /app/reservations/{id}/messages", "writeMessages", s.sendMessage},
		{"GET /app/reservations/{id}/open", "openDoors", s.backToReservation},
		{"POST /app/reservations/{id}/open", "openDoors", s.openDoor},
		{"GET /app/reservations/{id}/extend", "manageAccess", s.backToReservation},
		{"POST /app/reservations/{id}/extend", "manageAccess", s.extendAccess},
		{"GET /app/reservations/{id}/reveal", "revealPins", s.backToReservation},
		{"POST /app/reservations/{id}/reveal", "revealPins", s.revealPIN},
		{"GET /app/reservations/{id}/replace", "manageAccess", s.backToReservation},
		{"POST /app/reservations/{id}/replace", "manageAccess", s.replacePIN},

		{"GET /app/register", "inspectRegister", s.showRegister},
		{"POST /app/register", "inspectRegister", s.listRegister},
		{"GET /app/register/csv", "inspectRegister", s.backToRegister},
		{"POST /app/register/csv", "inspectRegister", s.downloadRegister},

		{"GET /app/locks", "readLocks", s.showLocks},
		{"GET /app/locks/batteries", "readLocks", s.showBatteries},
		{"GET /app/locks/{id}", "readLocks", s.showLock},
		{"POST /app/locks/{id}", "manageLocks", s.changeLock},
		{"GET /app/locks/{id}/open", "openDoors", s.backToLock},
		{"POST /app/locks/{id}/open", "openDoors", s.openLock},
		{"GET /app/locks/{id}/backup", "manageAccess", s.backToBackupCodes},
		{"POST /app/locks/{id}/backup", "manageAccess", s.swapBackupCodes},
		{"GET /app/notices", "readNotices", s.showNotices},
		{"POST /app/notices", "manageNotices", s.readNotices},
		{"GET /app/messages", "readGuests", s.showConversations},
		{"GET /app/messages/{id}", "readGuests", s.showMessages},
		{"POST /app/messages/{id}", "writeMessages", s.sendMessage},
		{"GET /app/codes", "readAccess", s.showCodes},
		{"GET /app/codes/new", "manageAccess", s.showNewCode},
		{"POST /app/codes/new", "manageAccess", s.createCode},
		{"GET /app/codes/{id}", "readAccess", s.showCode},
		{"POST /app/codes/{id}", "manageAccess", s.revokeCode},
		{"GET /app/codes/{id}/reveal", "revealPins", s.backToCode},
		{"POST /app/codes/{id}/reveal", "revealPins", s.revealCode},
		{"GET /app/audit", "readAudit", s.showAudit},
		{"GET /app/bridges", "readLocks", s.showBridges},
		{"GET /app/bridges/new", "manageBridges", s.showNewBridge},
		{"POST /app/bridges/new", "manageBridges", s.createBridge},
		{"GET /app/bridges/{id}", "readLocks", s.showBridge},
		{"POST /app/bridges/{id}", "manageBridges", s.changeBridge},

		{"GET /app/spaces", "readProperty", s.showSpaces},
		{"POST /app/spaces", "manageSpaces", s.changeSpaces},
		{"POST /app/spaces/read", "manageSpaces", s.refreshPartnerSpaces},
		{"GET /app/spaces/changes", "readProperty", s.showChanges},
		{"POST /app/spaces/changes", "manageSpaces", s.undoChange},
		{"GET /app/spaces/new", "manageSpaces", s.showNewRooms},
		{"POST /app/spaces/new", "manageSpaces", s.createRooms},
		{"GET /app/spaces/rooms.csv", "readProperty", s.downloadRooms},
		{"GET /app/spaces/import", "manageSpaces", s.showImport},
		{"POST /app/spaces/import", "manageSpaces", s.importRooms},
		{"GET /app/spaces/rooms/{id}", "readProperty", s.showRoom},
		{"POST /app/spaces/rooms/{id}", "manageSpaces", s.changeRoom},
		{"POST /app/spaces/rooms/{id}/lock", "manageLocks", s.placeLock},

		{"GET /app/gates", "readProperty", s.showGates},
		{"POST /app/gates", "manageSpaces", s.createGate},
		{"GET /app/gates/{id}", "readProperty", s.showGate},
		{"POST /app/gates/{id}", "manageSpaces", s.changeGate},

		{"GET /app/setup", "manageSettings", s.showSetup},
		{"GET /app/setup/arrival", "manageSettings", s.showTestStay},
		{"POST /app/setup/arrival", "manageAccess", s.changeTestStay},
		{"GET /app/settings/property", "manageSettings", s.showProperty},
		{"POST /app/settings/property", "manageSettings", s.changeProperty},
		{"GET /app/settings/checkin", "manageSettings", s.showCheckInSettings},
		{"POST /app/settings/checkin", "manageSettings", s.changeCheckInSettings},
		{"GET /app/settings/questions", "manageSettings", s.showQuestions},
		{"POST /app/settings/questions", "manageSettings", s.addQuestion},
		{"GET /app/settings/questions/{id}", "manageSettings", s.showQuestion},
		{"POST /app/settings/questions/{id}", "manageSettings", s.changeQuestion},
		{"GET /app/settings/texts", "manageSettings", s.showTexts},
		{"POST /app/settings/texts", "manageSettings", s.changeTexts},
		{"GET /app/settings/retention", "manageSettings", s.showRetention},
		{"POST /app/settings/retention", "manageSettings", s.changeRetention},
		{"GET /app/settings/mail", "manageSettings", s.showMailSettings},
		{"POST /app/settings/mail", "manageSettings", s.changeMailSettings},
		{"GET /app/settings/integrations", "manageSettings", s.showIntegrations},
		{"POST /app/settings/integrations", "manageCredentials", s.connectApp},
		{"POST /app/settings/integrations/{id}", "manageCredentials", s.changeIntegration},
		{"POST /app/settings/integrations/{id}/test", "manageSpaces", s.testEndpoint},
		{"POST /app/settings/integrations/{id}/invitations", "manageSettings", s.switchInvitations},
		{"GET /app/settings/kiosks", "manageSettings", s.showKiosks},
		{"POST /app/settings/kiosks", "manageSettings", s.createKiosk},
		{"GET /app/settings/kiosks/{id}/poster", "manageSettings", s.showPoster},
		{"GET /app/settings/kiosks/{id}/poster.pdf", "manageSettings", s.downloadPoster},
		{"POST /app/settings/kiosks/{id}", "manageSettings", s.changeKiosk},
		{"GET /app/settings/people", "managePeople", s.showPeople},
		{"POST /app/settings/people", "managePeople", s.invitePerson},
		{"GET /app/settings/people/{id}", "managePeople", s.backToPeople},
		{"POST /app/settings/people/{id}", "managePeople", s.changePerson},
		{"GET /app/settings/people/invitations/{id}", "managePeople", s.backToPeople},
		{"POST /app/settings/people/invitations/{id}", "managePeople", s.changeInvitation},

		{"GET /app/account", Self, s.showAccount},
		{"POST /app/account/sessions", Self, s.endSessions},
		{"GET /app/account/notices", "readNotices", s.showNoticeSettings},
		{"POST /app/account/notices", "readNotices", s.saveNoticeSettings},
		{"GET /app/account/password", Self, s.showPassword},
		{"POST /app/account/password", Self, s.changePassword},
		{"GET /app/account/second", Self, s.showSecondFactor},
		{"POST /app/account/second", Self, s.changeSecondFactor},
		{"GET /app/account/passkeys", Self, s.showPasskeys},
		{"POST /app/account/passkeys", Self, s.changePasskeys},
		{"POST /app/account/passkeys/begin", Self, s.beginPasskey},
		{"GET /app/account/identity", Self, s.showIdentity},
		{"POST /app/account/identity", Self, s.changeIdentity},
	}
}

// area is an entry of the menu. right is the right that a role needs to see it.
type area struct{ Name, URL, right string }

// areas are the entries of the menu, in this order. A person sees those that they may use. /app/ redirects to the first of these, except
// before the set-up is done: see showHome.
var areas = []area{
	{"today", "/app/today", "readReservations"},
	{"reservations", "/app/reservations", "readReservations"},
	{"spaces", "/app/spaces", "readProperty"},
	{"locks", "/app/locks", "readLocks"},
	{"messages", "/app/messages", "readGuests"},
	{"notices", "/app/notices", "readNotices"},
	{"codes", "/app/codes", "readAccess"},
	{"audit", "/app/audit", "readAudit"},
	{"setup", "/app/setup", "manageSettings"},
	{"settings", "/app/settings/property", "manageSettings"},
}
