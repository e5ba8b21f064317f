package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"latchkey.dev/internal/e2e/e2etest"
)

// codes are the staff, one-time and backup codes of the run.
type codes struct {
	mu   sync.Mutex
	list []*code
	n    int
}

func (c *codes) all() []*code {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*code(nil), c.list...)
}

// mostCodes bounds the number of live codes.
const mostCodes = 10

// whole returns the whole JSON answer of a call, with its envelope.
func whole(o e2etest.Outcome) map[string]any {
	out := map[string]any{}
	_ = json.Unmarshal(o.Raw, &out)
	return out
}

// employees change the property until ctx ends.
func (w *world) employees(ctx context.Context, rng *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(200+rng.IntN(1000))*time.Millisecond)
		key := fmt.Sprintf("staff/%d", n)
		switch rng.IntN(10) {
		case 0, 1:
			w.createCode(key, rng)
		case 2, 3:
			w.revokeCode(key, rng)
		case 4:
			w.swapBackups(key, rng)
		case 5:
			w.remap(ctx, key, rng)
		case 6:
			w.switchSpace(ctx, key, rng)
		default:
			w.moveLock(key, rng)
		}
	}
}

// createCode makes a code of staff or for one use.
func (w *world) createCode(key string, rng *rand.Rand) {
	if len(w.codes.all()) >= mostCodes {
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
	o, answered := w.send(w.staff, key, "POST", "/v1/property/codes", content)
	if !answered || !o.OK() {
		w.count.add("codes refused "+o.Reason, 1)
		return
	}
	once := content["kind"] == "oneTime"
	w.addCode(text(o.Data(), "id"), once, once, fmt.Sprintf("created: %v", content))
	w.count.add("codes", 1)
}

// addCode adds a code to the codes of the run.
func (w *world) addCode(id string, once, ends bool, what string) {
	c := &code{id: id}
	c.name, c.access, c.once, c.ends = id, true, once, ends
	c.story.add(w.began, "%s", what)
	w.codes.mu.Lock()
	defer w.codes.mu.Unlock()
	w.codes.list = append(w.codes.list, c)
}

func (w *world) revokeCode(key string, rng *rand.Rand) {
	all := w.codes.all()
	if len(all) == 0 {
		return
	}
	c := all[rng.IntN(len(all))]
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.access { // revoked earlier; its slots were watched since, so it can be dropped
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
	o, answered := w.send(w.staff, key, "POST", "/v1/property/codes/"+c.id+":revoke", map[string]any{})
	c.story.add(w.began, "revoked: %d %s", o.HTTP, o.Reason)
	if answered && o.OK() {
		c.access = false
		w.count.add("revocations", 1)
	}
}

// swapBackups replaces the backup codes of a lock, and adds one of the new to the codes of the run.
func (w *world) swapBackups(key string, rng *rand.Rand) {
	l := w.locks[rng.IntN(len(w.locks))]
	o, answered := w.send(w.staff, key, "POST", "/v1/property/locks/"+l.id+"/backupCodes:swap", map[string]any{})
	if !answered || !o.OK() {
		w.count.add("backup swaps refused "+o.Reason, 1)
		return
	}
	w.count.add("backup swaps", 1)
	if all := list(whole(o), "data"); len(all) > 0 && len(w.codes.all()) < mostCodes {
		w.addCode(text(all[0], "id"), false, true, "backup code of lock "+l.address)
	}
}

// remap deletes a mapping and creates it again.
func (w *world) remap(ctx context.Context, key string, rng *rand.Rand) {
	w.layout.Lock()
	defer w.layout.Unlock()
	r := w.rooms[rng.IntN(len(w.rooms))]
	base := "/v1/property/integrations/" + w.integration + "/mappings"
	w.recordRoomChange(r, "unmapped")
	o, _ := w.send(w.staff, key, "DELETE", base+"?externalId="+url.QueryEscape(r.partner), nil)
	w.expectOK("a mapping", o)
	pause(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
	o, _ = w.send(w.staff, key+"/back", "POST", base, map[string]any{"externalId": r.partner, "spaceId": r.id})
	w.expectOK("a mapping", o)
	w.recordRoomChange(r, "mapped again")
	w.count.add("mappings", 2)
}

// switchSpace switches a room off and on again.
func (w *world) switchSpace(ctx context.Context, key string, rng *rand.Rand) {
	w.layout.Lock()
	defer w.layout.Unlock()
	r := w.rooms[rng.IntN(len(w.rooms))]
	w.recordRoomChange(r, "switched off")
	o, _ := w.send(w.staff, key, "PATCH", "/v1/property/spaces/"+r.id, map[string]any{"isActive": false})
	w.expectOK("a space", o)
	pause(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
	o, _ = w.send(w.staff, key+"/back", "PATCH", "/v1/property/spaces/"+r.id, map[string]any{"isActive": true})
	w.expectOK("a space", o)
	w.recordRoomChange(r, "switched on")
	w.count.add("spaces off and on", 1)
}

// recordRoomChange adds a change of a room to the story of every stay.
func (w *world) recordRoomChange(r *place, what string) {
	for _, s := range w.stays {
		s.story.add(w.began, "room %s is %s", r.name, what)
	}
}

// expectOK reports a violation if a change by staff was refused.
func (w *world) expectOK(what string, o e2etest.Outcome) {
	if !o.OK() {
		w.report.add("a change by staff was refused", what, o.String())
	}
}

// moveLock removes a lock from its door, or assigns it to a door without a lock.
func (w *world) moveLock(key string, rng *rand.Rand) {
	w.moving.Lock()
	defer w.moving.Unlock()
	l := w.locks[rng.IntN(len(w.locks))]
	door := ""
	if l.door() == "" {
		for _, i := range rng.Perm(len(w.doors)) {
			if w.lockOn(w.doors[i].id) == nil {
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

// assign assigns a lock to a door, or to none. The caller holds the moving mutex.
func (w *world) assign(key string, l *lockState, door string) {
	l.story.add(w.began, "is put on door %s", w.doorName(door))
	o, answered := w.send(w.staff, key, "POST", "/v1/property/locks/"+l.id+":assign", map[string]any{"doorId": door})
	if !answered || !o.OK() {
		w.report.add("a change by staff was refused", l.address+" to "+w.doorName(door), o.String(), &l.story)
		return
	}
	l.recordDoor(door)
	w.count.add("lock moves", 1)
}

// readBackStaff compares the acknowledged changes of staff with what the service has: the door of each lock, the rooms, their
// mappings, and the codes.
func (w *world) readBackStaff(ctx context.Context) {
	w.moving.Lock()
	w.compare(ctx, "/v1/property/locks?pageSize=200", func(l any) string {
		st := w.byAddress[text(l, "address")]
		return differs("the door of lock "+st.address, st.door(), text(l, "doorId"))
	})
	w.moving.Unlock()
	w.layout.Lock()
	w.compare(ctx, "/v1/property/spaces?pageSize=200", func(s any) string {
		return differs("whether room "+text(s, "name")+" is on", true, e2etest.At(s, "isActive"))
	})
	w.compare(ctx, "/v1/property/integrations/"+w.integration+"/spaces?pageSize=200", func(s any) string {
		return differs("the mapping of "+text(s, "externalId"), "mapped", text(s, "state"))
	})
	w.layout.Unlock()
	for _, c := range w.codes.all() {
		c.mu.Lock()
		o, err := w.ask(ctx, w.staff, "GET", "/v1/property/codes/"+c.id, nil)
		if err == nil && o.OK() && !c.ends {
			w.reportLost(differs("whether code "+c.id+" is ended", !c.access, text(o.Data(), "state") == "ended"), &c.story)
		}
		c.mu.Unlock()
	}
}

// compare judges each entry of a list.
func (w *world) compare(ctx context.Context, path string, judge func(entry any) string) {
	o, err := w.ask(ctx, w.staff, "GET", path, nil)
	if err != nil || !o.OK() {
		return
	}
	for _, entry := range list(o.Data(), "list") {
		w.reportLost(judge(entry))
	}
}

// reportLost counts a compared field, and reports a violation if what says that the field is not as acknowledged.
func (w *world) reportLost(what string, stories ...*story) {
	w.count.add("fields compared", 1)
	if what != "" {
		w.report.add("an acknowledged change of staff was lost", "", what, stories...)
	}
}

func differs(what string, want, got any) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("%s: acknowledged as %v, and is %v", what, want, got)
}

// porters send unlock commands until ctx ends. They repeat some under the same idempotency key.
func (w *world) porters(ctx context.Context, rng *rand.Rand) {
	var running sync.WaitGroup
	defer running.Wait()
	for n := 0; ctx.Err() == nil; n++ {
		pause(ctx, time.Duration(300+rng.IntN(1500))*time.Millisecond)
		l, twice := w.locks[rng.IntN(len(w.locks))], rng.IntN(3) == 0
		running.Go(func() { w.unlock(l, fmt.Sprintf("unlock/%d", n), twice) })
	}
}

func (w *world) unlock(l *lockState, key string, twice bool) {
	order := unlock{Lock: l.address, Called: time.Now()}
	l.story.add(w.began, "%s is asked for", key)
	who := w.staff.With("idempotency-key", key)
	ctx := context.Background()
	send := func() (e2etest.Outcome, error) {
		return w.ask(ctx, who, "POST", "/v1/property/locks/"+l.id+":unlock", map[string]any{})
	}
	o, err := send()
	// A repeat under the same key returns the result of the first and does not unlock again. If the first never reached the
	// service, the repeat unlocks.
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
		order.Result = text(o.Data(), "result")
	}
	l.story.add(w.began, "%s: answered %d %s", key, o.HTTP, order.Result)
	w.recordUnlock(l, order)
}

func (w *world) recordUnlock(l *lockState, order unlock) {
	w.count.add("unlocks", 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orders = append(l.orders, order)
}
