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

// codes are the codes of staff that the run knows.
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

// mostCodes bounds how many codes are live at once.
const mostCodes = 10

// whole is the answer of a call without its envelope.
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
	w.remember(text(o.Data(), "id"), once, once, fmt.Sprintf("created: %v", content))
	w.count.add("codes", 1)
}

// remember takes a code in.
func (w *world) remember(id string, once, ends bool, what string) {
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
	if !c.access { // its places were watched for a while: forget it
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

// swapBackups replaces the backup codes of a lock, and remembers one of the new.
func (w *world) swapBackups(key string, rng *rand.Rand) {
	l := w.locks[rng.IntN(len(w.locks))]
	o, answered := w.send(w.staff, key, "POST", "/v1/property/locks/"+l.id+"/backupCodes:swap", map[string]any{})
	if !answered || !o.OK() {
		w.count.add("backup swaps refused "+o.Reason, 1)
		return
	}
	w.count.add("backup swaps", 1)
	if all := list(whole(o), "data"); len(all) > 0 && len(w.codes.all()) < mostCodes {
		w.remember(text(all[0], "id"), false, true, "backup code of lock "+l.address)
	}
}

// remap takes a mapping away and gives it back.
func (w *world) remap(ctx context.Context, key string, rng *rand.Rand) {
	w.layout.Lock()
	defer w.layout.Unlock()
	r := w.rooms[rng.IntN(len(w.rooms))]
	base := "/v1/property/integrations/" + w.integration + "/mappings"
	w.tell(r, "unmapped")
	o, _ := w.send(w.staff, key, "DELETE", base+"?externalId="+url.QueryEscape(r.partner), nil)
	w.expect("a mapping", o)
	pause(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
	o, _ = w.send(w.staff, key+"/back", "POST", base, map[string]any{"externalId": r.partner, "spaceId": r.id})
	w.expect("a mapping", o)
	w.tell(r, "mapped again")
	w.count.add("mappings", 2)
}

// switchSpace switches a room off and on again.
func (w *world) switchSpace(ctx context.Context, key string, rng *rand.Rand) {
	w.layout.Lock()
	defer w.layout.Unlock()
	r := w.rooms[rng.IntN(len(w.rooms))]
	w.tell(r, "switched off")
	o, _ := w.send(w.staff, key, "PATCH", "/v1/property/spaces/"+r.id, map[string]any{"isActive": false})
	w.expect("a space", o)
	pause(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
	o, _ = w.send(w.staff, key+"/back", "PATCH", "/v1/property/spaces/"+r.id, map[string]any{"isActive": true})
	w.expect("a space", o)
	w.tell(r, "switched on")
	w.count.add("spaces off and on", 1)
}

// tell notes what happened to a room in the stories of those who are in it.
func (w *world) tell(r *place, what string) {
	for _, s := range w.stays {
		s.story.add(w.began, "room %s is %s", r.name, what)
	}
}

// expect reports a change by staff that was refused.
func (w *world) expect(what string, o e2etest.Outcome) {
	if !o.OK() {
		w.report.add("a change by staff was refused", what, o.String())
	}
}

// moveLock takes a lock off its door, or hangs it on a door that has none.
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

// assign puts a lock on a door, or on none. The moving mutex is held.
func (w *world) assign(key string, l *lockState, door string) {
	l.story.add(w.began, "is put on door %s", w.doorName(door))
	o, answered := w.send(w.staff, key, "POST", "/v1/property/locks/"+l.id+":assign", map[string]any{"doorId": door})
	if !answered || !o.OK() {
		w.report.add("a change by staff was refused", l.address+" to "+w.doorName(door), o.String(), &l.story)
		return
	}
	l.hang(door)
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
			w.lost(differs("whether code "+c.id+" is ended", !c.access, text(o.Data(), "state") == "ended"), &c.story)
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
		w.lost(judge(entry))
	}
}

// lost reports a field that is not as it was acknowledged.
func (w *world) lost(what string, stories ...*story) {
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

// porters open doors from afar until ctx ends. Some send an order again under its key.
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
	// A repeat under the same key learns what became of the first and opens nothing more. If the first never reached the
	// service, the repeat is carried out.
	for tries := 0; err != nil && twice && tries < 20; tries++ {
		<-time.After(200 * time.Millisecond)
		order.Repeated = time.Now()
		o, err = send()
	}
	if err != nil {
		l.story.add(w.began, "%s: %v", key, err)
		w.keep(l, order)
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
	w.keep(l, order)
}

func (w *world) keep(l *lockState, order unlock) {
	w.count.add("unlocks", 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orders = append(l.orders, order)
}
