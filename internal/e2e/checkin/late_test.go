package checkin

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// forwardClock is the system clock plus an offset.
type forwardClock struct{ offset atomic.Int64 }

func (c *forwardClock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *forwardClock) advance(d time.Duration) { c.offset.Add(int64(d)) }

// texts of the waiting page.
const (
	waitingText = "Your code is being made ready."
	lateText    = "Your code is taking longer than usual. It appears on this page. We have notified the staff."
)

// acceptedWithoutUpdate returns a guest whom the PMS checked in without a change of the reservation.
func acceptedWithoutUpdate(t *testing.T, clock *forwardClock) *guest {
	t.Helper()
	w := open(t, func(c *sandbox.Config) { c.Options.Clock = clock })
	g := w.bind(w.book("B-1", "1001", "R101"))
	g.prepare()
	w.PMS.SetCheckInConduct("B-1", sandbox.NoUpdate)
	g.press(true)
	if c := g.reads("waiting"); c.GetLate() {
		t.Error("the update is late at once")
	}
	if got := g.stops(); len(got) > 0 {
		t.Errorf("staff have the notices %v at once", got)
	}
	if _, text := g.page("/checkin"); !strings.Contains(text, waitingText) || strings.Contains(text, lateText) {
		t.Errorf("the guest reads %s", text)
	}
	return g
}

// stops returns the kinds of the open notices about the check-in. There are others, of doors, of silent bridges and of missing addresses.
func (g *guest) stops() []string {
	return slices.DeleteFunc(g.w.notices(g.stay), func(kind string) bool { return !strings.HasPrefix(kind, "checkIn") })
}

// awaitsLate waits until guest and staff are notified that the update is late.
func (g *guest) awaitsLate() {
	g.w.t.Helper()
	g.w.Await("the notice to staff", func(context.Context) (bool, error) {
		return slices.Equal(g.stops(), []string{"checkInLate"}), nil
	})
	if c := g.reads("waiting"); !c.GetLate() {
		g.w.t.Error("the guest does not read that the update is late")
	}
	if _, text := g.page("/checkin"); !strings.Contains(text, lateText) {
		g.w.t.Errorf("the guest reads %s", text)
	}
}

// The PMS checks in and sends no update within a minute. Guest and staff read it. The service does not call the PMS again, and no code is shown. The update
// that comes later gives the code and ends the notice.
func TestUpdateComesLate(t *testing.T) {
	clock := &forwardClock{}
	g := acceptedWithoutUpdate(t, clock)
	w, asked := g.w, g.w.asked()
	clock.advance(time.Minute)
	g.awaitsLate()
	g.press(true)
	_, err := g.api().AskAgain(g.as, &guestv1.AskAgainRequest{})
	w.must(err)
	if o := w.askAs("", g.stay); !o.OK() || e2etest.ValueAt(o.Data(), "stage") != "waiting" {
		t.Errorf("staff ask again: %s", o.Raw)
	}
	if n := w.asked() - asked; n != 0 || w.PMS.CheckInCount("B-1") != 1 {
		t.Errorf("the PMS was called %d times after it accepted, and checked the guest in %d times", n, w.PMS.CheckInCount("B-1"))
	}
	if pin, err := g.pin(); err == nil {
		t.Errorf("the guest is shown a PIN of %d digits", len(pin))
	}
	_, err = w.PMS.Push(t.Context(), "B-1", map[string]any{"state": "started"})
	w.must(err)
	g.awaits("checkedIn")
	if pin, err := g.pin(); err != nil || pin == "" {
		t.Errorf("the guest gets a PIN of %d digits: %v", len(pin), err)
	}
	w.Await("no notice is open", func(context.Context) (bool, error) { return len(g.stops()) == 0, nil })
	if n := w.asked() - asked; n != 0 || w.PMS.CheckInCount("B-1") != 1 {
		t.Errorf("the PMS was called %d times after it accepted, and checked the guest in %d times", n, w.PMS.CheckInCount("B-1"))
	}
}

// The PMS checks in and never sends an update. The notice to staff stays open until the departure. The PMS is not called again.
func TestUpdateNeverComes(t *testing.T) {
	clock := &forwardClock{}
	g := acceptedWithoutUpdate(t, clock)
	w, asked := g.w, g.w.asked()
	clock.advance(time.Minute)
	g.awaitsLate()
	clock.advance(12 * time.Hour)
	g.awaitsLate()
	if pin, err := g.pin(); err == nil {
		t.Errorf("the guest is shown a PIN of %d digits", len(pin))
	}
	token, err := adminv1.NewTokenServiceClient(w.Socket).CreateStaffToken(t.Context(), &adminv1.CreateStaffTokenRequest{PropertyId: w.PropertyID, Role: "owner"})
	w.must(err)
	w.StaffToken = token.GetToken() // the former one ends after a day
	clock.advance(3 * 24 * time.Hour)
	w.Await("no notice is open", func(context.Context) (bool, error) { return len(g.stops()) == 0, nil })
	g.reads("ended")
	if _, text := g.page("/checkin"); strings.Contains(text, lateText) {
		t.Errorf("after the departure the guest reads %s", text)
	}
	if n := w.asked() - asked; n != 0 || w.PMS.CheckInCount("B-1") != 1 {
		t.Errorf("the PMS was called %d times after it accepted, and checked the guest in %d times", n, w.PMS.CheckInCount("B-1"))
	}
}
