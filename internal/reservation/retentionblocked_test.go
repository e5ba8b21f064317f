package reservation_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	entkeystatus "latchkey.dev/ent/keystatus"
	entphone "latchkey.dev/ent/phone"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/mobilekey"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/test/dbtest"
)

func TestBlockedStays(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		expect := func(step string, removed int, want ...reservation.Block) {
			t.Helper()
			if n, blocked := h.retire(); n != removed || !slices.Equal(blocked, want) {
				t.Fatalf("%s: %d removed, blocked by %v", step, n, blocked)
			}
		}
		ids := h.pastStay("pmsid-A")
		h.verify("g1")
		h.clock.Set(time.Date(2026, 12, 25, 0, 0, 0, 0, time.UTC))
		expect("the room's lock may hold the code", 0, reservation.BlockedByLock)
		if b := h.booker("pmsid-A"); b != (reservation.Booker{}) || h.names(ids[0]) != 0 || h.read("pmsid-A").PmsCompanionIds != nil {
			t.Errorf("the booker is not erased: %v", b)
		}
		s := h.put(with(state("pmsid-A", "canceled"), reservation.LastName, "Restored", reservation.Email, "restored@example.com", reservation.CompanionIDs, []string{"c"}))
		if s.Booker != (reservation.Booker{}) || s.Row.State != "canceled" || h.booker("pmsid-A") != (reservation.Booker{}) || h.names(ids[0]) != 0 ||
			h.read("pmsid-A").PmsCompanionIds != nil {
			t.Errorf("a patch restored erased fields: %+v", s)
		}
		erased := h.read("pmsid-A").UpdatedAt
		expect("again", 0, reservation.BlockedByLock)
		if !h.read("pmsid-A").UpdatedAt.Equal(erased) || len(holding(dump(h.ctx(), t, h.db), "retentionBlocked")) > 0 {
			t.Error("a blocked stay is changed at each sweep, or reported at once")
		}
		h.clock.Advance(7 * day)
		expect("for a week", 0, reservation.BlockedByLock)
		expect("again", 0, reservation.BlockedByLock)
		if got := dump(h.ctx(), t, h.db)["notices"]; len(got) != 2 {
			t.Errorf("notices: %v", got)
		}
		h.verify("r1")
		expect("its last event may not be delivered", 0, reservation.BlockedByEvents)
		h.clock.Advance(7*day + time.Second)
		h.write(func(tx *db.Tx) error {
			return tx.KeyStatus.Create().SetID("kst_1").SetPropertyID(h.id).SetNumber(7).SetPhoneID("phn_pmsid-A").SetGrantID(ids[1]).SetKeyGeneration(1).
				SetLockIds([]string{}).SetSince(tx.Now()).SetEndsAt(tx.Now().Add(time.Hour)).Exec(tx.Context())
		})
		expect("a token has not ended", 0, reservation.BlockedBySmartKey)
		sweep := func(left int) {
			t.Helper()
			h.write(func(tx *db.Tx) error { return mobilekey.Sweep(tx, 10) })
			if n := h.db.View(h.ctx()).KeyStatus.Query().Where(entkeystatus.Number(7)).CountX(h.ctx()); n != left {
				t.Fatalf("%d numbers of the status list, want %d", n, left)
			}
		}
		sweep(1)
		h.clock.Advance(3 * time.Hour)
		sweep(0)
		expect("nothing blocks it", 1)
		h.write(func(tx *db.Tx) error { // superseded entries of the change log have a sweep of their own
			last, err := reservation.LastChange(tx)
			h.must(err)
			old, _, err := reservation.Superseded(tx, 0, last, 1000)
			h.must(err)
			return reservation.DeleteChanges(tx, old)
		})
		h.nothingOf(dump(h.ctx(), t, h.db), ids)
	})
}

// What the guests left is erased after the retention period also if a lock still holds their code. The forms wait for the register, which keeps them.
func TestBlockedStayLosesItsGuests(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		h.checkIn("pmsid-A", "r1", "r1", "g1")
		row := h.read("pmsid-A")
		insert := func(table string, values dbtest.Values) {
			values["property_id"], values["reservation_id"] = h.id, row.ID
			dbtest.Insert(t, h.db, table, values)
		}
		insert("guests", dbtest.Values{"id": "gst_main", "person": []byte("left by a guest"), "law": "de", "erase_at": nil})
		insert("messages", dbtest.Values{"id": "msg_one", "guest_id": "gst_main", "text": []byte("left by a guest")})
		insert("disclosures", dbtest.Values{"id": "dis_one", "guest_id": "gst_main"})
		insert("stays", dbtest.Values{"id": "sty_one", "profile_id": "left by a guest"})
		insert("mails", dbtest.Values{"id": "mai_one", "address": []byte("left by a guest")})
		insert("guest_links", dbtest.Values{"id": "glk_one", "address_mac": []byte("left by a guest")})
		insert("guest_sessions", dbtest.Values{"id": "ses_one"})
		insert("invitations", dbtest.Values{"id": "inv_one", "address_mac": []byte("left by a guest")})
		dbtest.Insert(t, h.db, "notices", dbtest.Values{"id": "ntc_one", "property_id": h.id, "subject": row.ID, "kind": "messageUnread"})
		dbtest.Insert(t, h.db, "register_entries", dbtest.Values{"id": "reg_one", "property_id": h.id, "guest_id": "gst_main", "form": []byte("kept by law")})
		tables := []string{"disclosures", "guest_links", "guest_sessions", "guests", "mails", "messages", "notices", "stays"}
		expect := func(step string, block reservation.Block, left bool) {
			t.Helper()
			if _, blocked := h.retire(); !slices.Equal(blocked, []reservation.Block{block}) {
				t.Fatalf("%s: blocked by %v", step, blocked)
			}
			all := dump(h.ctx(), t, h.db)
			for _, table := range tables {
				if n := len(all[table]); (n > 0) != left {
					t.Errorf("%s: %d rows of %s", step, n, table)
				}
			}
			if found := holding(all, "left by a guest"); (len(found) > 0) != left {
				t.Errorf("%s: %v have what a guest left", step, found)
			}
			if len(holding(all, "kept by law")) != 1 || len(all["grants"]) == 0 || len(all["pins"]) == 0 {
				t.Errorf("%s: the register, the access or the PIN is gone", step)
			}
		}
		h.clock.Set(row.ToAt.Add(31 * day))
		expect("the access is open", reservation.BlockedByAccess, true)
		h.put(state("pmsid-A", "processed"))
		expect("the forms are open", reservation.BlockedByLock, true)
		h.write(func(tx *db.Tx) error {
			return tx.Guest.UpdateOneID("gst_main").SetEraseAt(tx.Now().Add(365 * day)).Exec(tx.Context())
		})
		expect("the forms are in the register", reservation.BlockedByLock, false)
		if notified := dbtest.Notified(h.db, func() { h.retire() }); len(notified) > 0 {
			t.Errorf("the next sweep notified %v", notified)
		}
	})
}

// A closed form names the number and the day of arrival, so a correction of these opens it again, as one of the departure does.
func TestCorrectionReopensForms(t *testing.T) {
	for name, patch := range map[string]reservation.Patch{
		"arrival":   {reservation.From: "2026-11-19T15:00:00+01:00"},
		"number":    {reservation.Number: "N-other"},
		"departure": {reservation.To: "2026-11-24T10:00:00+01:00"},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, h *testProperty) {
				row := h.checkIn("A", "r1", "r1", "g1").Row
				dbtest.Insert(t, h.db, "guests", dbtest.Values{"id": "gst_main", "property_id": h.id, "reservation_id": row.ID, "law": "de", "person": []byte("x")})
				h.clock.Set(row.ToAt.Add(2 * day))
				h.put(state("A", "processed"))
				h.write(func(tx *db.Tx) error {
					return tx.Guest.UpdateOneID("gst_main").SetEraseAt(tx.Now().Add(365 * day)).Exec(tx.Context())
				})
				patch := maps.Clone(patch)
				patch[reservation.PMSID] = "A"
				h.put(patch)
				g, err := h.db.View(h.ctx()).Guest.Get(h.ctx(), "gst_main")
				h.must(err)
				if g.EraseAt != nil {
					t.Error("the form is still closed")
				}
			})
		})
	}
}

func TestOpenAccessBlocks(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		h.checkIn("A", "r1", "r1", "g1")
		h.clock.Advance(60 * day) // and no sweep ended the access
		if n, blocked := h.retire(); n != 0 || !slices.Equal(blocked, []reservation.Block{reservation.BlockedByAccess}) {
			t.Errorf("%d removed, %v", n, blocked)
		}
		if b := h.booker("A"); b.LastName == "" {
			t.Error("the booker of a stay with access was erased")
		}
	})
}

// Some PMSs use an id again while a lock still blocks the removal of the former stay.
func TestErasedIDIsUsedAgain(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		h.pastStay("pmsid-A")
		h.verify("g1")
		h.clock.Set(time.Date(2026, 12, 25, 0, 0, 0, 0, time.UTC))
		h.retire()
		h.clock.Advance(8 * day)
		h.retire()
		rsv, past := h.read("pmsid-A").ID, h.clock.Now()
		dbtest.Insert(t, h.db, "invitations", dbtest.Values{"id": rsv, "property_id": h.id, "reservation_id": rsv, "mail_id": "mai_1", "reminder_id": "mai_2",
			"seen_at": past, "invited_at": past, "reminded_at": past})
		open := func() int {
			return len(holding(map[string][]string{"notices": dump(h.ctx(), t, h.db)["notices"]}, h.read("pmsid-A").ID+"/retentionBlockedByLock"))
		}
		if open() != 1 {
			t.Fatal("staff were not notified")
		}
		h.put(with(booking("pmsid-A", "r1"), reservation.LastName, "Late", reservation.PMSUpdatedAt, h.clock.Now()))
		if b := h.booker("pmsid-A"); b != (reservation.Booker{}) {
			t.Fatalf("a late patch restored %v", b)
		}
		h.clock.Advance(time.Second)
		h.put(with(booking("pmsid-A", "r1"), reservation.LastName, "Hopper", reservation.PMSUpdatedAt, h.clock.Now(),
			reservation.From, "2027-02-01T15:00:00Z", reservation.To, "2027-02-03T11:00:00Z"))
		if b := h.booker("pmsid-A"); b.LastName != "Hopper" || h.read("pmsid-A").ErasedAt != nil || h.names(h.read("pmsid-A").ID) == 0 {
			t.Errorf("the new stay has the booker %v", b)
		}
		if open() != 0 {
			t.Error("the notice is not resolved")
		}
		i, err := h.db.View(h.ctx()).Invitation.Get(h.ctx(), rsv)
		h.must(err)
		if i.InvitedAt != nil || i.RemindedAt != nil || i.MailID != "" || i.ReminderID != "" {
			t.Errorf("the new guest counts as invited: %v", i)
		}
	})
}

// The phones and the links of the former guest must not open the doors of the new one.
func TestErasedIDThatIsUsedAgainEndsThePhones(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		h.pastStay("pmsid-A")
		h.checkIn("B", "r2")
		dbtest.Insert(t, h.db, "phones", dbtest.Values{"id": "phn_B", "property_id": h.id, "reservation_id": h.read("B").ID})
		h.put(state("B", "processed"))
		h.verify("g1")
		h.clock.Set(time.Date(2026, 12, 25, 0, 0, 0, 0, time.UTC))
		h.retire()
		left := func() (phones []string, links int) {
			view := h.db.View(h.ctx())
			phones, err := view.Phone.Query().Where(entphone.RevokedAtIsNil()).Order(entphone.ByID()).IDs(h.ctx())
			h.must(err)
			links, err = view.PhoneLink.Query().Count(h.ctx())
			h.must(err)
			return phones, links
		}
		h.put(with(booking("pmsid-A", "r1"), reservation.LastName, "Late", reservation.PMSUpdatedAt, h.clock.Now()))
		if phones, links := left(); len(phones) != 2 || links != 1 {
			t.Fatalf("after a late patch: phones %v, %d links", phones, links)
		}
		h.clock.Advance(time.Second)
		h.put(with(booking("pmsid-A", "r1"), reservation.LastName, "Hopper", reservation.PMSUpdatedAt, h.clock.Now(),
			reservation.From, "2027-02-01T15:00:00Z", reservation.To, "2027-02-03T11:00:00Z"))
		if phones, links := left(); !slices.Equal(phones, []string{"phn_B"}) || links != 0 {
			t.Errorf("phones %v and %d links of the former guest are left", phones, links)
		}
	})
}

// A notice about one reason is settled when another reason blocks the stay.
func TestBlockNoticesAreSettled(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		h.checkIn("A", "r1", "r1", "g1")
		h.clock.Advance(60 * day)
		h.retire()
		open := func(kind string) bool {
			return len(holding(dump(h.ctx(), t, h.db), h.read("A").ID+"/"+kind)) == 1
		}
		if !open("retentionBlockedByAccess") {
			t.Fatal("staff were not notified")
		}
		h.put(state("A", "processed"))
		h.retire()
		if open("retentionBlockedByAccess") || !open("retentionBlockedByLock") {
			t.Errorf("open notices: access %v, lock %v", open("retentionBlockedByAccess"), open("retentionBlockedByLock"))
		}
	})
}

// After the retention period, a lock that still holds the code keeps the notice that staff must act. The notices about the guest go.
func TestBlockedStayKeepsNoticesAboutItsCode(t *testing.T) {
	each(t, func(t *testing.T, h *testProperty) {
		h.keep = 30 * day
		row := h.checkIn("A", "r1", "r1", "g1").Row
		dbtest.Insert(t, h.db, "stays", dbtest.Values{"id": "sty_one", "property_id": h.id, "reservation_id": row.ID})
		h.put(state("A", "processed"))
		for name, values := range map[string]dbtest.Values{
			"ntc_lock":   {"kind": "bridgeRevoked", "once_key": "grt_1/bridgeRevoked"},
			"ntc_unread": {"kind": "messageUnread", "once_key": "gst_1/messageUnread"},
		} {
			values["id"], values["property_id"], values["subject"] = name, h.id, row.ID
			dbtest.Insert(t, h.db, "notices", values)
		}
		h.clock.Set(row.ToAt.Add(31 * day))
		if _, blocked := h.retire(); !slices.Equal(blocked, []reservation.Block{reservation.BlockedByLock}) {
			t.Fatalf("blocked by %v", blocked)
		}
		if left := h.db.View(h.ctx()).Notice.Query().IDsX(h.ctx()); !slices.Equal(left, []string{"ntc_lock"}) {
			t.Errorf("the notices %v are left", left)
		}
	})
}
