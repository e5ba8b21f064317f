package property

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/staff"
)

// The test covers every method of every service by reflection, including new ones.
func TestOnlyStaffMayCall(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		strangers := map[string]context.Context{
			"anonymous":      a.Context(),
			"an operator":    actor.With(a.Context(), actor.Actor{Kind: actor.Operator, ID: "socket"}),
			"an integration": actor.With(a.Context(), actor.Actor{Kind: actor.Integration, PropertyID: a.id, IntegrationID: "int_1"}),
			"staff of none":  actor.With(a.Context(), actor.Actor{Kind: actor.Staff, Role: credential.RoleOwner}),
		}
		services, calls := reflect.ValueOf(*a.Services), 0
		for i := range services.NumField() {
			service := services.Field(i).Elem()
			for m := range service.NumMethod() {
				method, name := service.Method(m), service.Type().Method(m).Name
				if method.Type().NumIn() != 2 || method.Type().NumOut() != 2 || !method.Type().In(0).Implements(reflect.TypeFor[context.Context]()) {
					continue
				}
				for who, ctx := range strangers {
					out := method.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.New(method.Type().In(1).Elem())})
					err, _ := out[1].Interface().(error)
					if !errors.Is(err, fault.New(fault.Unauthenticated, fault.InvalidCredentials, "")) {
						t.Errorf("%s calls %s: got %v", who, name, err)
					}
				}
				calls++
			}
		}
		if calls < 40 {
			t.Errorf("only %d methods were found", calls)
		}
	})
}

func TestOtherPropertiesAreInvisible(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		room, gate, integration := a.room("101"), a.gate("Main"), a.integration()
		bridge, lk := a.lock("L1")
		a.listed(integration, "101")
		a.w.write(a.T, func(tx *db.Tx) error {
			return notice.Add(tx, notice.Notice{PropertyID: a.id, Kind: "batteryLow", Subject: room, Params: message.Params{"lock": "for A"}})
		})
		name, ctx := "mine", b.ctx
		own := b.room("201")

		refused(b.Space.GetSpace(ctx, &propertyv1.GetSpaceRequest{Id: room}))(t, "get space", fault.SpaceNotFound)
		refused(b.Space.UpdateSpace(ctx, &propertyv1.UpdateSpaceRequest{Id: room, Name: &name}))(t, "update space", fault.SpaceNotFound)
		refused(b.Space.DeleteSpace(ctx, &propertyv1.DeleteSpaceRequest{Id: room}))(t, "delete space", fault.SpaceNotFound)
		refused(b.Gate.UpdateGate(ctx, &propertyv1.UpdateGateRequest{Id: gate, Name: &name}))(t, "update gate", fault.GateNotFound)
		refused(b.Gate.DeleteGate(ctx, &propertyv1.DeleteGateRequest{Id: gate}))(t, "delete gate", fault.GateNotFound)
		refused(b.Integration.GetIntegration(ctx, &propertyv1.GetIntegrationRequest{Id: integration}))(t, "get integration", fault.IntegrationNotFound)
		refused(b.Integration.UpdateIntegration(ctx, &propertyv1.UpdateIntegrationRequest{Id: integration, Name: &name}))(t, "update integration", fault.IntegrationNotFound)
		refused(b.Integration.RotateAccessToken(ctx, &propertyv1.RotateAccessTokenRequest{Id: integration}))(t, "rotate access token", fault.IntegrationNotFound)
		refused(b.Integration.RevokeAccessToken(ctx, &propertyv1.RevokeAccessTokenRequest{Id: integration}))(t, "revoke access token", fault.IntegrationNotFound)
		refused(b.Integration.RotateSigningSecret(ctx, &propertyv1.RotateSigningSecretRequest{Id: integration}))(t, "rotate signing secret", fault.IntegrationNotFound)
		refused(b.Integration.ReadSpaces(ctx, &propertyv1.ReadSpacesRequest{Id: integration}))(t, "read spaces", fault.IntegrationNotFound)
		refused(b.Mapping.ListPartnerSpaces(ctx, &propertyv1.ListPartnerSpacesRequest{IntegrationId: integration}))(t, "list partner spaces", fault.IntegrationNotFound)
		refused(b.Mapping.SetMapping(ctx, &propertyv1.SetMappingRequest{IntegrationId: integration, ExternalId: "x-101", SpaceId: own}))(t, "set mapping", fault.IntegrationNotFound)
		refused(b.Mapping.UnsetMapping(ctx, &propertyv1.UnsetMappingRequest{IntegrationId: integration, ExternalId: "x-101"}))(t, "unset mapping", fault.IntegrationNotFound)
		refused(b.Mapping.ApplySuggestions(ctx, &propertyv1.ApplySuggestionsRequest{IntegrationId: integration}))(t, "apply suggestions", fault.IntegrationNotFound)
		refused(b.Mapping.CreateMissingSpaces(ctx, &propertyv1.CreateMissingSpacesRequest{IntegrationId: integration}))(t, "create missing", fault.IntegrationNotFound)
		refused(b.Bridge.CreateJoinCode(ctx, &propertyv1.CreateJoinCodeRequest{Id: bridge}))(t, "join code", fault.BridgeNotFound)
		refused(b.Bridge.RevokeBridge(ctx, &propertyv1.RevokeBridgeRequest{Id: bridge}))(t, "revoke bridge", fault.BridgeNotFound)
		refused(b.Lock.GetLock(ctx, &propertyv1.GetLockRequest{Id: lk}))(t, "get lock", fault.LockNotFound)
		refused(b.Lock.UpdateLock(ctx, &propertyv1.UpdateLockRequest{Id: lk, Name: name}))(t, "rename lock", fault.LockNotFound)
		refused(b.Lock.AssignLock(ctx, &propertyv1.AssignLockRequest{Id: lk, DoorId: &own}))(t, "assign lock", fault.LockNotFound)
		refused(b.Lock.UnlockLock(ctx, &propertyv1.UnlockLockRequest{Id: lk}))(t, "unlock", fault.LockNotFound)
		_, mine := b.lock("L2")
		refused(b.Lock.AssignLock(ctx, &propertyv1.AssignLockRequest{Id: mine, DoorId: &room}))(t, "assign to another's room", fault.SpaceNotFound)
		refused(b.Lock.AssignLock(ctx, &propertyv1.AssignLockRequest{Id: mine, DoorId: &gate}))(t, "assign to another's gate", fault.GateNotFound)

		for what, n := range map[string]int{
			"gates":        len(must(b.Gate.ListGates(ctx, &propertyv1.ListGatesRequest{}))(t).GetData().GetList()),
			"integrations": len(must(b.Integration.ListIntegrations(ctx, &propertyv1.ListIntegrationsRequest{}))(t).GetData().GetList()),
			"conflicts":    len(must(b.Mapping.ListConflicts(ctx, &propertyv1.ListConflictsRequest{IntegrationId: integration}))(t).GetData().GetList()),
			"notices":      len(must(b.Notice.ListNotices(ctx, &propertyv1.ListNoticesRequest{}))(t).GetData().GetList()),
			"marked":       int(must(b.Notice.MarkNoticesRead(ctx, &propertyv1.MarkNoticesReadRequest{All: true}))(t).GetMarked()),
			"other spaces": len(must(b.Space.ListSpaces(ctx, &propertyv1.ListSpacesRequest{}))(t).GetData().GetList()) - 1,
			"other locks":  len(must(b.Lock.ListLocks(ctx, &propertyv1.ListLocksRequest{}))(t).GetData().GetList()) - 1,
			"empty locks":  len(must(b.Lock.ListLocks(ctx, &propertyv1.ListLocksRequest{BatteryAtMost: new(int32(100))}))(t).GetData().GetList()) - 1,
			"their locks":  len(must(b.Lock.ListLocks(ctx, &propertyv1.ListLocksRequest{BridgeId: bridge}))(t).GetData().GetList()),
		} {
			if n != 0 {
				t.Errorf("B sees %d %s of A", n, what)
			}
		}
		if app := must(b.Integration.ListApps(ctx, &propertyv1.ListAppsRequest{}))(t).GetData().GetList()[0]; app.IntegrationId != nil {
			t.Error("B sees A's integration with the app")
		}
	})
}

func ptr[T any](v T) *T { return &v }

func TestPropertySettings(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		late, zone := int32(45), "Mars/Olympus"
		p := must(a.Property.UpdateProperty(a.ctx, &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{LateOutMinutes: &late}}))(t).GetData()
		if p.GetLateOutMinutes() != 45 || p.GetName() != "A" {
			t.Errorf("got %v", p)
		}
		same(t, "replanned", []space.AffectedStays{{All: true}}, a.w.takeReplanned())
		same(t, "days completed again for a setting that they do not use", 0, a.w.completed)
		for _, s := range []*propertyv1.PropertySettings{{CheckInTime: ptr("16:00")}, {CheckOutTime: ptr("10:00")}, {TimeZone: ptr("Europe/Berlin")}} {
			must(a.Property.UpdateProperty(a.ctx, &propertyv1.UpdatePropertyRequest{Settings: s}))(t)
		}
		same(t, "days completed again", 3, a.w.completed)
		a.w.takeReplanned()
		_, err := a.Property.UpdateProperty(a.ctx, &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{TimeZone: &zone, EarlyInMinutes: ptr(int32(-1))}})
		f, _ := fault.Of(err)
		var paths []string
		for _, field := range f.Fields {
			paths = append(paths, field.Path)
		}
		same(t, "wrong fields", []string{"settings.earlyInMinutes", "settings.timeZone"}, paths)
		same(t, "replanned by a refused change", 0, len(a.w.takeReplanned()))
	})
}

func TestBatchOfSpacesIsAllOrNone(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		batch := func(dorm string) ([]*propertyv1.Space, error) {
			answer, err := a.Space.BatchCreateSpaces(a.ctx, &propertyv1.BatchCreateSpacesRequest{Spaces: []*propertyv1.NewSpace{
				{Type: "Dorm", Name: "Dorm A", Floor: "1"}, {Type: "Bed", Name: "1", ParentName: "Dorm A"}, {Type: "Bed", Name: "2", ParentName: dorm},
			}})
			return answer.GetData().GetList(), err
		}
		_, err := batch("Dorm B")
		if f, ok := fault.Of(err); !ok || len(f.Fields) != 1 || f.Fields[0].Path != "spaces[2].parentName" {
			t.Errorf("got %v", err)
		}
		if n := must(a.Space.ListSpaces(a.ctx, &propertyv1.ListSpacesRequest{}))(t).GetData().GetTotal(); n != 0 {
			t.Fatalf("%d stored of a refused batch", n)
		}
		list, err := batch("Dorm A")
		if err != nil {
			t.Fatal(err)
		}
		for _, bed := range list[1:] {
			if bed.GetParentSpaceId() != list[0].GetId() || bed.GetIsPrivate() || !bed.GetIsActive() {
				t.Errorf("bed %v", bed)
			}
		}
		// A bed names an existing dorm by its name or its id, but not by both.
		one := func(n *propertyv1.NewSpace) (*propertyv1.CreateSpaceResponse, error) {
			return a.Space.CreateSpace(a.ctx, &propertyv1.CreateSpaceRequest{Space: n})
		}
		must(one(&propertyv1.NewSpace{Type: "Bed", Name: "3", ParentName: "Dorm A"}))(t)
		must(one(&propertyv1.NewSpace{Type: "Bed", Name: "4", ParentSpaceId: list[0].GetId()}))(t)
		refused(one(&propertyv1.NewSpace{Type: "Bed", Name: "5", ParentSpaceId: list[0].GetId(), ParentName: "Dorm A"}))(t, "both", fault.InvalidFields)
	})
}

func TestSpacesPage(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		for i := range 5 {
			a.room(fmt.Sprint(101 + i))
		}
		var names []string
		for token := ""; ; {
			list := must(a.Space.ListSpaces(a.ctx, &propertyv1.ListSpacesRequest{PageSize: 2, PageToken: token}))(t).GetData()
			for _, s := range list.GetList() {
				names = append(names, s.GetName())
			}
			if list.GetTotal() != 5 {
				t.Fatalf("total %d", list.GetTotal())
			}
			if token = list.GetNextPageToken(); token == "" {
				break
			}
		}
		same(t, "pages", []string{"101", "102", "103", "104", "105"}, names)
		for _, token := range []string{"x", "-1", "99999999999"} {
			refused(a.Space.ListSpaces(a.ctx, &propertyv1.ListSpacesRequest{PageToken: token}))(t, token, fault.InvalidFields)
		}
	})
}

func TestGateReplansItsSpaces(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		r1, r2 := a.room("101"), a.room("102")
		gate := a.gate("Floor 1", r1)
		a.w.takeReplanned()
		g := must(a.Gate.UpdateGate(a.ctx, &propertyv1.UpdateGateRequest{Id: gate, Spaces: &propertyv1.SpaceIds{Ids: []string{r2}}}))(t).GetData()
		same(t, "spaces", []string{r2}, g.GetSpaceIds())
		var touched space.AffectedStays
		for _, r := range a.w.takeReplanned() {
			touched = touched.Union(r)
		}
		if !touched.All && len(touched.SpaceIDs) != 2 {
			t.Errorf("replanned %+v, want both rooms", touched)
		}
		g = must(a.Gate.UpdateGate(a.ctx, &propertyv1.UpdateGateRequest{Id: gate, Spaces: &propertyv1.SpaceIds{}}))(t).GetData()
		same(t, "all spaces", 0, len(g.GetSpaceIds()))
		must(a.Gate.DeleteGate(a.ctx, &propertyv1.DeleteGateRequest{Id: gate}))(t)
	})
}

func TestNotices(t *testing.T) {
	eachTenant(t, func(a, _ *tenant) {
		for i := range 3 {
			a.w.write(t, func(tx *db.Tx) error {
				return notice.Add(tx, notice.Notice{PropertyID: a.id, Kind: "batteryLow", Subject: "s", Params: message.Params{"lock": fmt.Sprint(i)}, OnceKey: fmt.Sprint(a.id, i)})
			})
		}
		first := must(a.Notice.ListNotices(a.ctx, &propertyv1.ListNoticesRequest{PageSize: 2}))(t).GetData()
		if len(first.GetList()) != 2 || first.GetUnread() != 3 || first.GetList()[0].GetText() != `The battery of lock “2” is low. Change it before the lock stops.` || first.GetList()[0].GetParameters().AsMap()["lock"] != "2" || !first.GetList()[0].GetStands() {
			t.Fatalf("got %v", first)
		}
		second := must(a.Notice.ListNotices(a.ctx, &propertyv1.ListNoticesRequest{PageSize: 2, PageToken: first.GetNextPageToken()}))(t).GetData()
		if len(second.GetList()) != 1 || second.GetNextPageToken() != "" {
			t.Errorf("got %v", second)
		}
		read := func(r *propertyv1.MarkNoticesReadRequest) (*propertyv1.MarkNoticesReadResponse, error) {
			return a.Notice.MarkNoticesRead(a.ctx, r)
		}
		refused(read(&propertyv1.MarkNoticesReadRequest{}))(t, "none", fault.InvalidFields)
		refused(read(&propertyv1.MarkNoticesReadRequest{All: true, Ids: []string{"x"}}))(t, "both", fault.InvalidFields)
		same(t, "one", int32(1), must(read(&propertyv1.MarkNoticesReadRequest{Ids: []string{first.GetList()[0].GetId(), id.New(id.Notice)}}))(t).GetMarked())
		same(t, "the rest", int32(2), must(read(&propertyv1.MarkNoticesReadRequest{All: true}))(t).GetMarked())
		last := must(a.Notice.ListNotices(a.ctx, &propertyv1.ListNoticesRequest{UnreadOnly: true}))(t).GetData()
		same(t, "open problems whose notices are read", int32(3), last.GetOpen())
		same(t, "unread", 0, len(must(a.Notice.ListNotices(a.ctx, &propertyv1.ListNoticesRequest{UnreadOnly: true}))(t).GetData().GetList()))
	})
}

// A change of settings with an old etag is refused, and the error names what changed since. A change without an etag is accepted.
func TestSettingsOfTwoPeople(t *testing.T) {
	eachTenant(t, func(a, b *tenant) {
		get := func() *propertyv1.Property {
			return must(a.Property.GetProperty(a.ctx, &propertyv1.GetPropertyRequest{}))(t).GetData()
		}
		update := func(etag string, s *propertyv1.PropertySettings) (*propertyv1.UpdatePropertyResponse, error) {
			return a.Property.UpdateProperty(a.ctx, &propertyv1.UpdatePropertyRequest{Settings: s, Etag: etag})
		}
		seen := get().GetEtag()
		if seen == "" || seen != get().GetEtag() || seen == must(b.Property.GetProperty(b.ctx, &propertyv1.GetPropertyRequest{}))(t).GetData().GetEtag() {
			t.Fatalf("the etag is %q", seen)
		}
		after := must(update(seen, &propertyv1.PropertySettings{CheckInTime: ptr("14:00")}))(t).GetData().GetEtag()
		if after != get().GetEtag() {
			t.Error("the answer to a change has another etag than the property")
		}
		_, err := update(seen, &propertyv1.PropertySettings{CheckInTime: ptr("16:00")})
		var f *fault.Fault
		if !errors.As(err, &f) || f.Reason != fault.Outdated || f.Meta["changed"] != "checkInTime" {
			t.Errorf("a stale etag: %v", err)
		}
		same(t, "the time after a refused change", "14:00", get().GetCheckInTime())
		must(update(after, &propertyv1.PropertySettings{CheckInTime: ptr("15:00")}))(t)
		must(update("", &propertyv1.PropertySettings{CheckInTime: ptr("16:00")}))(t)

		checkIns := &CheckIns{Deps: a.w.deps}
		rules := func() *propertyv1.CheckInSettings {
			return must(checkIns.GetCheckInSettings(a.ctx, &propertyv1.GetCheckInSettingsRequest{}))(t).GetData()
		}
		change := func(etag string, days int32) error {
			_, err := checkIns.UpdateCheckInSettings(a.ctx, &propertyv1.UpdateCheckInSettingsRequest{Settings: &propertyv1.CheckInSettingsChange{InviteDays: &days}, Etag: etag})
			return err
		}
		seen = rules().GetEtag()
		if err := change(seen, 5); err != nil {
			t.Fatal(err)
		}
		if err := change(seen, 6); !errors.As(err, &f) || f.Reason != fault.Outdated || f.Meta["changed"] != "inviteDays" {
			t.Errorf("a stale etag of the rules: %v", err)
		}
		if err := change(rules().GetEtag(), 6); err != nil {
			t.Error(err)
		}
		seen = rules().GetEtag()
		checkIns.KeepStays, checkIns.KeepEvents, checkIns.KeepAudit = 400*24*time.Hour, 365*24*time.Hour, 1095*24*time.Hour
		kept := rules().GetServerRetention()
		same(t, "days of the server", []int32{400, 365, 1095, 30, 7}, []int32{kept.GetStayDays(), kept.GetEventDays(), kept.GetAuditDays(), kept.GetCanceledStayDays(), kept.GetAnswerDays()})
		same(t, "the etag after another setting of the server", seen, rules().GetEtag()) // a server setting does not make open pages outdated
	})
}

func TestWhoReadsCodeUses(t *testing.T) {
	person := func(role staff.Role) actor.Actor {
		return actor.Actor{Kind: actor.Staff, PersonID: "prs_one", Role: string(role)}
	}
	for name, tt := range map[string]struct {
		a    actor.Actor
		want bool
	}{
		"housekeeping": {person(staff.Housekeeping), false},
		"front desk":   {person(staff.FrontDesk), true},
		"manager":      {person(staff.Manager), true},
		"a token":      {actor.Actor{Kind: actor.Staff, Role: "viewer"}, true},
		"no role":      {person(""), false},
	} {
		if got := mayReadCodeUses(tt.a); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
