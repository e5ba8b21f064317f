package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"latchkey.dev/internal/agent"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/lock/slot"
)

// site is the real bridge at work in a site, with the played service at the end of its link. It runs
// in a synctest bubble: time passes when the test waits.
type site struct {
	t       *testing.T
	service *service
	locks   *sim.Site
	dir     string
	bridge  *agent.Bridge
	cancel  context.CancelFunc
	done    chan error
	pressed []string // what keypads answered, in order
}

func newSite(t *testing.T, specs []sim.Spec) *site {
	t.Helper()
	locks, err := sim.NewSite(sim.Config{Locks: specs, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, service: newService(t), locks: locks, dir: t.TempDir()}
	_, err = agent.Enroll(t.Context(), agent.Enrolment{
		Dir: s.dir, Address: "127.0.0.1:1", JoinCode: s.service.joinCode(), Plaintext: true,
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.service.doors.DialContext(ctx) })},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.kill(); _ = locks.Close() })
	return s
}

func (s *site) start() {
	s.t.Helper()
	// A socket that waits for who asks how the bridge does would stop the bubble's clock: where none
	// can be made, a bridge does without.
	if err := os.MkdirAll(filepath.Join(s.dir, "status.sock", "taken"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b, err := agent.New(ctx, agent.Config{
		Dir: s.dir, Driver: s.locks.Driver(), Log: slog.New(slog.NewTextHandler(s.t.Output(), nil)), Software: "test/1",
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(s.service.dial)},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.bridge, s.cancel, s.done = b, cancel, make(chan error, 1)
	go func() { s.done <- b.Run(ctx) }()
}

// kill ends the bridge as a power cut does: what its disk held at this instant is what comes back.
func (s *site) kill() {
	if s.bridge == nil {
		return
	}
	synctest.Wait()
	left := s.t.TempDir()
	for _, name := range []string{"bridge.db", "bridge.key"} {
		raw, err := os.ReadFile(filepath.Join(s.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(left, name), raw, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.dir = left
	s.cancel()
	if err := errors.Join(<-s.done, s.bridge.Close()); err != nil {
		s.t.Error(err)
	}
	s.bridge = nil
}

func (s *site) pass(d time.Duration) {
	time.Sleep(d) // the bubble's clock
	synctest.Wait()
}

// opens types a PIN and remembers what the keypad said.
func (s *site) opens(address string, pin slot.PIN) bool {
	s.t.Helper()
	p, err := s.locks.Press(address, pin)
	if err != nil {
		s.t.Fatal(err)
	}
	kind := "denied"
	if p.Opened {
		kind = "opened"
	}
	s.pressed = append(s.pressed, fmt.Sprint(address, " ", kind, " ", time.Now().UTC().Format(time.DateTime)))
	return p.Opened
}

// guest is a code and when it should open, in hours after the network was cut.
type guest struct {
	slot     uint32
	pin      slot.PIN
	from, to int
}

var guests = []guest{
	{1, "345671", -2, 30},  // in the site
	{2, "345672", 20, 60},  // arrives and leaves while the network is away
	{3, "345673", 70, 100}, // arrives then, leaves later
	{4, "345674", -2, 50},  // is revoked just before
	{5, "345675", 80, 200}, // arrives more than 72 h ahead
	{7, "345677", -2, 45},  // leaves while the bridge is without power as well
}

// away is the lock that is out of the bridge's reach in the hour in which the network is cut.
const away = sim.ZWave

// TestThreeDaysOffline is property 15 for PINs, and property 7, with the real bridge.
func TestThreeDaysOffline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var specs []sim.Spec
		for name := range sim.Profiles() {
			specs = append(specs, sim.Spec{Address: name, Profile: name, Latency: 100 * time.Millisecond, NoLockout: true}) // many wrong PINs are typed
		}
		s := newSite(t, specs)
		cut := time.Now().Add(2 * time.Hour).Truncate(time.Hour)
		hours := func(n int) time.Time { return cut.Add(time.Duration(n) * time.Hour) }
		s.pass(time.Minute)
		for _, l := range specs {
			for _, g := range guests {
				d := slot.Desired{Intent: slot.Present, PIN: g.pin, NotBefore: hours(g.from), NotAfter: hours(g.to)}
				s.service.want(l.Address, g.slot, fmt.Sprint("grant ", g.slot), d)
			}
		}
		s.pass(time.Until(cut) - time.Second)
		s.locks.SetOffline(away, true)
		for _, l := range specs {
			s.service.want(l.Address, 4, "grant 4", slot.Desired{Intent: slot.Absent})
		}
		s.pass(time.Second)
		s.service.setCut(true)
		for hour := range 72 {
			s.hour(specs, hour)
			switch n := hour + 1; n {
			case 20, 45, 55: // the power goes, too, while a window opens, and closes
				s.pass(time.Until(hours(n)) - 5*time.Minute)
				s.kill()
				s.pass(10 * time.Minute)
				s.start()
			case 30, 60, 70:
				s.edge(specs, n, hours(n))
			default:
				s.pass(time.Until(hours(n)))
			}
			if hour == 0 { // it was out of reach when its guest was to lose access
				s.locks.SetOffline(away, false)
			}
		}
		writes := s.meanwhile(specs, hours)
		s.back(specs, writes)
		s.compareEvents()
	})
}

// hour looks at every lock half an hour into an hour.
func (s *site) hour(specs []sim.Spec, hour int) {
	s.t.Helper()
	s.pass(30 * time.Minute)
	for _, l := range specs {
		for _, g := range guests {
			want := g.slot != 4 && hour >= g.from && hour < g.to
			if l.Address == away && hour == 0 { // no bridge can remove a code from a lock that it cannot reach
				want = want || g.slot == 4
			}
			if hour%7 == 0 || hour == g.from || hour == g.to || hour == g.to-1 {
				if got := s.opens(l.Address, g.pin); got != want {
					s.t.Errorf("%s: hour %d: the code of guest %d opens: %v, want %v", l.Address, hour, g.slot, got, want)
				}
			}
		}
	}
}

// edge looks closely at windows that open or close in an hour: never outside, inside but for what clocks may err.
func (s *site) edge(specs []sim.Spec, hour int, at time.Time) {
	s.t.Helper()
	look := func(when string, concerns func(guest) bool, want func(guest) bool) {
		for _, l := range specs {
			for _, g := range guests {
				if got := s.opens(l.Address, g.pin); concerns(g) && got != (want(g) && g.slot != 4) {
					s.t.Errorf("%s: %s hour %d: the code of guest %d opens: %v", l.Address, when, hour, g.slot, got)
				}
			}
		}
	}
	all := func(guest) bool { return true }
	never := func(guest) bool { return false }
	s.pass(time.Until(at) - 2*time.Minute)
	look("two minutes before", all, func(g guest) bool { return g.from < hour && hour <= g.to })
	s.pass(time.Until(at) - time.Second)
	look("a second before", func(g guest) bool { return g.from == hour }, never)
	s.pass(time.Until(at) + time.Second)
	look("a second after", func(g guest) bool { return g.to == hour }, never)
	s.pass(2 * time.Minute)
	look("two minutes after", all, func(g guest) bool { return g.from <= hour && hour < g.to })
}

// meanwhile is what the service wants by the end of the outage: three changes of guest 3's code, a
// longer stay of guest 5, a new guest, and one who leaves early. It returns what was written to each
// lock before they are reported.
func (s *site) meanwhile(specs []sim.Spec, hours func(int) time.Time) map[string]int {
	writes := map[string]int{}
	for _, l := range specs {
		for _, pin := range []slot.PIN{"456781", "456782", "456783"} {
			s.service.want(l.Address, 3, "grant 3", slot.Desired{Intent: slot.Present, PIN: pin, NotBefore: hours(70), NotAfter: hours(100)})
		}
		s.service.want(l.Address, 6, "grant 6", slot.Desired{Intent: slot.Present, PIN: "345676", NotBefore: hours(71), NotAfter: hours(90)})
		s.service.want(l.Address, 2, "grant 2", slot.Desired{Intent: slot.Absent}) // gone already: nothing to do
		writes[l.Address] = s.locks.WriteCount(l.Address)
	}
	return writes
}

// back brings the network back: each changed slot costs one operation, the others none.
func (s *site) back(specs []sim.Spec, writes map[string]int) {
	s.t.Helper()
	s.service.forget = true
	s.service.setCut(false)
	for range 3 { // and it is killed while it reports
		s.pass(500 * time.Millisecond)
		s.kill()
		s.start()
	}
	s.pass(5 * time.Minute)
	for _, l := range specs {
		if n := s.locks.WriteCount(l.Address) - writes[l.Address]; n != 2 {
			s.t.Errorf("%s: %d operations after the outage, want one for each of two changed slots", l.Address, n)
		}
		best := slot.Accepted
		if sim.Profiles()[l.Profile].Capabilities.ReadBack {
			best = slot.Verified
		}
		for n, want := range map[uint32]slot.Evidence{1: slot.Removed, 2: slot.Removed, 3: best, 4: slot.Removed, 6: best, 7: slot.Removed} {
			if got := s.service.status(l.Address, n); got != want {
				s.t.Errorf("%s: slot %d is called %s, want %s", l.Address, n, got, want)
			}
		}
		if !s.opens(l.Address, "456783") || !s.opens(l.Address, "345676") || s.opens(l.Address, "345673") {
			s.t.Errorf("%s: the codes wanted during the outage are not on the lock", l.Address)
		}
	}
}

// compareEvents compares the events that arrived with what happened at the keypads: each once, in order.
func (s *site) compareEvents() {
	s.t.Helper()
	s.pass(time.Minute)
	s.service.mu.Lock()
	defer s.service.mu.Unlock()
	var got []string
	for i, e := range s.service.events {
		if e.GetSequence() != uint64(i+1) {
			s.t.Errorf("event %d has sequence %d", i, e.GetSequence())
		}
		if e.GetKind() == "opened" || e.GetKind() == "denied" {
			got = append(got, fmt.Sprint(e.GetAddress(), " ", e.GetKind(), " ", e.GetOccurredAt().AsTime().Format(time.DateTime)))
		}
	}
	if !slices.Equal(got, s.pressed) {
		s.t.Errorf("%d events of keypads arrived, %d happened, or in another order", len(got), len(s.pressed))
	}
	if s.service.twice == 0 {
		s.t.Error("no event came again although an acknowledgement was lost")
	}
	s.t.Logf("%d keypad events, %d sessions, %d events that came again", len(got), s.service.epoch, s.service.twice)
}
