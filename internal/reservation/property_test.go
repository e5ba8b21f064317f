package reservation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"latchkey.dev/ent"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

// morning is when every test begins: 9:00 UTC, 10:00 in Berlin.
var morning = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// testProperty is a property with rooms, a dorm of four beds, a gate, a lock on each door, and a bridge that the test plays.
type testProperty struct {
	t     testing.TB
	db    *db.DB
	clock *clock.Fixed
	keys  *keyring.Ring
	scope reservation.Scope
	caps  slot.Capabilities
	id    string        // of the property; ids of all else end in it
	keep  time.Duration // retention of stays
}

const epoch = 7

// each runs f with a new property on every engine.
func each(t *testing.T, f func(t *testing.T, h *testProperty)) {
	t.Helper()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) { f(t, open(t, engine)) })
	}
}

func open(t testing.TB, engine string) *testProperty {
	t.Helper()
	c := clock.At(morning)
	d := dbtest.Open(t, engine, dbtest.Clock(c))
	keys := dbtest.Keys(t, d)
	return build(t, d, c, keys, "one")
}

// build creates a property in a database. Doors: rooms r1, r2 and r3, dorm d1 with beds b1 to b4, gate g1, each with a lock
// of one bridge, and room bare without. The partner's spaces have the same names in capitals, and are mapped, but NEW.
func build(t testing.TB, d *db.DB, c *clock.Fixed, keys *keyring.Ring, name string) *testProperty {
	t.Helper()
	h := &testProperty{t: t, db: d, clock: c, keys: keys, id: "prp_" + name, scope: reservation.Scope{PropertyID: "prp_" + name, IntegrationID: "int_" + name}}
	h.caps = slot.Capabilities{PINMin: 4, PINMax: 8, Slots: 4, ReadBack: true, Readable: slot.ReadableMasked, Schedule: slot.ScheduleWindow}
	h.must(keys.EnsureKey(t.Context(), h.id))
	h.write(func(tx *db.Tx) error {
		ctx := tx.Context()
		if err := tx.Property.Create().SetID(h.id).SetName(name).SetTimeZone("Europe/Berlin").SetLateOutMinutes(30).Exec(ctx); err != nil {
			return err
		}
		if err := tx.Integration.Create().SetID(h.scope.IntegrationID).SetPropertyID(h.id).SetName("PMS").SetScopes([]string{}).Exec(ctx); err != nil {
			return err
		}
		err := tx.Bridge.Create().SetID(h.at("brg")).SetPropertyID(h.id).SetName("cellar").SetEnrolledAt(tx.Now()).
			SetOnline(true).SetLastSeenAt(tx.Now()).SetEpoch(epoch).Exec(ctx)
		for _, r := range []string{"r1", "r2", "r3"} {
			err = errors.Join(err, h.addSpace(tx, r, "Room", "", true), h.addLock(tx, r))
		}
		err = errors.Join(err, h.addSpace(tx, "bare", "Room", "", true), h.addSpace(tx, "d1", "Dorm", "", false), h.addLock(tx, "d1"))
		for _, b := range []string{"b1", "b2", "b3", "b4"} {
			err = errors.Join(err, h.addSpace(tx, b, "Bed", "d1", false), h.addLock(tx, b))
		}
		return errors.Join(err, tx.Gate.Create().SetID(h.at("g1")).SetPropertyID(h.id).SetName("g1").SetSpaceIds([]string{}).Exec(ctx), h.addLock(tx, "g1"))
	})
	return h
}

// at returns the id in this property of a short name.
func (h *testProperty) at(short string) string { return short + "_" + h.id[4:] }

func (h *testProperty) ctx() context.Context { return h.t.Context() }

func (h *testProperty) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *testProperty) write(f func(tx *db.Tx) error) {
	h.t.Helper()
	h.must(h.db.Write(h.ctx(), f))
}

func (h *testProperty) space(short, kind, parent string, private bool) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error { return h.addSpace(tx, short, kind, parent, private) })
}

func (h *testProperty) addSpace(tx *db.Tx, short, kind, parent string, private bool) error {
	c := tx.Space.Create().SetID(h.at(short)).SetPropertyID(h.id).SetName(short).SetType(kind).SetIsPrivate(private)
	if parent != "" {
		c.SetParentID(h.at(parent))
	}
	if err := c.Exec(tx.Context()); err != nil {
		return err
	}
	return h.mapped(tx, short)
}

// mapped ties the partner's space of the same name in capitals.
func (h *testProperty) mapped(tx *db.Tx, short string) error {
	return tx.Mapping.Create().SetPropertyID(h.id).SetIntegrationID(h.scope.IntegrationID).SetExternalID(theirs(short)).
		SetSpaceID(h.at(short)).SetName(short).SetType("Room").Exec(tx.Context())
}

func theirs(short string) string { return "P-" + short }

func (h *testProperty) lock(door string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error { return h.addLock(tx, door) })
}

func (h *testProperty) addLock(tx *db.Tx, door string) error {
	return tx.Lock.Create().SetID(h.at("lck-" + door)).SetPropertyID(h.id).SetName(door).SetBridgeID(h.at("brg")).SetAddress(door).
		SetDoorID(h.at(door)).SetCapabilities(h.caps).SetStatus(lock.Status{Online: true}).Exec(tx.Context())
}

// service is the service under test.
func (h *testProperty) service() reservation.Service {
	return reservation.Service{Keys: h.keys, Keep: h.keep}
}

// try stores a patch.
func (h *testProperty) try(p reservation.Patch) (s reservation.Stored, err error) {
	err = h.db.Write(h.ctx(), func(tx *db.Tx) error {
		s, err = h.service().Upsert(tx, h.scope, p, nil)
		return err
	})
	return s, err
}

// put stores a patch that is in order.
func (h *testProperty) put(p reservation.Patch) reservation.Stored {
	h.t.Helper()
	s, err := h.try(p)
	h.must(err)
	return s
}

// putUntilStored stores a patch from one of many goroutines. It retries as a client does: on a slow machine, a change that collides with
// many others on PostgreSQL is refused for now.
func (h *testProperty) putUntilStored(p reservation.Patch) {
	h.t.Helper()
	for {
		_, err := h.try(p)
		if f, ok := fault.Of(err); ok && (f.Kind == fault.Aborted || f.Kind == fault.Unavailable) || errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		if err != nil {
			h.t.Error(err)
		}
		return
	}
}

// booking is a confirmed stay from this afternoon for three nights.
func booking(id, space string) reservation.Patch {
	p := reservation.Patch{
		reservation.PMSID: id, reservation.Number: "N-" + id, reservation.LastName: "Lovelace", reservation.FirstName: "Ada",
		reservation.Email: "ada@example.com", reservation.State: "confirmed",
		reservation.From: "2026-11-21T15:00:00+01:00", reservation.To: "2026-11-24T11:00:00+01:00",
	}
	if space != "" {
		p[reservation.SpaceID] = theirs(space)
	}
	return p
}

func with(p reservation.Patch, changes ...any) reservation.Patch {
	out := reservation.Patch{}
	for k, v := range p {
		out[k] = v
	}
	for i := 0; i < len(changes); i += 2 {
		out[changes[i].(reservation.Field)] = changes[i+1]
	}
	return out
}

// state is a patch that changes the state alone.
func state(id, to string) reservation.Patch {
	return reservation.Patch{reservation.PMSID: id, reservation.State: to}
}

// slots lists all slots, by lock and number.
func (h *testProperty) slots() []*ent.Slot {
	h.t.Helper()
	rows, err := h.db.View(h.ctx()).Slot.Query().Where(entslot.PropertyID(h.id)).Order(entslot.ByLockID(), entslot.ByNumber()).All(h.ctx())
	h.must(err)
	return rows
}

// present lists the doors with a desired code of a stay.
func (h *testProperty) present(rsv string) []string {
	h.t.Helper()
	var out []string
	for _, s := range h.slots() {
		if s.Present && h.grantOf(s.GrantID).ReservationID == rsv {
			out = append(out, strings.TrimSuffix(s.DoorID, h.at("")))
		}
	}
	return out
}

func (h *testProperty) grantOf(id string) *ent.Grant {
	h.t.Helper()
	g, err := h.db.View(h.ctx()).Grant.Get(h.ctx(), id)
	h.must(err)
	return g
}

// reportSlots reports evidence for every slot of a door's lock with its desired generation, as the bridge.
func (h *testProperty) reportSlots(door string, e slot.Evidence, r slot.Result) {
	h.t.Helper()
	h.reportObserved(door, slot.Observed{Evidence: e, Result: r, Cleared: e == slot.Failed}) // what is refused takes off what was there
}

// reportObserved is reportSlots with all fields of an observation.
func (h *testProperty) reportObserved(door string, o slot.Observed) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		rows, err := tx.Slot.Query().Where(entslot.LockID(h.at("lck-" + door))).All(tx.Context())
		if err != nil {
			return err
		}
		var seen []lock.Observation
		for _, s := range rows {
			if s.SeenGeneration == s.Generation && s.SeenEvidence == string(slot.Verified) {
				continue
			}
			if !s.Present && o.Evidence == slot.Failed {
				continue // a removal is never given up
			}
			o.Generation, o.Present, o.At = uint64(s.Generation), s.Present && o.Evidence.ConfirmedByLock(), tx.Now()
			seen = append(seen, lock.Observation{Number: s.Number, Observed: o})
		}
		return h.reportEvidence(tx, door, seen)
	})
}

func (h *testProperty) reportEvidence(tx *db.Tx, door string, seen []lock.Observation) error {
	learned, err := lock.ApplyObservations(tx, h.keys, h.at("brg"), epoch, door, seen)
	if err != nil {
		return err
	}
	return h.applyEvidence(tx, learned)
}

func (h *testProperty) applyEvidence(tx *db.Tx, learned []lock.EvidenceChange) error {
	return code.ApplyEvidence(access.Reconciler{Tx: tx, Keys: h.keys}, learned)
}

// verify reports the desired codes of doors as verified, as the bridge.
func (h *testProperty) verify(doors ...string) {
	h.t.Helper()
	for _, d := range doors {
		h.reportSlots(d, slot.Verified, slot.OK)
	}
}
