package checkin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// point is a step of the check-in at which the PMS starts the stay.
type point struct {
	name     string
	settings map[string]any
	reach    func(g *guest) // reach goes to the step
	stage    string
	stops    []string
	cleared  string // the stage that is recorded as cleared by the PMS
}

var points = []point{
	{name: "before it began", reach: func(*guest) {}, stage: "start"},
	{name: "details", reach: func(g *guest) { g.press(false) }, stage: "details"},
	{name: "confirm", reach: func(g *guest) { g.fill(); g.press(false) }, stage: "confirmDetails"},
	{
		name: "identity", settings: map[string]any{"identityCheck": "live"}, reach: func(g *guest) { g.confirm() },
		stage: "identityCheck", stops: []string{"identityCheck"}, cleared: "identityCheck",
	},
	{
		name: "signature", settings: map[string]any{"signature": "paper"}, reach: func(g *guest) { g.confirm() },
		stage: "signature", stops: []string{"signature"}, cleared: "signature",
	},
	{name: "house rules", reach: func(g *guest) { g.confirm() }, stage: "houseRules"},
	{name: "owing", reach: func(g *guest) {
		_, err := g.w.PMS.SetOwing(g.w.t.Context(), "B-1", 84)
		g.w.must(err)
		g.press(false)
	}, stage: "stopped", stops: []string{"owing"}},
	{name: "room not ready", reach: func(g *guest) {
		g.w.must(g.w.PMS.SetRoomReady("B-1", false))
		g.press(false)
	}, stage: "stopped", stops: []string{"roomNotReady"}},
	{name: "the PMS fails", reach: func(g *guest) {
		g.w.PMS.SetConduct("B-1", sandbox.Fails)
		g.press(false)
	}, stage: "stopped", stops: []string{"partnerError"}},
	{name: "ready", reach: func(g *guest) { g.prepare() }, stage: "ready"},
	{name: "refused", reach: pressAt(sandbox.Lies), stage: "stopped", stops: []string{"checkInRefused"}},
	{name: "no answer", reach: pressAt(sandbox.Fails), stage: "stopped", stops: []string{"noAnswer"}},
	{name: "waiting", reach: pressAt(sandbox.NoUpdate), stage: "waiting"},
}

// pressAt presses the last button while the PMS misbehaves.
func pressAt(c sandbox.Conduct) func(g *guest) {
	return func(g *guest) {
		g.prepare()
		g.w.PMS.SetCheckInConduct("B-1", c)
		g.press(true)
	}
}

// confirm goes to the step after the details.
func (g *guest) confirm() {
	g.w.t.Helper()
	g.fill()
	g.press(false)
	_, err := g.api().ConfirmDetails(g.as, &guestv1.ConfirmDetailsRequest{})
	g.w.must(err)
}

// set changes the settings of check-in.
func (w *world) set(settings map[string]any) {
	w.t.Helper()
	o, err := w.Do(w.t.Context(), w.Owner(), http.MethodPatch, "/v1/property/checkIn/settings", map[string]any{"settings": settings})
	if err != nil || !o.OK() {
		w.t.Fatal(o, err)
	}
}

// asked returns how often the PMS was called for check-ins: getCheckInStatus and checkIn.
func (w *world) asked() (n int) {
	for _, c := range w.PMS.Calls() {
		if c.Action == "getCheckInStatus" || c.Action == "checkIn" {
			n++
		}
	}
	return n
}

// At every step, the PMS's own start gives the code, ends the check-in with its notices, and clears the open stages. The PMS is not called
// afterwards, whatever the guest presses.
func TestStartedAtEveryStep(t *testing.T) {
	for _, p := range points {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			if p.settings != nil {
				w.set(p.settings)
			}
			g := w.bind(w.book("B-1", "1001", "R101"))
			p.reach(g)
			g.reads(p.stage, p.stops...)
			_, err := w.PMS.Push(t.Context(), "B-1", map[string]any{"state": "started"})
			w.must(err)
			g.awaits("checkedIn")
			w.Await("no notice is open", func(context.Context) (bool, error) { return len(w.notices(g.stay)) == 0, nil })
			asked := w.asked()
			g.awaitsCode()
			if pin, err := g.pin(); err != nil || pin == "" {
				t.Errorf("PIN of %d digits, %v", len(pin), err)
			}
			g.press(false)
			g.press(true)
			_, err = g.api().AskAgain(g.as, &guestv1.AskAgainRequest{})
			w.must(err)
			g.reads("checkedIn")
			if n := w.asked(); n != asked {
				t.Errorf("the PMS was called %d times after the start", n-asked)
			}
			shown, err := propertyv1.NewCheckInServiceClient(w.Public).GetCheckIn(w.Staff(t.Context()), &propertyv1.GetCheckInRequest{ReservationId: g.stay})
			w.must(err)
			var cleared []string
			for _, c := range shown.GetData().GetCleared() {
				cleared = append(cleared, c.GetBy()+" "+c.GetStage())
			}
			if want := strings.TrimSpace("pms " + p.cleared); p.cleared == "" && len(cleared) > 0 || p.cleared != "" && !slices.Equal(cleared, []string{want}) {
				t.Errorf("cleared: %v", cleared)
			}
		})
	}
}

// Three rooms of a group check in for themselves: one owes money, the PMS refuses one, and one is ready. None reads or waits for another.
func TestRoomsOfAGroupStopAlone(t *testing.T) {
	w := open(t)
	ids := []string{"B-1", "B-2", "B-3"}
	var rooms []*guest
	for i, id := range ids {
		number := "100" + id[2:]
		e2etest.PushReservation(t, w.World, id, map[string]any{
			"pmsNumber": number, "channelNumber": "GROUP-7", "state": "confirmed", "roomId": "R10" + id[2:], "adultCount": 1,
			"booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": "group@example.com"},
		})
		tablet := e2etest.EnrolTablet(t, w.World, "Lobby "+id) // the next guest of a tablet ends the last visit
		rooms = append(rooms, w.guest(tablet.GuestSession(t, number, "Lovelace")))
		rooms[i].prepare()
	}
	owing, refused, ready := rooms[0], rooms[1], rooms[2]
	_, err := w.PMS.SetOwing(t.Context(), "B-1", 84)
	w.must(err)
	w.PMS.SetCheckInConduct("B-2", sandbox.Lies)
	for _, g := range rooms {
		g.press(true)
	}
	owing.reads("stopped", "owing")
	refused.reads("stopped", "checkInRefused")
	ready.awaits("checkedIn")
	for i, want := range []int{0, 0, 1} {
		if n := w.PMS.CheckInCount(ids[i]); n != want {
			t.Errorf("the PMS checked %s in %d times", ids[i], n)
		}
	}
	for i, want := range [][]string{{"checkInOwing"}, {"checkInRefused"}, nil} {
		if got := rooms[i].stops(); !slices.Equal(got, want) {
			t.Errorf("%s has the notices %v, want %v", ids[i], got, want)
		}
	}
	for _, other := range []*guest{refused, ready} {
		if strings.Contains(other.everything(), "84.00") {
			t.Errorf("a room reads what another owes: %s", other.everything())
		}
	}
	ready.awaitsCode()
	pin, err := ready.pin()
	if err != nil || pin == "" {
		t.Fatalf("the room that is ready gets no PIN: %v", err)
	}
	pins := []string{pin}

	_, err = w.PMS.SetOwing(t.Context(), "B-1", 0)
	w.must(err)
	owing.awaits("ready") // without a press
	refused.reads("stopped", "checkInRefused")
	w.PMS.SetCheckInConduct("B-2", sandbox.Normal)
	for i, g := range rooms[:2] {
		g.press(true)
		g.awaits("checkedIn")
		g.awaitsCode()
		pin, err := g.pin()
		if err != nil || pin == "" || slices.Contains(pins, pin) {
			t.Errorf("%s gets a PIN of %d digits, or that of another room: %v", ids[i], len(pin), err)
		}
		pins = append(pins, pin)
		if n := w.PMS.CheckInCount(ids[i]); n != 1 {
			t.Errorf("the PMS checked %s in %d times", ids[i], n)
		}
	}
}

// A cancelation ends the links, the sessions, the check-in and its notices. The PMS is not called afterwards. A stay that is reinstated
// begins again with a new link.
func TestCanceledEndsAll(t *testing.T) {
	for _, p := range points {
		switch p.name {
		case "owing", "room not ready", "ready", "no answer", "waiting":
		default:
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			link := w.book("B-1", "1001", "R101")
			tablet := e2etest.EnrolTablet(t, w.World, "Lobby 2")
			g := w.bind(link)
			at := w.guest(tablet.GuestSession(t, "1001", "Lovelace"))
			p.reach(g)
			g.reads(p.stage, p.stops...)
			_, err := w.PMS.Push(t.Context(), "B-1", map[string]any{"state": "canceled"})
			w.must(err)
			w.Await("no notice is open", func(context.Context) (bool, error) { return len(w.notices(g.stay)) == 0, nil })
			asked := w.asked()
			for what, device := range map[string]*guest{"phone": g, "tablet": at} {
				_, err := device.api().CompleteCheckIn(device.as, &guestv1.CompleteCheckInRequest{})
				_, read := device.api().GetCheckIn(device.as, &guestv1.GetCheckInRequest{})
				if status.Code(err) != codes.Unauthenticated || status.Code(read) != codes.Unauthenticated {
					t.Errorf("the session of the %s after the cancelation: %v, %v", what, err, read)
				}
			}
			readsCanceled(g, at, link)
			if _, err := tablet.Find(t.Context(), "1001", "Lovelace"); status.Code(err) != codes.NotFound {
				t.Errorf("the tablet finds a canceled stay: %v", err)
			}
			_, err = propertyv1.NewCheckInServiceClient(w.Public).AskAgain(w.Staff(t.Context()), &propertyv1.AskAgainRequest{ReservationId: g.stay})
			if n := w.asked(); n != asked {
				t.Errorf("the PMS was called %d times after the cancelation (%v)", n-asked, err)
			}
		})
	}
}

// readsCanceled checks that the devices and the link of a canceled stay say whom to ask, and nothing of the stay. The link binds no device.
func readsCanceled(phone, tablet *guest, link string) {
	w := phone.w
	w.t.Helper()
	links := guestv1.NewLinkServiceClient(w.Public)
	shown, err := links.GetLink(w.t.Context(), &guestv1.GetLinkRequest{Link: link})
	w.must(err)
	if l := shown.GetData(); !l.GetCanceled() || l.GetProperty().GetDeskPhone() == "" || l.GetInitial()+l.GetFromDate()+l.GetToDate() != "" {
		w.t.Errorf("the link shows %v", l)
	}
	if _, err := links.BindLink(w.t.Context(), &guestv1.BindLinkRequest{Link: link}); status.Code(err) != codes.NotFound {
		w.t.Errorf("the link of a canceled stay binds a device: %v", err)
	}
	for _, device := range []*guest{phone, tablet} {
		ended, err := links.GetEndedSession(w.t.Context(), &guestv1.GetEndedSessionRequest{Token: device.token})
		w.must(err)
		if face := ended.GetData().GetProperty(); ended.GetData().GetReason() != "canceled" || face.GetName() == "" || face.GetDeskPhone() == "" {
			w.t.Errorf("a device reads %v", ended)
		}
	}
	code, page := phone.page("")
	if code != http.StatusGone || !strings.Contains(page, "This booking is canceled") || strings.Contains(page, "1001") || strings.Contains(page, "Lovelace") {
		w.t.Errorf("the phone reads %d %s", code, page)
	}
}

// A guest who comes early fills in the form, and the PMS is not asked. When the PMS moves the stay to today, the guest checks in. So does
// a guest who comes a day late.
func TestEarlyAndLate(t *testing.T) {
	w := open(t)
	tablet := e2etest.EnrolTablet(t, w.World, "Lobby 2")
	e2etest.PushReservation(t, w.World, "B-1", map[string]any{
		"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 1, "fromDate": e2etest.LocalDate(3), "toDate": e2etest.LocalDate(5),
	})
	g := w.guest(tablet.GuestSession(t, "1001", "Lovelace"))
	g.fill()
	g.press(false)
	g.press(true)
	_, err := g.api().AskAgain(g.as, &guestv1.AskAgainRequest{})
	w.must(err)
	if c := g.reads("notToday"); c.GetOpensOn() != e2etest.LocalDate(3) {
		t.Errorf("check-in opens on %s", c.GetOpensOn())
	}
	if n := w.asked(); n != 0 {
		t.Errorf("the PMS was called %d times before the day of arrival", n)
	}
	if got := g.stops(); len(got) > 0 {
		t.Errorf("staff have the notices %v", got)
	}
	e2etest.PushReservation(t, w.World, "B-1", map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "fromDate": e2etest.LocalDate(0)})
	g.prepare()
	g.press(true)
	g.awaits("checkedIn")

	e2etest.PushReservation(t, w.World, "B-2", map[string]any{
		"pmsNumber": "1002", "state": "confirmed", "roomId": "R102", "adultCount": 1, "fromDate": e2etest.LocalDate(-1),
	})
	late := w.guest(tablet.GuestSession(t, "1002", "Lovelace"))
	late.prepare()
	late.press(true)
	late.awaits("checkedIn")
	late.awaitsCode()
}
