package e2e

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// rule is one row of the access matrix: who may call an RPC. It is written by hand, so that a slip in the proto's own
// rule is seen.
type rule struct {
	area  string // partner, property, person (who signed in), admin, guest (anybody), session, kiosk, enrol or bridge
	need  string // the scope of a partner, the least role of a token
	right string // of a signed-in person, see rolesWith; with stepUp if the second factor must be fresh
	body  string // a request that changes nothing here, as JSON
	wants codes.Code
}

// stepUp ends the right of a row whose call asks for a second factor that was confirmed in the last 15 minutes.
const stepUp = " and step-up"

const (
	ok       = codes.OK
	invalid  = codes.InvalidArgument
	notFound = codes.NotFound
)

// untouched makes a call that would change something fail behind the authorization: see Idempotency-Key.
const untouched = "untouched"

// matrix has a row for every RPC.
var matrix = map[string]rule{
	"latchkey.partner.v1.ReservationService/UpsertReservation":       {"partner", "reservations:write", "", `{"reservation":{}}`, invalid},
	"latchkey.partner.v1.ReservationService/BatchUpsertReservations": {"partner", "reservations:write", "", `{}`, invalid},
	"latchkey.partner.v1.ReservationService/ListReservations":        {"partner", "reservations:read", "", `{}`, ok},
	"latchkey.partner.v1.ReservationService/GetReservation":          {"partner", "reservations:read", "", `{"id":"rsv_0"}`, notFound},
	"latchkey.partner.v1.ReservationService/FindReservation":         {"partner", "reservations:read", "", `{"pmsId":"none"}`, notFound},
	"latchkey.partner.v1.ReservationService/FindExplanation":         {"partner", "reservations:read", "", `{"pmsId":"none"}`, notFound},
	"latchkey.partner.v1.ReservationService/ListGuests":              {"partner", "guests:read", "", `{"id":"rsv_0"}`, notFound},
	"latchkey.partner.v1.ReservationService/ExplainReservation":      {"partner", "reservations:read", "", `{"id":"rsv_0"}`, notFound},
	"latchkey.partner.v1.ReservationService/ResetKeyChain":           {"partner", "reservations:write", "", `{"pmsId":"none","reset":"pin"}`, notFound},
	"latchkey.partner.v1.EndpointService/UpsertEndpoint":             {"partner", "endpoints:write", "", `{"action":"none"}`, invalid},
	"latchkey.partner.v1.EndpointService/ListEndpoints":              {"partner", "", "", `{}`, ok},
	"latchkey.partner.v1.EndpointService/DeleteEndpoint":             {"partner", "endpoints:write", "", `{"action":"none"}`, invalid},
	"latchkey.partner.v1.EndpointService/TestEndpoint":               {"partner", "endpoints:write", "", `{"action":"none"}`, invalid},
	"latchkey.partner.v1.SpaceService/ListSpaces":                    {"partner", "", "", `{}`, ok},
	"latchkey.partner.v1.SpaceService/ListGates":                     {"partner", "", "", `{}`, ok},
	"latchkey.partner.v1.IntegrationService/GetIntegration":          {"partner", "", "", `{}`, ok},
	"latchkey.partner.v1.WebhookService/UpsertWebhook":               {"partner", "webhooks:write", "", `{"url":"ftp://example.com"}`, invalid},
	"latchkey.partner.v1.WebhookService/ListWebhooks":                {"partner", "webhooks:write", "", `{}`, ok},
	"latchkey.partner.v1.WebhookService/DeleteWebhook":               {"partner", "webhooks:write", "", `{"id":"whk_0"}`, notFound},
	"latchkey.partner.v1.WebhookService/RotateWebhookSecret":         {"partner", "webhooks:write", "", `{"id":"whk_0"}`, notFound},
	"latchkey.partner.v1.WebhookService/TestWebhook":                 {"partner", "webhooks:write", "", `{"id":"whk_0"}`, notFound},

	"latchkey.property.v1.PropertyService/GetProperty":            {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.PropertyService/UpdateProperty":         {"property", "owner", "manageSettings", `{"settings":{"timeZone":"nowhere"}}`, invalid},
	"latchkey.property.v1.SpaceService/ListSpaces":                {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.SpaceService/GetSpace":                  {"property", "viewer", "readProperty", `{"id":"spc_0"}`, notFound},
	"latchkey.property.v1.SpaceService/CreateSpace":               {"property", "operator", "manageSpaces", `{}`, invalid},
	"latchkey.property.v1.SpaceService/BatchCreateSpaces":         {"property", "operator", "manageSpaces", `{}`, invalid},
	"latchkey.property.v1.SpaceService/UpdateSpace":               {"property", "operator", "manageSpaces", `{"id":"spc_0","name":"x"}`, notFound},
	"latchkey.property.v1.SpaceService/DeleteSpace":               {"property", "operator", "manageSpaces", `{"id":"spc_0"}`, notFound},
	"latchkey.property.v1.GateService/ListGates":                  {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.GateService/CreateGate":                 {"property", "operator", "manageSpaces", `{}`, invalid},
	"latchkey.property.v1.GateService/UpdateGate":                 {"property", "operator", "manageSpaces", `{"id":"gat_0","name":"x"}`, notFound},
	"latchkey.property.v1.GateService/DeleteGate":                 {"property", "operator", "manageSpaces", `{"id":"gat_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/ListApps":            {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.IntegrationService/ConnectApp":          {"property", "owner", "manageCredentials" + stepUp, `{"appId":"app_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/ListIntegrations":    {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.IntegrationService/GetIntegration":      {"property", "viewer", "readProperty", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/UpdateIntegration":   {"property", "owner", "manageCredentials", `{"id":"int_0","name":"x"}`, notFound},
	"latchkey.property.v1.IntegrationService/RotateAccessToken":   {"property", "owner", "manageCredentials" + stepUp, `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/RevokeAccessToken":   {"property", "owner", "manageCredentials", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/RotateSigningSecret": {"property", "owner", "manageCredentials", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/ReadSpaces":          {"property", "operator", "manageSpaces", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/TestEndpoint":        {"property", "operator", "manageSpaces", `{"id":"int_0","action":"getSpaces"}`, notFound},
	"latchkey.property.v1.ApiKeyService/GetApiKey":                {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.ApiKeyService/CreateApiKey":             {"property", "owner", "manageCredentials" + stepUp, untouched, invalid},
	"latchkey.property.v1.ApiKeyService/RotateApiKey":             {"property", "owner", "manageCredentials" + stepUp, untouched, invalid},
	"latchkey.property.v1.ApiKeyService/RevokeApiKey":             {"property", "owner", "manageCredentials", untouched, invalid},
	"latchkey.property.v1.MappingService/ListPartnerSpaces":       {"property", "viewer", "readProperty", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MappingService/SetMapping":              {"property", "operator", "manageSpaces", `{"integrationId":"int_0","externalId":"R101","spaceId":"spc_0"}`, notFound},
	"latchkey.property.v1.MappingService/UnsetMapping":            {"property", "operator", "manageSpaces", `{"integrationId":"int_0","externalId":"R101"}`, notFound},
	"latchkey.property.v1.MappingService/BatchSetMappings":        {"property", "operator", "manageSpaces", `{"integrationId":"int_0"}`, invalid},
	"latchkey.property.v1.MappingService/ApplySuggestions":        {"property", "operator", "manageSpaces", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MappingService/CreateMissingSpaces":     {"property", "operator", "manageSpaces", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MappingService/ListMappingChanges":      {"property", "viewer", "readProperty", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MappingService/UndoMappingChange":       {"property", "operator", "manageSpaces", `{"id":"mch_0"}`, notFound},
	"latchkey.property.v1.MappingService/ApplyCure":               {"property", "operator", "manageSpaces", `{"conflictId":"cfl_0","kind":"accept"}`, notFound},
	"latchkey.property.v1.MappingService/ListConflicts":           {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.BridgeService/CreateBridge":             {"property", "owner", "manageBridges" + stepUp, `{}`, invalid},
	"latchkey.property.v1.BridgeService/CreateJoinCode":           {"property", "owner", "manageBridges" + stepUp, `{"id":"brg_0"}`, notFound},
	"latchkey.property.v1.BridgeService/ListBridges":              {"property", "viewer", "readLocks", `{}`, ok},
	"latchkey.property.v1.BridgeService/RevokeBridge":             {"property", "owner", "manageBridges", `{"id":"brg_0"}`, notFound},
	"latchkey.property.v1.LockService/ListLocks":                  {"property", "viewer", "readLocks", `{}`, ok},
	"latchkey.property.v1.LockService/GetLock":                    {"property", "viewer", "readLocks", `{"id":"lck_0"}`, notFound},
	"latchkey.property.v1.LockService/GetLockHistory":             {"property", "viewer", "readLocks", `{"id":"lck_0"}`, notFound},
	"latchkey.property.v1.LockService/UpdateLock":                 {"property", "operator", "manageLocks", `{"id":"lck_0","name":"x"}`, notFound},
	"latchkey.property.v1.LockService/AssignLock":                 {"property", "operator", "manageLocks", `{"id":"lck_0","doorId":""}`, notFound},
	"latchkey.property.v1.LockService/UnlockLock":                 {"property", "operator", "openDoors" + stepUp, `{"id":"lck_0"}`, notFound},
	"latchkey.property.v1.ReservationService/ExplainReservation":  {"property", "viewer", "readReservations", `{"id":"rsv_0"}`, notFound},
	"latchkey.property.v1.ReservationService/ListReservations":    {"property", "viewer", "readReservations", `{}`, ok},
	"latchkey.property.v1.ReservationService/ListArrivals":        {"property", "viewer", "readReservations", `{}`, ok},
	"latchkey.property.v1.DayService/ListDay":                     {"property", "viewer", "readReservations", `{}`, ok},
	"latchkey.property.v1.DayService/CountArrivals":               {"property", "viewer", "readReservations", `{}`, ok},
	"latchkey.property.v1.CodeService/CreateCode":                 {"property", "operator", "manageAccess" + stepUp, `{}`, invalid},
	"latchkey.property.v1.CodeService/ListCodes":                  {"property", "viewer", "readAccess", `{}`, ok},
	"latchkey.property.v1.CodeService/GetCode":                    {"property", "viewer", "readAccess", `{"id":"cod_0"}`, notFound},
	"latchkey.property.v1.CodeService/RevealCode":                 {"property", "operator", "revealPins" + stepUp, `{"id":"cod_0"}`, notFound},
	"latchkey.property.v1.CodeService/RevokeCode":                 {"property", "operator", "manageAccess", `{"id":"cod_0"}`, notFound},
	"latchkey.property.v1.CodeService/SwapBackupCodes":            {"property", "operator", "manageAccess" + stepUp, `{"lockId":"lck_0"}`, notFound},
	"latchkey.property.v1.NoticeService/ListNotices":              {"property", "viewer", "readNotices", `{}`, ok},
	"latchkey.property.v1.NoticeService/MarkNoticesRead":          {"property", "operator", "manageNotices", `{"ids":["ntc_0"]}`, ok},

	"latchkey.property.v1.MailService/GetMailSettings":    {"property", "owner", "manageSettings", `{}`, ok},
	"latchkey.property.v1.MailService/UpdateMailSettings": {"property", "owner", "manageSettings" + stepUp, `{}`, invalid},
	"latchkey.property.v1.MailService/SendTestMail":       {"property", "owner", "manageSettings", `{}`, invalid},
	"latchkey.property.v1.MailService/ListMails":          {"property", "viewer", "readGuests", `{}`, ok},
	"latchkey.property.v1.MailService/GetMail":            {"property", "operator", "readGuests" + stepUp, `{"id":"mai_0"}`, notFound},
	"latchkey.property.v1.MailService/ResendMail":         {"property", "operator", "manageCheckIns", `{"id":"mai_0"}`, notFound},
	"latchkey.property.v1.MailService/ReportBounce":       {"property", "operator", "manageCheckIns", `{"message":"YQ=="}`, ok},
	"latchkey.property.v1.MailService/PreviewInvitations": {"property", "viewer", "manageSettings", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MailService/SetInvitations":     {"property", "owner", "manageSettings", `{"integrationId":"int_0","enabled":true}`, notFound},

	"latchkey.property.v1.SessionService/SignIn":              {"guest", "", "", `{}`, invalid},
	"latchkey.property.v1.SessionService/CreateFirstOwner":    {"guest", "", "", `{}`, invalid},
	"latchkey.property.v1.SessionService/FinishSignIn":        {"guest", "", "", `{}`, invalid},
	"latchkey.property.v1.SessionService/BeginTOTP":           {"person", "", "self" + stepUp, untouched, invalid},
	"latchkey.property.v1.SessionService/ConfirmTOTP":         {"person", "", "self" + stepUp, `{}`, invalid},
	"latchkey.property.v1.SessionService/DisableTOTP":         {"person", "", "self" + stepUp, untouched, invalid},
	"latchkey.property.v1.SessionService/CreateRecoveryCodes": {"person", "", "self" + stepUp, `{}`, codes.FailedPrecondition},
	"latchkey.property.v1.SessionService/ConfirmSecondFactor": {"person", "", "self", `{}`, invalid},
	"latchkey.property.v1.SessionService/GetSession":          {"person", "", "self", `{}`, ok},
	"latchkey.property.v1.SessionService/ListSessions":        {"person", "", "self", `{}`, ok},
	"latchkey.property.v1.SessionService/EndSession":          {"person", "", "self", `{"id":"pss_0"}`, notFound},
	"latchkey.property.v1.SessionService/SignOutEverywhere":   {"person", "", "self", untouched, invalid},
	"latchkey.property.v1.SessionService/ChangePassword":      {"person", "", "self", `{}`, invalid},

	"latchkey.property.v1.IdentityService/GetIdentityProvider":      {"guest", "", "", `{}`, ok},
	"latchkey.property.v1.IdentityService/BeginIdentitySignIn":      {"guest", "", "", `{}`, codes.FailedPrecondition},
	"latchkey.property.v1.IdentityService/FinishIdentitySignIn":     {"guest", "", "", `{}`, invalid},
	"latchkey.property.v1.IdentityService/BeginIdentityLink":        {"person", "", "self" + stepUp, `{}`, codes.FailedPrecondition},
	"latchkey.property.v1.IdentityService/FinishIdentityLink":       {"person", "", "self" + stepUp, `{}`, invalid},
	"latchkey.property.v1.IdentityService/DeleteIdentityLink":       {"person", "", "self" + stepUp, `{}`, ok},
	"latchkey.property.v1.PasskeyService/ListPasskeys":              {"person", "", "self", `{}`, ok},
	"latchkey.property.v1.PasskeyService/BeginPasskeyRegistration":  {"person", "", "self" + stepUp, `{}`, ok},
	"latchkey.property.v1.PasskeyService/FinishPasskeyRegistration": {"person", "", "self" + stepUp, `{}`, invalid},
	"latchkey.property.v1.PasskeyService/RenamePasskey":             {"person", "", "self", `{"id":"psk_0","name":"x"}`, notFound},
	"latchkey.property.v1.PasskeyService/DeletePasskey":             {"person", "", "self" + stepUp, `{"id":"psk_0"}`, notFound},
	"latchkey.property.v1.PasskeyService/BeginPasskeySignIn":        {"guest", "", "", `{}`, ok},
	"latchkey.property.v1.PasskeyService/FinishPasskeySignIn":       {"guest", "", "", `{}`, invalid},
	"latchkey.property.v1.PasskeyService/BeginPasskeyConfirmation":  {"person", "", "self", `{}`, codes.FailedPrecondition},
	"latchkey.property.v1.PasskeyService/FinishPasskeyConfirmation": {"person", "", "self", `{}`, invalid},

	"latchkey.property.v1.EventService/Watch":               {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.SessionService/GetInvitation":     {"guest", "", "", `{"secret":"lki_0"}`, notFound},
	"latchkey.property.v1.SessionService/AcceptInvitation":  {"guest", "", "", `{}`, invalid},
	"latchkey.property.v1.PersonService/ListPeople":         {"property", "owner", "managePeople", `{}`, ok},
	"latchkey.property.v1.PersonService/InvitePerson":       {"property", "owner", "managePeople" + stepUp, `{}`, invalid},
	"latchkey.property.v1.PersonService/ReinvitePerson":     {"property", "owner", "managePeople" + stepUp, `{"id":"pln_0"}`, notFound},
	"latchkey.property.v1.PersonService/WithdrawInvitation": {"property", "owner", "managePeople", `{"id":"pln_0"}`, notFound},
	"latchkey.property.v1.PersonService/UpdatePerson":       {"property", "owner", "managePeople" + stepUp, `{"id":"prs_0","role":"frontDesk"}`, notFound},
	"latchkey.property.v1.PersonService/RemovePerson":       {"property", "owner", "managePeople" + stepUp, `{"id":"prs_0"}`, notFound},

	"latchkey.property.v1.TestStayService/GetTestStay":     {"property", "viewer", "readReservations", `{}`, notFound},
	"latchkey.property.v1.TestStayService/StartTestStay":   {"property", "operator", "manageAccess" + stepUp, `{"spaceId":"spc_0"}`, notFound},
	"latchkey.property.v1.TestStayService/CheckInTestStay": {"property", "operator", "manageAccess" + stepUp, `{}`, notFound},
	"latchkey.property.v1.TestStayService/EndTestStay":     {"property", "operator", "manageAccess", `{}`, notFound},

	"latchkey.property.v1.AuditService/ListEntries":   {"property", "owner", "readAudit", `{}`, ok},
	"latchkey.property.v1.AuditService/VerifyEntries": {"property", "owner", "readAudit", `{}`, ok},

	"latchkey.admin.v1.OwnerService/CreateOwnerLink":              {"admin", "", "", `{"propertyId":"prp_0"}`, notFound},
	"latchkey.admin.v1.OperatorSessionService/SignInOperator":     {"guest", "", "", `{}`, invalid},
	"latchkey.admin.v1.OperatorSessionService/GetOperatorSession": {"admin", "", "", `{}`, ok},
	"latchkey.admin.v1.OperatorSessionService/EndOperatorSession": {"admin", "", "", untouched, invalid},
	"latchkey.admin.v1.InstallationService/GetInstallation":       {"admin", "", "", `{}`, ok},
	"latchkey.admin.v1.InstallationService/ListPropertyStates":    {"admin", "", "", `{}`, ok},
	"latchkey.admin.v1.InstallationService/ListFailedJobs":        {"admin", "", "", `{}`, ok},
	"latchkey.admin.v1.InstallationService/RetryJob":              {"admin", "", "", `{"id":"999999999"}`, notFound},
	"latchkey.admin.v1.InstallationService/DiscardJob":            {"admin", "", "", `{"id":"999999999"}`, notFound},

	"latchkey.admin.v1.PropertyService/CreateProperty":   {"admin", "", "", `{}`, invalid},
	"latchkey.admin.v1.PropertyService/ListProperties":   {"admin", "", "", `{}`, ok},
	"latchkey.admin.v1.PropertyService/GetProperty":      {"admin", "", "", `{"id":"prp_0"}`, notFound},
	"latchkey.admin.v1.PropertyService/UpdateProperty":   {"admin", "", "", `{"id":"prp_0","settings":{"name":"x"}}`, notFound},
	"latchkey.admin.v1.PropertyService/DeleteProperty":   {"admin", "", "", `{"id":"prp_0","name":"x"}`, notFound},
	"latchkey.admin.v1.AppService/CreateApp":             {"admin", "", "", `{}`, invalid},
	"latchkey.admin.v1.AppService/ListApps":              {"admin", "", "", `{}`, ok},
	"latchkey.admin.v1.AppService/ListClientTokens":      {"admin", "", "", `{"appId":"app_0"}`, notFound},
	"latchkey.admin.v1.AppService/CreateClientToken":     {"admin", "", "", `{"appId":"app_0"}`, notFound},
	"latchkey.admin.v1.AppService/RotateClientToken":     {"admin", "", "", `{"appId":"app_0"}`, notFound},
	"latchkey.admin.v1.AppService/RevokeClientToken":     {"admin", "", "", `{"appId":"app_0","id":"tok_0"}`, notFound},
	"latchkey.admin.v1.TokenService/CreateOperatorToken": {"admin", "", "", `{}`, invalid},
	"latchkey.admin.v1.TokenService/ListOperatorTokens":  {"admin", "", "", `{}`, ok},
	"latchkey.admin.v1.TokenService/RevokeOperatorToken": {"admin", "", "", `{"id":"tok_0"}`, notFound},
	"latchkey.admin.v1.TokenService/CreateStaffToken":    {"admin", "", "", `{"propertyId":"prp_0","role":"viewer"}`, notFound},
	"latchkey.admin.v1.TokenService/ListStaffTokens":     {"admin", "", "", `{"propertyId":"prp_0"}`, notFound},
	"latchkey.admin.v1.TokenService/RevokeStaffToken":    {"admin", "", "", `{"propertyId":"prp_0","id":"tok_0"}`, notFound},

	"latchkey.property.v1.SmartKeyService/CreateSmartKeyLink":  {"property", "operator", "manageAccess" + stepUp, `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.SmartKeyService/ListSmartKeyPhones":  {"property", "viewer", "readAccess", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.SmartKeyService/RevokeSmartKeyPhone": {"property", "operator", "manageAccess", `{"id":"phn_0"}`, notFound},
	"latchkey.property.v1.SmartKeyService/RestartDoor":         {"property", "operator", "manageLocks", `{"lockId":"lck_0"}`, notFound},
	"latchkey.property.v1.SmartKeyService/SetDoorListAge":      {"property", "owner", "manageLocks", `{"lockId":"lck_0","maxAgeMinutes":60}`, notFound},
	"latchkey.property.v1.SmartKeyService/RotateIssuerKey":     {"property", "owner", "manageCredentials", untouched, invalid},

	"latchkey.guest.v1.SmartKeyService/GetEnrolment": {"guest", "", "", `{"link":"lkg_0"}`, invalid},
	"latchkey.guest.v1.SmartKeyService/Enrol":        {"guest", "", "", `{"link":"lkg_0","possession":"AA=="}`, invalid},
	"latchkey.guest.v1.SmartKeyService/Challenge":    {"guest", "", "", `{"phoneId":"phn_0"}`, notFound},
	"latchkey.guest.v1.SmartKeyService/Renew":        {"guest", "", "", `{"phoneId":"phn_0","possession":"AA=="}`, notFound},
	"latchkey.guest.v1.SmartKeyService/Greet":        {"guest", "", "", `{"token":"AA==","door":"AAAAAAAAAAA="}`, invalid},
	"latchkey.guest.v1.SmartKeyService/Present":      {"guest", "", "", `{"presentation":"AA=="}`, invalid},
	"latchkey.guest.v1.SmartKeyService/GetLists":     {"guest", "", "", `{"token":"AA=="}`, invalid},

	"latchkey.guest.v1.LinkService/GetLink":              {"guest", "", "", `{"link":"lkl_0"}`, notFound},
	"latchkey.guest.v1.LinkService/BindLink":             {"guest", "", "", `{"link":"lkl_0"}`, notFound},
	"latchkey.guest.v1.LinkService/RenewLink":            {"guest", "", "", `{"link":"lkl_0"}`, ok},
	"latchkey.guest.v1.LinkService/GetEndedSession":      {"guest", "", "", `{"token":"lks_0"}`, notFound},
	"latchkey.guest.v1.LinkService/GetDoor":              {"guest", "", "", `{"door":"none"}`, notFound},
	"latchkey.guest.v1.LinkService/GetProperty":          {"guest", "", "", `{"propertyId":"prp_0"}`, notFound},
	"latchkey.guest.v1.LinkService/RequestProfileLink":   {"guest", "", "", `{"propertyId":"prp_0","email":"ada@example.com"}`, notFound},
	"latchkey.guest.v1.LinkService/FindStay":             {"guest", "", "", `{"door":"none","number":"1","familyName":"x"}`, notFound},
	"latchkey.guest.v1.StayService/GetStay":              {"session", "", "", `{}`, ok},
	"latchkey.guest.v1.StayService/RevealPin":            {"session", "", "", `{}`, codes.FailedPrecondition},
	"latchkey.guest.v1.StayService/ListDevices":          {"session", "", "", `{}`, ok},
	"latchkey.guest.v1.StayService/HandOver":             {"session", "", "", `{}`, ok},
	"latchkey.guest.v1.MessageService/ListMessages":      {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.MessageService/SendMessage":       {"session", "", "", `{}`, invalid},
	"latchkey.guest.v1.MessageService/ReadMessages":      {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.MessageService/WatchMessages":     {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/GetErasure":        {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/RequestErasure":    {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/WithdrawErasure":   {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/ExportData":        {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/GetProfile":        {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/DeleteProfile":     {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/GetErasureReceipt": {"guest", "", "", `{"receipt":"lkr_0"}`, notFound},
	"latchkey.guest.v1.StayService/ListDisclosures":      {"session", "", "", `{}`, ok},
	"latchkey.guest.v1.StayService/CreateDeviceLink":     {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.StayService/ListGroup":            {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.StayService/CreateSmartKeyLink":   {"session", "", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.StayService/SetLanguage":          {"session", "", "", `{"language":"xx"}`, invalid},
	"latchkey.guest.v1.StayService/EndSession":           {"session", "", "", untouched, invalid},
	"latchkey.guest.v1.FormService/GetForm":              {"session", "", "", `{"guestId":"gst_0"}`, notFound},
	"latchkey.guest.v1.FormService/ListForms":            {"session", "", "", `{}`, ok},
	"latchkey.guest.v1.FormService/SaveStep":             {"session", "", "", `{"guestId":"gst_0","step":"name"}`, notFound},
	"latchkey.guest.v1.FormService/SignForm":             {"session", "", "", `{"guestId":"gst_0","shown":"0","drawing":"0,0 100,100"}`, notFound},
	"latchkey.guest.v1.FormService/SetParty":             {"session", "", "", `{}`, invalid},
	"latchkey.guest.v1.FormService/InviteCompanion":      {"session", "", "", `{"guestId":"gst_0","email":"ada@example.com"}`, codes.PermissionDenied},
	"latchkey.guest.v1.FormService/RemoveCompanion":      {"session", "", "", `{"guestId":"gst_0"}`, codes.PermissionDenied},
	"latchkey.guest.v1.FormService/SetMailAddress":       {"session", "", "", `{"email":"ada"}`, invalid},
	"latchkey.guest.v1.FormService/SetArrival":           {"session", "", "", `{"time":"noon"}`, invalid},
	"latchkey.guest.v1.FormService/AcceptHouseRules":     {"session", "", "", untouched, invalid},
	"latchkey.guest.v1.FormService/SetSharing":           {"session", "", "", `{"groups":["none"]}`, invalid},
	"latchkey.guest.v1.CheckInService/GetCheckIn":        {"session", "", "", `{}`, ok},
	"latchkey.guest.v1.CheckInService/StartCheckIn":      {"session", "", "", untouched, invalid},
	"latchkey.guest.v1.CheckInService/AskAgain":          {"session", "", "", untouched, invalid},
	"latchkey.guest.v1.CheckInService/ConfirmDetails":    {"session", "", "", untouched, invalid},
	"latchkey.guest.v1.CheckInService/CompleteCheckIn":   {"session", "", "", untouched, invalid},
	"latchkey.guest.v1.CheckInService/RequestHelp":       {"session", "", "", untouched, invalid},

	"latchkey.property.v1.CheckInService/GetCheckInSettings":    {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.CheckInService/UpdateCheckInSettings": {"property", "owner", "manageSettings", `{"settings":{"rule":"nowhere"}}`, invalid},
	"latchkey.property.v1.CheckInService/ListCheckInRules":      {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.CheckInService/GetCheckIn":            {"property", "viewer", "readReservations", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/ClearStage":            {"property", "operator", "manageCheckIns", `{"reservationId":"rsv_0","stage":"signature"}`, notFound},
	"latchkey.property.v1.CheckInService/AskAgain":              {"property", "operator", "manageCheckIns", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/EndCall":               {"property", "operator", "manageCheckIns", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/ResendInvitation":      {"property", "operator", "manageCheckIns", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/GetSignature":          {"property", "operator", "readGuests", `{"reservationId":"rsv_0","guestId":"gst_0"}`, notFound},
	"latchkey.property.v1.CheckInService/ListDevices":           {"property", "operator", "readGuests", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/EndDevice":             {"property", "operator", "manageCheckIns", `{"reservationId":"rsv_0","id":"ses_0"}`, notFound},
	"latchkey.property.v1.MessageService/ListConversations":     {"property", "operator", "readGuests", `{}`, ok},
	"latchkey.property.v1.MessageService/ListMessages":          {"property", "operator", "readGuests", `{"guestId":"gst_0"}`, notFound},
	"latchkey.property.v1.MessageService/SendMessage":           {"property", "operator", "writeMessages", `{"guestId":"gst_0","text":"x"}`, notFound},
	"latchkey.property.v1.MessageService/ReadMessages":          {"property", "operator", "writeMessages", `{"guestId":"gst_0"}`, notFound},
	"latchkey.property.v1.ReservationService/ExtendAccess":      {"property", "operator", "manageAccess" + stepUp, `{"id":"rsv_0","until":"2026-07-01T12:00:00Z","reason":"late flight"}`, notFound},
	"latchkey.property.v1.ReservationService/RevealPin":         {"property", "operator", "revealPins" + stepUp, `{"id":"rsv_0","reason":"lost phone"}`, notFound},
	"latchkey.property.v1.ReservationService/ReplacePin":        {"property", "operator", "manageAccess" + stepUp, `{"id":"rsv_0","reason":"lost phone"}`, notFound},
	"latchkey.property.v1.CheckInService/WaiveOwing":            {"property", "operator", "manageCheckIns", `{"reservationId":"rsv_0","owing":"20.00 EUR","reason":"paid in cash"}`, notFound},
	"latchkey.property.v1.MessageService/WatchConversations":    {"property", "operator", "readGuests", `{}`, ok},
	"latchkey.property.v1.CheckInService/ListGuests":            {"property", "operator", "readGuests", `{"reservationId":"rsv_0"}`, notFound},

	"latchkey.property.v1.PrivacyService/RequestErasure":        {"property", "owner", "eraseGuests" + stepUp, `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.PrivacyService/ExportGuestData":       {"property", "owner", "eraseGuests" + stepUp, `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.PrivacyService/ListErasures":          {"property", "owner", "eraseGuests", `{}`, ok},
	"latchkey.property.v1.NoticeService/GetNoticeSettings":      {"property", "viewer", "readNotices", `{}`, ok},
	"latchkey.property.v1.NoticeService/UpdateNoticeSettings":   {"property", "operator", "readNotices", `{"settings":{"hidden":["weather"]}}`, invalid},
	"latchkey.property.v1.GuestRegisterService/InspectRegister": {"property", "owner", "inspectRegister" + stepUp, `{"firstArrivalOn":"2026-01-01","lastArrivalOn":"2026-12-31","reason":"inspection"}`, ok},

	"latchkey.kiosk.v1.KioskService/EnrolKiosk":     {"guest", "", "", `{}`, invalid},
	"latchkey.kiosk.v1.KioskService/GetKiosk":       {"kiosk", "", "", `{}`, ok},
	"latchkey.kiosk.v1.KioskService/FindStay":       {"kiosk", "", "", `{}`, invalid},
	"latchkey.kiosk.v1.KioskService/RequestHelp":    {"kiosk", "", "", untouched, invalid},
	"latchkey.property.v1.KioskService/CreateKiosk": {"property", "owner", "manageSettings", `{}`, invalid},
	"latchkey.property.v1.KioskService/ListKiosks":  {"property", "viewer", "readProperty", `{}`, ok},
	"latchkey.property.v1.KioskService/ResetKiosk":  {"property", "owner", "manageSettings", `{"id":"ksk_0"}`, notFound},
	"latchkey.property.v1.KioskService/DeleteKiosk": {"property", "owner", "manageSettings", `{"id":"ksk_0"}`, notFound},

	"latchkey.lock.v1.EnrolmentService/Enroll":        {"enrol", "", "", `{}`, invalid},
	"latchkey.lock.v1.BridgeService/Connect":          {"bridge", "", "", ``, codes.Unimplemented},
	"latchkey.lock.v1.BridgeService/RenewCertificate": {"bridge", "", "", `{}`, codes.Unimplemented},
}

func TestMatrixHasARowForEveryRPC(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, r := range e2etest.RPCs() {
		listed[r.Name] = true
		row, ok := matrix[r.Name]
		if !ok {
			t.Errorf("%s has no row in the access matrix", r.Name)
			continue
		}
		if r.Access == nil {
			t.Errorf("%s has no access rule", r.Name)
			continue
		}
		wanted := map[string]string{"partner": r.Access.GetScope(), "property": r.Access.GetRole()}[row.area]
		declared := r.Access.GetRight()
		if r.Access.GetStepUp() {
			declared += stepUp
		}
		if row.right != declared {
			t.Errorf("%s: the matrix says that a person needs %q, the proto %q", r.Name, row.right, declared)
		}
		right, _ := strings.CutSuffix(row.right, stepUp)
		if _, ok := rolesWith[right]; ok != (row.area == "property" || row.area == "person") || right == "self" != (row.area == "person") {
			t.Errorf("%s: a row of the area %s has the right %q", r.Name, row.area, right)
		}
		if row.need != wanted || r.Access.GetAnonymous() != (row.area == "enrol" || row.area == "guest") {
			t.Errorf("%s: the matrix says %q, the proto %v", r.Name, row.need, r.Access)
		}
		if served := len(r.Routes) > 0; served == (row.area == "enrol" || row.area == "bridge" || r.Streams()) {
			t.Errorf("%s has %d REST routes", r.Name, len(r.Routes))
		}
	}
	for name := range matrix {
		if !listed[name] {
			t.Errorf("the matrix has a row for %s, which is no RPC", name)
		}
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	now := &e2etest.Offset{}
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Server.Partner.Allow = []string{"127.0.0.1"}; c.Options.Clock = now })
	all := everybody(t, w, now)
	for _, r := range e2etest.RPCs() {
		if r.Streams() {
			continue // see TestBridgesHaveTheirOwnListener and TestMessagesArePrivate
		}
		t.Run(strings.TrimPrefix(r.Name, "latchkey."), func(t *testing.T) {
			row := matrix[r.Name]
			for _, c := range all {
				for _, p := range e2etest.Protocols {
					if p == e2etest.REST && len(r.Routes) == 0 {
						continue
					}
					try(t, w, r, row, c, p)
				}
			}
		})
	}
}
