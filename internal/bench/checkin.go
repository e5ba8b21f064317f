package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"latchkey.dev/internal/sandbox"
)

// CheckIn measures how long a guest waits for the PIN.
type CheckIn struct {
	Samples int // Samples is the number of check-ins in each round
	Rounds  int
	// Profile is the file for a CPU profile of the last round's check-ins, with the guest and the PMS; empty: none.
	Profile string
}

// checkInCommits and checkInTrips are the necessary work of a check-in after the last press. The commits are the attempt before the PMS is
// called, its result, the change of the PMS with the access, and the record that the PIN was shown. The round trips are the press,
// getCheckInStatus, checkIn, the PMS's change and the page with the PIN.
const (
	checkInCommits = 4
	checkInTrips   = 5
)

// Run measures the time from the guest's last press until a page shows the PIN, with a PMS and locks that answer at once.
func (b CheckIn) Run(ctx context.Context) (_ *Result, err error) {
	if b.Samples < 1 || b.Rounds < 1 {
		return nil, errors.New("checkin: want at least one check-in and one round")
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	baseline, err := newCommits(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, baseline.close()) }()
	w, done, err := newGuestWorld(ctx, dir, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	static, err := newStatic(nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, static.close()) }()

	r := &Result{Name: "checkin", Unit: "ms", Rounds: b.Rounds}
	var took, least, medians, leastMedians []float64
	for n := range b.Rounds + 1 {
		commits, err := baseline.measure(ctx, b.Samples)
		if err != nil {
			return nil, err
		}
		trips, err := static.measure(ctx, b.Samples)
		if err != nil {
			return nil, err
		}
		end, err := profile(b.Profile, n == b.Rounds)
		if err != nil {
			return nil, err
		}
		passed, err := b.measure(ctx, w, n)
		err = errors.Join(err, end())
		if err != nil {
			return nil, err
		}
		if n == 0 { // the first round is a warm-up
			continue
		}
		lower := checkInCommits*median(commits.parts["server"]) + checkInTrips*median(trips)
		least, leastMedians = append(least, lower), append(leastMedians, lower)
		took, medians = append(took, passed...), append(medians, median(passed))
	}
	r.Value, r.Baseline = median(medians), median(leastMedians)
	r.P50, r.P99, r.BaselineP50, r.BaselineP99 = quantile(took, 0.5), quantile(took, 0.99), quantile(least, 0.5), quantile(least, 0.99)
	r.atMost("times the floor", r.Value/r.Baseline, 3)
	return r.finish(), nil
}

// measure books a stay, checks its guest in and out again, one stay after the other. It returns the milliseconds of each check-in from the
// last press.
func (b CheckIn) measure(ctx context.Context, w *sandbox.World, round int) ([]float64, error) {
	var took []float64
	for i := range b.Samples {
		id := fmt.Sprintf("C-%d-%d", round, i)
		v, err := arrive(ctx, w, id)
		if err != nil {
			return nil, err
		}
		if err := v.Prepare(ctx); err != nil {
			return nil, err
		}
		pressed := time.Now()
		if _, err := v.Complete(ctx); err != nil {
			return nil, err
		}
		took = append(took, milliseconds(time.Since(pressed)))
		if err := pushReservation(ctx, w, id, map[string]any{"state": "processed"}); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// arrive books a stay for today and opens it as the guest does: by the QR code at the door and the guest's name. The guest then enters the
// name in the form.
func arrive(ctx context.Context, w *sandbox.World, id string) (*sandbox.Visitor, error) {
	if err := bookTonight(ctx, w, Booking{ID: id, Family: "Lovelace", Room: "R101"}); err != nil {
		return nil, err
	}
	v, err := w.VisitByDoor(ctx, id, "Lovelace")
	if err != nil {
		return nil, err
	}
	return v, v.AnswerName(ctx, "Ada", "Lovelace")
}

// Booking is a reservation for two nights, from today on. Room and Bed are ids at the PMS; Bed is empty for a private room.
type Booking struct{ ID, Family, Room, Bed string }

// bookTonight makes the PMS push a confirmed reservation that starts today.
func bookTonight(ctx context.Context, w *sandbox.World, b Booking) error {
	fields := map[string]any{
		"pmsNumber": b.ID, "state": "confirmed", "booker": map[string]any{"lastName": b.Family}, "roomId": b.Room, "adultCount": 1,
		"fromDate": time.Now().Format(time.DateOnly), "toDate": time.Now().AddDate(0, 0, 2).Format(time.DateOnly),
	}
	if b.Bed != "" {
		fields["bedId"] = b.Bed
	}
	return pushReservation(ctx, w, b.ID, fields)
}

// pushReservation makes the PMS push fields of the reservation with the PMS's id, and returns an error unless the service accepts them.
func pushReservation(ctx context.Context, w *sandbox.World, id string, fields map[string]any) error {
	a, err := w.PMS.Push(ctx, id, fields)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("a change was answered %d: %v", a.Status, a.Body["error"])
	}
	return err
}

// newGuestWorld starts a sandbox in which guests check in by themselves, with its data in dir. dorms is the number of dorms in addition to
// those of the sandbox. The caller must call done, which stops the sandbox.
func newGuestWorld(ctx context.Context, dir string, dorms int) (_ *sandbox.World, done func() error, err error) {
	o, log, err := serverOptions(dir)
	if err != nil {
		return nil, nil, err
	}
	w, err := sandbox.Build(ctx, sandbox.Config{Server: serverConfig(dir), Options: o, Dir: dir, WithoutStorage: true, Play: true, Dorms: dorms})
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	return w, func() error { return errors.Join(w.Close(), log.Close()) }, nil
}

// static is a server of one page that is always the same, with a client for it.
type static struct {
	server *http.Server
	url    string
	client *http.Client
}

// newStatic starts a server that answers every request with page.
func newStatic(page []byte) (*static, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &static{url: "http://" + l.Addr().String(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page)
	})}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// close stops the server at once, without waiting for running requests.
func (s *static) close() error {
	s.client.CloseIdleConnections()
	return s.server.Close()
}

// get fetches the page once and returns how long that took, in milliseconds.
func (s *static) get(ctx context.Context) (float64, error) {
	began := time.Now()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return 0, err
	}
	a, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, a.Body)
	return milliseconds(time.Since(began)), errors.Join(err, a.Body.Close())
}

// measure fetches the page several times and returns the milliseconds of each.
func (s *static) measure(ctx context.Context, samples int) ([]float64, error) {
	var took []float64
	for range samples {
		ms, err := s.get(ctx)
		if err != nil {
			return nil, err
		}
		took = append(took, ms)
	}
	return took, nil
}
