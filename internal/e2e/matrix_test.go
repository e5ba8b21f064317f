package e2e

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/staff"
)

// rule is one row of the access matrix: who may call an RPC. It is written by hand, so that a slip in the proto's own
// rule is seen.
type rule struct {
	area  string // partner, property, person (who signed in), admin, guest (anybody), session, kiosk, enrol or bridge
	need  string // the scope of a partner, the least role of staff
	body  string // a request that changes nothing here, as JSON
	wants codes.Code
}

const (
	ok       = codes.OK
	invalid  = codes.InvalidArgument
	notFound = codes.NotFound
)

// untouched makes a call that would change something fail behind the authorization: see Idempotency-Key.
const untouched = "untouched"

// matrix has a row for every RPC.
var matrix = map[string]rule{
	"latchkey.partner.v1.ReservationService/UpsertReservation":       {"partner", "reservations:write", `{"reservation":{}}`, invalid},
	"latchkey.partner.v1.ReservationService/BatchUpsertReservations": {"partner", "reservations:write", `{}`, invalid},
	"latchkey.partner.v1.ReservationService/ListReservations":        {"partner", "reservations:read", `{}`, ok},
	"latchkey.partner.v1.ReservationService/GetReservation":          {"partner", "reservations:read", `{"id":"rsv_0"}`, notFound},
	"latchkey.partner.v1.ReservationService/FindReservation":         {"partner", "reservations:read", `{"pmsId":"none"}`, notFound},
	"latchkey.partner.v1.ReservationService/FindExplanation":         {"partner", "reservations:read", `{"pmsId":"none"}`, notFound},
	"latchkey.partner.v1.ReservationService/ListGuests":              {"partner", "guests:read", `{"id":"rsv_0"}`, notFound},
	"latchkey.partner.v1.ReservationService/ExplainReservation":      {"partner", "reservations:read", `{"id":"rsv_0"}`, notFound},
	"latchkey.partner.v1.ReservationService/ResetKeyChain":           {"partner", "reservations:write", `{"pmsId":"none","reset":"pin"}`, notFound},
	"latchkey.partner.v1.EndpointService/UpsertEndpoint":             {"partner", "endpoints:write", `{"action":"none"}`, invalid},
	"latchkey.partner.v1.EndpointService/ListEndpoints":              {"partner", "", `{}`, ok},
	"latchkey.partner.v1.EndpointService/DeleteEndpoint":             {"partner", "endpoints:write", `{"action":"none"}`, invalid},
	"latchkey.partner.v1.EndpointService/TestEndpoint":               {"partner", "endpoints:write", `{"action":"none"}`, invalid},
	"latchkey.partner.v1.SpaceService/ListSpaces":                    {"partner", "", `{}`, ok},
	"latchkey.partner.v1.SpaceService/ListGates":                     {"partner", "", `{}`, ok},
	"latchkey.partner.v1.IntegrationService/GetIntegration":          {"partner", "", `{}`, ok},
	"latchkey.partner.v1.WebhookService/UpsertWebhook":               {"partner", "webhooks:write", `{"url":"ftp://example.com"}`, invalid},
	"latchkey.partner.v1.WebhookService/ListWebhooks":                {"partner", "webhooks:write", `{}`, ok},
	"latchkey.partner.v1.WebhookService/DeleteWebhook":               {"partner", "webhooks:write", `{"id":"whk_0"}`, notFound},
	"latchkey.partner.v1.WebhookService/RotateWebhookSecret":         {"partner", "webhooks:write", `{"id":"whk_0"}`, notFound},
	"latchkey.partner.v1.WebhookService/TestWebhook":                 {"partner", "webhooks:write", `{"id":"whk_0"}`, notFound},

	"latchkey.property.v1.PropertyService/GetProperty":            {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.PropertyService/UpdateProperty":         {"property", "owner", `{"settings":{"timeZone":"nowhere"}}`, invalid},
	"latchkey.property.v1.SpaceService/ListSpaces":                {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.SpaceService/GetSpace":                  {"property", "viewer", `{"id":"spc_0"}`, notFound},
	"latchkey.property.v1.SpaceService/CreateSpace":               {"property", "operator", `{}`, invalid},
	"latchkey.property.v1.SpaceService/BatchCreateSpaces":         {"property", "operator", `{}`, invalid},
	"latchkey.property.v1.SpaceService/UpdateSpace":               {"property", "operator", `{"id":"spc_0","name":"x"}`, notFound},
	"latchkey.property.v1.SpaceService/DeleteSpace":               {"property", "operator", `{"id":"spc_0"}`, notFound},
	"latchkey.property.v1.GateService/ListGates":                  {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.GateService/CreateGate":                 {"property", "operator", `{}`, invalid},
	"latchkey.property.v1.GateService/UpdateGate":                 {"property", "operator", `{"id":"gat_0","name":"x"}`, notFound},
	"latchkey.property.v1.GateService/DeleteGate":                 {"property", "operator", `{"id":"gat_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/ListApps":            {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.IntegrationService/ConnectApp":          {"property", "owner", `{"appId":"app_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/ListIntegrations":    {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.IntegrationService/GetIntegration":      {"property", "viewer", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/UpdateIntegration":   {"property", "owner", `{"id":"int_0","name":"x"}`, notFound},
	"latchkey.property.v1.IntegrationService/RotateAccessToken":   {"property", "owner", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/RevokeAccessToken":   {"property", "owner", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/RotateSigningSecret": {"property", "owner", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/ReadSpaces":          {"property", "operator", `{"id":"int_0"}`, notFound},
	"latchkey.property.v1.IntegrationService/TestEndpoint":        {"property", "operator", `{"id":"int_0","action":"getSpaces"}`, notFound},
	"latchkey.property.v1.ApiKeyService/GetApiKey":                {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.ApiKeyService/CreateApiKey":             {"property", "owner", untouched, invalid},
	"latchkey.property.v1.ApiKeyService/RotateApiKey":             {"property", "owner", untouched, invalid},
	"latchkey.property.v1.ApiKeyService/RevokeApiKey":             {"property", "owner", untouched, invalid},
	"latchkey.property.v1.MappingService/ListPartnerSpaces":       {"property", "viewer", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MappingService/SetMapping":              {"property", "operator", `{"integrationId":"int_0","externalId":"R101","spaceId":"spc_0"}`, notFound},
	"latchkey.property.v1.MappingService/UnsetMapping":            {"property", "operator", `{"integrationId":"int_0","externalId":"R101"}`, notFound},
	"latchkey.property.v1.MappingService/BatchSetMappings":        {"property", "operator", `{"integrationId":"int_0"}`, invalid},
	"latchkey.property.v1.MappingService/ApplySuggestions":        {"property", "operator", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MappingService/CreateMissingSpaces":     {"property", "operator", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MappingService/ListMappingChanges":      {"property", "viewer", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MappingService/UndoMappingChange":       {"property", "operator", `{"id":"mch_0"}`, notFound},
	"latchkey.property.v1.MappingService/ApplyCure":               {"property", "operator", `{"conflictId":"cfl_0","kind":"accept"}`, notFound},
	"latchkey.property.v1.MappingService/ListConflicts":           {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.BridgeService/CreateBridge":             {"property", "owner", `{}`, invalid},
	"latchkey.property.v1.BridgeService/CreateJoinCode":           {"property", "owner", `{"id":"brg_0"}`, notFound},
	"latchkey.property.v1.BridgeService/ListBridges":              {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.BridgeService/RevokeBridge":             {"property", "owner", `{"id":"brg_0"}`, notFound},
	"latchkey.property.v1.LockService/ListLocks":                  {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.LockService/GetLock":                    {"property", "viewer", `{"id":"lck_0"}`, notFound},
	"latchkey.property.v1.LockService/GetLockHistory":             {"property", "viewer", `{"id":"lck_0"}`, notFound},
	"latchkey.property.v1.LockService/UpdateLock":                 {"property", "operator", `{"id":"lck_0","name":"x"}`, notFound},
	"latchkey.property.v1.LockService/AssignLock":                 {"property", "operator", `{"id":"lck_0","doorId":""}`, notFound},
	"latchkey.property.v1.LockService/UnlockLock":                 {"property", "operator", `{"id":"lck_0"}`, notFound},
	"latchkey.property.v1.ReservationService/ExplainReservation":  {"property", "viewer", `{"id":"rsv_0"}`, notFound},
	"latchkey.property.v1.ReservationService/ListReservations":    {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.ReservationService/ListArrivals":        {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.DayService/ListDay":                     {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.DayService/CountArrivals":               {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.CodeService/CreateCode":                 {"property", "operator", `{}`, invalid},
	"latchkey.property.v1.CodeService/ListCodes":                  {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.CodeService/GetCode":                    {"property", "viewer", `{"id":"cod_0"}`, notFound},
	"latchkey.property.v1.CodeService/RevealCode":                 {"property", "operator", `{"id":"cod_0"}`, notFound},
	"latchkey.property.v1.CodeService/RevokeCode":                 {"property", "operator", `{"id":"cod_0"}`, notFound},
	"latchkey.property.v1.CodeService/SwapBackupCodes":            {"property", "operator", `{"lockId":"lck_0"}`, notFound},
	"latchkey.property.v1.NoticeService/ListNotices":              {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.NoticeService/MarkNoticesRead":          {"property", "operator", `{"ids":["ntc_0"]}`, ok},

	"latchkey.property.v1.MailService/GetMailSettings":    {"property", "owner", `{}`, ok},
	"latchkey.property.v1.MailService/UpdateMailSettings": {"property", "owner", `{}`, invalid},
	"latchkey.property.v1.MailService/SendTestMail":       {"property", "owner", `{}`, invalid},
	"latchkey.property.v1.MailService/ListMails":          {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.MailService/GetMail":            {"property", "operator", `{"id":"mai_0"}`, notFound},
	"latchkey.property.v1.MailService/ResendMail":         {"property", "operator", `{"id":"mai_0"}`, notFound},
	"latchkey.property.v1.MailService/ReportBounce":       {"property", "operator", `{"message":"YQ=="}`, ok},
	"latchkey.property.v1.MailService/PreviewInvitations": {"property", "viewer", `{"integrationId":"int_0"}`, notFound},
	"latchkey.property.v1.MailService/SetInvitations":     {"property", "owner", `{"integrationId":"int_0","enabled":true}`, notFound},

	"latchkey.property.v1.SessionService/SignIn":              {"guest", "", `{}`, invalid},
	"latchkey.property.v1.SessionService/CreateFirstOwner":    {"guest", "", `{}`, invalid},
	"latchkey.property.v1.SessionService/FinishSignIn":        {"guest", "", `{}`, invalid},
	"latchkey.property.v1.SessionService/BeginTOTP":           {"person", "", untouched, invalid},
	"latchkey.property.v1.SessionService/ConfirmTOTP":         {"person", "", `{}`, invalid},
	"latchkey.property.v1.SessionService/DisableTOTP":         {"person", "", untouched, invalid},
	"latchkey.property.v1.SessionService/CreateRecoveryCodes": {"person", "", `{}`, codes.FailedPrecondition},
	"latchkey.property.v1.SessionService/ConfirmSecondFactor": {"person", "", `{}`, invalid},
	"latchkey.property.v1.SessionService/GetSession":          {"person", "", `{}`, ok},
	"latchkey.property.v1.SessionService/ListSessions":        {"person", "", `{}`, ok},
	"latchkey.property.v1.SessionService/EndSession":          {"person", "", `{"id":"pss_0"}`, notFound},
	"latchkey.property.v1.SessionService/SignOutEverywhere":   {"person", "", untouched, invalid},
	"latchkey.property.v1.SessionService/ChangePassword":      {"person", "", `{}`, invalid},

	"latchkey.property.v1.IdentityService/GetIdentityProvider":      {"guest", "", `{}`, ok},
	"latchkey.property.v1.IdentityService/BeginIdentitySignIn":      {"guest", "", `{}`, codes.FailedPrecondition},
	"latchkey.property.v1.IdentityService/FinishIdentitySignIn":     {"guest", "", `{}`, invalid},
	"latchkey.property.v1.IdentityService/BeginIdentityLink":        {"person", "", `{}`, codes.FailedPrecondition},
	"latchkey.property.v1.IdentityService/FinishIdentityLink":       {"person", "", `{}`, invalid},
	"latchkey.property.v1.IdentityService/DeleteIdentityLink":       {"person", "", `{}`, ok},
	"latchkey.property.v1.PasskeyService/ListPasskeys":              {"person", "", `{}`, ok},
	"latchkey.property.v1.PasskeyService/BeginPasskeyRegistration":  {"person", "", `{}`, ok},
	"latchkey.property.v1.PasskeyService/FinishPasskeyRegistration": {"person", "", `{}`, invalid},
	"latchkey.property.v1.PasskeyService/RenamePasskey":             {"person", "", `{"id":"psk_0","name":"x"}`, notFound},
	"latchkey.property.v1.PasskeyService/DeletePasskey":             {"person", "", `{"id":"psk_0"}`, notFound},
	"latchkey.property.v1.PasskeyService/BeginPasskeySignIn":        {"guest", "", `{}`, ok},
	"latchkey.property.v1.PasskeyService/FinishPasskeySignIn":       {"guest", "", `{}`, invalid},
	"latchkey.property.v1.PasskeyService/BeginPasskeyConfirmation":  {"person", "", `{}`, codes.FailedPrecondition},
	"latchkey.property.v1.PasskeyService/FinishPasskeyConfirmation": {"person", "", `{}`, invalid},

	"latchkey.property.v1.EventService/Watch":               {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.SessionService/GetInvitation":     {"guest", "", `{"secret":"lki_0"}`, notFound},
	"latchkey.property.v1.SessionService/AcceptInvitation":  {"guest", "", `{}`, invalid},
	"latchkey.property.v1.PersonService/ListPeople":         {"property", "owner", `{}`, ok},
	"latchkey.property.v1.PersonService/InvitePerson":       {"property", "owner", `{}`, invalid},
	"latchkey.property.v1.PersonService/ReinvitePerson":     {"property", "owner", `{"id":"pln_0"}`, notFound},
	"latchkey.property.v1.PersonService/WithdrawInvitation": {"property", "owner", `{"id":"pln_0"}`, notFound},
	"latchkey.property.v1.PersonService/UpdatePerson":       {"property", "owner", `{"id":"prs_0","role":"frontDesk"}`, notFound},
	"latchkey.property.v1.PersonService/RemovePerson":       {"property", "owner", `{"id":"prs_0"}`, notFound},

	"latchkey.property.v1.TestStayService/GetTestStay":     {"property", "viewer", `{}`, notFound},
	"latchkey.property.v1.TestStayService/StartTestStay":   {"property", "operator", `{"spaceId":"spc_0"}`, notFound},
	"latchkey.property.v1.TestStayService/CheckInTestStay": {"property", "operator", `{}`, notFound},
	"latchkey.property.v1.TestStayService/EndTestStay":     {"property", "operator", `{}`, notFound},

	"latchkey.property.v1.AuditService/ListEntries":   {"property", "owner", `{}`, ok},
	"latchkey.property.v1.AuditService/VerifyEntries": {"property", "owner", `{}`, ok},

	"latchkey.admin.v1.OwnerService/CreateOwnerLink":              {"admin", "", `{"propertyId":"prp_0"}`, notFound},
	"latchkey.admin.v1.OperatorSessionService/SignInOperator":     {"guest", "", `{}`, invalid},
	"latchkey.admin.v1.OperatorSessionService/GetOperatorSession": {"admin", "", `{}`, ok},
	"latchkey.admin.v1.OperatorSessionService/EndOperatorSession": {"admin", "", untouched, invalid},
	"latchkey.admin.v1.InstallationService/GetInstallation":       {"admin", "", `{}`, ok},
	"latchkey.admin.v1.InstallationService/ListPropertyStates":    {"admin", "", `{}`, ok},
	"latchkey.admin.v1.InstallationService/ListFailedJobs":        {"admin", "", `{}`, ok},
	"latchkey.admin.v1.InstallationService/RetryJob":              {"admin", "", `{"id":"999999999"}`, notFound},
	"latchkey.admin.v1.InstallationService/DiscardJob":            {"admin", "", `{"id":"999999999"}`, notFound},

	"latchkey.admin.v1.PropertyService/CreateProperty":   {"admin", "", `{}`, invalid},
	"latchkey.admin.v1.PropertyService/ListProperties":   {"admin", "", `{}`, ok},
	"latchkey.admin.v1.PropertyService/GetProperty":      {"admin", "", `{"id":"prp_0"}`, notFound},
	"latchkey.admin.v1.PropertyService/UpdateProperty":   {"admin", "", `{"id":"prp_0","settings":{"name":"x"}}`, notFound},
	"latchkey.admin.v1.PropertyService/DeleteProperty":   {"admin", "", `{"id":"prp_0","name":"x"}`, notFound},
	"latchkey.admin.v1.AppService/CreateApp":             {"admin", "", `{}`, invalid},
	"latchkey.admin.v1.AppService/ListApps":              {"admin", "", `{}`, ok},
	"latchkey.admin.v1.AppService/ListClientTokens":      {"admin", "", `{"appId":"app_0"}`, notFound},
	"latchkey.admin.v1.AppService/CreateClientToken":     {"admin", "", `{"appId":"app_0"}`, notFound},
	"latchkey.admin.v1.AppService/RotateClientToken":     {"admin", "", `{"appId":"app_0"}`, notFound},
	"latchkey.admin.v1.AppService/RevokeClientToken":     {"admin", "", `{"appId":"app_0","id":"tok_0"}`, notFound},
	"latchkey.admin.v1.TokenService/CreateOperatorToken": {"admin", "", `{}`, invalid},
	"latchkey.admin.v1.TokenService/ListOperatorTokens":  {"admin", "", `{}`, ok},
	"latchkey.admin.v1.TokenService/RevokeOperatorToken": {"admin", "", `{"id":"tok_0"}`, notFound},
	"latchkey.admin.v1.TokenService/CreateStaffToken":    {"admin", "", `{"propertyId":"prp_0","role":"viewer"}`, notFound},
	"latchkey.admin.v1.TokenService/ListStaffTokens":     {"admin", "", `{"propertyId":"prp_0"}`, notFound},
	"latchkey.admin.v1.TokenService/RevokeStaffToken":    {"admin", "", `{"propertyId":"prp_0","id":"tok_0"}`, notFound},

	"latchkey.property.v1.SmartKeyService/CreateSmartKeyLink":  {"property", "operator", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.SmartKeyService/ListSmartKeyPhones":  {"property", "viewer", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.SmartKeyService/RevokeSmartKeyPhone": {"property", "operator", `{"id":"phn_0"}`, notFound},
	"latchkey.property.v1.SmartKeyService/RestartDoor":         {"property", "operator", `{"lockId":"lck_0"}`, notFound},
	"latchkey.property.v1.SmartKeyService/SetDoorListAge":      {"property", "owner", `{"lockId":"lck_0","maxAgeMinutes":60}`, notFound},
	"latchkey.property.v1.SmartKeyService/RotateIssuerKey":     {"property", "owner", untouched, invalid},

	"latchkey.guest.v1.SmartKeyService/GetEnrolment": {"guest", "", `{"link":"lkg_0"}`, invalid},
	"latchkey.guest.v1.SmartKeyService/Enrol":        {"guest", "", `{"link":"lkg_0","possession":"AA=="}`, invalid},
	"latchkey.guest.v1.SmartKeyService/Challenge":    {"guest", "", `{"phoneId":"phn_0"}`, notFound},
	"latchkey.guest.v1.SmartKeyService/Renew":        {"guest", "", `{"phoneId":"phn_0","possession":"AA=="}`, notFound},
	"latchkey.guest.v1.SmartKeyService/Greet":        {"guest", "", `{"token":"AA==","door":"AAAAAAAAAAA="}`, invalid},
	"latchkey.guest.v1.SmartKeyService/Present":      {"guest", "", `{"presentation":"AA=="}`, invalid},
	"latchkey.guest.v1.SmartKeyService/GetLists":     {"guest", "", `{"token":"AA=="}`, invalid},

	"latchkey.guest.v1.LinkService/GetLink":              {"guest", "", `{"link":"lkl_0"}`, notFound},
	"latchkey.guest.v1.LinkService/BindLink":             {"guest", "", `{"link":"lkl_0"}`, notFound},
	"latchkey.guest.v1.LinkService/RenewLink":            {"guest", "", `{"link":"lkl_0"}`, ok},
	"latchkey.guest.v1.LinkService/GetEndedSession":      {"guest", "", `{"token":"lks_0"}`, notFound},
	"latchkey.guest.v1.LinkService/GetDoor":              {"guest", "", `{"door":"none"}`, notFound},
	"latchkey.guest.v1.LinkService/GetProperty":          {"guest", "", `{"propertyId":"prp_0"}`, notFound},
	"latchkey.guest.v1.LinkService/RequestProfileLink":   {"guest", "", `{"propertyId":"prp_0","email":"ada@example.com"}`, notFound},
	"latchkey.guest.v1.LinkService/FindStay":             {"guest", "", `{"door":"none","number":"1","familyName":"x"}`, notFound},
	"latchkey.guest.v1.StayService/GetStay":              {"session", "", `{}`, ok},
	"latchkey.guest.v1.StayService/RevealPin":            {"session", "", `{}`, codes.FailedPrecondition},
	"latchkey.guest.v1.StayService/ListDevices":          {"session", "", `{}`, ok},
	"latchkey.guest.v1.StayService/HandOver":             {"session", "", `{}`, ok},
	"latchkey.guest.v1.MessageService/ListMessages":      {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.MessageService/SendMessage":       {"session", "", `{}`, invalid},
	"latchkey.guest.v1.MessageService/ReadMessages":      {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.MessageService/WatchMessages":     {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/GetErasure":        {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/RequestErasure":    {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/WithdrawErasure":   {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/ExportData":        {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/GetProfile":        {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/DeleteProfile":     {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.PrivacyService/GetErasureReceipt": {"guest", "", `{"receipt":"lkr_0"}`, notFound},
	"latchkey.guest.v1.StayService/ListDisclosures":      {"session", "", `{}`, ok},
	"latchkey.guest.v1.StayService/CreateDeviceLink":     {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.StayService/ListGroup":            {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.StayService/CreateSmartKeyLink":   {"session", "", `{}`, codes.PermissionDenied},
	"latchkey.guest.v1.StayService/SetLanguage":          {"session", "", `{"language":"xx"}`, invalid},
	"latchkey.guest.v1.StayService/EndSession":           {"session", "", untouched, invalid},
	"latchkey.guest.v1.FormService/GetForm":              {"session", "", `{"guestId":"gst_0"}`, notFound},
	"latchkey.guest.v1.FormService/ListForms":            {"session", "", `{}`, ok},
	"latchkey.guest.v1.FormService/SaveStep":             {"session", "", `{"guestId":"gst_0","step":"name"}`, notFound},
	"latchkey.guest.v1.FormService/SignForm":             {"session", "", `{"guestId":"gst_0","shown":"0","drawing":"0,0 100,100"}`, notFound},
	"latchkey.guest.v1.FormService/SetParty":             {"session", "", `{}`, invalid},
	"latchkey.guest.v1.FormService/InviteCompanion":      {"session", "", `{"guestId":"gst_0","email":"ada@example.com"}`, codes.PermissionDenied},
	"latchkey.guest.v1.FormService/RemoveCompanion":      {"session", "", `{"guestId":"gst_0"}`, codes.PermissionDenied},
	"latchkey.guest.v1.FormService/SetMailAddress":       {"session", "", `{"email":"ada"}`, invalid},
	"latchkey.guest.v1.FormService/SetArrival":           {"session", "", `{"time":"noon"}`, invalid},
	"latchkey.guest.v1.FormService/AcceptHouseRules":     {"session", "", untouched, invalid},
	"latchkey.guest.v1.FormService/SetSharing":           {"session", "", `{"groups":["none"]}`, invalid},
	"latchkey.guest.v1.CheckInService/GetCheckIn":        {"session", "", `{}`, ok},
	"latchkey.guest.v1.CheckInService/StartCheckIn":      {"session", "", untouched, invalid},
	"latchkey.guest.v1.CheckInService/AskAgain":          {"session", "", untouched, invalid},
	"latchkey.guest.v1.CheckInService/ConfirmDetails":    {"session", "", untouched, invalid},
	"latchkey.guest.v1.CheckInService/CompleteCheckIn":   {"session", "", untouched, invalid},
	"latchkey.guest.v1.CheckInService/RequestHelp":       {"session", "", untouched, invalid},

	"latchkey.property.v1.CheckInService/GetCheckInSettings":    {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.CheckInService/UpdateCheckInSettings": {"property", "owner", `{"settings":{"rule":"nowhere"}}`, invalid},
	"latchkey.property.v1.CheckInService/ListCheckInRules":      {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.CheckInService/GetCheckIn":            {"property", "viewer", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/ClearStage":            {"property", "operator", `{"reservationId":"rsv_0","stage":"signature"}`, notFound},
	"latchkey.property.v1.CheckInService/AskAgain":              {"property", "operator", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/EndCall":               {"property", "operator", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/ResendInvitation":      {"property", "operator", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/GetSignature":          {"property", "operator", `{"reservationId":"rsv_0","guestId":"gst_0"}`, notFound},
	"latchkey.property.v1.CheckInService/ListDevices":           {"property", "operator", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.CheckInService/EndDevice":             {"property", "operator", `{"reservationId":"rsv_0","id":"ses_0"}`, notFound},
	"latchkey.property.v1.MessageService/ListConversations":     {"property", "operator", `{}`, ok},
	"latchkey.property.v1.MessageService/ListMessages":          {"property", "operator", `{"guestId":"gst_0"}`, notFound},
	"latchkey.property.v1.MessageService/SendMessage":           {"property", "operator", `{"guestId":"gst_0","text":"x"}`, notFound},
	"latchkey.property.v1.MessageService/ReadMessages":          {"property", "operator", `{"guestId":"gst_0"}`, notFound},
	"latchkey.property.v1.ReservationService/ExtendAccess":      {"property", "operator", `{"id":"rsv_0","until":"2026-07-01T12:00:00Z","reason":"late flight"}`, notFound},
	"latchkey.property.v1.ReservationService/RevealPin":         {"property", "operator", `{"id":"rsv_0","reason":"lost phone"}`, notFound},
	"latchkey.property.v1.ReservationService/ReplacePin":        {"property", "operator", `{"id":"rsv_0","reason":"lost phone"}`, notFound},
	"latchkey.property.v1.CheckInService/WaiveOwing":            {"property", "operator", `{"reservationId":"rsv_0","owing":"20.00 EUR","reason":"paid in cash"}`, notFound},
	"latchkey.property.v1.MessageService/WatchConversations":    {"property", "operator", `{}`, ok},
	"latchkey.property.v1.CheckInService/ListGuests":            {"property", "operator", `{"reservationId":"rsv_0"}`, notFound},

	"latchkey.property.v1.PrivacyService/RequestErasure":        {"property", "owner", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.PrivacyService/ExportGuestData":       {"property", "owner", `{"reservationId":"rsv_0"}`, notFound},
	"latchkey.property.v1.PrivacyService/ListErasures":          {"property", "owner", `{}`, ok},
	"latchkey.property.v1.NoticeService/GetNoticeSettings":      {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.NoticeService/UpdateNoticeSettings":   {"property", "operator", `{"settings":{"hidden":["weather"]}}`, invalid},
	"latchkey.property.v1.GuestRegisterService/InspectRegister": {"property", "owner", `{"firstArrivalOn":"2026-01-01","lastArrivalOn":"2026-12-31","reason":"inspection"}`, ok},

	"latchkey.kiosk.v1.KioskService/EnrolKiosk":     {"guest", "", `{}`, invalid},
	"latchkey.kiosk.v1.KioskService/GetKiosk":       {"kiosk", "", `{}`, ok},
	"latchkey.kiosk.v1.KioskService/FindStay":       {"kiosk", "", `{}`, invalid},
	"latchkey.kiosk.v1.KioskService/RequestHelp":    {"kiosk", "", untouched, invalid},
	"latchkey.property.v1.KioskService/CreateKiosk": {"property", "owner", `{}`, invalid},
	"latchkey.property.v1.KioskService/ListKiosks":  {"property", "viewer", `{}`, ok},
	"latchkey.property.v1.KioskService/ResetKiosk":  {"property", "owner", `{"id":"ksk_0"}`, notFound},
	"latchkey.property.v1.KioskService/DeleteKiosk": {"property", "owner", `{"id":"ksk_0"}`, notFound},

	"latchkey.lock.v1.EnrolmentService/Enroll":        {"enrol", "", `{}`, invalid},
	"latchkey.lock.v1.BridgeService/Connect":          {"bridge", "", ``, codes.Unimplemented},
	"latchkey.lock.v1.BridgeService/RenewCertificate": {"bridge", "", `{}`, codes.Unimplemented},
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
		if row.area == "person" && r.Access.GetRight() != "self" || row.area == "property" && !staff.IsRight(r.Access.GetRight()) {
			t.Errorf("%s: the proto names the right %q", r.Name, r.Access.GetRight())
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
