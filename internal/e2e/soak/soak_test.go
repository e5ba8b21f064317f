package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"testing"

	"latchkey.dev/internal/test/dbtest"
)

// rounds is how often a process is killed: LATCHKEY_SOAK, else a few times.
func rounds(t *testing.T) int {
	t.Helper()
	text, set := os.LookupEnv("LATCHKEY_SOAK")
	if !set {
		return 3
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("LATCHKEY_SOAK=%q: want how often to kill, such as 50", text)
	}
	return n
}

// killed runs the load and kills processes under it, each time after some changes more.
func killed(t *testing.T, which func(s *site, rng *rand.Rand) []*process) {
	t.Helper()
	n := rounds(t)
	dbtest.EachURL(t, func(t *testing.T, database string) {
		s := open(t, database)
		l := start(s)
		rng := rand.New(rand.NewPCG(7, 7))
		for range n {
			l.more(50 + rng.Int64N(200))
			all := which(s, rng)
			for _, p := range all {
				p.Kill()
			}
			for _, p := range all {
				p.start()
			}
		}
		l.more(100)
		l.stop()
		if t.Failed() {
			return
		}
		t.Logf("%d kills, %d changes acknowledged", n, l.ledger.acks.Load())
		everyReservationOnce(t, s, l)
		everyLockConverges(t, s)
		s.bridge.stop()
		s.server.stop()
	})
}

func TestSoakServerKilled(t *testing.T) {
	killed(t, func(s *site, _ *rand.Rand) []*process { return []*process{s.server} })
}

func TestSoakBridgeKilled(t *testing.T) {
	killed(t, func(s *site, _ *rand.Rand) []*process { return []*process{s.bridge} })
}

func TestSoakEitherOrBothKilled(t *testing.T) {
	killed(t, func(s *site, rng *rand.Rand) []*process {
		return [][]*process{{s.server}, {s.bridge}, {s.server, s.bridge}, {s.bridge, s.server}}[rng.IntN(4)]
	})
}

// everyReservationOnce compares the ledger with what the server has.
func everyReservationOnce(t *testing.T, s *site, l *load) {
	t.Helper()
	seen := map[string]entry{}
	for token := ""; ; {
		a, err := s.call(t.Context(), http.MethodGet, "/v1/reservations?pageSize=200&pageToken="+url.QueryEscape(token), "", nil)
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("list: %v %d %s", err, a.status, a.raw)
		}
		list, _ := a.data["list"].([]any)
		for _, one := range list {
			r := one.(map[string]any)
			id := r["pmsMeta"].(map[string]any)["id"].(string)
			if _, twice := seen[id]; twice {
				t.Errorf("%s is there twice", id)
			}
			seen[id] = entry{id, r["pmsNumber"].(string), r["id"].(string)}
			if _, sent := l.sent.Load(id); !sent {
				t.Errorf("%s is there and was never sent", id)
			}
		}
		if token, _ = a.data["nextPageToken"].(string); token == "" {
			break
		}
	}
	wrong := 0
	for id, want := range l.ledger.last {
		if got := seen[id]; got != want {
			if wrong++; wrong < 10 {
				t.Errorf("%s was acknowledged as %+v and is %+v", id, want, got)
			}
		}
	}
	if len(seen) != len(l.ledger.last) {
		t.Errorf("%d reservations are there, %d were acknowledged", len(seen), len(l.ledger.last))
	}
}

// everyLockConverges gives every guest a last word and waits until the locks hold that and nothing else.
func everyLockConverges(t *testing.T, s *site) {
	t.Helper()
	want := map[string]int{}
	for i := range guests {
		more := map[string]any{"state": "processed"}
		if i%2 == 0 {
			more = map[string]any{"state": "started", "parentSpaceId": s.spaces[i%rooms]}
			want[address(i%rooms)]++
			want[gate]++
		}
		id := fmt.Sprintf("stay-%d", i)
		a, err := s.call(t.Context(), http.MethodPatch, "/v1/reservations", "", booking(id, "last", more))
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("%s: %v %d %s", id, err, a.status, a.raw)
		}
	}
	pins := map[int]string{}
	for i := range guests {
		await(t, fmt.Sprintf("stay-%d has converged", i), func() (bool, error) {
			a, err := s.call(context.Background(), http.MethodGet, fmt.Sprintf("/v1/reservations/find?pmsId=stay-%d&extend=pin,access", i), "", nil)
			if err != nil {
				return false, err
			}
			pins[i], _ = a.data["pin"].(string)
			return settled(a.data, i%2 == 0)
		})
	}
	await(t, "the locks hold what they should", func() (bool, error) {
		got, err := s.codes()
		if err != nil {
			return false, err
		}
		for i := range rooms {
			if got[address(i)] != want[address(i)] {
				return false, fmt.Errorf("%s holds %d codes; want %d", address(i), got[address(i)], want[address(i)])
			}
		}
		if got[gate] != want[gate] {
			return false, fmt.Errorf("the gate holds %d codes; want %d", got[gate], want[gate])
		}
		return true, nil
	})
	for i := 0; i < guests; i += 2 {
		for _, lock := range []string{address(i % rooms), gate} {
			if open, err := s.opens(lock, pins[i]); err != nil || !open {
				t.Errorf("stay-%d at %s: opened %v %v", i, lock, open, err)
			}
		}
		if open, err := s.opens(address((i+1)%rooms), pins[i]); err != nil || open {
			t.Errorf("stay-%d at another room: opened %v %v", i, open, err)
		}
	}
}

// settled says whether a plan is all there, or all gone.
func settled(data map[string]any, there bool) (bool, error) {
	plan, _ := data["access"].(map[string]any)
	doors, _ := plan["doors"].([]any)
	for _, d := range doors {
		evidence, _ := d.(map[string]any)["pin"].(string)
		if there && !slices.Contains([]string{"verified", "used"}, evidence) || !there && evidence != "removed" && evidence != "none" {
			return false, fmt.Errorf("%v", plan)
		}
	}
	status, _ := plan["status"].(string)
	if there {
		return status == "issued" && len(doors) == 2, fmt.Errorf("%v", plan)
	}
	return status == "removed" || status == "none", fmt.Errorf("%v", plan)
}
