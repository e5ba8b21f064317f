// Package checkin tests check-ins of guests against hostile callers and a PMS that misbehaves, over the API of a running server.
package checkin

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// world is a running server with a property whose guests check in alone.
type world struct {
	*e2etest.World
	t *testing.T
}

func open(t *testing.T, options ...e2etest.Option) *world {
	t.Helper()
	play := func(c *sandbox.Config) { c.Play = true }
	return &world{e2etest.Open(t, append(options, play)...), t}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

var linkSecret = regexp.MustCompile(`/g/l/([A-Za-z0-9_-]+)`)

// book sends a reservation for tonight and returns the secret of the link that the guest is mailed.
func (w *world) book(id, number, room string) (link string) {
	w.t.Helper()
	email := strings.ToLower(id) + "@example.com"
	e2etest.PushReservation(w.t, w.World, id, map[string]any{
		"pmsNumber": number, "state": "confirmed", "roomId": room, "adultCount": 1, "booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace", "email": email},
	})
	return w.linkMailedTo(email)
}

// linkMailedTo waits for the mail to an address and returns the secret of its link.
func (w *world) linkMailedTo(email string) (link string) {
	w.t.Helper()
	mails := propertyv1.NewMailServiceClient(w.Public)
	w.Await("the link to "+email, func(ctx context.Context) (bool, error) {
		listed, err := mails.ListMails(w.Staff(ctx), &propertyv1.ListMailsRequest{PageSize: 200})
		if err != nil {
			return false, err
		}
		for _, m := range listed.GetData().GetList() {
			read, err := mails.GetMail(w.Staff(ctx), &propertyv1.GetMailRequest{Id: m.GetId()})
			if err != nil {
				return false, err
			}
			if found := linkSecret.FindStringSubmatch(read.GetText().GetText()); found != nil && read.GetText().GetTo() == email {
				link = found[1]
			}
		}
		return link != "", nil
	})
	return link
}

// guest is a device of a guest with a session.
type guest struct {
	w     *world
	as    context.Context
	token string // of the session
	stay  string // stay is the id of the reservation
}

// bind opens a link on a device.
func (w *world) bind(link string) *guest {
	w.t.Helper()
	bound, err := guestv1.NewLinkServiceClient(w.Public).BindLink(w.t.Context(), &guestv1.BindLinkRequest{Link: link})
	w.must(err)
	return w.guest(bound.GetData().GetToken())
}

// guest returns the device with a session.
func (w *world) guest(token string) *guest {
	w.t.Helper()
	g := &guest{w: w, as: e2etest.AsGuest(w.t.Context(), token), token: token}
	stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
	w.must(err)
	g.stay = stay.GetData().GetId()
	return g
}

func (g *guest) api() guestv1.CheckInServiceClient {
	return guestv1.NewCheckInServiceClient(g.w.Public)
}

// fill answers the form.
func (g *guest) fill() {
	g.w.t.Helper()
	stay, err := guestv1.NewStayServiceClient(g.w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
	g.w.must(err)
	_, err = guestv1.NewFormServiceClient(g.w.Public).SaveStep(g.as, &guestv1.SaveStepRequest{
		GuestId: stay.GetData().GetGuests()[0].GetId(), Step: "name", Answers: map[string]string{"firstName": "Ada", "lastName": "Lovelace"},
	})
	g.w.must(err)
}

// prepare goes to the last press.
func (g *guest) prepare() {
	g.w.t.Helper()
	g.fill()
	_, err := g.api().StartCheckIn(g.as, &guestv1.StartCheckInRequest{})
	g.w.must(err)
	_, err = g.api().ConfirmDetails(g.as, &guestv1.ConfirmDetailsRequest{})
	g.w.must(err)
	_, err = guestv1.NewFormServiceClient(g.w.Public).AcceptHouseRules(g.as, &guestv1.AcceptHouseRulesRequest{})
	g.w.must(err)
	g.reads("ready")
}

// reads fails the test unless the guest reads a stage and stops.
func (g *guest) reads(stage string, stops ...string) *guestv1.CheckIn {
	g.w.t.Helper()
	now, err := g.api().GetCheckIn(g.as, &guestv1.GetCheckInRequest{})
	g.w.must(err)
	g.is(now.GetData(), stage, stops...)
	return now.GetData()
}

func (g *guest) is(c *guestv1.CheckIn, stage string, stops ...string) {
	g.w.t.Helper()
	got := []string{c.GetStage()}
	for _, s := range c.GetStops() {
		got = append(got, s.GetReason())
	}
	if want := strings.Join(append([]string{stage}, stops...), " "); strings.Join(got, " ") != want {
		g.w.t.Fatalf("the guest reads %v, want %s", got, want)
	}
}

// awaits waits until the guest reads a stage.
func (g *guest) awaits(stage string) {
	g.w.t.Helper()
	g.w.Await("the stage "+stage, func(context.Context) (bool, error) {
		now, err := g.api().GetCheckIn(g.as, &guestv1.GetCheckInRequest{})
		return now.GetData().GetStage() == stage, err
	})
}

// pin returns the PIN that the session may see, or "".
func (g *guest) pin() (string, error) {
	shown, err := guestv1.NewStayServiceClient(g.w.Public).RevealPin(g.as, &guestv1.RevealPinRequest{})
	return shown.GetData().GetPin(), err
}

// awaitsCode waits until every door holds the code. A door says when its lock confirmed the code, and only then.
func (g *guest) awaitsCode() {
	g.w.t.Helper()
	g.w.Await("the code on the doors", func(context.Context) (bool, error) {
		stay, err := guestv1.NewStayServiceClient(g.w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
		confirmed := 0
		for _, d := range stay.GetData().GetDoors() {
			holds := slices.Contains([]string{"accepted", "verified", "used"}, d.GetPin())
			if holds != (d.GetPinConfirmedAt() != nil) {
				return false, fmt.Errorf("the code of a door is %s, confirmed at %v", d.GetPin(), d.GetPinConfirmedAt())
			}
			if holds {
				confirmed++
			}
		}
		return confirmed > 0 && confirmed == len(stay.GetData().GetDoors()), err
	})
}

// page returns the status and the text of a page of the stay on the guest's phone. path begins below the stay.
func (g *guest) page(path string) (status int, text string) {
	g.w.t.Helper()
	r, err := http.NewRequestWithContext(g.w.t.Context(), http.MethodGet, "http://"+g.w.Server.HTTPAddr()+"/g/stays/"+g.stay+path, nil)
	g.w.must(err)
	r.AddCookie(&http.Cookie{Name: "lk-stay-" + g.stay, Value: g.token})
	answer, text := g.w.answer(r)
	return answer.StatusCode, html.UnescapeString(text)
}

// answer sends a request and returns the answer with its text. It follows no redirect.
func (w *world) answer(r *http.Request) (answer *http.Response, text string) {
	w.t.Helper()
	answer, err := http.DefaultTransport.RoundTrip(r)
	w.must(err)
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	w.must(err)
	return answer, string(raw)
}

// notices returns the kinds of the open notices about a stay.
func (w *world) notices(stay string) (kinds []string) {
	w.t.Helper()
	listed, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(w.t.Context()), &propertyv1.ListNoticesRequest{PageSize: 200})
	w.must(err)
	for _, n := range listed.GetData().GetList() {
		if n.GetSubject() == stay && n.GetStands() && !strings.HasPrefix(n.GetKind(), "arrival") {
			kinds = append(kinds, n.GetKind())
		}
	}
	return kinds
}

// everything returns all that the guest can read about the stay, as text.
func (g *guest) everything() string {
	g.w.t.Helper()
	stay, err := guestv1.NewStayServiceClient(g.w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
	g.w.must(err)
	now, err := g.api().GetCheckIn(g.as, &guestv1.GetCheckInRequest{})
	g.w.must(err)
	return jsonOf(g.w.t, stay) + jsonOf(g.w.t, now)
}

func jsonOf(t *testing.T, m proto.Message) string {
	t.Helper()
	raw, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var compact map[string]any
	if err := json.Unmarshal(raw, &compact); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(compact)
	return string(out)
}
