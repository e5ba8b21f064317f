package reservation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/access"
	"latchkey.dev/internal/access/code"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
)

func (h *testProperty) holder(c string) string {
	h.t.Helper()
	row, err := code.Get(h.db.View(h.ctx()), h.id, c)
	h.must(err)
	name, err := code.HolderOf(h.ctx(), h.keys, row)
	h.must(err)
	return name
}

// The name of a code's holder is stored sealed, and nowhere else. What an earlier version stored readable is sealed later.
func TestHoldersAreSealed(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		const ada, grace = "Ada Lovelace", "Grace Hopper"
		hidden := func(name string) {
			t.Helper()
			if found := holding(dump(h.ctx(), t, h.db), name); len(found) > 0 {
				t.Errorf("%q can be read in %v", name, found)
			}
		}
		c := h.code(code.Spec{Kind: code.Staff, Holder: ada, DoorIDs: []string{h.at("r1")}})
		same(t, "holder", ada, h.holder(c.ID))
		hidden(ada)

		h.write(func(tx *db.Tx) error { // as an earlier version stored them
			if err := tx.Code.UpdateOneID(c.ID).SetHolder(grace).ClearSealedHolder().Exec(tx.Context()); err != nil {
				return err
			}
			return tx.Notice.Create().SetID("ntc_old").SetPropertyID(h.id).SetKind(string(notice.CodeRedrawn)).SetSubject(c.ID).SetText("").SetCreatedAt(tx.Now()).
				SetParameters(map[string]any{"codeId": c.ID, "code": map[string]any{"kind": "code.staff", "params": map[string]any{"holder": grace}}}).Exec(tx.Context())
		})
		same(t, "holder before it is sealed", grace, h.holder(c.ID))
		for _, want := range []int{1, 0} {
			h.write(func(tx *db.Tx) error {
				n, err := code.SealHolders(access.Reconciler{Tx: tx, Keys: h.keys}, 10)
				same(t, "sealed", want, n)
				return err
			})
		}
		same(t, "holder", grace, h.holder(c.ID))
		hidden(grace)
		row, err := h.db.View(h.ctx()).Notice.Get(h.ctx(), "ntc_old")
		h.must(err)
		if text := notice.Text(row, message.Reader{}); !strings.HasPrefix(text, "A staff code has a new PIN") {
			t.Error(text)
		}
	})
}

// A code is deleted when it ended long enough ago and no lock holds it. Only its events are left until they end.
func TestEndedCodesAreDeleted(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		kept := h.code(code.Spec{Kind: code.Staff, Holder: "Ada", DoorIDs: []string{h.at("r2")}})
		c := h.code(code.Spec{Kind: code.Staff, Holder: "Grace", DoorIDs: []string{h.at("r1")}})
		h.verify("r1", "r2")
		h.ends(c)
		remove := func(what string, before time.Time, want int) {
			t.Helper()
			h.write(func(tx *db.Tx) error {
				n, err := code.DeleteEnded(tx, before, 10)
				same(t, what, want, n)
				return err
			})
		}
		remove("while a lock may hold it", h.clock.Now().Add(time.Hour), 0)
		h.verify("r1")
		remove("before its time", h.clock.Now(), 0)
		remove("after its time", h.clock.Now().Add(time.Second), 1)
		found := holding(dump(h.ctx(), t, h.db), c.ID)
		if found = slices.DeleteFunc(found, func(table string) bool { return table == "events" }); len(found) > 0 {
			t.Errorf("%v still name the code", found)
		}
		same(t, "the other code", "Ada", h.holder(kept.ID))
	})
}

// A lock with fewer slots than its bridge assumed refuses a staff code. Staff are notified, and the code goes to another slot later.
func TestRefusedStaffCodeMovesToASlotThatTheLockHas(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.checkIn("A", "r1", "r1", "g1")
		h.put(state("A", "processed"))
		h.verify("r1")
		c := h.code(code.Spec{Kind: code.Staff, Holder: "Cleaning", DoorIDs: []string{h.at("r1")}})
		same(t, "slot", 2, h.places(c)[0].Number)
		h.reportSlots("r1", slot.Failed, slot.SlotsFull)
		same(t, "staff", []string{"codeNotPlaced"}, h.openProblems(c.ID))
		h.capable("r1", func(c *slot.Capabilities) { c.Slots = 1 })
		h.later(2 * time.Minute)
		all := h.places(c)
		if len(all) != 1 || all[0].Number != 1 || all[0].Evidence != string(slot.Queued) {
			t.Errorf("slots: %v", all)
		}
		same(t, "staff", []string(nil), h.openProblems(c.ID))
	})
}

// The lock of a staff code may refuse its PIN for a rule that the bridge does not know. Staff are notified until the code has a PIN that fits.
func TestNoticeOfAStaffCodeThatALockRefuses(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		c := h.code(code.Spec{Kind: code.Staff, Holder: "Cleaning", DoorIDs: []string{h.at("r1")}})
		h.reportSlots("r1", slot.Failed, slot.InvalidFormat)
		same(t, "staff", []string{"codeNotPlaced"}, h.openProblems(c.ID))
		refused := h.places(c)[0]
		h.capable("r1", func(c *slot.Capabilities) { c.PINMax = 4 })
		h.later(2 * time.Minute)
		if s := h.places(c)[0]; s.PinID == refused.PinID || s.Evidence != string(slot.Queued) {
			t.Errorf("slot: %v", s)
		}
		same(t, "staff", []string(nil), h.openProblems(c.ID))
	})
}
