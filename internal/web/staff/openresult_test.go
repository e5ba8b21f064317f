package staff

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/staff"
)

// The result of opening a door names the door and the time, is shown once, and no reload opens the door again.
func TestOpenedDoorIsShownOnce(t *testing.T) {
	f := &fakeAPI{
		role: staff.Manager, stay: &propertyv1.Reservation{Id: "rsv_1", PmsNumber: "8790", LastName: "Silva", State: "started", From: before(0), To: before(0)},
		doors: []*partnerv1.ExplainedDoor{{DoorId: "spc_1", Name: "Room 101", Evidence: "verified"}},
		locks: []*propertyv1.Lock{{Id: "lck_1", DoorId: new("spc_1"), DoorName: new("Room 101"), Abilities: &propertyv1.LockAbilities{RemoteUnlock: true}}},
	}
	const stay = "/app/reservations/rsv_1"
	w := f.post(t, stay+"/open", url.Values{"door": {"spc_1"}, "reason": {"locked out"}})
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != stay || len(cookies) != 1 {
		t.Fatalf("%d to %q with %v: %s", w.Code, w.Header().Get("Location"), cookies, w.Body)
	}
	look := func(path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.AddCookie(cookies[0])
		for _, name := range headers {
			r.Header.Set(name, "1")
		}
		return f.send(t, r, "en")
	}
	const want = "Opened: the lock confirmed it."
	for _, w := range []*httptest.ResponseRecorder{look("/app/codes/cod_1"), look(stay, "Latchkey-Automatic")} {
		if strings.Contains(w.Body.String(), want) || len(w.Result().Cookies()) > 0 {
			t.Errorf("another request takes the result: %v", w.Result().Cookies())
		}
	}
	w = look(stay)
	if body := w.Body.String(); !strings.Contains(body, want) || !strings.Contains(body, "<strong>Room 101, ") || !strings.Contains(body, ">12:00</time>") {
		t.Errorf("the page does not name door and time: %s", body)
	}
	if left := w.Result().Cookies(); len(left) != 1 || left[0].MaxAge >= 0 {
		t.Errorf("the result stays for the next load: %v", left)
	}
	for _, result := range openResults {
		checkTexts(t, openResult{Result: result}.Text())
	}
}
