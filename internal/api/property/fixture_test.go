package property

import (
	"context"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/bridge"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/space"
	"latchkey.dev/internal/test/dbtest"
)

// tenant is a property with its services, called by its owner.
type tenant struct {
	*testing.T
	*Services
	ctx context.Context
	id  string
	w   *world
}

// world is an installation.
type world struct {
	d         *db.DB
	deps      Deps
	services  *Services
	clock     *clock.Fixed
	replanned []space.AffectedStays
	unsent    int
	completed int // how often the dates were recomputed
	read      func(propertyID, integrationID string) error
	problem   message.Message // what read says to staff
	act       func(order lock.UnlockCommand) (lock.Outcome, error)
	app       string
}

// eachTenant runs f on every database with two properties of one installation.
func eachTenant(t *testing.T, f func(a, b *tenant)) {
	c := clock.At(time.Now().Truncate(time.Second))
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d, c)
		f(w.tenant(t, "A"), w.tenant(t, "B"))
	}, dbtest.Clock(c))
}

func newWorld(t *testing.T, d *db.DB, c *clock.Fixed) *world {
	t.Helper()
	keys := dbtest.Keys(t, d)
	w := &world{d: d, clock: c}
	w.deps = Deps{
		DB: d, Answers: &idem.Answers{DB: d, Keys: keys}, Keys: keys, Validator: protovalidate.GlobalValidator, Partners: partner.New(d, keys, c),
		Stays: Stays{
			Replan: func(_ *db.Tx, _ string, touched space.AffectedStays) error {
				w.replanned = append(w.replanned, touched)
				return nil
			},
			CompleteDays: func(*db.Tx, string) error { w.completed++; return nil },
		},
		ReadSpaces: func(_ context.Context, propertyID, integrationID string) (message.Message, error) {
			return w.problem, w.read(propertyID, integrationID)
		},
		Unsent: func(err error) {
			if fault.Has(err, fault.BridgeOffline) {
				w.unsent++
			}
		},
		SendCommand: func(_ context.Context, order lock.UnlockCommand) (lock.Outcome, error) { return w.act(order) },
	}
	w.write(t, func(tx *db.Tx) (err error) {
		if w.deps.CA, err = bridge.LoadOrCreateCA(tx, keys); err != nil {
			return err
		}
		a, _, err := w.deps.Partners.CreateApp(tx, "CloudPMS")
		if err == nil {
			w.app = a.ID
		}
		return err
	})
	w.services = New(w.deps)
	return w
}

func (w *world) write(t *testing.T, f func(tx *db.Tx) error) {
	t.Helper()
	if err := w.d.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func (w *world) tenant(t *testing.T, name string) *tenant {
	t.Helper()
	propertyID, err := property.NewID(t.Context(), w.deps.Keys)
	if err != nil {
		t.Fatal(err)
	}
	zone := "Europe/Lisbon"
	w.write(t, func(tx *db.Tx) error {
		_, err := property.Create(tx, w.deps.Keys, propertyID, property.Settings{Name: &name, TimeZone: &zone})
		return err
	})
	ctx := actor.With(t.Context(), actor.Actor{Kind: actor.Staff, ID: "tok_" + name, PropertyID: propertyID, Role: credential.RoleOwner, TokenID: "tok_" + name})
	return &tenant{T: t, Services: w.services, ctx: ctx, id: propertyID, w: w}
}

// room makes a room and returns its id.
func (h *tenant) room(name string) string {
	h.Helper()
	return must(h.Space.CreateSpace(h.ctx, &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Room", Name: name}}))(h.T).GetData().GetId()
}

func (h *tenant) gate(name string, spaces ...string) string {
	h.Helper()
	return must(h.Gate.CreateGate(h.ctx, &propertyv1.CreateGateRequest{Name: name, SpaceIds: spaces}))(h.T).GetData().GetId()
}

func (h *tenant) integration() string {
	h.Helper()
	return must(h.Integration.ConnectApp(h.ctx, &propertyv1.ConnectAppRequest{AppId: h.w.app}))(h.T).GetData().GetId()
}

// listed stores a reading of getSpaces with some rooms.
func (h *tenant) listed(integrationID string, names ...string) {
	h.Helper()
	var all []space.Listed
	for _, n := range names {
		externalID, name, given := strings.Cut(n, "=")
		if !given {
			externalID, name = "x-"+n, n
		}
		all = append(all, space.Listed{ExternalID: externalID, Type: space.Room, Name: name, IsPrivate: true, IsActive: true})
	}
	h.w.write(h.T, func(tx *db.Tx) error {
		_, err := h.w.deps.Mappings.Record(tx, h.id, integrationID, space.Reading{Spaces: all})
		return err
	})
}

// lock makes a bridge that is connected, with a lock.
func (h *tenant) lock(name string) (bridgeID, lockID string) {
	h.Helper()
	bridgeID = must(h.Bridge.CreateBridge(h.ctx, &propertyv1.CreateBridgeRequest{Name: "Bridge of " + name}))(h.T).GetData().GetId()
	lockID = id.New(id.Lock)
	h.w.write(h.T, func(tx *db.Tx) error {
		err := tx.Bridge.UpdateOneID(bridgeID).SetEnrolledAt(tx.Now()).SetOnline(true).SetLastSeenAt(tx.Now()).Exec(tx.Context())
		if err != nil {
			return err
		}
		return tx.Lock.Create().SetID(lockID).SetPropertyID(h.id).SetName(name).SetBridgeID(bridgeID).SetAddress(name).
			SetCapabilities(slot.Capabilities{PINMin: 4, PINMax: 8, Slots: 10, RemoteUnlock: true}).
			SetStatus(lock.Status{Bolt: "locked", Online: true}).SetCreatedAt(tx.Now()).Exec(tx.Context())
	})
	return bridgeID, lockID
}

// must returns an answer, or fails the test.
func must[R any](answer R, err error) func(t *testing.T) R {
	return func(t *testing.T) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

// refused checks that a call was refused for a reason.
func refused[R any](_ R, err error) func(t *testing.T, what string, want fault.Reason) {
	return func(t *testing.T, what string, want fault.Reason) {
		t.Helper()
		if !fault.Has(err, want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
}

// takeReplanned returns what was replanned since the previous call.
func (w *world) takeReplanned() []space.AffectedStays {
	taken := w.replanned
	w.replanned = nil
	return taken
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}
