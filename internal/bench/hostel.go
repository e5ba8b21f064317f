package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/sandbox"
)

// The beds of the hostel: four in Dorm 4 and eight in each further dorm.
const (
	hostelBeds  = 60
	hostelDorms = 7
)

// Hostel measures a hostel of 60 beds on the smallest machine: guests arrive while every guest has the app open.
type Hostel struct {
	Arrivals int           // Arrivals is the number of guests who check in during the run; the others have checked in before
	Span     time.Duration // Span is the duration of the run
	Pause    time.Duration // Pause is the time that a guest reads a page
	Write    time.Duration // Write is the time between two messages of a guest, at least a minute; the front desk answers each
	// Profile is the file for a CPU profile of the server, the PMS and the locks; empty: none.
	Profile string
}

// appPollInterval is the interval at which an open app polls the state of the doors.
const appPollInterval = 20 * time.Second

// Run measures how long pages and check-ins take while every guest uses the app. There is no baseline. The value is in milliseconds from
// the request to the last byte of a page.
func (b Hostel) Run(ctx context.Context, l Launch) (_ *Result, err error) {
	if b.Arrivals < 1 || b.Arrivals > hostelBeds || b.Span <= 0 || b.Pause <= 0 || b.Write < time.Minute {
		return nil, fmt.Errorf("hostel: want 1 to %d arrivals, a duration, a pause, and at least a minute between messages", hostelBeds)
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := l.start(ctx, "hostel")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var w HostelWorld
	if err := p.call(ctx, "Start", dir, &w); err != nil {
		return nil, err
	}
	desk, err := newFrontDesk(w.GRPC, w.StaffToken)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, desk.close()) }()
	guests, err := b.fill(ctx, p, w.Door)
	if err != nil {
		return nil, err
	}
	if b.Profile != "" {
		if err := p.call(ctx, "Profile", b.Profile, &None{}); err != nil {
			return nil, err
		}
	}
	var before, after Use
	var peak int64
	if err := p.call(ctx, "Usage", None{}, &before); err != nil {
		return nil, err
	}
	m, err := b.playAllGuests(ctx, guests, desk)
	if err != nil {
		return nil, err
	}
	err = errors.Join(p.call(ctx, "Usage", None{}, &after), p.call(ctx, "Peak", None{}, &peak))
	if b.Profile != "" {
		err = errors.Join(err, p.call(ctx, "Profile", "", &None{}))
	}
	if err != nil {
		return nil, err
	}
	r := &Result{Name: "hostel", Unit: "ms", Rounds: 1, Value: quantile(m.pages, 0.99), P50: quantile(m.pages, 0.5), P99: quantile(m.pages, 0.99)}
	r.note("pages", float64(len(m.pages)), "")
	r.note("requests of open apps", float64(len(m.polls)), "")
	r.note("the same, p99", quantile(m.polls, 0.99), "ms")
	r.note("check-ins, from the last press until the PIN, p50", quantile(m.checkIns, 0.5), "ms")
	r.note("the same, p99", quantile(m.checkIns, 0.99), "ms")
	sent, lost, twice := tally(m.chats, desk)
	r.note("messages of guests and staff", float64(sent), "")
	r.note("a guest's message, from the press until the page, p99", quantile(m.messages, 0.99), "ms")
	r.note("load of the core", 100*(after.CPU-before.CPU).Seconds()/b.Span.Seconds(), "%")
	r.atMost("milliseconds of a page, p99", r.Value, 50)
	r.atMost("MB of memory at most", float64(peak)/(1<<20), smallMemory>>20)
	r.atMost("messages that were lost", float64(lost), 0)
	r.atMost("messages that were received twice", float64(twice), 0)
	r.atLeast("guests who have checked in", float64(len(m.checkIns)), float64(b.Arrivals))
	return r.finish(), nil
}

// fill books every bed and returns the guests, who have entered their names. The first b.Arrivals of them check in during the run, the
// others now. door is the address in the QR code.
func (b Hostel) fill(ctx context.Context, p *part, door string) ([]*sandbox.Visitor, error) {
	guests := make([]*sandbox.Visitor, hostelBeds)
	for i := range guests {
		dorm, bed := hostelBed(i)
		booking := Booking{ID: fmt.Sprintf("H-%d", i), Family: "Lovelace", Room: dorm, Bed: bed}
		if err := p.call(ctx, "Book", booking, &None{}); err != nil {
			return nil, err
		}
		v, err := sandbox.VisitByDoor(ctx, door, booking.ID, booking.Family)
		if err != nil {
			return nil, err
		}
		if err := v.AnswerName(ctx, "Ada", booking.Family); err != nil {
			return nil, err
		}
		if i >= b.Arrivals {
			if _, err := b.checkIn(ctx, v); err != nil {
				return nil, err
			}
		}
		guests[i] = v
	}
	return guests, nil
}

// hostelBed returns the PMS's ids of the dorm and of the bed with number i, from 0 on.
func hostelBed(i int) (dorm, bed string) {
	number := 4
	if i >= 4 {
		number, i = 5+(i-4)/8, (i-4)%8
	}
	dorm = fmt.Sprintf("D%d", number)
	return dorm, fmt.Sprintf("%s-%c", dorm, 'A'+i)
}

// checkIn fills in the form of a guest, checks the guest in, and returns the milliseconds from the last press until a page shows the PIN.
func (Hostel) checkIn(ctx context.Context, v *sandbox.Visitor) (float64, error) {
	if err := v.Prepare(ctx); err != nil {
		return 0, err
	}
	pressed := time.Now()
	_, err := v.Complete(ctx)
	return milliseconds(time.Since(pressed)), err
}

// hostelTimes has measured times in milliseconds, and the conversations of the guests who have checked in.
type hostelTimes struct {
	pages, polls, checkIns, messages []float64
	chats                            []*chat
}

// playAllGuests lets all guests use their apps for the time of the run, with arrivals spread evenly, while desk answers. It then waits up
// to a minute for missing answers. errs joins the errors of all guests.
func (b Hostel) playAllGuests(ctx context.Context, guests []*sandbox.Visitor, desk *frontDesk) (m hostelTimes, errs error) {
	ctx, cancel := context.WithTimeout(ctx, b.Span+2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	served := make(chan error, 1)
	go func() { served <- desk.serve(ctx) }()
	began := time.Now()
	for i, v := range guests {
		wg.Go(func() {
			own, err := b.playGuest(ctx, v, i, began)
			mu.Lock()
			defer mu.Unlock()
			m.pages, m.polls, m.checkIns = append(m.pages, own.pages...), append(m.polls, own.polls...), append(m.checkIns, own.checkIns...)
			m.messages, m.chats = append(m.messages, own.messages...), append(m.chats, own.chats...)
			if err != nil {
				errs = errors.Join(errs, fmt.Errorf("guest %d: %w", i, err))
			}
		})
	}
	wg.Wait()
	errs = errors.Join(errs, waitForAnswers(ctx, m.chats, time.Minute))
	cancel()
	for _, c := range m.chats {
		errs = errors.Join(errs, <-c.ended)
	}
	return m, errors.Join(errs, <-served)
}

// playGuest plays one guest who has the app open until the end of the run: it opens pages, polls, writes messages, and checks in if guest i
// arrives during the run. began is the start of the run. Guests act at different moments.
func (b Hostel) playGuest(ctx context.Context, v *sandbox.Visitor, i int, began time.Time) (m hostelTimes, err error) {
	share := func(of time.Duration) time.Duration { return of * time.Duration(i) / hostelBeds }
	end := began.Add(b.Span)
	page, poll := began.Add(share(b.Pause)), began.Add(share(appPollInterval))
	never := end.Add(time.Hour)
	arrive, write := never, never
	if i < b.Arrivals {
		arrive = began.Add(b.Span * time.Duration(i) / time.Duration(b.Arrivals))
	} else {
		m.chats = append(m.chats, startChat(ctx, v, i))
		write = began.Add(share(b.Write))
	}
	for turn := 0; ; {
		next := slices.MinFunc([]time.Time{page, poll, arrive, write}, time.Time.Compare)
		if next.After(end) {
			return m, nil
		}
		if err := sleepUntil(ctx, next); err != nil {
			return m, err
		}
		sent := time.Now()
		switch {
		case next.Equal(arrive):
			arrive, write = never, time.Now().Add(b.Pause)
			var ms float64
			if ms, err = b.checkIn(ctx, v); err == nil {
				m.checkIns = append(m.checkIns, ms)
				m.chats = append(m.chats, startChat(ctx, v, i))
			}
		case next.Equal(write):
			write = write.Add(b.Write)
			err = m.chats[0].write(ctx)
			m.messages = append(m.messages, milliseconds(time.Since(sent)))
		case next.Equal(poll):
			poll = poll.Add(appPollInterval)
			err = v.Poll(ctx)
			m.polls = append(m.polls, milliseconds(time.Since(sent)))
		default:
			page = page.Add(b.Pause)
			pages := hostelPages()
			_, err = v.Open(ctx, pages[(i+turn)%len(pages)])
			m.pages = append(m.pages, milliseconds(time.Since(sent)))
			turn++
		}
		if err != nil {
			return m, err
		}
	}
}

// hostelPages returns the paths of the pages that a guest opens in turn, below the path of the stay.
func hostelPages() []string {
	return []string{"", "/key", "/people", "/devices", "/messages", "/ledger"}
}

// sleepUntil waits until a time. It returns an error if ctx ends before.
func sleepUntil(ctx context.Context, at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
