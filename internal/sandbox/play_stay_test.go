package sandbox

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// The desk answers a guest, the PMS reads what the guests share, and the data are copied and erased from the page.
func TestPlayPageFollowsAStay(t *testing.T) {
	w := build(t, Config{Play: true, MandatoryGroups: DemoGroups})
	guest, err := w.VisitByDoor(t.Context(), "2001", "Okafor")
	if err != nil {
		t.Fatal(err)
	}
	_, text := openPage(t, w, "/", nil)
	for _, below := range []string{"", "/people", "/messages", "/ledger", "/data"} {
		if !strings.Contains(text, `href="`+guest.site+guest.Home+below+`"`) {
			t.Errorf("the page has no link to %s%s", guest.Home, below)
		}
	}
	const stay = "/stays/B-2001"
	post(t, w, stay, "Type a message first.", "do", "answer")
	post(t, w, stay, "The desk: The towels are in the locker.", "do", "answer", "text", "The towels are in the locker.")
	post(t, w, stay, "The PMS gets nothing: ", "do", "read")
	post(t, w, "/desk/B-2001", "checked in at the desk", "do", "checkIn")
	post(t, w, stay, "The PMS gets nothing: no guest of this stay shares", "do", "read")
	if status, text := openPage(t, w, stay+"/data", nil); status != http.StatusOK || !strings.Contains(text, "Okafor") || !strings.HasPrefix(text, "{") {
		t.Errorf("the copy of the data answered %d: %s", status, text)
	}
	post(t, w, stay, "data will be erased", "do", "erase")
	post(t, w, stay, "Unknown action.", "do", "burn")
	post(t, w, "/desk/B-2001", "The guest is checked out.", "do", "checkOut")
	err = w.Await(t.Context(), "the data are erased", func(context.Context) (bool, error) {
		_, text := openPage(t, w, "/", nil)
		return strings.Contains(text, "data erased"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := openPage(t, w, "/stays/B-9999", url.Values{}); status != http.StatusNotFound {
		t.Errorf("an unknown stay answered %d", status)
	}
	if status, _ := openPage(t, w, "/stays/B-9999/data", nil); status != http.StatusNotFound {
		t.Errorf("the data of an unknown stay answered %d", status)
	}
	if err := w.PMS.mergeReservation("B-9998", map[string]any{"state": "confirmed"}); err != nil {
		t.Fatal(err)
	}
	if status, _ := openPage(t, w, "/stays/B-9998/data", nil); status != http.StatusNotFound {
		t.Errorf("the data of a stay that only the PMS has answered %d", status)
	}
}

// What the PMS reads is named, field by field, for each guest.
func TestDisclosedNote(t *testing.T) {
	person := map[string]any{"lastName": "Lovelace", "email": "ada@example.com"}
	for want, a := range map[string]Answer{
		"The PMS gets of the main guest: email, lastName; of a companion: nothing, because this guest shares nothing. ": {Status: 200, Body: map[string]any{"data": map[string]any{"list": []any{
			map[string]any{"role": "main", "person": person}, map[string]any{"role": "companion", "withheld": "notShared"},
		}}}},
		"The PMS gets nothing: the stay has no guests.": {Status: 200, Body: map[string]any{"data": map[string]any{}}},
		"The PMS gets nothing: outside the stay":        {Status: 403, Body: map[string]any{"error": map[string]any{"message": "outside the stay"}}},
	} {
		if got := disclosureNote(a, nil); !strings.HasPrefix(got.Text, want) {
			t.Errorf("%q, want %q", got.Text, want)
		}
	}
}

// The page shows the link for staff until a person has made a login with it.
func TestPlayPageHidesAUsedStaffLink(t *testing.T) {
	w := build(t, Config{Play: true})
	first := w.StaffLink()
	if _, text := openPage(t, w, "/", nil); !strings.Contains(text, first) || !strings.Contains(text, w.DashboardURL()) {
		t.Error("the page has no link for staff")
	}
	b, err := newBrowser()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.open(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := b.submit(t.Context(), map[string]string{"f-name": "Ada", "f-email": "ada@example.com", "f-password": "correct horse battery"}); err != nil {
		t.Fatal(err)
	}
	if _, text := openPage(t, w, "/", nil); strings.Contains(text, first) || !strings.Contains(text, w.DashboardURL()) {
		t.Error("the page still shows the used link")
	}
	post(t, w, "/staff", "The new link works once", "do", "renew")
	if _, text := openPage(t, w, "/", nil); w.StaffLink() == first || !strings.Contains(text, w.StaffLink()) {
		t.Error("the page does not show the new link")
	}
}
