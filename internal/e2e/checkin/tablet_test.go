package checkin

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/test/dbtest"
)

// visit is a guest at a tablet who uses nothing but its pages.
type visit struct {
	*guest
	path string // of the page that the tablet shows
}

// visit finds a reservation at the tablet.
func (w *world) visit(tablet *e2etest.Tablet, number string) *visit {
	w.t.Helper()
	v := &visit{guest: w.guest(tablet.GuestSession(w.t, number, "Lovelace"))}
	v.open(http.MethodGet, "/k/you", "")
	return v
}

// open loads a page of the tablet, or posts a form, and follows to the page that the tablet shows then.
func (v *visit) open(method, path, form string) {
	v.w.t.Helper()
	for range 10 {
		r, err := http.NewRequestWithContext(v.w.t.Context(), method, "http://"+v.w.Server.HTTPAddr()+path, strings.NewReader(form))
		v.w.must(err)
		r.AddCookie(&http.Cookie{Name: "lk-kiosk", Value: "a tablet"})
		r.AddCookie(&http.Cookie{Name: "lk-visit", Value: v.token})
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
		answer, _ := v.w.answer(r)
		if answer.StatusCode != http.StatusSeeOther {
			v.path = path
			return
		}
		method, path, form = http.MethodGet, answer.Header.Get("Location"), ""
	}
	v.w.t.Fatalf("the tablet moves from page to page, at last to %s", path)
}

// press posts a form to a page, and fails the test unless the tablet then shows another one.
func (v *visit) press(path, form, next string) {
	v.w.t.Helper()
	v.open(http.MethodPost, path, form)
	if v.path != next {
		v.w.t.Fatalf("%s with %q shows %s, want %s", path, form, v.path, next)
	}
}

// answerAll answers the questions of the form until the tablet shows another page.
func (v *visit) answerAll() {
	v.w.t.Helper()
	for range 10 {
		if !strings.HasPrefix(v.path, "/k/form/") {
			return
		}
		v.open(http.MethodPost, v.path, "firstName=Ada&lastName=Lovelace&nationality=GB&sex=F&email=ada@example.com&mobile=%2B442079460101")
	}
	v.w.t.Fatalf("the form stays at %s", v.path)
}

// asked fails the test unless the tablet asks what is shared.
func (v *visit) asked() {
	v.w.t.Helper()
	if v.path != "/k/share" {
		v.w.t.Fatalf("the tablet shows %s", v.path)
	}
}

// A guest who used nothing but the tablet is asked there what is shared, once. The PMS gets with checkIn what the guest agreed to, and may read
// it while the guest stays. A guest who declines checks in as well: checkIn has the reservation alone, and a read is refused.
func TestGuestSharesAtTheTablet(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w := open(t, e2etest.Database(url))
		w.set(map[string]any{"mandatoryGroups": map[string]any{"list": []string{"identity", "contact"}}})
		for i, c := range []struct {
			name, choice, reason string
			shared               []string // the fields of the main guest that checkIn has
		}{
			{name: "all", choice: "share.identity=yes&r~share.contact=yes", shared: []string{"email", "firstName", "lastName", "mobile", "nationality", "sex"}},
			{name: "one group", choice: "r~share.identity=yes", shared: []string{"firstName", "lastName", "nationality", "sex"}},
			{name: "nothing", reason: "notShared"},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := &world{w.World, t}
				id, number := "B-"+c.name[:3], []string{"1001", "1002", "1003"}[i]
				e2etest.PushReservation(t, w.World, id, map[string]any{
					"pmsNumber": number, "state": "confirmed", "roomId": "R10" + number[3:], "adultCount": 1, "booker": map[string]any{"firstName": "Ada", "lastName": "Lovelace"},
				})
				v := w.visit(e2etest.EnrolTablet(t, w.World, "Lobby "+c.name), number)
				v.checkIn(c.choice)
				w.checkInHad(id, c.shared)
				w.partnerReads(v.stay, c.reason, c.shared)
			})
		}
	})
}

// checkIn goes from the first page of the tablet to the code, and makes a choice where the tablet asks what is shared.
func (v *visit) checkIn(choice string) {
	v.w.t.Helper()
	v.press("/k/confirm", "do=start", "/k/email")
	v.press("/k/email", "do=skip", "/k/form/name")
	v.answerAll()
	v.asked()
	v.press("/k/share", choice, "/k/confirm") // and no more to the page of the choice
	v.press("/k/confirm", "do=confirm", "/k/confirm")
	v.press("/k/confirm", "do=rules", "/k/confirm")
	v.open(http.MethodPost, "/k/confirm", "do=complete")
	v.awaits("checkedIn")
}

// checkInHad checks the fields of the main guest in the PMS's checkIn call.
func (w *world) checkInHad(id string, want []string) {
	w.t.Helper()
	got := w.PMS.SharedGuest(id)
	if n := w.PMS.CheckInCount(id); n != 1 || !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
		w.t.Errorf("%d calls of checkIn, the last with %v; want the fields %v", n, got, want)
	}
}

// partnerReads checks what the PMS reads of the guests of a stay: a refusal with a reason, or the main guest's fields.
func (w *world) partnerReads(stay, reason string, want []string) {
	w.t.Helper()
	o, err := w.Do(w.t.Context(), w.Partner(), http.MethodGet, "/v1/reservations/"+stay+"/guests", nil)
	w.must(err)
	if status := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[reason == ""]; o.HTTP != status || o.Reason != reason {
		w.t.Fatalf("the PMS reads %s, want %d %s", o, status, reason)
	}
	if reason != "" {
		return
	}
	list, _ := o.Data()["list"].([]any)
	if len(list) != 1 {
		w.t.Fatalf("the PMS reads %s, not one guest", o)
	}
	got, _ := e2etest.ValueAt(list[0], "person").(map[string]any)
	maps.DeleteFunc(got, func(_ string, value any) bool { return fmt.Sprint(value) == "[]" })
	if !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
		w.t.Errorf("the PMS reads %v, want the fields %v", got, want)
	}
}

// A guest answers at the tablet before the day of arrival: the choice is made there too, because no later session may make it.
func TestGuestSharesAtTheTabletEarly(t *testing.T) {
	w := open(t)
	w.set(map[string]any{"mandatoryGroups": map[string]any{"list": []string{"identity"}}})
	e2etest.PushReservation(t, w.World, "B-1", map[string]any{
		"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 1, "fromDate": e2etest.LocalDate(3), "toDate": e2etest.LocalDate(5),
	})
	tablet := e2etest.EnrolTablet(t, w.World, "Lobby 2")
	v := w.visit(tablet, "1001")
	v.press("/k/confirm", "do=start", "/k/stop")
	v.open(http.MethodGet, "/k/form", "")
	v.answerAll()
	v.asked()
	v.press("/k/share", "share.identity=yes", "/k/stop")

	e2etest.PushReservation(t, w.World, "B-1", map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "fromDate": e2etest.LocalDate(0)})
	later := w.visit(tablet, "1001")
	later.press("/k/confirm", "do=start", "/k/email")
	later.press("/k/email", "do=skip", "/k/confirm") // it does not ask again what is shared
	later.press("/k/confirm", "do=confirm", "/k/confirm")
	later.press("/k/confirm", "do=rules", "/k/confirm")
	later.open(http.MethodPost, "/k/confirm", "do=complete")
	later.awaits("checkedIn")
	w.checkInHad("B-1", []string{"firstName", "lastName", "nationality", "sex"})
}

// A phone that took the stay from the tablet does not decide about answers that the tablet's session gave, and the tablet then asks.
func TestPhoneLeavesTheChoiceToTheTablet(t *testing.T) {
	w := open(t)
	w.set(map[string]any{"mandatoryGroups": map[string]any{"list": []string{"identity"}}})
	w.book("B-1", "1001", "R101")
	v := w.visit(e2etest.EnrolTablet(t, w.World, "Lobby 2"), "1001")
	v.fill()
	handed, err := guestv1.NewStayServiceClient(w.Public).HandOver(v.as, &guestv1.HandOverRequest{})
	w.must(err)
	phone := w.bind(handed.GetLink())
	if _, page := phone.page(""); strings.Contains(page, "/form/share") {
		t.Error("the phone asks what is shared")
	}
	_, err = guestv1.NewFormServiceClient(w.Public).SetSharing(phone.as, &guestv1.SetSharingRequest{Groups: []string{"identity"}})
	if o, _ := e2etest.GRPCOutcome(err); o.Reason != "notYourConsent" {
		t.Errorf("the phone decides: %v", o)
	}
	v.open(http.MethodPost, "/k/confirm", "do=start")
	v.answerAll()
	v.asked()
	v.press("/k/share", "share.identity=yes", "/k/confirm")
}

// Two people booked and one came: the guest says so at the tablet, where it waits for the answers of the second, and checks in.
func TestFewerPeopleAtTheTablet(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w := open(t, e2etest.Database(url))
		e2etest.PushReservation(t, w.World, "B-1", map[string]any{"pmsNumber": "1001", "state": "confirmed", "roomId": "R101", "adultCount": 2})
		v := w.visit(e2etest.EnrolTablet(t, w.World, "Lobby 2"), "1001")
		v.press("/k/confirm", "do=start", "/k/email")
		v.press("/k/email", "do=skip", "/k/form/name")
		v.press("/k/form/name", "firstName=Ada&lastName=Lovelace", "/k/form/2.name")
		v.press("/k/people", "adults=2&children=1", "/k/form/2.name") // more than booked
		v.press("/k/people", "adults=1&children=0", "/k/confirm")
		v.press("/k/confirm", "do=confirm", "/k/confirm")
		v.press("/k/confirm", "do=rules", "/k/confirm")
		v.open(http.MethodPost, "/k/confirm", "do=complete")
		v.awaits("checkedIn")
		stay, err := guestv1.NewStayServiceClient(w.Public).GetStay(v.as, &guestv1.GetStayRequest{})
		w.must(err)
		if n := len(stay.GetData().GetGuests()); n != 1 || stay.GetData().GetAdultCount() != 1 {
			t.Errorf("%d guests, %d adults", n, stay.GetData().GetAdultCount())
		}
	})
}
