package reservation_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/ent"
	entcode "latchkey.dev/ent/code"
	entnotice "latchkey.dev/ent/notice"
	entpin "latchkey.dev/ent/pin"
	"latchkey.dev/ent/schema"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

func (h *testProperty) code(n code.Spec) (c *ent.Code) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		c, err = code.Create(access.Reconciler{Tx: tx, Keys: h.keys}, h.id, n)
		return err
	})
	return c
}

func (h *testProperty) ends(c *ent.Code) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		c, err := code.Get(tx, h.id, c.ID)
		if err == nil {
			_, err = code.End(access.Reconciler{Tx: tx, Keys: h.keys}, c, code.EndRevoked, "test")
		}
		return err
	})
}

// later passes time and looks at the codes whose time has come.
func (h *testProperty) later(d time.Duration) {
	h.t.Helper()
	h.clock.Advance(d)
	h.write(func(tx *db.Tx) error {
		_, err := code.ReconcileDue(access.Reconciler{Tx: tx, Keys: h.keys}, 100)
		return err
	})
}

// places returns the slots with a desired code.
func (h *testProperty) places(c *ent.Code) (out []*ent.Slot) {
	h.t.Helper()
	for _, s := range h.slots() {
		if s.Present && s.GrantID == c.ID {
			out = append(out, s)
		}
	}
	return out
}

func TestWeeklyWindowsFollowEachOther(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		c := h.code(code.Spec{ // it is Saturday, 10:00 in Berlin
			Kind: code.Staff, Holder: "Cleaning", DoorIDs: []string{h.at("r1"), h.at("g1")},
			Hours: []code.Hours{{Days: []int{6, 1}, From: "08:00", To: "12:00"}},
		})
		generations := map[string]int64{}
		window := func(what string, evidence slot.Evidence, from, to time.Time, days ...int) {
			t.Helper()
			all := h.places(c)
			if len(all) != 2 {
				t.Fatalf("%s: %d places, want 2", what, len(all))
			}
			var want []slot.Window
			for _, d := range days {
				end := time.Date(2026, 11, 21+d, 11, 0, 0, 0, time.UTC)
				want = append(want, slot.Window{From: end.Add(-4 * time.Hour), To: end})
			}
			for _, s := range all {
				if !s.NotBefore.Equal(from) || !s.NotAfter.Equal(to) || slot.PackWindows(lock.LaterWindows(s)...) != slot.PackWindows(want...) {
					t.Errorf("%s: %s has %v to %v, then %v, want %v to %v, then %v", what, s.DoorID, s.NotBefore, s.NotAfter, s.Later, from, to, want)
				}
				if s.Evidence != string(evidence) {
					t.Errorf("%s: %s is %s, want %s", what, s.DoorID, s.Evidence, evidence)
				}
				generations[s.ID] = s.Generation
			}
		}
		noon := time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)
		window("now", slot.Queued, morning, noon, 2, 7, 9)
		h.verify("r1", "g1")
		h.later(time.Hour)
		window("still", slot.Verified, morning, noon, 2, 7, 9)
		first := maps.Clone(generations)
		h.later(time.Hour)
		window("over", slot.Removing, morning, noon, 2, 7, 9) // no bridge has said that it is off
		h.later(36 * time.Hour)
		if diff := cmp.Diff(first, generations); diff != "" {
			t.Errorf("within the days that bridges know, something is sent: %s", diff)
		}
		h.later(2 * time.Hour)
		window("sent again", slot.Queued, noon.Add(44*time.Hour), noon.Add(48*time.Hour), 7, 9)
		h.verify("r1", "g1")
		h.later(6 * time.Hour)
		h.ends(c)
		if len(h.places(c)) != 0 {
			t.Error("a code that was revoked has places")
		}
		pins := func() int {
			n, err := h.db.View(t.Context()).Pin.Query().Where(entpin.CodeID(c.ID)).Count(t.Context())
			h.must(err)
			return n
		}
		if pins() != 1 {
			t.Error("the digits are free while locks hold them")
		}
		h.verify("r1", "g1")
		if pins() != 0 {
			t.Error("the digits are kept although no lock holds them")
		}
		c, err := h.db.View(t.Context()).Code.Query().Where(entcode.ID(c.ID)).Only(t.Context())
		h.must(err)
		if c.EndReason != code.EndRevoked || c.ReleasedAt == nil || c.NextAt != nil {
			t.Errorf("after the end: %v", c)
		}
	})
}

// A property that has as many codes as it may keeps no further backup codes, which is no fault of its locks.
func TestBackupCodesOfAFullProperty(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 20 })
		h.write(func(tx *db.Tx) error {
			rows := make([]*ent.CodeCreate, 1999)
			for i := range rows {
				rows[i] = tx.Code.Create().SetID("cod_" + number(i)).SetPropertyID(h.id).SetKind("staff").SetDoors([]string{}).SetHours([]schema.WeeklyHours{}).
					SetNotBefore(tx.Now()).SetCreatedAt(tx.Now())
			}
			return tx.Code.CreateBulk(rows...).Exec(tx.Context())
		})
		h.write(func(tx *db.Tx) error {
			_, err := code.EnsureBackups(access.Reconciler{Tx: tx, Keys: h.keys}, h.id, 50)
			return err
		})
		n, err := h.db.View(t.Context()).Code.Query().Where(entcode.PropertyID(h.id), entcode.Kind("backup")).Count(t.Context())
		if err != nil || n != 1 {
			t.Errorf("%d backup codes, %v, want the one there is room for", n, err)
		}
	})
}

// The bridge ends a code for one use on all of its locks; which of them it opened, and when, only the event says, whose place
// among the reports is anywhere.
func TestUseOfACodeHasOneDoorAndItsTime(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		plumber := h.code(code.Spec{Kind: code.OneTime, Holder: "Plumber", DoorIDs: []string{h.at("r1"), h.at("g1")}})
		h.verify("r1", "g1")
		at := map[string]*ent.Slot{}
		for _, s := range h.places(plumber) {
			at[s.DoorID] = s
		}
		used := h.clock.Now().Add(time.Minute)
		h.clock.Advance(48 * time.Hour)
		opened := at[h.at("r1")]
		h.write(func(tx *db.Tx) error {
			s := at[h.at("g1")]
			return h.reportEvidence(tx, "g1", []lock.Observation{{Number: s.Number, Observed: slot.Observed{
				Generation: uint64(s.Generation), Evidence: slot.Verified, Used: true, At: used.Add(time.Second),
			}}})
		})
		read := func() *ent.Code {
			c, err := h.db.View(t.Context()).Code.Get(t.Context(), plumber.ID)
			h.must(err)
			return c
		}
		if c := read(); c.EndReason != code.EndUsed || c.UsedAt == nil {
			t.Errorf("one lock says that it was used: ended as %q, used %v", c.EndReason, c.UsedAt)
		}
		h.write(func(tx *db.Tx) error {
			_, learned, err := lock.StoreEvents(tx, h.at("brg"), epoch, []lock.LockEvent{
				{Sequence: 1, Address: "r1", Kind: "opened", Slot: opened.Number, Generation: opened.Generation, OccurredAt: used},
			})
			if err != nil {
				return err
			}
			return h.applyEvidence(tx, learned)
		})
		if c := read(); !c.UsedAt.Equal(used) {
			t.Errorf("used %v, want %v", c.UsedAt, used)
		}
		for _, s := range h.slots() {
			if s.GrantID == plumber.ID && (s.UsedAt != nil) != (s.ID == opened.ID) {
				t.Errorf("%s: used %v", s.DoorID, s.UsedAt)
			}
		}
		events := h.events("in:" + plumber.ID)
		if diff := cmp.Diff([]string{"code.created", "code.used"}, events); diff != "" {
			t.Error(diff)
		}
	})
}

// A backup code was used while its bridge was offline, by a clock that is behind, and ended meanwhile. Staff get a notice that does
// not ask to swap the codes.
func TestUseOfACodeThatEndedMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		c := h.code(code.Spec{Kind: code.Backup, Holder: "backup", LockID: h.at("lck-r1")})
		h.verify("r1")
		place := h.places(c)[0]
		h.ends(c)
		h.write(func(tx *db.Tx) error {
			_, learned, err := lock.StoreEvents(tx, h.at("brg"), epoch, []lock.LockEvent{
				{Sequence: 1, Address: "r1", Kind: "opened", Slot: place.Number, Generation: place.Generation, OccurredAt: tx.Now().AddDate(-5, 0, 0)},
			})
			if err != nil {
				return err
			}
			return h.applyEvidence(tx, learned)
		})
		now, err := h.db.View(t.Context()).Code.Get(t.Context(), c.ID)
		h.must(err)
		if now.UsedAt == nil || !now.UsedAt.Equal(c.CreatedAt) || now.EndReason != code.EndRevoked {
			t.Errorf("used %v, ended as %q", now.UsedAt, now.EndReason)
		}
		n, err := h.db.View(t.Context()).Notice.Query().Where(entnotice.Kind("backupCodeUsed")).Only(t.Context())
		h.must(err)
		if text := notice.Text(n, message.Reader{}); strings.Contains(text, "swap") {
			t.Error(text)
		}
	})
}

func TestCodeUsesAtADoor(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		cleaner := h.code(code.Spec{Kind: code.Staff, Holder: "Ada", DoorIDs: []string{h.at("r1"), h.at("r2")}})
		h.code(code.Spec{Kind: code.OneTime, Holder: "Grace", DoorIDs: []string{h.at("r1")}})
		h.checkIn("A", "r1")
		h.verify("r1", "r2")
		for i, s := range h.slots() {
			h.reportOpening(int64(i+1), morning.Add(time.Duration(i)*time.Second), s, s.Generation)
		}
		atR1 := h.places(cleaner)[0]
		h.reportEvent(lock.LockEvent{Sequence: 90, Kind: "denied", OccurredAt: morning.Add(time.Minute), Slot: atR1.Number, Generation: atR1.Generation}, atR1.LockID)
		uses := func(door string, limit int) (out []string) {
			all, err := code.Uses(h.db.View(h.ctx()), h.id, h.at(door), limit)
			h.must(err)
			for _, u := range all {
				holder, err := code.HolderOf(h.ctx(), h.keys, u.Code)
				h.must(err)
				out = append(out, fmt.Sprint(holder, " ", u.Opened))
			}
			return out
		}
		for _, c := range []struct {
			door  string
			limit int
			want  []string
		}{
			{"r1", 50, []string{"Ada false", "Grace true", "Ada true"}},
			{"r1", 2, []string{"Ada false", "Grace true"}},
			{"r2", 50, []string{"Ada true"}},
			{"r3", 50, nil},
		} {
			if diff := cmp.Diff(c.want, uses(c.door, c.limit)); diff != "" {
				t.Errorf("%s, limit %d: %s", c.door, c.limit, diff)
			}
		}
		// A lock that has moved keeps its events at the door it was at.
		h.moveLock("r1", "")
		if n := len(uses("r1", 50)); n != 3 {
			t.Errorf("%d uses after the lock moved, want 3", n)
		}
	})
}

func TestCodeWaitsForAFreeSlot(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		var all []*ent.Code
		for range h.caps.Slots + 1 {
			all = append(all, h.code(code.Spec{Kind: code.OneTime, Holder: "x", DoorIDs: []string{h.at("r1")}}))
			h.verify("r1")
		}
		last := all[h.caps.Slots]
		notice := func() bool {
			some, err := h.db.View(t.Context()).Notice.Query().Where(entnotice.OnceKey(last.ID + "/codeNotPlaced")).Exist(t.Context())
			h.must(err)
			return some
		}
		if len(h.places(last)) != 0 || !notice() {
			t.Fatalf("a full lock: %d places, notified %v", len(h.places(last)), notice())
		}
		h.ends(all[0])
		h.later(time.Minute)
		if len(h.places(last)) != 0 {
			t.Error("a place was given away whose code is not known to be gone")
		}
		h.reportSlots("r1", slot.Verified, slot.OK)
		h.later(time.Minute)
		if len(h.places(last)) != 1 || notice() {
			t.Errorf("a place is free: %d places, notified %v", len(h.places(last)), notice())
		}
	})
}

func TestNoticeOfACodeThatALockCannotStore(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		c := h.code(code.Spec{Kind: code.OneTime, Holder: "x", DoorIDs: []string{h.at("r1")}})
		notified := func() bool {
			some, err := h.db.View(t.Context()).Notice.Query().Where(entnotice.OnceKey(c.ID + "/codeNotPlaced")).Exist(t.Context())
			h.must(err)
			return some
		}
		h.reportSlots("r1", slot.Failed, slot.Unsupported)
		if !notified() {
			t.Error("no notice was made")
		}
		h.verify("r1")
		if notified() {
			t.Error("the lock keeps it now, and it is still notified")
		}
	})
}

// A lock refuses the PIN of a code as a duplicate, so it is replaced. If staff had read the old PIN they get one notice, until they
// read the new one; otherwise none.
func TestNoticeOfAReplacedPINThatWasRead(t *testing.T) {
	for kind, tt := range map[code.Kind]struct {
		code  code.Spec
		words string
	}{
		code.Staff:   {code.Spec{Holder: "Cleaning", AllRooms: true}, `A staff code`},
		code.OneTime: {code.Spec{Holder: "Plumber", AllRooms: true}, `A one-time code`},
		code.Backup:  {code.Spec{}, `A backup code of lock “r1”`},
	} {
		t.Run(string(kind), func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				tt.code.Kind = kind
				if kind == code.Backup {
					tt.code.LockID = h.at("lck-r1")
				}
				c := h.code(tt.code)
				shown := func() (pin string) {
					h.write(func(tx *db.Tx) error {
						row, err := code.Get(tx, h.id, c.ID)
						if err == nil {
							pin, _, err = code.Reveal(access.Reconciler{Tx: tx, Keys: h.keys}, row, "test")
						}
						return err
					})
					return pin
				}
				notified := func() (texts []string) {
					for _, n := range h.db.View(t.Context()).Notice.Query().Where(entnotice.Kind("codeRedrawn"), entnotice.Subject(c.ID)).AllX(t.Context()) {
						texts = append(texts, notice.Text(n, message.Reader{}))
					}
					return texts
				}
				duplicate := func() { h.reportSlots("r1", slot.Failed, slot.Duplicate) }

				duplicate()
				if n := len(notified()); n != 0 {
					t.Fatalf("the PIN was not shown, with %d notices", n)
				}
				pins := []string{shown()}
				for _, want := range []int{1, 1} {
					duplicate()
					if n := len(notified()); n != want {
						t.Fatalf("%d notices, want %d", n, want)
					}
				}
				pins = append(pins, shown())
				duplicate()
				texts := notified()
				if len(texts) != 2 {
					t.Fatalf("a PIN that was shown again is dead: %d notices, want 2", len(texts))
				}
				pins = append(pins, shown())
				if pins[0] == pins[1] || pins[1] == pins[2] {
					t.Fatal("no other PIN was drawn")
				}
				for _, text := range texts {
					if !strings.HasPrefix(text, tt.words) || !strings.Contains(text, c.ID) || !strings.Contains(text, "no longer works") {
						t.Errorf("notice: %s", text)
					}
					for _, pin := range pins {
						if strings.Contains(text, pin) {
							t.Errorf("a PIN is in the notice: %s", text)
						}
					}
				}
			})
		})
	}
}
