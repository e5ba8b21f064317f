package readiness_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	entarrival "latchkey.dev/ent/arrival"
	entnotice "latchkey.dev/ent/notice"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/reservation/readiness"
	"latchkey.dev/internal/test/dbtest"
)

var morning = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// testProperty is a property with one room, its lock, an online bridge, and a guest who arrives in 30 hours.
type testProperty struct {
	keys *keyring.Ring
	*testing.T
	db    *db.DB
	clock *clock.Fixed
	seen  time.Time
	guest string
}

func each(t *testing.T, f func(h *testProperty)) {
	t.Helper()
	c := clock.At(morning)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c.Set(morning)
		h := &testProperty{T: t, db: d, clock: c}
		h.write(func(tx *db.Tx) error {
			ctx := tx.Context()
			if err := tx.Property.Create().SetID("prp_1").SetName("One").SetTimeZone("Europe/Lisbon").Exec(ctx); err != nil {
				return err
			}
			if err := tx.Integration.Create().SetID("int_1").SetPropertyID("prp_1").SetName("PMS").SetScopes([]string{}).Exec(ctx); err != nil {
				return err
			}
			if err := tx.Bridge.Create().SetID("brg_1").SetPropertyID("prp_1").SetName("cellar").SetEnrolledAt(tx.Now()).SetOnline(true).SetLastSeenAt(tx.Now()).Exec(ctx); err != nil {
				return err
			}
			if err := tx.Space.Create().SetID("spc_1").SetPropertyID("prp_1").SetName("Room 1").SetType("Room").SetIsPrivate(true).Exec(ctx); err != nil {
				return err
			}
			return tx.Lock.Create().SetID("lck_1").SetPropertyID("prp_1").SetName("Room 1").SetBridgeID("brg_1").SetAddress("1").SetDoorID("spc_1").
				SetCapabilities(slot.Capabilities{PINMin: 4, PINMax: 8, Slots: 4, ReadBack: true}).SetStatus(lock.Status{Online: true}).Exec(ctx)
		})
		kek, err := keyring.NewKEK()
		if err == nil {
			h.keys, err = keyring.Open(h.Context(), keyring.Source{Keys: keyring.KEKs{kek}}, db.KeyStore{DB: h.db})
		}
		if err == nil {
			err = h.keys.EnsureKey(h.Context(), "prp_1")
		}
		if err != nil {
			h.Fatal(err)
		}
		h.guest = h.push(map[reservation.Field]any{reservation.OwnSpaceID: "spc_1", reservation.State: "confirmed"})
		f(h)
	}, dbtest.Clock(c))
}

func (h *testProperty) write(f func(tx *db.Tx) error) {
	h.Helper()
	if err := h.db.Write(h.Context(), f); err != nil {
		h.Fatal(err)
	}
}

var begins = morning.Add(30 * time.Hour)

func (h *testProperty) push(p reservation.Patch) (id string) {
	h.Helper()
	all := reservation.Patch{
		reservation.PMSID: "B-1", reservation.Number: "N-1", reservation.LastName: "Lovelace", reservation.Email: "ada@example.com",
		reservation.From: begins.Format(time.RFC3339), reservation.To: begins.Add(48 * time.Hour).Format(time.RFC3339),
	}
	for k, v := range p {
		all[k] = v
	}
	h.write(func(tx *db.Tx) error {
		s, err := reservation.Service{Keys: h.keys}.Upsert(tx, reservation.Scope{PropertyID: "prp_1", IntegrationID: "int_1"}, all, nil)
		if err == nil {
			id = s.Row.ID
		}
		return err
	})
	return id
}

// at moves the clock to a time before the beginning, keeps the bridge online, and checks due arrivals. It returns their number.
func (h *testProperty) at(left time.Duration) int {
	h.Helper()
	h.clock.Set(begins.Add(-left))
	h.write(func(tx *db.Tx) error {
		return tx.Bridge.UpdateOneID("brg_1").SetLastSeenAt(tx.Now()).Exec(tx.Context())
	})
	return h.look()
}

func (h *testProperty) look() int {
	h.Helper()
	h.write(func(tx *db.Tx) (err error) {
		_, h.seen, err = reservation.EnqueueDueArrivals(tx, h.seen, 10)
		return err
	})
	checks := h.due()
	h.store(checks)
	return len(checks)
}

func (h *testProperty) due() []*readiness.Check {
	h.Helper()
	due, err := readiness.CheckDue(h.db.View(h.Context()), reservation.Service{}, 10, nil)
	if err != nil || len(due.Failed) > 0 {
		h.Fatal(err, due.Failed)
	}
	return due.Checks
}

func (h *testProperty) store(checks []*readiness.Check) {
	h.Helper()
	h.write(func(tx *db.Tx) error {
		for _, l := range checks {
			if err := l.Store(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// is fails unless the arrival was checked at this checkpoint with this status, and staff got so many notices in all; open is the
// notice that is not resolved.
func (h *testProperty) is(minutes int, verdict, open string, notices int) {
	h.Helper()
	a, err := h.db.View(h.Context()).Arrival.Query().Where(entarrival.ID(h.guest)).All(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	if verdict == "" {
		if len(a) != 0 {
			h.Errorf("it is watched still: %v", a)
		}
	} else if len(a) != 1 || a[0].Minutes != minutes || a[0].Verdict != verdict {
		h.Errorf("arrival %v, want %s at %d", a, verdict, minutes)
	}
	all, err := h.db.View(h.Context()).Notice.Query().Where(entnotice.Subject(h.guest)).All(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	unresolved := ""
	for _, n := range all {
		if n.OnceKey != nil {
			unresolved += n.Kind
		}
		if text := fmt.Sprint(n.Parameters); strings.Contains(text, "Lovelace") || strings.Contains(text, "example.com") {
			h.Errorf("a notice names the guest: %s", text)
		}
	}
	if unresolved != open || len(all) != notices {
		h.Errorf("%q is open of %d notices, want %q of %d", unresolved, len(all), open, notices)
	}
}

func (h *testProperty) setOnline(online bool) {
	h.Helper()
	h.write(func(tx *db.Tx) error {
		return tx.Lock.UpdateOneID("lck_1").SetStatus(lock.Status{Online: online}).Exec(tx.Context())
	})
}

func TestEveryArrivalIsCheckedThreeTimes(t *testing.T) {
	each(t, func(h *testProperty) {
		if n := h.at(24*time.Hour + time.Second); n != 0 {
			h.Errorf("checked %d before its time", n)
		}
		h.is(0, "", "", 0)
		for _, tt := range []struct {
			left    time.Duration
			minutes int
		}{{24 * time.Hour, 1440}, {2 * time.Hour, 120}, {15 * time.Minute, 15}} {
			if n := h.at(tt.left); n != 1 {
				h.Errorf("checked %d at %v", n, tt.left)
			}
			h.is(tt.minutes, "ready", "", 0)
			if n := h.look(); n != 0 {
				h.Errorf("checked %d twice", n)
			}
		}
		h.at(0)
		h.is(15, "ready", "", 0)
		h.at(-12 * time.Hour)
		h.is(0, "", "", 0)
	})
}

// A lock that fails after the start of the stay is reported. A guest who has checked in is not, only because the code is not yet in the lock.
func TestNoticeOfALateArrival(t *testing.T) {
	for _, tt := range []struct {
		state, online string // online is the status while the lock is online: a guest who has checked in waits for the code in the lock
	}{{"confirmed", "ready"}, {"started", "atRisk"}} {
		each(t, func(h *testProperty) {
			h.at(time.Minute)
			h.push(reservation.Patch{reservation.OwnSpaceID: "spc_1", reservation.State: tt.state})
			h.at(50 * time.Second)
			h.is(15, tt.online, "", 0)
			h.at(-time.Hour)
			h.is(15, tt.online, "", 0)
			h.setOnline(false)
			h.at(-2 * time.Hour)
			h.is(15, "notReady", "arrivalNotReady", 1)
			h.setOnline(true)
			h.at(-3 * time.Hour)
			h.is(15, tt.online, "", 1)
		})
	}
}

func TestNoticeWhenAnArrivalBecomesBad(t *testing.T) {
	each(t, func(h *testProperty) {
		h.at(20 * time.Hour)
		h.is(1440, "ready", "", 0)
		h.setOnline(false)
		h.write(func(tx *db.Tx) error { return readiness.RecheckSoon(tx, []string{"prp_1"}, nil) })
		if n := h.look(); n != 0 {
			h.Error("a burst is not waited for")
		}
		h.at(20*time.Hour - time.Second)
		h.is(1440, "atRisk", "arrivalAtRisk", 1)
		for left := 19 * time.Hour; left > 3*time.Hour; left -= time.Hour {
			h.at(left)
		}
		h.is(1440, "atRisk", "arrivalAtRisk", 1)
		h.at(2 * time.Hour)
		h.is(120, "notReady", "arrivalNotReady", 2)
		h.setOnline(true)
		h.at(2*time.Hour - time.Minute)
		h.is(120, "ready", "", 2)
		h.setOnline(false)
		h.at(time.Hour)
		h.is(120, "notReady", "arrivalNotReady", 3)
		// The guest is late, and it is not mended yet.
		h.at(-time.Hour)
		h.is(15, "notReady", "arrivalNotReady", 3)
		h.at(-13 * time.Hour)
		h.is(0, "", "", 3)
	})
}

// An endpoint of the check-in that fails puts every arrival of its PMS at risk. Staff have one notice of the endpoint, and get none for each
// arrival; the problems of a single arrival are in its own notice.
func TestFailingEndpointIsNotInArrivalNotices(t *testing.T) {
	each(t, func(h *testProperty) {
		h.write(func(tx *db.Tx) error {
			return tx.Endpoint.Create().SetID("end_1").SetPropertyID("prp_1").SetIntegrationID("int_1").SetAction("checkIn").SetURL("https://pms.example/").
				SetMethod("GET").SetSealedToken([]byte{}).SetTokenPlace("query").SetFailures(3).Exec(tx.Context())
		})
		h.at(20 * time.Hour)
		h.is(1440, "atRisk", "", 0)
		h.setOnline(false)
		h.at(19 * time.Hour)
		h.is(1440, "atRisk", "arrivalAtRisk", 1)
		h.setOnline(true)
		h.at(18 * time.Hour)
		h.is(1440, "atRisk", "", 1)
		h.setOnline(false)
		h.at(17 * time.Hour)
		h.is(1440, "atRisk", "arrivalAtRisk", 2)
	})
}

func TestChangesByThePMSAreCheckedAtOnce(t *testing.T) {
	each(t, func(h *testProperty) {
		h.at(20 * time.Hour)
		h.clock.Advance(time.Minute)
		h.push(reservation.Patch{reservation.OwnSpaceID: nil, reservation.State: "confirmed"})
		h.at(20*time.Hour - 2*time.Minute)
		h.is(1440, "atRisk", "arrivalAtRisk", 1)
		h.clock.Advance(time.Minute)
		h.push(reservation.Patch{reservation.State: "canceled"})
		h.at(19 * time.Hour)
		h.is(0, "", "", 1)
	})
}

// What the PMS changes while an arrival is judged is not overwritten by the judgement.
func TestChangesMeanwhileAreCheckedAgain(t *testing.T) {
	for _, was := range []string{"confirmed", "canceled"} {
		each(t, func(h *testProperty) {
			h.at(20 * time.Hour)
			h.push(reservation.Patch{reservation.State: was})
			h.clock.Advance(time.Second)
			old := h.due()
			h.push(reservation.Patch{reservation.OwnSpaceID: nil, reservation.State: "confirmed"})
			h.store(old)
			h.is(1440, "ready", "", 0)
			h.clock.Advance(time.Second)
			if n := h.look(); n != 1 {
				h.Errorf("checked %d", n)
			}
			h.is(1440, "atRisk", "arrivalAtRisk", 1)
		})
	}
}

func TestEnqueueDueArrivals(t *testing.T) {
	each(t, func(h *testProperty) {
		stay := func(id string, in time.Duration, state string) {
			from := h.clock.Now().Add(in)
			h.push(reservation.Patch{
				reservation.PMSID: id, reservation.Number: id, reservation.State: state,
				reservation.From: from.Format(time.RFC3339), reservation.To: from.Add(48 * time.Hour).Format(time.RFC3339),
			})
		}
		expected := func() int {
			h.Helper()
			n, err := h.db.View(h.Context()).Arrival.Query().Count(h.Context())
			if err != nil {
				h.Fatal(err)
			}
			return n
		}
		stay("far", 26*time.Hour, "confirmed")
		stay("canceled", 3*time.Hour, "canceled")
		stay("over", -12*time.Hour, "confirmed")
		if n := expected(); n != 0 {
			h.Errorf("%d are expected of those far away, canceled and long begun", n)
		}
		stay("begun", -time.Hour, "confirmed")
		if n := expected(); n != 1 {
			h.Errorf("%d are expected, want the late one", n)
		}
		h.write(func(tx *db.Tx) error { // as if no server ran when it began
			_, err := tx.Arrival.Delete().Exec(tx.Context())
			return err
		})
		h.write(func(tx *db.Tx) error {
			_, _, err := reservation.EnqueueDueArrivals(tx, time.Time{}, 10)
			return err
		})
		if n := expected(); n != 1 {
			h.Errorf("%d are expected after a restart, want the late one", n)
		}
		stay("begun", -time.Hour, "canceled")
		h.look()
		stay("near", 23*time.Hour, "confirmed")
		if n := expected(); n != 1 {
			h.Errorf("%d are expected, want the guest of tomorrow", n)
		}
		h.look()
		if n := h.look(); n != 0 {
			h.Errorf("checked %d twice", n)
		}
		stay("near", 300*time.Hour, "confirmed")
		if n := h.look(); n != 1 || expected() != 0 {
			h.Errorf("checked %d after it was postponed, and %d are expected still", n, expected())
		}
		// The arrival that was far becomes due without a change, a page at a time.
		for i := range 12 {
			stay(fmt.Sprint("also", i), 26*time.Hour, "confirmed")
		}
		h.clock.Advance(3 * time.Hour)
		for _, want := range []int{10, 13, 13} {
			h.write(func(tx *db.Tx) error {
				_, _, err := reservation.EnqueueDueArrivals(tx, h.seen, 10)
				return err
			})
			if n := expected(); n != want {
				h.Errorf("%d are expected, want %d", n, want)
			}
		}
	})
}
