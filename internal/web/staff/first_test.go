package staff

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"latchkey.dev/internal/fault"
)

// The form of the first owner names all wrong fields at once, although the API checks those of the property last.
func TestFirstOwnerNamesAllWrongFields(t *testing.T) {
	f := &fakeAPI{refuses: fault.Fields(fault.Field{Path: "email", Reason: fault.WrongValue}, fault.Field{Path: "password", Reason: fault.TooShort})}
	form := url.Values{"propertyName": {"Hostel"}, "timeZone": {"Europe/Nowhere"}, "name": {"Ada"}, "email": {"ada"}, "password": {"short"}}
	marked := func(address string) (ids []string) {
		w := f.post(t, address, form)
		if w.Code != http.StatusUnprocessableEntity {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		for _, id := range []string{"f-propertyName", "f-timeZone", "f-name", "f-email", "f-password"} {
			if strings.Contains(w.Body.String(), `id="`+id+`-wrong"`) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	if got := strings.Join(marked("/app/first/s?new"), " "); got != "f-timeZone f-email f-password" {
		t.Errorf("a wrong time zone: %s", got)
	}
	form.Set("propertyName", "")
	form.Set("timeZone", "")
	if got := strings.Join(marked("/app/first/s?new"), " "); got != "f-propertyName f-timeZone f-email f-password" {
		t.Errorf("no property: %s", got)
	}
	if got := strings.Join(marked("/app/first/s"), " "); got != "f-email f-password" {
		t.Errorf("a link to a property: %s", got)
	}
}
