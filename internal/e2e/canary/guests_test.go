package canary

import (
	"fmt"

	"latchkey.dev/internal/e2e/e2etest"
)

// guests fill in their form at a kiosk, sign it, and make mistakes. Staff read it.
func (f *flows) guests() {
	f.t.Helper()
	const answered, drawn = "Antwortkanaria", "17,23 931,377;411,389 402,13"
	f.learn("an answer of a guest", answered)
	f.learn("an own answer of a guest", "AB-"+answered)
	f.learn("a signature", drawn)
	f.learn("a signature as an image", "M17 23L931 377")
	f.must(f.Owner(), "PATCH", "/v1/property/checkIn/settings", map[string]any{"settings": map[string]any{
		"rule": "none", "signature": "drawn", "fields": map[string]any{"list": []any{map[string]any{"name": "plate", "label": "Number plate"}}},
	}})
	booked := guest()
	booked["state"], booked["pmsNumber"], booked["roomId"] = "confirmed", "N-GUEST", "R103"
	if a, err := f.PMS.Push(f.t.Context(), "K9", booked); err != nil || a.Status != 200 {
		f.t.Fatal(a, err)
	}
	tablet := e2etest.EnrolTablet(f.t, f.World, "Canary")
	f.learn("the token of a kiosk", tablet.Token)
	session := tablet.GuestSession(f.t, "N-GUEST", last)
	f.learn("the session of a guest", session)
	me := e2etest.Bearer("guest", session)
	stay := f.must(me, "GET", "/v1/guest/stay", nil)
	guestID, _ := e2etest.ValueAt(stay["guests"].([]any)[0], "id").(string)
	form := "/v1/guest/stay/guests/" + guestID + "/form"
	save := func(step string, answers map[string]any) {
		f.t.Helper()
		f.must(me.WithHeader("Idempotency-Key", "kanaria-form-"+step), "PATCH", form, map[string]any{"step": step, "answers": answers})
	}
	save("name", map[string]any{"firstName": answered, "lastName": answered})
	save("property", map[string]any{"own.plate": "AB-" + answered})
	for _, wrong := range []map[string]any{
		{"step": answered, "answers": map[string]any{"firstName": answered}},
		{"step": "name", "answers": map[string]any{"nothing": answered}},
		{"step": "name", "answers": map[string]any{"firstName": answered + "\x1b", "lastName": answered + fmt.Sprint(make([]int, 200))}},
		{"step": "property", "answers": map[string]any{"own.plate": []string{answered}}},
	} {
		f.call(me, "PATCH", form, wrong)
	}
	shown, _ := e2etest.ValueAt(f.must(me, "GET", form, nil)["signature"], "shown").(string)
	if shown == "" {
		f.t.Fatal("the guest cannot sign")
	}
	f.call(me, "POST", form+":sign", map[string]any{"shown": shown, "drawing": drawn + ";" + answered})
	f.call(me, "POST", form+":sign", map[string]any{"shown": "other", "drawing": drawn})
	f.call(me, "POST", form+":sign", map[string]any{"shown": shown, "drawing": map[string]any{"strokes": drawn}})
	f.must(me.WithHeader("Idempotency-Key", "kanaria-sign"), "POST", form+":sign", map[string]any{"shown": shown, "drawing": drawn})
	id, _ := stay["id"].(string)
	if svg := texts(f.call(f.Owner(), "GET", "/v1/property/reservations/"+id+"/guests/"+guestID+"/signature", nil).Raw, "svg"); svg == "" {
		f.t.Error("staff cannot read the signature")
	}
	f.must(f.Owner(), "GET", "/v1/property/reservations/"+id+"/guests", nil)
	f.call(f.Partner(), "GET", "/v1/property/reservations/"+id+"/guests/"+guestID+"/signature", nil)
}
