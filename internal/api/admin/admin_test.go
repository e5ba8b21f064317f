package admin

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	propertyapi "latchkey.dev/internal/api/property"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
)

// office is an installation and its operator.
type office struct {
	*testing.T
	*Services
	ctx       context.Context
	d         *db.DB
	keys      *keyring.Ring
	partners  *partner.Registry
	replanned map[string]int
	completed []string
}

func eachOffice(t *testing.T, f func(o *office)) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		keys := dbtest.Keys(t, d)
		o := &office{T: t, d: d, keys: keys, partners: partner.New(d, keys, clock.System), replanned: map[string]int{},
			ctx: actor.With(t.Context(), actor.Actor{Kind: actor.Operator, ID: "socket"})}
		o.Services = New(Deps{DB: d, Answers: &idem.Answers{DB: d, Keys: keys}, Keys: keys, Validator: protovalidate.GlobalValidator, Partners: o.partners,
			Stays: propertyapi.Stays{
				Replan: func(_ *db.Tx, propertyID string, t space.AffectedStays) error {
					if t.All {
						o.replanned[propertyID]++
					}
					return nil
				},
				CompleteDays: func(_ *db.Tx, propertyID string) error { o.completed = append(o.completed, propertyID); return nil },
			}})
		f(o)
	})
}

func must[R any](answer R, err error) func(t *testing.T) R {
	return func(t *testing.T) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

func refused[R any](_ R, err error) func(t *testing.T, what string, want fault.Reason) {
	return func(t *testing.T, what string, want fault.Reason) {
		t.Helper()
		if !fault.Has(err, want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
}

func (o *office) property(name string) string {
	o.Helper()
	zone := "Europe/Lisbon"
	return must(o.Property.CreateProperty(o.ctx, &adminv1.CreatePropertyRequest{
		Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone},
	}))(o.T).GetData().GetId()
}

func TestOnlyOperatorsMayCall(t *testing.T) {
	eachOffice(t, func(o *office) {
		property := o.property("A")
		strangers := map[string]context.Context{
			"anonymous":      o.Context(),
			"an owner":       actor.With(o.Context(), actor.Actor{Kind: actor.Staff, PropertyID: property, Role: credential.RoleOwner}),
			"an integration": actor.With(o.Context(), actor.Actor{Kind: actor.Integration, PropertyID: property}),
		}
		services, calls := reflect.ValueOf(*o.Services), 0
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
		if calls != 26 {
			t.Errorf("%d methods were found, want 26", calls)
		}
	})
}

func TestProperties(t *testing.T) {
	eachOffice(t, func(o *office) {
		var ids []string
		for _, name := range []string{"A", "B", "C"} {
			ids = append(ids, o.property(name))
		}
		// A new property can seal its secrets at once.
		if _, err := o.keys.Seal(o.Context(), ids[0], "test", []byte("x")); err != nil {
			t.Error(err)
		}
		var listed []string
		for token := ""; ; {
			page := must(o.Property.ListProperties(o.ctx, &adminv1.ListPropertiesRequest{PageSize: 2, PageToken: token}))(t).GetData()
			for _, p := range page.GetList() {
				listed = append(listed, p.GetId())
			}
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		if diff := cmp.Diff(ids, listed); diff != "" {
			t.Error(diff)
		}
		refused(o.Property.ListProperties(o.ctx, &adminv1.ListPropertiesRequest{PageToken: "x"}))(t, "bad token", fault.InvalidFields)

		late := int32(20)
		p := must(o.Property.UpdateProperty(o.ctx, &adminv1.UpdatePropertyRequest{Id: ids[1], Settings: &propertyv1.PropertySettings{LateOutMinutes: &late}}))(t).GetData()
		if p.GetLateOutMinutes() != 20 || p.GetName() != "B" || o.replanned[ids[1]] != 1 || len(o.replanned) != 1 {
			t.Errorf("got %v, replanned %v", p, o.replanned)
		}
		got := must(o.Property.GetProperty(o.ctx, &adminv1.GetPropertyRequest{Id: ids[1]}))(t).GetData()
		if got.GetLateOutMinutes() != 20 {
			t.Errorf("got %v", got)
		}
		out := "13:00"
		must(o.Property.UpdateProperty(o.ctx, &adminv1.UpdatePropertyRequest{Id: ids[1], Settings: &propertyv1.PropertySettings{CheckOutTime: &out}}))(t)
		if diff := cmp.Diff([]string{ids[1]}, o.completed); diff != "" {
			t.Error("days completed again:", diff)
		}
		refused(o.Property.GetProperty(o.ctx, &adminv1.GetPropertyRequest{Id: "prp_none"}))(t, "get none", fault.PropertyNotFound)
		refused(o.Property.UpdateProperty(o.ctx, &adminv1.UpdatePropertyRequest{Id: "prp_none", Settings: &propertyv1.PropertySettings{LateOutMinutes: &late}}))(t, "update none", fault.PropertyNotFound)
	})
}

func TestCreatePropertyRefusesWrongSettings(t *testing.T) {
	eachOffice(t, func(o *office) {
		zone := "Nowhere"
		_, err := o.Property.CreateProperty(o.ctx, &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{TimeZone: &zone}})
		f, _ := fault.Of(err)
		var paths []string
		for _, field := range f.Fields {
			paths = append(paths, field.Path)
		}
		if diff := cmp.Diff([]string{"settings.timeZone", "settings.name"}, paths); diff != "" {
			t.Error(diff)
		}
		if n := o.d.View(o.Context()).PropertyKey.Query().CountX(o.Context()); n > 2 {
			t.Errorf("%d keys, of which the installation's are two", n)
		}
	})
}

func TestAppsAndClientTokens(t *testing.T) {
	eachOffice(t, func(o *office) {
		made := must(o.App.CreateApp(o.ctx, &adminv1.CreateAppRequest{Name: "CloudPMS"}))(t)
		app, first := made.GetData().GetId(), made.GetClientToken()
		refused(o.App.CreateApp(o.ctx, &adminv1.CreateAppRequest{Name: "CloudPMS"}))(t, "same name", fault.AlreadyExists)
		property := o.property("A")
		var access string
		err := o.d.Write(o.Context(), func(tx *db.Tx) error {
			var err error
			_, access, err = o.partners.Connect(tx, property, app, "", nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		works := func(client string) bool {
			_, err := o.partners.Authenticate(o.Context(), partner.Credentials{ClientToken: client, AccessToken: access})
			return err == nil
		}
		second := must(o.App.CreateClientToken(o.ctx, &adminv1.CreateClientTokenRequest{AppId: app, Name: "spare"}))(t)
		if !works(first) || !works(second.GetClientToken()) {
			t.Error("a token does not work")
		}
		must(o.App.RevokeClientToken(o.ctx, &adminv1.RevokeClientTokenRequest{AppId: app, Id: second.GetData().GetId()}))(t)
		third := must(o.App.RotateClientToken(o.ctx, &adminv1.RotateClientTokenRequest{AppId: app}))(t).GetClientToken()
		if works(first) || works(second.GetClientToken()) || !works(third) {
			t.Error("after revoking and rotating the wrong ones work")
		}
		list := must(o.App.ListClientTokens(o.ctx, &adminv1.ListClientTokensRequest{AppId: app}))(t).GetData()
		if list.GetTotal() != 1 || !strings.HasPrefix(third, list.GetList()[0].GetHint()) {
			t.Errorf("got %v", list)
		}
		apps := must(o.App.ListApps(o.ctx, &adminv1.ListAppsRequest{}))(t).GetData().GetList()
		if len(apps) != 1 || apps[0].GetIntegrations() != 1 {
			t.Errorf("got %v", apps)
		}
		refused(o.App.ListClientTokens(o.ctx, &adminv1.ListClientTokensRequest{AppId: "app_none"}))(t, "list of none", fault.AppNotFound)
	})
}

func TestTokensOfPeople(t *testing.T) {
	eachOffice(t, func(o *office) {
		property, other := o.property("A"), o.property("B")
		works := func(secret string, want actor.Actor) bool {
			a, err := credential.Authenticate(o.Context(), o.d, o.keys, secret)
			a.ID, a.TokenID = "", ""
			return err == nil && cmp.Equal(want, a)
		}
		op := must(o.Token.CreateOperatorToken(o.ctx, &adminv1.CreateOperatorTokenRequest{Name: "Ana"}))(t)
		if !works(op.GetToken(), actor.Actor{Kind: actor.Operator}) || op.GetData().ExpiresAt != nil {
			t.Errorf("operator's: %v", op.GetData())
		}
		desk := must(o.Token.CreateStaffToken(o.ctx, &adminv1.CreateStaffTokenRequest{PropertyId: property, Role: credential.RoleViewer, TtlMinutes: 30}))(t)
		if !works(desk.GetToken(), actor.Actor{Kind: actor.Staff, PropertyID: property, Role: credential.RoleViewer}) {
			t.Error("the staff's does not work")
		}
		if left := time.Until(desk.GetData().GetExpiresAt().AsTime()); left < 28*time.Minute || left > 30*time.Minute {
			t.Errorf("ends in %v", left)
		}
		refused(o.Token.CreateStaffToken(o.ctx, &adminv1.CreateStaffTokenRequest{PropertyId: "prp_none", Role: credential.RoleViewer}))(t, "of no property", fault.PropertyNotFound)
		refused(o.Token.ListStaffTokens(o.ctx, &adminv1.ListStaffTokensRequest{PropertyId: "prp_none"}))(t, "list of none", fault.PropertyNotFound)
		refused(o.Token.RevokeStaffToken(o.ctx, &adminv1.RevokeStaffTokenRequest{PropertyId: other, Id: desk.GetData().GetId()}))(t, "of another", fault.TokenNotFound)
		refused(o.Token.RevokeOperatorToken(o.ctx, &adminv1.RevokeOperatorTokenRequest{Id: desk.GetData().GetId()}))(t, "of another kind", fault.TokenNotFound)
		if n := must(o.Token.ListStaffTokens(o.ctx, &adminv1.ListStaffTokensRequest{PropertyId: property}))(t).GetData().GetTotal(); n != 1 {
			t.Errorf("%d staff tokens", n)
		}
		must(o.Token.RevokeStaffToken(o.ctx, &adminv1.RevokeStaffTokenRequest{PropertyId: property, Id: desk.GetData().GetId()}))(t)
		must(o.Token.RevokeOperatorToken(o.ctx, &adminv1.RevokeOperatorTokenRequest{Id: op.GetData().GetId()}))(t)
		if n := must(o.Token.ListOperatorTokens(o.ctx, &adminv1.ListOperatorTokensRequest{}))(t).GetData().GetTotal(); n != 0 {
			t.Errorf("%d operator tokens", n)
		}
		for _, secret := range []string{op.GetToken(), desk.GetToken()} {
			if _, err := credential.Authenticate(o.Context(), o.d, o.keys, secret); err == nil {
				t.Error("revoked, it works")
			}
		}
	})
}

func TestDeleteProperty(t *testing.T) {
	eachOffice(t, func(o *office) {
		name, zone := "House", "Europe/Lisbon"
		made := must(o.Property.CreateProperty(o.ctx, &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone}}))(o.T)
		propertyID := made.GetData().GetId()
		dbtest.Insert(o.T, o.d, "slots", dbtest.Values{"id": "slt_1", "property_id": propertyID, "present": false, "evidence": "removing"})
		dbtest.Insert(o.T, o.d, "tokens", dbtest.Values{"property_id": propertyID})
		del := func(name string) (*adminv1.DeletePropertyResponse, error) {
			return o.Property.DeleteProperty(o.ctx, &adminv1.DeletePropertyRequest{Id: propertyID, Name: name})
		}
		refused(del("house"))(o.T, "a wrong name", fault.InvalidFields)
		refused(del(name))(o.T, "with a code on a lock", fault.CodesOnLocks)
		if n := o.d.View(o.ctx).Token.Query().CountX(o.ctx); n != 1 {
			o.T.Errorf("%d tokens after a refusal, want 1", n)
		}
		err := o.d.Write(o.ctx, func(tx *db.Tx) error { return tx.Slot.UpdateOneID("slt_1").SetEvidence("removed").Exec(tx.Context()) })
		if err != nil {
			o.T.Fatal(err)
		}
		since := func() *timestamppb.Timestamp {
			listed := must(o.Installation.ListPropertyStates(o.ctx, &adminv1.ListPropertyStatesRequest{}))(o.T).GetData().GetList()[0].GetProperty()
			read := must(o.Property.GetProperty(o.ctx, &adminv1.GetPropertyRequest{Id: propertyID}))(o.T).GetData()
			if !proto.Equal(listed, read) {
				o.T.Errorf("listed %v, read %v", listed, read)
			}
			return read.GetDeletingSince()
		}
		if at := since(); at != nil {
			o.T.Errorf("after refusals the property is being deleted since %v", at.AsTime())
		}
		var began []time.Time
		for range 2 {
			err := o.d.Write(o.ctx, func(tx *db.Tx) error {
				left, err := property.DeleteRows(tx, propertyID, 0) // as in a call that ended before all rows were deleted
				if !left {
					o.T.Error("no row is left")
				}
				return err
			})
			if err != nil {
				o.T.Fatal(err)
			}
			if since() == nil {
				o.T.Fatal("the list does not mark a property that is being deleted")
			}
			began = append(began, since().AsTime())
		}
		if !began[0].Equal(began[1]) {
			o.T.Errorf("the deletion began at %v", began)
		}
		if !must(del(name))(o.T).GetData().GetDone() {
			o.T.Error("not done")
		}
		refused(o.Property.GetProperty(o.ctx, &adminv1.GetPropertyRequest{Id: propertyID}))(o.T, "deleted", fault.PropertyNotFound)
		refused(del(name))(o.T, "again", fault.PropertyNotFound)
	})
}

// An operator may give up locks that are gone for good, after the refusal named them.
func TestDeletePropertyWithAbandonedLocks(t *testing.T) {
	eachOffice(t, func(o *office) {
		propertyID := o.property("House")
		for _, n := range []string{"1", "2"} {
			dbtest.Insert(o.T, o.d, "locks", dbtest.Values{"id": "lck_" + n, "property_id": propertyID, "name": "Room " + n})
			dbtest.Insert(o.T, o.d, "slots", dbtest.Values{"id": "slt_" + n, "lock_id": "lck_" + n, "property_id": propertyID, "present": true, "evidence": "verified"})
		}
		del := func(ids ...string) (*adminv1.DeletePropertyResponse, error) {
			return o.Property.DeleteProperty(o.ctx, &adminv1.DeletePropertyRequest{Id: propertyID, Name: "House", AbandonedLockIds: ids})
		}
		_, err := del()
		if text := err.Error(); !strings.Contains(text, `lck_1 ("Room 1"), lck_2 ("Room 2")`) {
			t.Errorf("the refusal lists no locks: %s", text)
		}
		_, err = del("lck_1")
		if text := err.Error(); !fault.Has(err, fault.CodesOnLocks) || strings.Contains(text, "lck_1") || !strings.Contains(text, "lck_2") {
			t.Errorf("with one of two abandoned locks: %s", text)
		}
		if f, _ := fault.Of(err); f.Meta["lockIds"] != "lck_2" || f.Meta["locks"] != "1" {
			t.Errorf("the locks as data: %v", f.Meta)
		}
		if !must(del("lck_1", "lck_2"))(o.T).GetData().GetDone() {
			t.Error("not done")
		}
	})
}

// Without its property, the server cannot revoke a SmartKey.
func TestSmartKeysRefuseTheDeletion(t *testing.T) {
	eachOffice(t, func(o *office) {
		propertyID := o.property("House")
		del := func() (*adminv1.DeletePropertyResponse, error) {
			return o.Property.DeleteProperty(o.ctx, &adminv1.DeletePropertyRequest{Id: propertyID, Name: "House"})
		}
		dbtest.Insert(o.T, o.d, "key_statuses", dbtest.Values{"id": "kst_1", "property_id": propertyID, "ends_at": time.Now().Add(-time.Minute)})
		refused(del())(o.T, "within the margin of a bridge's clock", fault.SmartkeysInUse)
		err := o.d.Write(o.ctx, func(tx *db.Tx) error {
			return tx.KeyStatus.UpdateOneID("kst_1").SetEndsAt(time.Now().Add(-2 * time.Hour)).Exec(tx.Context())
		})
		if err != nil {
			t.Fatal(err)
		}
		if !must(del())(o.T).GetData().GetDone() {
			t.Error("not done")
		}
	})
}

// The first transaction revokes the bridges and notifies of them, and cached callers are refused at once.
func TestDeletionEndsSessions(t *testing.T) {
	eachOffice(t, func(o *office) {
		propertyID := o.property("House")
		dbtest.Insert(o.T, o.d, "bridges", dbtest.Values{"id": "brg_1", "property_id": propertyID, "revoked_at": nil})
		var changed []string
		o.d.Subscribe(bridge.Changed, func(key string) { changed = append(changed, key) })
		var key string
		err := o.d.Write(o.ctx, func(tx *db.Tx) (err error) {
			_, key, err = o.partners.CreateAPIKey(tx, propertyID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.partners.Authenticate(o.ctx, partner.Credentials{APIKey: key}); err != nil {
			t.Fatal(err)
		}
		must(o.Property.DeleteProperty(o.ctx, &adminv1.DeletePropertyRequest{Id: propertyID, Name: "House"}))(o.T)
		if !slices.Contains(changed, "brg_1") {
			t.Errorf("notified of %v", changed)
		}
		if _, err := o.partners.Authenticate(o.ctx, partner.Credentials{APIKey: key}); err == nil {
			t.Error("a cached caller still works")
		}
	})
}
