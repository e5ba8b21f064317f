package doors

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
)

// explained is an explanation.
type explained struct {
	raw   string
	doors map[string]string // verdict by name
	why   map[string]string // its reason by name
	steps []string          // "actor kind door"
	times []time.Time
}

func explains(t *testing.T, w *e2etest.World, c e2etest.Caller, path string) explained {
	t.Helper()
	o, err := w.Do(t.Context(), c, "GET", path, nil)
	if err != nil || !o.OK() {
		t.Fatalf("%s: %v %v", path, o, err)
	}
	out := explained{raw: string(o.Raw), doors: map[string]string{}, why: map[string]string{}}
	doors, _ := o.Data()["doors"].([]any)
	for _, d := range doors {
		name := e2etest.ValueAt(d, "name").(string)
		out.doors[name], _ = e2etest.ValueAt(d, "verdict").(string)
		out.why[name], _ = e2etest.ValueAt(d, "reason").(string)
	}
	steps, _ := o.Data()["steps"].([]any)
	for _, s := range steps {
		at, err := time.Parse(time.RFC3339Nano, e2etest.ValueAt(s, "at").(string))
		if err != nil {
			t.Fatal(err)
		}
		out.times = append(out.times, at)
		door, _ := e2etest.ValueAt(s, "doorName").(string)
		out.steps = append(out.steps, strings.TrimSpace(fmt.Sprintf("%s %s %s", e2etest.ValueAt(s, "actor"), e2etest.ValueAt(s, "kind"), door)))
	}
	return out
}

// inOrder fails unless the steps hold these, in this order.
func (x explained) inOrder(t *testing.T, wanted ...string) {
	t.Helper()
	from := 0
	for _, w := range wanted {
		i := slices.Index(x.steps[from:], w)
		if i < 0 {
			t.Errorf("%q does not follow in:\n%s", w, strings.Join(x.steps, "\n"))
			return
		}
		from += i + 1
	}
	if !slices.IsSortedFunc(x.times, time.Time.Compare) {
		t.Errorf("out of order: %v", x.times)
	}
}

func TestAStayIsExplained(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		const name = "Unmistakable"
		g := arrives(t, w, "S", map[string]any{"state": "confirmed", "roomId": "R101", "booker": map[string]any{"lastName": name, "email": name + "@example.com"}})
		one, err := w.PMS.Do(t.Context(), "GET", "/v1/reservations/find?pmsId=S", nil)
		if err != nil {
			t.Fatal(err)
		}
		path := "/v1/reservations/" + one.Data()["id"].(string) + "/explain"
		if x := explains(t, w, w.Partner(), path); x.doors["Room 101"] != "doesNotOpen" || x.why["Room 101"] != "notCheckedIn" {
			t.Errorf("before the check-in: %+v", x)
		}

		w.Site.SetOffline("Room 101", true)
		g.push(state("started"))
		pin := g.pin()
		w.Await("the lock is said to be away", func(context.Context) (bool, error) {
			x := explains(t, w, w.Partner(), path)
			return x.doors["Room 101"] == "doesNotOpen" && x.why["Room 101"] == "lockOffline" && x.doors[front] == "opens", fmt.Errorf("%s", x.raw)
		})
		w.Site.SetOffline("Room 101", false)
		g.settles("issued")
		g.opens(pin, "Room 101", front)
		w.Await("the opening is reported", func(context.Context) (bool, error) {
			x := explains(t, w, w.Partner(), path)
			return x.doors["Room 101"] == "opens" && slices.Contains(x.steps, "guest doorOpened Room 101"), fmt.Errorf("%s", x.raw)
		})
		g.push(state("processed"))
		g.settles("removed")

		x := explains(t, w, w.Partner(), path)
		x.inOrder(t, "pms bookingReceived", "pms checkedIn", "latchkey codeMade", "latchkey accessIssued",
			"lock codeVerified Room 101", "guest doorOpened Room 101",
			"pms checkedOut", "lock codeRemoved Room 101", "latchkey accessRemoved")
		// The bridge may say first that the lock is back, or that the code is in it.
		away := slices.IndexFunc(x.steps, func(s string) bool { return strings.HasSuffix(s, "lockOffline Room 101") })
		if back := slices.Index(x.steps, "bridge lockOnline Room 101"); away < 0 || back < away {
			t.Errorf("the steps do not show that the lock was offline:\n%s", strings.Join(x.steps, "\n"))
		}
		if x.doors["Room 101"] != "doesNotOpen" || x.why["Room 101"] != "checkedOut" {
			t.Errorf("after the stay: %v %v", x.doors, x.why)
		}
		staff := explains(t, w, w.Owner(), strings.Replace(path, "/v1/", "/v1/property/", 1))
		if !slices.Equal(staff.steps, x.steps) {
			t.Errorf("staff read\n%v\nand the PMS\n%v", staff.steps, x.steps)
		}
		for _, hidden := range []string{pin, name} {
			if strings.Contains(x.raw, hidden) || strings.Contains(staff.raw, hidden) {
				t.Errorf("%q is in the explanation:\n%s", hidden, x.raw)
			}
		}
		// Another PMS at the same property reads its own alone; the property's own scripts read all.
		if o, err := w.Do(t.Context(), e2etest.ConnectApp(t, w, "Other PMS"), "GET", path, nil); err != nil || o.HTTP != 404 || o.Reason != "reservationNotFound" {
			t.Errorf("another PMS: %v %v", o, err)
		}
		explains(t, w, w.Scripts(), path)
	})
}

// Events during a disconnect are shown at their own time once they are reported.
func TestStayIsExplainedAfterADisconnect(t *testing.T) {
	t.Parallel()
	w, p := apart(t)
	g := arrives(t, w, "S", room("R102"))
	g.settles("issued")
	pin := g.pin()
	one, err := w.PMS.Do(t.Context(), "GET", "/v1/reservations/find?pmsId=S", nil)
	if err != nil {
		t.Fatal(err)
	}
	path := "/v1/reservations/" + one.Data()["id"].(string) + "/explain"
	p.Refuse()
	w.Await("the disconnect is shown", func(context.Context) (bool, error) {
		x := explains(t, w, w.Partner(), path)
		return slices.Contains(x.steps, "latchkey lockOffline Room 102"), fmt.Errorf("%s", x.raw)
	})
	g.opens(pin, "Room 102", front)
	p.EndFaults()
	w.Await("the events meanwhile are shown", func(context.Context) (bool, error) {
		x := explains(t, w, w.Partner(), path)
		return slices.Contains(x.steps, "guest doorOpened Room 102") && slices.Contains(x.steps, "bridge lockOnline Room 102"), fmt.Errorf("%s", x.raw)
	})
	explains(t, w, w.Partner(), path).inOrder(t, "lock codeVerified Room 102", "latchkey lockOffline Room 102", "guest doorOpened Room 102", "bridge lockOnline Room 102")
}
