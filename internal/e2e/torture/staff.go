package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/e2e/e2etest"
)

// codes are the staff, one-time and backup codes of a run.
type codes struct {
	mu   sync.Mutex
	list []*code
}

// all returns a copy of the list of codes.
func (c *codes) all() []*code {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*code(nil), c.list...)
}

// maxCodes bounds the number of simultaneous codes.
const maxCodes = 10

// envelope returns the complete JSON answer of a call, not only its data. The map is empty if the answer is no JSON object.
func envelope(o e2etest.Outcome) map[string]any {
	out := map[string]any{}
	_ = json.Unmarshal(o.Raw, &out)
	return out
}

// simulateStaff makes random changes of codes, mappings, rooms and lock assignments until ctx ends.
func (w *world) simulateStaff(ctx context.Context, rng *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		clock.Sleep(ctx, time.Duration(200+rng.IntN(1000))*time.Millisecond)
		key := fmt.Sprintf("staff/%d", n)
		switch rng.IntN(10) {
		case 0, 1:
			w.createCode(key, rng)
		case 2, 3:
			w.revokeCode(key, rng)
		case 4:
			w.swapBackupCodes(key, rng)
		case 5:
			w.recreateMapping(ctx, key, rng)
		case 6:
			w.switchRoomOffAndOn(ctx, key, rng)
		default:
			w.moveLock(key, rng)
		}
	}
}

// createCode creates a staff code or a one-time code for random doors, unless there are maxCodes codes. key is the idempotency key. A
// refusal is only counted.
func (w *world) createCode(key string, rng *rand.Rand) {
	if len(w.codes.all()) >= maxCodes {
		return
	}
	content := map[string]any{"kind": "staff", "holder": key}
	if rng.IntN(3) == 0 {
		content["kind"] = "oneTime"
	}
	var doors []string
	for _, d := range w.doors {
		if rng.IntN(4) == 0 {
			doors = append(doors, d.id)
		}
	}
	if len(doors) == 0 {
		doors = []string{w.doors[0].id}
	}
	content["doorIds"] = doors
	o, answered := w.sendUntilAnswered(w.staff, key, "POST", "/v1/property/codes", content)
	if !answered || !o.OK() {
		w.count.add("codes refused "+o.Reason, 1)
		return
	}
	once := content["kind"] == "oneTime"
	w.addCode(stringAt(o.Data(), "id"), once, once, fmt.Sprintf("created: %v", content))
	w.count.add("codes", 1)
}

// addCode adds a code to those of the run. once means that the code can be used once. ends means that the service may end the code by
// itself. what is the first line of its story (log).
func (w *world) addCode(id string, once, ends bool, what string) {
	c := &code{id: id}
	c.name, c.shouldHaveAccess, c.oneTime, c.endsByItself = id, true, once, ends
	c.story.add(w.began, "%s", what)
	w.codes.mu.Lock()
	defer w.codes.mu.Unlock()
	w.codes.list = append(w.codes.list, c)
}

// revokeCode revokes a random code, or forgets it if it was revoked or has ended before. key is the idempotency key.
func (w *world) revokeCode(key string, rng *rand.Rand) {
	all := w.codes.all()
	if len(all) == 0 {
		return
	}
	c := all[rng.IntN(len(all))]
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.shouldHaveAccess { // the code was revoked or has ended before: forget it
		w.codes.mu.Lock()
		defer w.codes.mu.Unlock()
		for i, other := range w.codes.list {
			if other == c {
				w.codes.list = append(w.codes.list[:i], w.codes.list[i+1:]...)
				return
			}
		}
		return
	}
	o, answered := w.sendUntilAnswered(w.staff, key, "POST", "/v1/property/codes/"+c.id+":revoke", map[string]any{})
	c.story.add(w.began, "revoked: %d %s", o.HTTP, o.Reason)
	if answered && o.OK() {
		c.shouldHaveAccess = false
		w.count.add("revocations", 1)
	}
}

// swapBackupCodes replaces the backup codes of a lock, and adds one of the new codes to those of the run, unless there are maxCodes codes.
// A refusal is only counted.
func (w *world) swapBackupCodes(key string, rng *rand.Rand) {
	l := w.locks[rng.IntN(len(w.locks))]
	o, answered := w.sendUntilAnswered(w.staff, key, "POST", "/v1/property/locks/"+l.id+"/backupCodes:swap", map[string]any{})
	if !answered || !o.OK() {
		w.count.add("backup swaps refused "+o.Reason, 1)
		return
	}
	w.count.add("backup swaps", 1)
	if all := listAt(envelope(o), "data"); len(all) > 0 && len(w.codes.all()) < maxCodes {
		w.addCode(stringAt(all[0], "id"), false, true, "backup code of lock "+l.address)
	}
}

// recreateMapping deletes the mapping of a random room and, up to three seconds later, creates it again.
func (w *world) recreateMapping(ctx context.Context, key string, rng *rand.Rand) {
	w.spaceChanges.Lock()
	defer w.spaceChanges.Unlock()
	r := w.rooms[rng.IntN(len(w.rooms))]
	base := "/v1/property/integrations/" + w.integration + "/mappings"
	w.recordRoomChange(r, "unmapped")
	o, _ := w.sendUntilAnswered(w.staff, key, "DELETE", base+"?externalId="+url.QueryEscape(r.pmsID), nil)
	w.expectOK("a mapping", o)
	clock.Sleep(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
	o, _ = w.sendUntilAnswered(w.staff, key+"/back", "POST", base, map[string]any{"externalId": r.pmsID, "spaceId": r.id})
	w.expectOK("a mapping", o)
	w.recordRoomChange(r, "mapped again")
	w.count.add("mappings", 2)
}

// switchRoomOffAndOn switches a random room off and, up to three seconds later, on again.
func (w *world) switchRoomOffAndOn(ctx context.Context, key string, rng *rand.Rand) {
	w.spaceChanges.Lock()
	defer w.spaceChanges.Unlock()
	r := w.rooms[rng.IntN(len(w.rooms))]
	w.recordRoomChange(r, "switched off")
	o, _ := w.sendUntilAnswered(w.staff, key, "PATCH", "/v1/property/spaces/"+r.id, map[string]any{"isActive": false})
	w.expectOK("a space", o)
	clock.Sleep(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
	o, _ = w.sendUntilAnswered(w.staff, key+"/back", "PATCH", "/v1/property/spaces/"+r.id, map[string]any{"isActive": true})
	w.expectOK("a space", o)
	w.recordRoomChange(r, "switched on")
	w.count.add("spaces off and on", 1)
}

// recordRoomChange adds a change of a room to the story of every stay.
func (w *world) recordRoomChange(r *hotelDoor, what string) {
	for _, s := range w.stays {
		s.story.add(w.began, "room %s is %s", r.name, what)
	}
}

// expectOK reports a violation if o, the answer to a change by staff that must succeed, is none or a refusal.
func (w *world) expectOK(what string, o e2etest.Outcome) {
	if !o.OK() {
		w.report.add("a change by staff was refused", what, o.String())
	}
}

// moveLock removes a random lock from its door or, if it has none, assigns it to a random door without a lock. If all doors have locks, it
// does nothing.
func (w *world) moveLock(key string, rng *rand.Rand) {
	w.lockMoves.Lock()
	defer w.lockMoves.Unlock()
	l := w.locks[rng.IntN(len(w.locks))]
	door := ""
	if l.door() == "" {
		for _, i := range rng.Perm(len(w.doors)) {
			if w.lockAtDoor(w.doors[i].id) == nil {
				door = w.doors[i].id
				break
			}
		}
		if door == "" {
			return
		}
	}
	w.assign(key, l, door)
}

// assign assigns a lock to a door; door "" removes the lock from its door. A refusal, or no answer, is a violation. The caller holds
// lockMoves.
func (w *world) assign(key string, l *lockState, door string) {
	l.story.add(w.began, "is put on door %s", w.doorName(door))
	o, answered := w.sendUntilAnswered(w.staff, key, "POST", "/v1/property/locks/"+l.id+":assign", map[string]any{"doorId": door})
	if !answered || !o.OK() {
		w.report.add("a change by staff was refused", l.address+" to "+w.doorName(door), o.String(), &l.story)
		return
	}
	l.recordDoor(door)
	w.count.add("lock moves", 1)
}

// readBackStaff reports acknowledged changes of staff that the service has lost: the door of a lock, the state or mapping of a room, or the
// state of a code that cannot end by itself.
func (w *world) readBackStaff(ctx context.Context) {
	w.lockMoves.Lock()
	w.compareEntries(ctx, "/v1/property/locks?pageSize=200", func(l any) string {
		st := w.byAddress[stringAt(l, "address")]
		return describeDifference("the door of lock "+st.address, st.door(), stringAt(l, "doorId"))
	})
	w.lockMoves.Unlock()
	w.spaceChanges.Lock()
	w.compareEntries(ctx, "/v1/property/spaces?pageSize=200", func(s any) string {
		return describeDifference("whether room "+stringAt(s, "name")+" is on", true, e2etest.ValueAt(s, "isActive"))
	})
	w.compareEntries(ctx, "/v1/property/integrations/"+w.integration+"/spaces?pageSize=200", func(s any) string {
		return describeDifference("the mapping of "+stringAt(s, "externalId"), "mapped", stringAt(s, "state"))
	})
	w.spaceChanges.Unlock()
	for _, c := range w.codes.all() {
		c.mu.Lock()
		o, err := w.request(ctx, w.staff, "GET", "/v1/property/codes/"+c.id, nil)
		if err == nil && o.OK() && !c.endsByItself {
			w.reportLost(describeDifference("whether code "+c.id+" is ended", !c.shouldHaveAccess, stringAt(o.Data(), "state") == "ended"), &c.story)
		}
		c.mu.Unlock()
	}
}

// compareEntries reads a list from the service and reports each entry for which judge returns a difference. If the list cannot be read, it
// does nothing.
func (w *world) compareEntries(ctx context.Context, path string, judge func(entry any) string) {
	o, err := w.request(ctx, w.staff, "GET", path, nil)
	if err != nil || !o.OK() {
		return
	}
	for _, entry := range listAt(o.Data(), "list") {
		w.reportLost(judge(entry))
	}
}

// reportLost counts a comparison with an acknowledged value. what describes the difference, which is a violation; "" if there is none.
func (w *world) reportLost(what string, stories ...*story) {
	w.count.add("fields compared", 1)
	if what != "" {
		w.report.add("an acknowledged change of staff was lost", "", what, stories...)
	}
}

// describeDifference describes the difference between an acknowledged value and the present one, or returns "" if they are equal.
func describeDifference(what string, want, got any) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("%s: acknowledged as %v, and is %v", what, want, got)
}

// simulateUnlocks sends unlock commands until ctx ends. It repeats some with the same idempotency key.
func (w *world) simulateUnlocks(ctx context.Context, rng *rand.Rand) {
	var running sync.WaitGroup
	defer running.Wait()
	for n := 0; ctx.Err() == nil; n++ {
		clock.Sleep(ctx, time.Duration(300+rng.IntN(1500))*time.Millisecond)
		l, twice := w.locks[rng.IntN(len(w.locks))], rng.IntN(3) == 0
		running.Go(func() { w.sendUnlock(l, fmt.Sprintf("unlock/%d", n), twice) })
	}
}

// sendUnlock sends an unlock command to a lock, with the idempotency key key, and records the result. With twice, it repeats the call.
func (w *world) sendUnlock(l *lockState, key string, twice bool) {
	order := unlock{Lock: l.address, Called: time.Now()}
	l.story.add(w.began, "%s is asked for", key)
	who := w.staff.WithHeader("idempotency-key", key)
	ctx := context.Background()
	send := func() (e2etest.Outcome, error) {
		return w.request(ctx, who, "POST", "/v1/property/locks/"+l.id+":unlock", map[string]any{})
	}
	o, err := send()
	// A repeat with the same key returns the first result and does not unlock again. If the first call never reached the service, the
	// repeat unlocks.
	for tries := 0; err != nil && twice && tries < 20; tries++ {
		<-time.After(200 * time.Millisecond)
		order.Repeated = time.Now()
		o, err = send()
	}
	if err != nil {
		l.story.add(w.began, "%s: %v", key, err)
		w.recordUnlock(l, order)
		return
	}
	if o.OK() && twice {
		if repeat, err := send(); err == nil && repeat.OK() {
			o = repeat
		}
	}
	order.Answered, order.Result = time.Now(), o.Reason
	if o.OK() {
		order.Result = stringAt(o.Data(), "result")
	}
	l.story.add(w.began, "%s: answered %d %s", key, o.HTTP, order.Result)
	w.recordUnlock(l, order)
}

// recordUnlock adds an unlock command, answered or given up, to those of a lock, for checkRemoteUnlocks.
func (w *world) recordUnlock(l *lockState, order unlock) {
	w.count.add("unlocks", 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orders = append(l.orders, order)
}
