package partner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/test/dbtest"
)

// fixture is an installation with two properties, both connected to one app, and a second app.
type fixture struct {
	*testing.T
	d     *db.DB
	r     *Registry
	clock *clock.Fixed

	p1, p2         string // properties
	app, rival     string
	client, rivals string // client tokens
	int1, int2     string
	access1        string
	access2        string
}

func each(t *testing.T, f func(x *fixture)) {
	c := clock.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		x := &fixture{T: t, d: d, r: New(d, dbtest.Keys(t, d), c), clock: c}
		x.write(func(tx *db.Tx) error {
			a, client, err := x.r.CreateApp(tx, "CloudPMS")
			if err != nil {
				return err
			}
			x.app, x.client = a.ID, client
			a, x.rivals, err = x.r.CreateApp(tx, "OtherPMS")
			x.rival = a.ID
			return err
		})
		x.p1, x.int1, x.access1 = x.property("A")
		x.p2, x.int2, x.access2 = x.property("B")
		f(x)
	}, dbtest.Clock(c))
}

func (x *fixture) property(name string) (propertyID, integration, access string) {
	x.Helper()
	zone := "Europe/Lisbon"
	propertyID, err := property.NewID(x.Context(), x.r.keys)
	if err != nil {
		x.Fatal(err)
	}
	x.write(func(tx *db.Tx) error {
		if _, err := property.Create(tx, x.r.keys, propertyID, property.Settings{Name: &name, TimeZone: &zone}); err != nil {
			return err
		}
		row, secret, err := x.r.Connect(tx, propertyID, x.app, "", nil)
		if err != nil {
			return err
		}
		integration, access = row.ID, secret
		return nil
	})
	return propertyID, integration, access
}

func (x *fixture) write(fn func(tx *db.Tx) error) {
	x.Helper()
	if err := x.d.Write(x.Context(), fn); err != nil {
		x.Fatal(err)
	}
}

func (x *fixture) fails(reason fault.Reason, fn func(tx *db.Tx) error) {
	x.Helper()
	if err := x.d.Write(x.Context(), fn); !fault.Has(err, reason) {
		x.Errorf("got %v, want %s", err, reason)
	}
}

func (x *fixture) refused(what string, c Credentials) {
	x.Helper()
	if a, err := x.r.Authenticate(x.Context(), c); !errors.Is(err, fault.New(fault.Unauthenticated, fault.InvalidCredentials, "")) {
		x.Errorf("%s: got %+v, %v", what, a, err)
	}
}

func (x *fixture) accepted(what, property string, c Credentials) actor.Actor {
	x.Helper()
	a, err := x.r.Authenticate(x.Context(), c)
	if err != nil || a.PropertyID != property || a.Kind != actor.Integration {
		x.Errorf("%s: got %+v, %v", what, a, err)
	}
	return a
}

func TestAuthenticate(t *testing.T) {
	each(t, func(x *fixture) {
		a := x.accepted("both headers", x.p1, Credentials{ClientToken: x.client, AccessToken: x.access1})
		want := actor.Actor{Kind: actor.Integration, ID: x.int1, PropertyID: x.p1, IntegrationID: x.int1, AppID: x.app, Scopes: defaultScopes, TokenID: a.TokenID}
		if diff := cmp.Diff(want, a); diff != "" || !strings.HasPrefix(a.TokenID, "tok_") {
			t.Errorf("token %q, %s", a.TokenID, diff)
		}
		x.accepted("bearer", x.p2, Credentials{Bearer: x.access2})
		x.accepted("bearer with client token", x.p2, Credentials{Bearer: x.access2, ClientToken: x.client})
		x.accepted("the same twice", x.p2, Credentials{Bearer: x.access2, AccessToken: x.access2, ClientToken: x.client})

		x.refused("nothing", Credentials{})
		x.refused("client token alone", Credentials{ClientToken: x.client})
		x.refused("access token header alone", Credentials{AccessToken: x.access1})
		x.refused("client token of another app", Credentials{ClientToken: x.rivals, AccessToken: x.access1})
		x.refused("swapped", Credentials{ClientToken: x.access1, AccessToken: x.client})
		x.refused("client token as bearer", Credentials{Bearer: x.client})
		x.refused("access token as api-key", Credentials{APIKey: x.access1})
		x.refused("two that differ", Credentials{Bearer: x.access2, AccessToken: x.access1, ClientToken: x.client})
		x.refused("valid and junk", Credentials{Bearer: x.access1, ClientToken: "junk"})
		x.refused("api-key too", Credentials{Bearer: x.access1, APIKey: "junk"})
	})
}

func TestRotatedAccessTokenStopsAtOnce(t *testing.T) {
	each(t, func(x *fixture) {
		x.accepted("before", x.p1, Credentials{Bearer: x.access1})
		var fresh string
		x.write(func(tx *db.Tx) error {
			var err error
			_, fresh, err = x.r.RotateAccessToken(tx, x.p1, x.int1, 0)
			return err
		})
		x.refused("the old one", Credentials{Bearer: x.access1})
		x.accepted("the new one", x.p1, Credentials{Bearer: fresh})
		x.accepted("another property's", x.p2, Credentials{Bearer: x.access2})

		var newest string
		x.write(func(tx *db.Tx) error {
			var err error
			_, newest, err = x.r.RotateAccessToken(tx, x.p1, x.int1, time.Hour)
			return err
		})
		x.accepted("during the overlap", x.p1, Credentials{Bearer: fresh})
		x.accepted("during the overlap, new", x.p1, Credentials{Bearer: newest})
		x.clock.Advance(time.Hour)
		x.refused("after the overlap", Credentials{Bearer: fresh})
		x.accepted("after the overlap, new", x.p1, Credentials{Bearer: newest})

		x.write(func(tx *db.Tx) error { _, err := x.r.RevokeAccessTokens(tx, x.p1, x.int1); return err })
		x.refused("revoked", Credentials{Bearer: newest})
	})
}

func TestRolledBackRotationKeepsTheOldToken(t *testing.T) {
	each(t, func(x *fixture) {
		failure := errors.New("no")
		err := x.d.Write(x.Context(), func(tx *db.Tx) error {
			if _, _, err := x.r.RotateAccessToken(tx, x.p1, x.int1, 0); err != nil {
				return err
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Fatal(err)
		}
		x.accepted("the old one", x.p1, Credentials{Bearer: x.access1})
	})
}

func TestRevocationReachesOtherProcessesWithinASecond(t *testing.T) {
	each(t, func(x *fixture) {
		elsewhere := New(x.d, x.r.keys, x.clock)
		x.accepted("here", x.p1, Credentials{Bearer: x.access1})
		x.write(func(tx *db.Tx) error { _, err := elsewhere.RevokeAccessTokens(tx, x.p1, x.int1); return err })
		x.clock.Advance(time.Second)
		x.refused("a second later", Credentials{Bearer: x.access1})
	})
}

func TestClientTokens(t *testing.T) {
	each(t, func(x *fixture) {
		var second, third, id string
		x.write(func(tx *db.Tx) error {
			row, s, err := x.r.CreateClientToken(tx, x.app, "spare")
			if err == nil {
				id, second = row.ID, s
			}
			return err
		})
		with := func(client string) Credentials { return Credentials{ClientToken: client, AccessToken: x.access1} }
		x.accepted("first", x.p1, with(x.client))
		x.accepted("second", x.p1, with(second))
		x.fails(fault.TokenNotFound, func(tx *db.Tx) error { _, err := x.r.RevokeClientToken(tx, x.rival, id); return err })
		x.write(func(tx *db.Tx) error { _, err := x.r.RevokeClientToken(tx, x.app, id); return err })
		x.refused("revoked", with(second))
		x.write(func(tx *db.Tx) error {
			var err error
			_, third, err = x.r.RotateClientToken(tx, x.app, time.Minute)
			return err
		})
		x.accepted("rotated, overlap", x.p1, with(x.client))
		x.clock.Advance(2 * time.Minute)
		x.refused("rotated, over", with(x.client))
		x.accepted("third", x.p1, with(third))
		if rows, err := ClientTokens(x.d.View(x.Context()), x.app, x.clock.Now()); err != nil || len(rows) != 1 {
			t.Errorf("%d valid, %v", len(rows), err)
		}
		for range 9 {
			x.write(func(tx *db.Tx) error { _, _, err := x.r.CreateClientToken(tx, x.app, ""); return err })
		}
		x.fails(fault.InUse, func(tx *db.Tx) error { _, _, err := x.r.CreateClientToken(tx, x.app, ""); return err })
		x.fails(fault.AppNotFound, func(tx *db.Tx) error { _, _, err := x.r.CreateClientToken(tx, "app_none", ""); return err })
	})
}

func TestAPIKey(t *testing.T) {
	each(t, func(x *fixture) {
		if _, err := APIKeys(x.d.View(x.Context()), x.p1, x.clock.Now()); !fault.Has(err, fault.TokenNotFound) {
			t.Errorf("none yet: %v", err)
		}
		x.fails(fault.TokenNotFound, func(tx *db.Tx) error { return x.r.RevokeAPIKey(tx, x.p1) })
		var first, second string
		x.write(func(tx *db.Tx) error { var err error; _, first, err = x.r.CreateAPIKey(tx, x.p1); return err })
		a := x.accepted("first", x.p1, Credentials{APIKey: first})
		if a.AppID != "" || a.IntegrationID == "" || !a.Has(actor.ReservationsRead) || a.Has(actor.ReservationsWrite) {
			t.Errorf("got %+v", a)
		}
		x.fails(fault.AlreadyExists, func(tx *db.Tx) error { _, _, err := x.r.CreateAPIKey(tx, x.p1); return err })
		x.write(func(tx *db.Tx) error { var err error; _, second, err = x.r.RotateAPIKey(tx, x.p1, 0); return err })
		x.refused("rotated", Credentials{APIKey: first})
		if b := x.accepted("second", x.p1, Credentials{APIKey: second}); b.IntegrationID != a.IntegrationID {
			t.Error("the built-in integration changed")
		}
		x.fails(fault.InUse, func(tx *db.Tx) error { _, _, err := x.r.RotateAccessToken(tx, x.p1, a.IntegrationID, 0); return err })
		x.write(func(tx *db.Tx) error { return x.r.RevokeAPIKey(tx, x.p1) })
		x.refused("revoked", Credentials{APIKey: second})
	})
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	each(t, func(x *fixture) {
		view := x.d.View(x.Context())
		if _, err := Integration(view, x.p2, x.int1); !fault.Has(err, fault.IntegrationNotFound) {
			t.Errorf("got %v", err)
		}
		rows, err := Integrations(view, x.p1)
		if err != nil || len(rows) != 1 || rows[0].ID != x.int1 {
			t.Errorf("got %v, %v", rows, err)
		}
		tokens, err := AccessTokens(view, x.p1, x.clock.Now())
		if err != nil || len(tokens) != 1 || len(tokens[x.int1]) != 1 {
			t.Errorf("got %v, %v", tokens, err)
		}
		none := fault.IntegrationNotFound
		x.fails(none, func(tx *db.Tx) error { _, _, err := x.r.RotateAccessToken(tx, x.p2, x.int1, 0); return err })
		x.fails(none, func(tx *db.Tx) error { _, err := x.r.RevokeAccessTokens(tx, x.p2, x.int1); return err })
		x.fails(none, func(tx *db.Tx) error { _, err := x.r.Update(tx, x.p2, x.int1, nil, nil); return err })
		x.fails(none, func(tx *db.Tx) error { _, err := x.r.RotateSigningSecret(tx, x.p2, x.int1, false); return err })
		x.fails(none, func(tx *db.Tx) error {
			_, _, err := x.r.Register(tx, Endpoint{PropertyID: x.p2, IntegrationID: x.int1, Action: GetSpaces, URL: "https://a.example"}, anyURL)
			return err
		})
		x.accepted("untouched", x.p1, Credentials{Bearer: x.access1})
	})
}

func TestConnect(t *testing.T) {
	each(t, func(x *fixture) {
		x.fails(fault.AlreadyExists, func(tx *db.Tx) error { _, _, err := x.r.Connect(tx, x.p1, x.app, "", nil); return err })
		x.fails(fault.AppNotFound, func(tx *db.Tx) error { _, _, err := x.r.Connect(tx, x.p1, "app_none", "", nil); return err })
		x.fails(fault.PropertyNotFound, func(tx *db.Tx) error { _, _, err := x.r.Connect(tx, "prp_none", x.app, "", nil); return err })
		x.fails(fault.InvalidFields, func(tx *db.Tx) error {
			_, _, err := x.r.Connect(tx, x.p1, x.rival, "", []string{"doors:open"})
			return err
		})
		x.fails(fault.AlreadyExists, func(tx *db.Tx) error { _, _, err := x.r.CreateApp(tx, "CloudPMS"); return err })
		counts, err := Connected(x.d.View(x.Context()))
		if diff := cmp.Diff(map[string]int{x.app: 2}, counts); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
}

func TestUpdateChangesScopesOfCallersAtOnce(t *testing.T) {
	each(t, func(x *fixture) {
		c := Credentials{Bearer: x.access1}
		x.accepted("before", x.p1, c)
		name := "Front office"
		x.write(func(tx *db.Tx) error {
			row, err := x.r.Update(tx, x.p1, x.int1, &name, []string{actor.ReservationsRead})
			if err == nil && row.Name != name {
				t.Errorf("name %q", row.Name)
			}
			return err
		})
		if a := x.accepted("after", x.p1, c); a.Has(actor.ReservationsWrite) || !a.Has(actor.ReservationsRead) {
			t.Errorf("scopes %v", a.Scopes)
		}
	})
}
