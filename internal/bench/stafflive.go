package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// liveResult is what was measured on an open page while the PMS sent changes.
type liveResult struct {
	changes, fetches float64   // numbers of changes sent, and of page loads meanwhile
	took             []float64 // milliseconds of each fetch
	missed           float64   // number of stays that the page shows in a state before their last
	late             float64   // milliseconds from the last change until the page shows it
}

// changesPerSecond is the rate of the changes that a live page follows.
const changesPerSecond = 200

// livePattern matches the name of a changed stay on the page: its number, and the number of its change.
var livePattern = regexp.MustCompile(`Live (\d+)-(\d+)`)

// follow opens the page of the day and loads it again after each announcement of a change, as the page's script does. Meanwhile the PMS
// changes the names of today's arrivals. follow returns when the page shows the last change, or 5 s after the last change or announcement:
// missed then counts the stays that the page shows in an older state.
func (b StaffPages) follow(ctx context.Context, w *staffWorld) (r liveResult, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	window := w.owner.Another()
	announced, ended := make(chan struct{}, 1), make(chan error, 1)
	all.Go(func() {
		ended <- window.Follow(ctx, func() {
			select {
			case announced <- struct{}{}:
			default:
			}
		})
	})
	var last map[int]int
	sent := make(chan error, 1)
	all.Go(func() {
		var err error
		last, err = b.change(ctx, w)
		sent <- err
	})
	changing, at, shown := true, time.Time{}, ""
	for {
		select {
		case err := <-ended:
			return r, errors.Join(errors.New("the stream of changes ended early"), err)
		case err := <-sent:
			if err != nil {
				return r, err
			}
			changing, at = false, time.Now()
			for _, n := range last {
				r.changes += float64(n)
			}
		case <-announced:
			began := time.Now()
			page, err := w.owner.Open(ctx, "/app/today")
			if err != nil {
				return r, err
			}
			r.took, shown = append(r.took, milliseconds(time.Since(began))), page
			if changing {
				r.fetches = float64(len(r.took) - 1) // without the first, whose announcement says only that the stream is open
				continue
			}
			r.late = milliseconds(time.Since(at))
			if r.missed = missedOn(page, last); r.missed == 0 {
				return r, nil
			}
		case <-time.After(5 * time.Second):
			if changing {
				continue
			}
			r.missed = missedOn(shown, last) // nothing was announced for 5 s, so the page shows nothing newer
			return r, nil
		}
	}
}

// missedOn counts the stays on a page that are not shown with their last change. last has the number of the last change by stay. It ignores
// a stay that the page does not show, but a page without any changed stay misses all.
func missedOn(page string, last map[int]int) float64 {
	found := livePattern.FindAllStringSubmatch(page, -1)
	if len(found) == 0 {
		return float64(len(last))
	}
	missed := 0.0
	for _, m := range found {
		stay, _ := strconv.Atoi(m[1])
		if n, _ := strconv.Atoi(m[2]); last[stay] != n {
			missed++
		}
	}
	return missed
}

// pushers is the number of connections that send changes, each of its own stays.
const pushers = 4

// change changes the names of today's arrivals in turn, at changesPerSecond, for b.Span. It returns the number of changes by stay.
func (b StaffPages) change(ctx context.Context, w *staffWorld) (map[int]int, error) {
	parts := make([]map[int]int, pushers)
	err := inParallel(ctx, pushers, func(ctx context.Context, n int) (err error) {
		parts[n], err = b.changePart(ctx, w, n)
		return err
	})
	last := map[int]int{}
	for _, p := range parts {
		maps.Copy(last, p)
	}
	return last, err
}

// changePart sends the part of change that belongs to one of several connections. part is the connection's number, from 0. It returns the
// number of changes by stay.
func (b StaffPages) changePart(ctx context.Context, w *staffWorld, part int) (map[int]int, error) {
	last := map[int]int{}
	arrivals := (b.Rooms + staffNights - 1) / staffNights
	pause := time.NewTicker(pushers * time.Second / changesPerSecond)
	defer pause.Stop()
	end := time.Now().Add(b.Span)
	for n := part; time.Now().Before(end); n += pushers {
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		stay := n % (arrivals - arrivals%pushers) * staffNights
		fields := stayFields(stay, b.Rooms)
		fields["booker"] = map[string]any{"firstName": "Grace", "lastName": fmt.Sprintf("Live %d-%d", stay, last[stay]+1)}
		if _, err := w.push(ctx, fields); err != nil {
			return nil, err
		}
		last[stay]++
	}
	return last, nil
}
