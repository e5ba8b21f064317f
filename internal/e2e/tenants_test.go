package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/sandbox"
)

// probes are, for each RPC whose request can name something, a request that is right but for the field that is tried.
// {kind} is replaced by the caller's own id of that kind. Admin RPCs are tried as the operator, about one property.
var probes = map[string]string{
	"latchkey.partner.v1.ReservationService/UpsertReservation":       `{"reservation":{"pmsMeta":{"id":"SHARED-2"},"parentSpaceId":"{spc}"}}`,
	"latchkey.partner.v1.ReservationService/BatchUpsertReservations": `{"reservations":[{"pmsMeta":{"id":"SHARED-2"},"parentSpaceId":"{spc}"}]}`,
	"latchkey.partner.v1.ReservationService/ListReservations":        `{"pageSize":1}`,
	"latchkey.partner.v1.ReservationService/GetReservation":          `{"id":"{rsv}","extend":["pin","gatePins","space","access"]}`,
	"latchkey.partner.v1.ReservationService/FindReservation":         `{"pmsId":"SHARED-1","integrationId":"{int}"}`,
	"latchkey.partner.v1.ReservationService/FindExplanation":         `{"pmsId":"SHARED-1","integrationId":"{int}"}`,
	"latchkey.partner.v1.ReservationService/ExplainReservation":      `{"id":"{rsv}"}`,
	"latchkey.partner.v1.ReservationService/ListGuests":              `{"id":"{rsv}"}`,
	"latchkey.partner.v1.ReservationService/ResetKeyChain":           `{"pmsId":"SHARED-2","reset":"pin"}`,
	"latchkey.partner.v1.WebhookService/UpsertWebhook":               `{"id":"{whk}"}`,
	"latchkey.partner.v1.WebhookService/DeleteWebhook":               `{"id":"{whk}"}`,
	"latchkey.partner.v1.WebhookService/RotateWebhookSecret":         `{"id":"{whk}"}`,
	"latchkey.partner.v1.WebhookService/TestWebhook":                 `{"id":"{whk}"}`,
	"latchkey.partner.v1.SpaceService/ListSpaces":                    `{"filter":{"parentSpaceId":"{spc dorm}"}}`,
	"latchkey.property.v1.SpaceService/ListSpaces":                   `{"parentSpaceId":"{spc dorm}","pageSize":1}`,
	"latchkey.property.v1.SpaceService/GetSpace":                     `{"id":"{spc}"}`,
	"latchkey.property.v1.SpaceService/CreateSpace":                  `{"space":{"type":"Bed","name":"Bed A","parentSpaceId":"{spc dorm}"}}`,
	"latchkey.property.v1.SpaceService/BatchCreateSpaces":            `{"spaces":[{"type":"Bed","name":"Bed A","parentSpaceId":"{spc dorm}"}]}`,
	"latchkey.property.v1.SpaceService/UpdateSpace":                  `{"id":"{spc bed}","parentSpaceId":"{spc dorm}"}`,
	"latchkey.property.v1.SpaceService/DeleteSpace":                  `{"id":"{spc}"}`,
	"latchkey.property.v1.GateService/CreateGate":                    `{"name":"Front door","spaceIds":["{spc}"]}`,
	"latchkey.property.v1.GateService/UpdateGate":                    `{"id":"{gat}","spaces":{"ids":["{spc}"]}}`,
	"latchkey.property.v1.GateService/DeleteGate":                    `{"id":"{gat}"}`,
	"latchkey.property.v1.IntegrationService/ConnectApp":             `{"appId":"{app}"}`,
	"latchkey.property.v1.IntegrationService/GetIntegration":         `{"id":"{int}"}`,
	"latchkey.property.v1.IntegrationService/UpdateIntegration":      `{"id":"{int}","name":"Sandbox PMS"}`,
	"latchkey.property.v1.IntegrationService/RotateAccessToken":      `{"id":"{int}"}`,
	"latchkey.property.v1.IntegrationService/RevokeAccessToken":      `{"id":"{int}"}`,
	"latchkey.property.v1.IntegrationService/RotateSigningSecret":    `{"id":"{int}"}`,
	"latchkey.property.v1.IntegrationService/ReadSpaces":             `{"id":"{int}"}`,
	"latchkey.property.v1.IntegrationService/TestEndpoint":           `{"id":"{int}","action":"getSpaces"}`,
	"latchkey.property.v1.MappingService/ListPartnerSpaces":          `{"integrationId":"{int}","pageSize":1}`,
	"latchkey.property.v1.MappingService/SetMapping":                 `{"integrationId":"{int}","externalId":"R102","spaceId":"{spc}"}`,
	"latchkey.property.v1.MappingService/UnsetMapping":               `{"integrationId":"{int}","externalId":"none"}`,
	"latchkey.property.v1.MappingService/BatchSetMappings":           `{"integrationId":"{int}","mappings":[{"externalId":"R102","spaceId":"{spc}"}]}`,
	"latchkey.property.v1.MappingService/ApplySuggestions":           `{"integrationId":"{int}"}`,
	"latchkey.property.v1.MappingService/CreateMissingSpaces":        `{"integrationId":"{int}"}`,
	"latchkey.property.v1.MappingService/ListMappingChanges":         `{"integrationId":"{int}","pageSize":1}`,
	"latchkey.property.v1.MappingService/UndoMappingChange":          `{"id":"{mch}","validateOnly":true}`,
	"latchkey.property.v1.MappingService/ApplyCure":                  `{"conflictId":"{cfl}","kind":"accept","validateOnly":true}`,
	"latchkey.property.v1.MappingService/ListConflicts":              `{"integrationId":"{int}","pageSize":1}`,
	"latchkey.property.v1.BridgeService/CreateJoinCode":              `{"id":"{brg}"}`,
	"latchkey.property.v1.BridgeService/RevokeBridge":                `{"id":"{brg}"}`,
	"latchkey.property.v1.LockService/ListLocks":                     `{"bridgeId":"{brg}","pageSize":1}`,
	"latchkey.property.v1.LockService/GetLock":                       `{"id":"{lck}"}`,
	"latchkey.property.v1.LockService/GetLockHistory":                `{"id":"{lck}"}`,
	"latchkey.property.v1.LockService/UpdateLock":                    `{"id":"{lck}","name":"x"}`,
	"latchkey.property.v1.LockService/AssignLock":                    `{"id":"{lck}","doorId":"{spc}"}`,
	"latchkey.property.v1.LockService/UnlockLock":                    `{"id":"{lck}"}`,
	"latchkey.property.v1.ReservationService/ExplainReservation":     `{"id":"{rsv}"}`,
	"latchkey.property.v1.ReservationService/ListReservations":       `{"spaceId":"{spc}","date":"2026-11-22","pageSize":1}`,
	"latchkey.property.v1.ReservationService/ListArrivals":           `{"pageSize":1}`,
	"latchkey.property.v1.DayService/ListDay":                        `{"tab":"inHouse","date":"2026-11-22","pageSize":1}`,
	"latchkey.property.v1.CodeService/CreateCode":                    `{"kind":"oneTime","holder":"x","doorIds":["{spc}"],"notAfter":"2099-01-01T00:00:00Z"}`,
	"latchkey.property.v1.CodeService/ListCodes":                     `{"lockId":"{lck}","pageSize":1}`,
	"latchkey.property.v1.CodeService/GetCode":                       `{"id":"{cod}"}`,
	"latchkey.property.v1.CodeService/RevealCode":                    `{"id":"{cod}"}`,
	"latchkey.property.v1.CodeService/RevokeCode":                    `{"id":"{cod}"}`,
	"latchkey.property.v1.CodeService/SwapBackupCodes":               `{"lockId":"{lck}"}`,
	"latchkey.property.v1.TestStayService/StartTestStay":             `{"spaceId":"{spc}"}`,
	"latchkey.property.v1.SmartKeyService/CreateSmartKeyLink":        `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.SmartKeyService/ListSmartKeyPhones":        `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.SmartKeyService/RevokeSmartKeyPhone":       `{"id":"{phn}"}`,
	"latchkey.property.v1.SmartKeyService/RestartDoor":               `{"lockId":"{lck}"}`,
	"latchkey.property.v1.SmartKeyService/SetDoorListAge":            `{"lockId":"{lck}","maxAgeMinutes":60}`,
	"latchkey.guest.v1.SmartKeyService/Challenge":                    `{"phoneId":"{phn}"}`,
	"latchkey.guest.v1.SmartKeyService/Renew":                        `{"phoneId":"{phn}","possession":"AA=="}`,
	"latchkey.property.v1.CheckInService/GetCheckIn":                 `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.CheckInService/ClearStage":                 `{"reservationId":"{rsv}","stage":"signature"}`,
	"latchkey.property.v1.ReservationService/ExtendAccess":           `{"id":"{rsv}","until":"2026-07-01T12:00:00Z","reason":"late flight"}`,
	"latchkey.property.v1.ReservationService/RevealPin":              `{"id":"{rsv}","reason":"lost phone"}`,
	"latchkey.property.v1.ReservationService/ReplacePin":             `{"id":"{rsv}","reason":"lost phone"}`,
	"latchkey.property.v1.CheckInService/WaiveOwing":                 `{"reservationId":"{rsv}","owing":"20.00 EUR","reason":"paid in cash"}`,
	"latchkey.property.v1.CheckInService/AskAgain":                   `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.CheckInService/EndCall":                    `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.CheckInService/ResendInvitation":           `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.CheckInService/GetSignature":               `{"reservationId":"{rsv}","guestId":"{gst}"}`,
	"latchkey.property.v1.CheckInService/ListDevices":                `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.CheckInService/EndDevice":                  `{"reservationId":"{rsv}","id":"{ses}"}`,
	"latchkey.property.v1.CheckInService/ListGuests":                 `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.MessageService/ListConversations":          `{"pageSize":1}`,
	"latchkey.property.v1.MessageService/ListMessages":               `{"guestId":"{gst}"}`,
	"latchkey.property.v1.MessageService/SendMessage":                `{"guestId":"{gst}","text":"Welcome"}`,
	"latchkey.property.v1.MessageService/ReadMessages":               `{"guestId":"{gst}","number":1}`,
	"latchkey.property.v1.NoticeService/GetNoticeSettings":           `{}`,
	"latchkey.property.v1.NoticeService/UpdateNoticeSettings":        `{"settings":{"hidden":["codes"]}}`,
	"latchkey.property.v1.GuestRegisterService/InspectRegister":      `{"firstArrivalOn":"2026-01-01","lastArrivalOn":"2026-12-31","reason":"inspection"}`,
	"latchkey.property.v1.MailService/ListMails":                     `{"reservationId":"{rsv}","pageSize":1}`,
	"latchkey.property.v1.MailService/GetMail":                       `{"id":"{mai}"}`,
	"latchkey.property.v1.MailService/ResendMail":                    `{"id":"{mai}"}`,
	"latchkey.property.v1.MailService/PreviewInvitations":            `{"integrationId":"{int}"}`,
	"latchkey.property.v1.MailService/SetInvitations":                `{"integrationId":"{int}"}`,
	"latchkey.property.v1.PrivacyService/RequestErasure":             `{"reservationId":"rsv_0"}`,
	"latchkey.property.v1.PrivacyService/ExportGuestData":            `{"reservationId":"{rsv}"}`,
	"latchkey.property.v1.PrivacyService/ListErasures":               `{"pageSize":1}`,
	"latchkey.property.v1.SessionService/EndSession":                 `{"id":"{pss}"}`,
	"latchkey.property.v1.PasskeyService/RenamePasskey":              `{"id":"psk_0","name":"x"}`,
	"latchkey.property.v1.PasskeyService/DeletePasskey":              `{"id":"psk_0"}`,
	"latchkey.property.v1.PersonService/ReinvitePerson":              `{"id":"{pln}"}`,
	"latchkey.property.v1.PersonService/WithdrawInvitation":          `{"id":"{pln}"}`,
	"latchkey.property.v1.PersonService/UpdatePerson":                `{"id":"{prs}","role":"frontDesk"}`,
	"latchkey.property.v1.PersonService/RemovePerson":                `{"id":"{prs}"}`,
	"latchkey.property.v1.AuditService/ListEntries":                  `{"pageSize":1}`,
	"latchkey.property.v1.NoticeService/ListNotices":                 `{"pageSize":1}`,
	"latchkey.property.v1.NoticeService/MarkNoticesRead":             `{"ids":["{ntc}"]}`,
	"latchkey.property.v1.KioskService/ResetKiosk":                   `{"id":"{ksk}"}`,
	"latchkey.property.v1.KioskService/DeleteKiosk":                  `{"id":"{ksk}"}`,
	"latchkey.guest.v1.LinkService/GetProperty":                      `{"propertyId":"{prp}"}`,
	"latchkey.guest.v1.LinkService/RequestProfileLink":               `{"propertyId":"{prp}","email":"ada@example.com"}`,
	"latchkey.guest.v1.FormService/GetForm":                          `{"guestId":"{gst}"}`,
	"latchkey.guest.v1.FormService/SaveStep":                         `{"guestId":"{gst}","step":"name","answers":{"firstName":"Ada"}}`,
	"latchkey.guest.v1.FormService/SignForm":                         `{"guestId":"{gst}","shown":"0","drawing":"0,0 100,100"}`,
	"latchkey.guest.v1.FormService/InviteCompanion":                  `{"guestId":"{gst}","email":"ada@example.com"}`,
	"latchkey.guest.v1.FormService/RemoveCompanion":                  `{"guestId":"{gst}"}`,
	"latchkey.guest.v1.StayService/ListDisclosures":                  `{"pageSize":1}`,
	"latchkey.guest.v1.MessageService/ListMessages":                  `{"pageSize":1}`,
	"latchkey.guest.v1.StayService/EndSession":                       `{"deviceId":"{ses}"}`,
	"latchkey.guest.v1.FormService/SetSharing":                       `{"guestId":"{gst}","groups":["identity"]}`,
	"latchkey.admin.v1.TokenService/RevokeStaffToken":                `{"propertyId":"{prp}","id":"{tok staff}"}`,
	"latchkey.admin.v1.TokenService/RevokeOperatorToken":             `{"id":"{tok staff}"}`,
	"latchkey.admin.v1.AppService/RevokeClientToken":                 `{"appId":"app_0","id":"{tok staff}"}`,
}

// identifies reports whether a field is an id of the service or a page token.
func identifies(fd protoreflect.FieldDescriptor) bool {
	if fd.Kind() != protoreflect.StringKind {
		return false
	}
	n := string(fd.Name())
	return n == "id" || n == "ids" || n == "page_token" || strings.HasSuffix(n, "_id") || strings.HasSuffix(n, "_ids")
}

// places finds every field below a message that identifies something, as a way to set it.
func places(path string, md protoreflect.MessageDescriptor, at func(proto.Message) protoreflect.Message) map[string]func(proto.Message, string) {
	out := map[string]func(proto.Message, string){}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		name := path + fd.JSONName()
		switch {
		case identifies(fd) && fd.IsList():
			out[name] = func(m proto.Message, v string) {
				list := at(m).Mutable(fd).List()
				list.Truncate(0)
				list.Append(protoreflect.ValueOfString(v))
			}
		case identifies(fd):
			out[name] = func(m proto.Message, v string) { at(m).Set(fd, protoreflect.ValueOfString(v)) }
		case fd.Message() != nil && !fd.IsMap() && strings.HasPrefix(string(fd.Message().FullName()), "latchkey.") && !answerOnly(fd):
			maps.Copy(out, places(name+".", fd.Message(), func(m proto.Message) protoreflect.Message {
				outer := at(m)
				if !fd.IsList() {
					return outer.Mutable(fd).Message()
				}
				list := outer.Mutable(fd).List()
				if list.Len() == 0 {
					list.AppendMutable()
				}
				return list.Get(0).Message()
			}))
		}
	}
	return out
}

// answerOnly are the messages of a reservation that only answers hold.
func answerOnly(fd protoreflect.FieldDescriptor) bool {
	return slices.Contains([]string{"access", "gates_pins", "space", "main_customer", "companions"}, string(fd.Name()))
}

// landing matches the evidence of a code that is on its way to a lock: it changes without a call.
var landing = regexp.MustCompile(`"(planned|queued|sent)"`)

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Server.Partner.Allow = []string{"127.0.0.1"} })
	a, b := furnish(t, w), furnish(t, w.OpenProperty())
	var before map[string][]byte
	b.Await("codes on the locks", func(context.Context) (bool, error) {
		before = everything(t, b)
		for _, raw := range before {
			if landing.Match(raw) {
				return false, nil
			}
		}
		return true, nil
	})
	for _, r := range e2etest.RPCs() {
		fields := places("", r.Desc.Input(), func(m proto.Message) protoreflect.Message { return m.ProtoReflect() })
		probe, listed := probes[r.Name]
		if len(fields) == 0 || r.ProtoPackage() == "latchkey.lock.v1" {
			continue
		}
		if !listed && r.ProtoPackage() != "latchkey.admin.v1" {
			t.Errorf("%s names things by %v and is not tried", r.Name, slices.Collect(maps.Keys(fields)))
		}
		if !listed {
			continue
		}
		t.Run(strings.TrimPrefix(r.Name, "latchkey."), func(t *testing.T) {
			for field, set := range fields {
				if strings.HasPrefix(r.Name, "latchkey.admin.") && field != "id" {
					continue // operators see all properties
				}
				for kind, foreign := range b.ids {
					for _, c := range callers(r, a) {
						tried(t, a, b, r, c, probe, field, set, kind, foreign)
					}
				}
			}
		})
	}
	if diff := changed(before, everything(t, b)); diff != "" {
		t.Errorf("the calls of A changed B:\n%s", diff)
	}
	for what, raw := range everything(t, a) {
		b.absent(t, "A's "+what, raw, "")
	}
	for what, raw := range everything(t, b) {
		a.absent(t, "B's "+what, raw, "")
	}
}

// callers are who may call an RPC at a property.
func callers(r e2etest.RPC, a *tenant) []e2etest.Caller {
	switch r.ProtoPackage() {
	case "latchkey.partner.v1":
		if r.Access.GetMutates() {
			return []e2etest.Caller{a.Partner()}
		}
		return []e2etest.Caller{a.Partner(), a.Scripts()}
	case "latchkey.property.v1":
		if r.Access.GetRight() == "self" {
			return []e2etest.Caller{a.person.at("")}
		}
		return []e2etest.Caller{a.Owner()}
	case "latchkey.guest.v1":
		if !r.Access.GetAnonymous() {
			return []e2etest.Caller{a.guest()}
		}
		return nil // anybody: a phone's id is no secret, and opens nothing
	}
	return []e2etest.Caller{e2etest.Operator()}
}

// tried calls with another tenant's id and with an unknown id: the answers must be the same.
func tried(t *testing.T, a, b *tenant, r e2etest.RPC, c e2etest.Caller, probe, field string, set func(proto.Message, string), kind, foreign string) {
	t.Helper()
	unknown := id.New(kind[:3])
	for _, p := range []e2etest.Protocol{e2etest.REST, e2etest.GRPC} {
		var said [2]string
		for i, v := range []string{foreign, unknown} {
			req := a.fill(t, r, probe)
			set(req, v)
			got, err := a.Call(t.Context(), p, c, r, req)
			if err != nil {
				t.Fatalf("%s with %s = %s: %v", p, field, kind, err)
			}
			if got.OK() && p == e2etest.REST {
				b.absent(t, fmt.Sprintf("%s with %s = %s", p, field, kind), got.Raw, v)
			}
			said[i] = plain(got, v)
		}
		if said[0] != said[1] {
			t.Errorf("%s as %s with %s = %s of another tenant:\n%s\nand unknown:\n%s", p, c.Name, field, kind, said[0], said[1])
		}
	}
}

func (a *tenant) fill(t testing.TB, r e2etest.RPC, probe string) proto.Message {
	t.Helper()
	for kind, v := range a.ids {
		probe = strings.ReplaceAll(probe, "{"+kind+"}", v)
	}
	req := r.Request()
	if err := protojson.Unmarshal([]byte(probe), req); err != nil {
		t.Fatal(err)
	}
	return req
}

// plain is an answer without what differs from call to call, and without the id that was tried.
func plain(o e2etest.Outcome, tried string) string {
	if o.OK() {
		return "OK"
	}
	text := fmt.Sprintf("%s %d %s %v %s", o.Code, o.HTTP, o.Reason, o.Fields, o.Message)
	if o.Raw != nil {
		var e map[string]any
		_ = json.Unmarshal(o.Raw, &e)
		raw, _ := json.MarshalIndent(e, "", " ")
		text = strings.ReplaceAll(string(raw), o.RequestID, "REQUEST")
	}
	return strings.ReplaceAll(text, tried, "ID")
}

// absent fails if an answer holds an id or a secret of this property, other than the sent id.
func (b *tenant) absent(t *testing.T, what string, raw []byte, sent string) {
	t.Helper()
	for kind, v := range b.ids {
		if v != sent && strings.Contains(string(raw), v) {
			t.Errorf("%s shows %s of another tenant (%s)", what, v, kind)
		}
	}
	for _, v := range slices.Concat(slices.Collect(maps.Values(b.Spaces)), []string{b.AccessToken, b.APIKey, b.StaffToken}) {
		if v != sent && strings.Contains(string(raw), v) {
			t.Errorf("%s shows %s of another tenant", what, v)
		}
	}
}

// everything is what a property can read of itself, by RPC.
func everything(t *testing.T, w *tenant) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	read := func(c e2etest.Caller, name, body string) {
		t.Helper()
		r := e2etest.FindRPC(name)
		got, err := w.Call(t.Context(), e2etest.REST, c, r, w.fill(t, r, body))
		if err != nil || !got.OK() {
			t.Fatalf("%s: %v %v", name, got, err)
		}
		out[name+" as "+c.Name] = e2etest.MaskTimes(got.Raw)
	}
	for _, c := range []e2etest.Caller{w.Partner(), w.Scripts()} {
		read(c, "latchkey.partner.v1.ReservationService/ListReservations", `{}`)
		read(c, "latchkey.partner.v1.ReservationService/GetReservation", `{"id":"{rsv}","extend":["pin","gatePins","space"]}`)
		read(c, "latchkey.partner.v1.SpaceService/ListSpaces", `{"page":{"limit":200}}`)
		read(c, "latchkey.partner.v1.SpaceService/ListGates", `{}`)
		read(c, "latchkey.partner.v1.EndpointService/ListEndpoints", `{}`)
		read(c, "latchkey.partner.v1.IntegrationService/GetIntegration", `{}`)
	}
	for _, name := range []string{
		"PropertyService/GetProperty", "SpaceService/ListSpaces", "GateService/ListGates", "IntegrationService/ListApps", "IntegrationService/ListIntegrations",
		"ApiKeyService/GetApiKey", "MappingService/ListConflicts", "BridgeService/ListBridges", "LockService/ListLocks", "NoticeService/ListNotices", "CodeService/ListCodes",
		"PersonService/ListPeople",
	} {
		read(w.Owner(), "latchkey.property.v1."+name, `{}`)
	}
	read(w.Owner(), "latchkey.property.v1.MappingService/ListPartnerSpaces", `{"integrationId":"{int}"}`)
	read(w.Owner(), "latchkey.property.v1.IntegrationService/GetIntegration", `{"id":"{int}"}`)
	return out
}

func changed(before, after map[string][]byte) string {
	var out strings.Builder
	for what, raw := range before {
		if string(raw) != string(after[what]) {
			fmt.Fprintf(&out, "%s\n was %s\n now %s\n", what, raw, after[what])
		}
	}
	return out.String()
}
