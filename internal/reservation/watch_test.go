package reservation_test

import (
	"strconv"
	"strings"
	"testing"

	"latchkey.dev/ent"
	entevent "latchkey.dev/ent/event"
	entnotice "latchkey.dev/ent/notice"
	entpin "latchkey.dev/ent/pin"
	entslot "latchkey.dev/ent/slot"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/reservation"
	"latchkey.dev/internal/space"
)

// plan is the access of a reservation as a reader sees it.
func (h *testProperty) plan(id string) access.Plan {
	h.t.Helper()
	tx := h.db.View(h.ctx())
	row, err := reservation.Find(tx, h.scope, nil, id)
	h.must(err)
	home, err := tx.Property.Get(h.ctx(), h.id)
	h.must(err)
	p, err := h.service().Plan(tx, row, home)
	h.must(err)
	return p
}

// pins opens the codes of a stay.
func (h *testProperty) pins(rsv string) access.StayPINs {
	h.t.Helper()
	shown, err := access.RevealPINs(access.Reconciler{Tx: h.db.View(h.ctx()), Keys: h.keys}, h.id, rsv)
	h.must(err)
	return shown
}

// wanted decrypts the desired code of a slot.
func (h *testProperty) wanted(s *ent.Slot) string {
	h.t.Helper()
	p, err := lock.DecryptPIN(h.ctx(), h.keys, s)
	h.must(err)
	return string(p)
}

// events lists the kinds of what happened to a subject.
func (h *testProperty) events(subject string) []string {
	h.t.Helper()
	rows, err := h.db.View(h.ctx()).Event.Query().Where(entevent.PropertyID(h.id), entevent.Subject(subject)).Order(entevent.BySubjectSequence()).All(h.ctx())
	h.must(err)
	var out []string
	for i, e := range rows {
		if e.SubjectSequence != int64(i+1) {
			h.t.Errorf("event %d of %s has the number %d", i+1, subject, e.SubjectSequence)
		}
		out = append(out, e.Kind)
	}
	return out
}

// notices lists the kinds of the notices about a subject.
func (h *testProperty) notices(subject string) []string {
	h.t.Helper()
	rows, err := h.db.View(h.ctx()).Notice.Query().Where(entnotice.PropertyID(h.id), entnotice.Subject(subject)).Order(entnotice.ByID()).All(h.ctx())
	h.must(err)
	var out []string
	for _, n := range rows {
		out = append(out, n.Kind)
	}
	return out
}

// affected returns what follows "Affected: " in the texts of the notices about a subject.
func (h *testProperty) affected(subject string) []string {
	h.t.Helper()
	rows, err := h.db.View(h.ctx()).Notice.Query().Where(entnotice.PropertyID(h.id), entnotice.Subject(subject)).Order(entnotice.ByID()).All(h.ctx())
	h.must(err)
	var out []string
	for _, n := range rows {
		_, doors, _ := strings.Cut(notice.Text(n, message.Reader{}), "Affected: ")
		out = append(out, doors)
	}
	return out
}

// doorsOf sums a plan up: door, PIN and reason, a line each.
func doorsOf(p access.Plan) []string {
	var out []string
	for _, d := range p.Doors {
		line := d.Name + " " + string(d.PIN)
		if d.Reason != "" {
			line += " " + string(d.Reason)
		}
		out = append(out, line)
	}
	return out
}

func reasonsOf(p access.Plan) []string {
	var out []string
	for _, r := range p.Reasons {
		out = append(out, string(r))
	}
	return out
}

// refuse wants a call to fail with a reason.
func refuse(t *testing.T, err error, reason fault.Reason) {
	t.Helper()
	if !fault.Has(err, reason) {
		t.Errorf("got %v, want the reason %s", err, reason)
	}
}

func number(n int) string { return strconv.Itoa(n) }

// slotsAt lists the slots of the lock of that name.
func (h *testProperty) slotsAt(name string) []*ent.Slot {
	h.t.Helper()
	rows, err := h.db.View(h.ctx()).Slot.Query().Where(entslot.LockID(h.at("lck-" + name))).Order(entslot.ByNumber()).All(h.ctx())
	h.must(err)
	return rows
}

// sweep does what time brings and counts the windows that ended.
func (h *testProperty) sweep() (n int) { h.t.Helper(); return h.expire(100) }

// expire is sweep with a batch of limit.
func (h *testProperty) expire(limit int) (n int) {
	h.t.Helper()
	h.write(func(tx *db.Tx) (err error) {
		n, err = access.Expire(access.Reconciler{Tx: tx, Keys: h.keys}, limit)
		return err
	})
	return n
}

// capable changes what a lock can do.
func (h *testProperty) capable(name string, f func(*slot.Capabilities)) {
	h.t.Helper()
	c := h.caps
	f(&c)
	h.write(func(tx *db.Tx) error {
		return tx.Lock.UpdateOneID(h.at("lck-" + name)).SetCapabilities(c).Exec(tx.Context())
	})
}

// online connects or disconnects the bridge.
func (h *testProperty) online(yes bool) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		return tx.Bridge.UpdateOneID(h.at("brg")).SetOnline(yes).SetLastSeenAt(tx.Now()).Exec(tx.Context())
	})
}

func (h *testProperty) settings(f func(tx *db.Tx) error) { h.t.Helper(); h.write(f) }

func (h *testProperty) replan(what space.AffectedStays) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error { return h.service().Replan(tx, h.id, what) })
}

// listed has the partner list a space.
func (h *testProperty) listed(short string) {
	h.t.Helper()
	h.write(func(tx *db.Tx) error {
		return tx.PartnerSpace.Create().SetPropertyID(h.id).SetIntegrationID(h.scope.IntegrationID).SetExternalID(theirs(short)).
			SetType("Room").SetName(short).SetIsPrivate(true).SetIsActive(true).SetSeenAt(tx.Now()).Exec(tx.Context())
	})
}

// livePINs counts the digits that are reserved.
func (h *testProperty) livePINs() int {
	h.t.Helper()
	n, err := h.db.View(h.ctx()).Pin.Query().Where(entpin.PropertyID(h.id)).Count(h.ctx())
	h.must(err)
	return n
}
