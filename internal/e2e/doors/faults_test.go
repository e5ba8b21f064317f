package doors

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/proxytest"
)

// apart opens a world whose bridge reaches the service through a proxy only.
func apart(t *testing.T, options ...e2etest.Option) (*e2etest.World, *proxytest.Proxy) {
	t.Helper()
	p := proxytest.New(t)
	through := func(c *sandbox.Config) { c.RouteBridge, c.MaxBridgeRetry = p.SetTarget, 20*time.Millisecond }
	return e2etest.Open(t, append(options, through)...), p
}

// truthful waits until a stay is settled; what the plan says of a door on the way must be so at its keypad.
func (g *guest) truthful(status, pin string) {
	g.t.Helper()
	g.w.Await(g.id+" is "+status, func(context.Context) (bool, error) {
		p, _ := g.sees()
		done := p.status == status
		for name, evidence := range p.doors {
			sure := slices.Contains(proven, evidence)
			if status == "issued" && sure && p.why[name] == "" && !types(g.t, g.w, name, pin) {
				g.t.Errorf("%s at %s is said to be %s, and the PIN is refused", g.id, name, evidence)
			}
			if evidence == "removed" && types(g.t, g.w, name, pin) {
				g.t.Errorf("%s at %s is said to be removed, and the PIN opens", g.id, name)
			}
			done = done && (status != "issued" || sure) && (status != "removed" || evidence == "removed")
		}
		return done, fmt.Errorf("%s is %+v", g.id, p)
	})
}

// moves arrives, changes rooms and leaves, while both of the next connections are cut at each of these steps.
func moves(t *testing.T, w *e2etest.World, p *proxytest.Proxy, cut proxytest.Cut, id string) {
	t.Helper()
	p.Cut(cut, cut)
	g := arrives(t, w, id, room("R101"))
	pin := g.pin()
	g.truthful("issued", pin)

	p.Cut(cut, cut)
	g.push(room("R102"))
	g.awaitMove(pin, "Room 101", "Room 102")
	g.truthful("issued", pin)

	p.Cut(cut, cut)
	g.push(state("processed"))
	g.truthful("removed", pin)
	g.opens(pin)
}

// The link is cut after every number of records, in both directions, twice in a row: nothing that is said of a door is
// wrong meanwhile, and in the end every door is as it should be.
func TestConnectionCutAtEveryMessage(t *testing.T) {
	t.Parallel()
	w, p := apart(t)
	for n := range 10 {
		for _, way := range []proxytest.Direction{proxytest.Up, proxytest.Down} {
			cut, before := proxytest.Cut{Way: way, After: n}, p.CutCount()
			moves(t, w, p, cut, fmt.Sprintf("CUT-%d-%d", n, way))
			// Each step may have taken fewer records than that: then the boundary is within the stays of those who follow.
			for i := 0; p.CutCount() == before && i < 5; i++ {
				g := arrives(t, w, fmt.Sprintf("CUT-%d-%d-%d", n, way, i), room("R101"))
				pin := g.pin()
				g.truthful("issued", pin)
				g.push(state("processed"))
				g.truthful("removed", pin)
			}
			if p.CutCount() == before {
				t.Errorf("after %d records in direction %d nothing was cut", n, way)
			}
			p.EndFaults()
		}
	}
}

func TestConnectionThatDropsEverything(t *testing.T) {
	w, p := apart(t)
	p.Drop()
	g := arrives(t, w, "HOLE", room("R101"))
	pin := g.pin()
	w.Await("something vanished", func(context.Context) (bool, error) { return p.DroppedRecords() > 0, nil })
	if now, _ := g.sees(); now.status == "issued" && slices.ContainsFunc([]string{now.doors["Room 101"], now.doors[front]}, func(e string) bool { return e != "queued" && e != "sent" }) {
		t.Errorf("nothing can have reached the locks: %+v", now)
	}
	g.opens(pin)
	p.EndFaults()
	g.truthful("issued", pin)
	g.opens(pin, "Room 101", front)
}

func TestHalfClosedConnection(t *testing.T) {
	w, p := apart(t)
	for i, way := range []proxytest.Direction{proxytest.Up, proxytest.Down} {
		p.HalfClose(way)
		g := arrives(t, w, fmt.Sprintf("HALF-%d", i), room("R101"))
		pin := g.pin()
		g.truthful("issued", pin)
		g.leaves()
	}
}

// online waits until staff see the bridge as that.
func online(w *e2etest.World, want string) {
	w.Await("the bridge is "+want, func(ctx context.Context) (bool, error) {
		b, err := propertyv1.NewBridgeServiceClient(w.Public).ListBridges(w.Staff(ctx), &propertyv1.ListBridgesRequest{})
		return err == nil && b.GetData().GetList()[0].GetState() == want, err
	})
}

func TestABridgeThatIsAway(t *testing.T) {
	w, p := apart(t)
	locks, err := propertyv1.NewLockServiceClient(w.Public).ListLocks(w.Staff(t.Context()), &propertyv1.ListLocksRequest{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	one := locks.GetData().GetList()[0]
	unlock := func() e2etest.Outcome {
		t.Helper()
		// At once: long before the act's own deadline.
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		o, err := w.Do(ctx, w.Owner(), "POST", "/v1/property/locks/"+one.GetId()+":unlock", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	stay := arrives(t, w, "BEFORE", room("R102"))
	stay.settles("issued")
	pin := stay.pin()

	p.Refuse()
	online(w, "offline")
	if o := unlock(); o.HTTP != 503 || o.Reason != "bridgeOffline" || o.Header.Get("Retry-After") == "" {
		t.Errorf("unlock with the bridge away: %v", o)
	}
	// What is on the locks goes on working, and a check-in is taken and says what it waits for.
	stay.opens(pin, "Room 102", front)
	g := arrives(t, w, "AWAY", room("R101"))
	if now, _ := g.sees(); now.why["Room 101"] != "lockOffline" {
		t.Errorf("a check-in with the bridge away: %+v", now)
	}
	stay.push(state("processed"))

	p.EndFaults()
	online(w, "online")
	g.settles("issued")
	g.opens(g.pin(), "Room 101", front)
	stay.settles("removed")
	stay.opens(pin)
	if o := unlock(); !o.OK() || o.Data()["result"] != "opened" || w.Site.UnlockCount(one.GetAddress()) != 1 {
		t.Errorf("unlock with the bridge back: %v %s; %d openings", o, o.Raw, w.Site.UnlockCount(one.GetAddress()))
	}
}
