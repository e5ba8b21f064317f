package checkin

import (
	"context"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// A guest who is checked in comes to the kiosk and to the QR code again. Staff are notified once, and the notice ends with the stay. No
// session that two facts give after the check-in reads the PIN.
func TestFoundAgainAfterTheCheckIn(t *testing.T) {
	w := open(t)
	tablet := e2etest.EnrolTablet(t, w.World, "Lobby 2")
	g := w.bind(w.book("B-1", "1001", "R101"))
	g.prepare()
	g.press(true)
	g.awaits("checkedIn")
	for time, want := range [][]string{nil, {"checkInRepeated"}, {"checkInRepeated"}} {
		found := w.guest(tablet.GuestSession(t, "1001", "Lovelace"))
		found.reads("checkedIn")
		if pin, err := found.pin(); err == nil || pin != "" {
			t.Errorf("search %d shows a PIN of %d digits", time+1, len(pin))
		}
		if got := w.notices(g.stay); !slices.Equal(got, want) {
			t.Errorf("after search %d staff have the notices %v, want %v", time+1, got, want)
		}
	}
	listed, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(t.Context()), &propertyv1.ListNoticesRequest{PageSize: 200})
	w.must(err)
	for _, n := range listed.GetData().GetList() {
		if n.GetKind() == "checkInRepeated" && (!strings.Contains(n.GetText(), "1001") || !strings.Contains(n.GetText(), "Lobby 2")) {
			t.Errorf("staff read %q", n.GetText())
		}
	}
	_, err = w.PMS.Push(t.Context(), "B-1", map[string]any{"state": "processed"})
	w.must(err)
	w.Await("the notice ends with the stay", func(context.Context) (bool, error) { return len(w.notices(g.stay)) == 0, nil })
}
