package checkin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
)

// ways are the calls of docs/check-in.md, "Build your own pages": the route of each, and the RPC for Connect.
var ways = map[string]struct{ verb, path, rpc string }{
	"bind":           {"POST", "/v1/guest/link:bind", "LinkService/BindLink"},
	"stay":           {"GET", "/v1/guest/stay", "StayService/GetStay"},
	"form":           {"GET", "/v1/guest/stay/guests/{guestId}/form", "FormService/GetForm"},
	"save":           {"PATCH", "/v1/guest/stay/guests/{guestId}/form", "FormService/SaveStep"},
	"checkIn":        {"GET", "/v1/guest/stay/checkIn", "CheckInService/GetCheckIn"},
	"start":          {"POST", "/v1/guest/stay/checkIn:start", "CheckInService/StartCheckIn"},
	"confirmDetails": {"POST", "/v1/guest/stay/checkIn:confirmDetails", "CheckInService/ConfirmDetails"},
	"signature":      {"POST", "/v1/guest/stay/guests/{guestId}/form:sign", "FormService/SignForm"},
	"houseRules":     {"POST", "/v1/guest/stay/houseRules:accept", "FormService/AcceptHouseRules"},
	"ready":          {"POST", "/v1/guest/stay/checkIn:complete", "CheckInService/CompleteCheckIn"},
	"checkedIn":      {"POST", "/v1/guest/stay:revealPin", "StayService/RevealPin"},
}

// client is an app that has only the guide and JSON.
type client struct {
	*world
	connect bool // over Connect; otherwise over REST
	token   string
	keys    int
}

// call makes a call of the guide. Over REST, guestId is in the path; over Connect, all fields are in the body.
func (c *client) call(name string, body map[string]any) map[string]any {
	c.t.Helper()
	way := ways[name]
	who := e2etest.Anonymous()
	if c.token != "" {
		who = e2etest.Bearer("guest", c.token)
	}
	verb, path := way.verb, way.path
	if c.connect {
		verb, path = "POST", "/latchkey.guest.v1."+way.rpc
	} else if id, ok := body["guestId"].(string); ok {
		path = strings.Replace(path, "{guestId}", id, 1)
		delete(body, "guestId")
	}
	var raw []byte
	if verb != "GET" {
		if body == nil {
			body = map[string]any{}
		}
		c.keys++
		who = who.WithHeader("Idempotency-Key", fmt.Sprint("app-", c.keys))
		var err error
		raw, err = json.Marshal(body)
		c.must(err)
	}
	o, err := c.HTTPCall(c.t.Context(), who, verb, path, "application/json", raw)
	c.must(err)
	var answer struct{ Data map[string]any }
	if err := json.Unmarshal(o.Raw, &answer); err != nil || o.HTTP != 200 {
		c.t.Fatalf("%s: %d %s", name, o.HTTP, o.Raw)
	}
	return answer.Data
}

// fill answers the form of a guest, a step at a time, until no step has a missing answer.
func (c *client) fill(guestID string) (form map[string]any) {
	c.t.Helper()
	answers := map[string]string{"firstName": "Ada", "lastName": "Lovelace"}
	form = c.call("form", map[string]any{"guestId": guestID})
	for next, _ := form["next"].(string); next != ""; next, _ = form["next"].(string) {
		given := map[string]string{}
		for _, s := range form["steps"].([]any) {
			if step := s.(map[string]any); step["name"] == next {
				for _, f := range step["fields"].([]any) {
					name := f.(map[string]any)["name"].(string)
					given[name] = answers[name]
				}
			}
		}
		form = c.call("save", map[string]any{"guestId": guestID, "step": next, "answers": given})
		if form["next"] == next {
			c.t.Fatalf("the step %s stays: %v", next, form)
		}
	}
	return form
}

// goOn makes the call that the guide names for a stage, and returns the check-in.
func (c *client) goOn(now map[string]any) map[string]any {
	c.t.Helper()
	each := func(list string, act func(id string)) map[string]any {
		for _, id := range now[list].([]any) {
			act(id.(string))
		}
		return c.call("checkIn", nil)
	}
	switch stage := now["stage"].(string); stage {
	case "details":
		return each("missingGuestIds", func(id string) { c.fill(id) })
	case "signature":
		return each("unsignedGuestIds", func(id string) {
			shown := e2etest.ValueAt(c.call("form", map[string]any{"guestId": id}), "signature.shown")
			c.call("signature", map[string]any{"guestId": id, "shown": shown, "drawing": drawing})
		})
	case "houseRules":
		c.call(stage, nil)
		return c.call("checkIn", nil)
	case "calling", "waiting":
		return c.call("checkIn", nil)
	case "start", "confirmDetails", "ready":
		return c.call(stage, nil)
	default:
		c.t.Fatalf("the guide names no call for %v", now)
		return nil
	}
}

// An app that knows only docs/check-in.md, "Build your own pages", goes from the link of the mail to a PIN that opens the door: over REST, and
// over Connect with JSON.
func TestAnAppOfYourOwn(t *testing.T) {
	w := open(t)
	w.set(map[string]any{"rule": "none", "signature": "drawn", "identityCheck": "none", "houseRules": "Quiet from 22:00."})
	for i, kind := range []string{"REST", "Connect"} {
		t.Run(kind, func(t *testing.T) {
			booking, number, room := fmt.Sprint("B-", i), fmt.Sprint(1001+i), []string{"R101", "R102"}[i]
			c := &client{world: &world{w.World, t}, connect: kind == "Connect"}
			c.token, _ = c.call("bind", map[string]any{"link": w.book(booking, number, room)})["token"].(string)
			stay := c.call("stay", nil)
			guests, _ := stay["guests"].([]any)
			if len(guests) != 1 {
				t.Fatalf("the stay has the guests %v", guests)
			}
			now := c.call("checkIn", nil)
			var stages []string // in order
			for now["stage"] != "checkedIn" {
				if stage := now["stage"].(string); len(stages) == 0 || stages[len(stages)-1] != stage {
					stages = append(stages, stage)
				}
				if t.Context().Err() != nil {
					t.Fatal(stages)
				}
				now = c.goOn(now)
			}
			pin, _ := c.call("checkedIn", nil)["pin"].(string)
			if pin == "" {
				t.Fatalf("no PIN after %v", stages)
			}
			if got, want := strings.Join(stages, " "), "start details confirmDetails signature houseRules ready"; !strings.HasPrefix(got, want) {
				t.Errorf("the stages are %s, want %s", got, want)
			}
			g := &guest{w: c.world, as: e2etest.AsGuest(t.Context(), c.token), token: c.token}
			g.awaitsCode()
		})
	}
}
