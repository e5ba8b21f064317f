package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	clients = 64
	guests  = 20 // of the clients, each with one stay that comes, moves and goes; the others book
)

// entry is one acknowledged change.
type entry struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	OurID   string `json:"ourId"`
}

// ledger keeps what was acknowledged, and has it on disk before the client goes on.
type ledger struct {
	file  *os.File
	queue chan promise
	done  chan struct{}
	acks  atomic.Int64
	moved chan struct{} // a signal: acks grew

	mu   sync.Mutex
	last map[string]entry
}

type promise struct {
	entry
	kept chan error
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{file: f, queue: make(chan promise, clients), done: make(chan struct{}), moved: make(chan struct{}, 1), last: map[string]entry{}}
	go l.keep()
	return l
}

// keep writes what has come, all of it with one flush to disk.
func (l *ledger) keep() {
	defer close(l.done)
	for p := range l.queue {
		all := []promise{p}
		for more := true; more; {
			select {
			case next, ok := <-l.queue:
				if more = ok; ok {
					all = append(all, next)
				}
			default:
				more = false
			}
		}
		err := l.write(all)
		for _, p := range all {
			p.kept <- err
		}
	}
}

func (l *ledger) write(all []promise) error {
	for _, p := range all {
		raw, err := json.Marshal(p.entry)
		if err != nil {
			return err
		}
		if _, err := l.file.Write(append(raw, '\n')); err != nil {
			return err
		}
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.mu.Lock()
	for _, p := range all {
		l.last[p.ID] = p.entry
	}
	l.mu.Unlock()
	l.acks.Add(int64(len(all)))
	select {
	case l.moved <- struct{}{}:
	default:
	}
	return nil
}

func (l *ledger) add(e entry) error {
	p := promise{e, make(chan error, 1)}
	l.queue <- p
	return <-p.kept
}

func (l *ledger) close() error {
	close(l.queue)
	<-l.done
	return l.file.Close()
}

// load is partners that go on sending until it is stopped.
type load struct {
	s      *site
	ledger *ledger
	ctx    context.Context // ends the clients
	cancel context.CancelFunc
	all    sync.WaitGroup
	wrong  atomic.Pointer[string]
	sent   sync.Map // every id that was ever sent

	mu      sync.Mutex
	answers map[string]int // how often a call ended like that
}

func start(s *site) *load {
	l := &load{s: s, ledger: newLedger(s.t), answers: map[string]int{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	for i := range clients {
		l.all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			if i < guests {
				l.stays(i, rng)
			} else {
				l.books(i, rng)
			}
		})
	}
	return l
}

// stop ends the clients, each after the change it is at.
func (l *load) stop() {
	l.s.t.Helper()
	l.cancel()
	l.all.Wait()
	if err := l.ledger.close(); err != nil {
		l.s.t.Error(err)
	}
	if w := l.wrong.Load(); w != nil {
		l.s.t.Error(*w)
	}
}

func booking(id, version string, more map[string]any) map[string]any {
	now := time.Now()
	out := map[string]any{
		"pmsMeta": map[string]any{"id": id}, "pmsNumber": version, "booker": map[string]any{"lastName": "Soak"}, "state": "confirmed",
		"fromDate": now.AddDate(0, 0, -1).Format(time.DateOnly), "toDate": now.AddDate(0, 0, 3).Format(time.DateOnly),
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// again are the answers that ask for another try. 504 leaves open what became of the change; its key makes one of both.
var again = []int{http.StatusConflict, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// send sends a change until it is acknowledged, under one key however often the server dies meanwhile, and then writes
// it into the ledger. It goes on although the load is being stopped: what was sent has to be known.
func (l *load) send(id, version string, content map[string]any) bool {
	l.sent.Store(id, true)
	key := id + "/" + version
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		a, err := l.s.call(context.Background(), http.MethodPatch, "/v1/reservations", key, content)
		l.count(a, err)
		switch {
		case err == nil && a.status == http.StatusOK:
			ours, _ := a.data["id"].(string)
			if got := a.data["pmsNumber"]; got != version {
				l.fail("%s was answered with version %v instead of %s", id, got, version)
			}
			if err := l.ledger.add(entry{id, version, ours}); err != nil {
				l.fail("the ledger: %v", err)
			}
			return true
		case err == nil && !slices.Contains(again, a.status):
			l.fail("%s %s was answered with %d: %s", id, version, a.status, a.raw)
			return false
		case time.Now().After(deadline):
			l.fail("%s %s was not taken for %s: %v", id, version, patience, err)
			return false
		}
		<-time.After(pause)
	}
}

// count keeps how calls end, for a run that fails.
func (l *load) count(a answer, err error) {
	how := strconv.Itoa(a.status)
	var e struct {
		Error struct {
			Reason string `json:"reason"`
		} `json:"error"`
	}
	switch {
	case err != nil:
		how = "no answer"
	case a.status != http.StatusOK && json.Unmarshal(a.raw, &e) == nil:
		how += " " + e.Error.Reason
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[how]++
}

// more waits until so many more changes were acknowledged.
func (l *load) more(n int64) {
	l.s.t.Helper()
	want := l.ledger.acks.Load() + n
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for l.ledger.acks.Load() < want {
		select {
		case <-l.ledger.moved:
		case <-l.ctx.Done():
			l.s.t.Fatal(*l.wrong.Load())
		case <-limit.C:
			l.mu.Lock()
			defer l.mu.Unlock()
			l.s.t.Fatalf("%d changes were acknowledged in %s; want %d; calls ended so far: %v", n-(want-l.ledger.acks.Load()), patience, n, l.answers)
		}
	}
}

func (l *load) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.wrong.CompareAndSwap(nil, &text)
	l.cancel()
}

// books makes and changes reservations that give no access yet.
func (l *load) books(i int, rng *rand.Rand) {
	for n := 0; l.ctx.Err() == nil; n++ {
		id := fmt.Sprintf("book-%d-%d", i, n)
		for version := range 1 + rng.IntN(3) {
			more := map[string]any{"parentSpaceId": l.s.spaces[rng.IntN(rooms)]}
			if !l.send(id, strconv.Itoa(version), booking(id, strconv.Itoa(version), more)) {
				return
			}
		}
	}
}

// stays has one guest come, move, stay longer and go, again and again.
func (l *load) stays(i int, rng *rand.Rand) {
	id := fmt.Sprintf("stay-%d", i)
	for n := 0; l.ctx.Err() == nil; n++ {
		more := map[string]any{"state": "started", "parentSpaceId": l.s.spaces[rng.IntN(rooms)]}
		switch rng.IntN(5) {
		case 0:
			more["state"] = "processed"
		case 1:
			more["toDate"] = time.Now().AddDate(0, 0, 4+rng.IntN(3)).Format(time.DateOnly)
		}
		if !l.send(id, strconv.Itoa(n), booking(id, strconv.Itoa(n), more)) {
			return
		}
	}
}
