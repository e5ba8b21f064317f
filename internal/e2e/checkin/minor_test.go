package checkin

import (
	"context"
	"slices"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// What a minor without an adult reads: the text, and below it the heading and the text of the page.
const (
	minorText    = "An adult has to check in with you. Please come to the desk."
	minorHeading = "<h1>Please go to the desk</h1>"
	minorNote    = ">An adult has to check in with you.<"
)

// A guest who gives the date of birth of a minor, and stays alone, goes to the desk: no press checks the guest in, and staff have a notice.
// The desk's check-in gives the code. An adult who joins ends the stop.
func TestMinorAloneGoesToTheDesk(t *testing.T) {
	for name, end := range map[string]func(g *guest){
		"the desk checks in": func(g *guest) {
			_, err := g.w.PMS.Push(g.w.t.Context(), "B-1", map[string]any{"state": "started"})
			g.w.must(err)
			g.awaits("checkedIn")
			g.awaitsCode()
			if pin, err := g.pin(); err != nil || pin == "" {
				g.w.t.Errorf("the guest gets a PIN of %d digits: %v", len(pin), err)
			}
		},
		"an adult joins": func(g *guest) {
			forms := guestv1.NewFormServiceClient(g.w.Public)
			_, err := forms.SetParty(g.as, &guestv1.SetPartyRequest{AdultCount: 2})
			g.w.must(err)
			stay, err := guestv1.NewStayServiceClient(g.w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
			g.w.must(err)
			g.answers(stay.GetData().GetGuests()[1].GetId(), "1980-05-02")
			g.reads("confirmDetails")
			_, err = g.api().ConfirmDetails(g.as, &guestv1.ConfirmDetailsRequest{})
			g.w.must(err)
			g.reads("houseRules")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			w.set(map[string]any{"rule": "ES", "identityCheck": "none", "signature": "none"})
			g := w.bind(w.book("B-1", "1001", "R101"))
			stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
			w.must(err)
			g.answers(stay.GetData().GetGuests()[0].GetId(), e2etest.LocalDate(-16*365))
			g.press(false)
			stops := g.reads("stopped", "minorAlone").GetStops()
			if stops[0].GetText() != minorText || stops[0].GetRetry() {
				t.Errorf("the guest reads %v", stops)
			}
			if _, text := g.page("/checkin"); !strings.Contains(text, minorHeading) || !strings.Contains(text, minorNote) || strings.Contains(text, `value="again"`) {
				t.Errorf("the page reads %s", text)
			}
			g.press(true)
			_, err = g.api().AskAgain(g.as, &guestv1.AskAgainRequest{})
			w.must(err)
			g.reads("stopped", "minorAlone")
			if n := w.PMS.CheckInCount("B-1"); n != 0 {
				t.Errorf("the PMS checked a minor in %d times", n)
			}
			if got := w.notices(g.stay); !slices.Equal(got, []string{"checkInMinorAlone"}) {
				t.Errorf("staff have the notices %v", got)
			}
			end(g)
			w.Await("no notice is open", func(context.Context) (bool, error) { return len(w.notices(g.stay)) == 0, nil })
		})
	}
}

// A changed date of birth brings and ends the stop and its notice at once, without another press of the guest.
func TestChangedBirthDateIsEvaluated(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.set(map[string]any{"rule": "ES", "identityCheck": "none", "signature": "none"})
	g := w.bind(w.book("B-1", "1001", "R101"))
	stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(g.as, &guestv1.GetStayRequest{})
	w.must(err)
	id := stay.GetData().GetGuests()[0].GetId()
	g.answers(id, "1980-05-02")
	g.press(false)
	for _, c := range []struct {
		born string
		want []string
	}{{e2etest.LocalDate(-16 * 365), []string{"checkInMinorAlone"}}, {"1980-05-02", nil}} {
		_, err := guestv1.NewFormServiceClient(w.Public).SaveStep(g.as, &guestv1.SaveStepRequest{GuestId: id, Step: "birth", Answers: map[string]string{"birthDate": c.born}})
		w.must(err)
		if got := w.notices(g.stay); !slices.Equal(got, c.want) {
			t.Errorf("born on %s: staff have the notices %v, want %v", c.born, got, c.want)
		}
	}
}

// answers fills in the form of a guest as the pages ask for it.
func (g *guest) answers(guestID, birthDate string) {
	g.w.t.Helper()
	forms := guestv1.NewFormServiceClient(g.w.Public)
	all := map[string]string{
		"firstName": "Ada", "lastName": "Lovelace", "sex": "F", "birthDate": birthDate, "nationality": "GB", "email": "b-1@example.com",
		"address.street": "Main Street 1", "address.city": "London", "address.postcode": "N1", "address.country": "GB",
		"document.type": "passport", "document.number": "X1234567",
	}
	for range 20 {
		form, err := forms.GetForm(g.as, &guestv1.GetFormRequest{GuestId: guestID})
		g.w.must(err)
		next, steps, least, most := form.GetData().GetNext(), int32(len(form.GetData().GetSteps())), form.GetData().GetMinSteps(), form.GetData().GetMaxSteps()
		if next == "" {
			if steps != least || steps != most {
				g.w.t.Errorf("a complete form of %d steps has %d to %d", steps, least, most)
			}
			return
		}
		if steps < least || steps > most {
			g.w.t.Errorf("a form of %d steps promised %d to %d", steps, least, most)
		}
		step := map[string]string{}
		for _, s := range form.GetData().GetSteps() {
			for _, f := range s.GetFields() {
				if value, ok := all[f.GetName()]; ok && s.GetName() == next {
					step[f.GetName()] = value
				}
			}
		}
		_, err = forms.SaveStep(g.as, &guestv1.SaveStepRequest{GuestId: guestID, Step: next, Answers: step})
		if err != nil {
			g.w.t.Fatalf("the step %s of %v: %v", next, form.GetData(), err)
		}
	}
	g.w.t.Fatal("the form does not end")
}
