package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"latchkey.dev/internal/sandbox"
)

// Pages measures the pages of guests.
type Pages struct {
	Guests int           // Guests browse at the same time
	Pause  time.Duration // Pause is the time that a guest reads a page; at least 1 ms
	Span   time.Duration // Span is the duration of each round, at least 1 ms
	Rounds int
	// Profile is the file for a CPU profile of the last round's pages, with the load; empty: none.
	Profile string
}

// browsed returns the paths of the pages that each guest opens in turn.
func browsed(v *sandbox.Visitor) []string {
	return []string{"", v.Question, "/form/check", "/checkin", "/people", "/form/share", "/form/rules"}
}

// Run measures the time of a page, from the request until its last byte. The baseline is a static page of the median size. Each guest opens
// the two in turn, so that both meet the same load.
func (b Pages) Run(ctx context.Context) (_ *Result, err error) {
	if b.Guests < 1 || b.Rounds < 1 || b.Pause < time.Millisecond || b.Span < time.Millisecond {
		return nil, errors.New("pages: want at least one guest and one round, and a pause and a span of at least 1ms")
	}
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, done, err := newGuestWorld(ctx, dir, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	visitors := make([]*sandbox.Visitor, b.Guests)
	for i := range visitors {
		if visitors[i], err = arrive(ctx, w, fmt.Sprintf("P-%d", i)); err != nil {
			return nil, err
		}
	}
	var sizes []float64
	for _, page := range browsed(visitors[0]) {
		size, err := visitors[0].Open(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("open %q: %w", page, err)
		}
		sizes = append(sizes, float64(size))
	}
	baseline, err := newStatic(bytes.Repeat([]byte("x"), int(median(sizes))))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, baseline.close()) }()

	r := &Result{Name: "pages", Unit: "ms", Rounds: b.Rounds}
	var took, least, p99s, baselineP99s []float64
	for n := range b.Rounds + 1 {
		end, err := profile(b.Profile, n == b.Rounds)
		if err != nil {
			return nil, err
		}
		pages, static, err := b.browse(ctx, func(ctx context.Context, guest, turn int) (float64, error) {
			if turn%2 == 1 {
				return baseline.get(ctx)
			}
			began := time.Now()
			pages := browsed(visitors[guest])
			_, err := visitors[guest].Open(ctx, pages[(guest+turn/2)%len(pages)])
			return milliseconds(time.Since(began)), err
		})
		err = errors.Join(err, end())
		if err != nil {
			return nil, err
		}
		if n == 0 { // the first round is a warm-up
			continue
		}
		took, least = append(took, pages...), append(least, static...)
		p99s, baselineP99s = append(p99s, quantile(pages, 0.99)), append(baselineP99s, quantile(static, 0.99))
	}
	r.Value, r.Baseline = median(p99s), median(baselineP99s)
	r.P50, r.P99, r.BaselineP50, r.BaselineP99 = quantile(took, 0.5), quantile(took, 0.99), quantile(least, 0.5), quantile(least, 0.99)
	r.note("size of a page", median(sizes), "bytes")
	r.note("pages per second", float64(len(took))/(b.Span.Seconds()*float64(b.Rounds)), "")
	r.atMost("milliseconds of a page, p99", r.Value, 50)
	r.atMost("times the floor", r.Value/r.Baseline, 3)
	return r.finish(), nil
}

// browse lets every guest call open with rising turns, at intervals of half b.Pause, for b.Span. open opens a page at even turns and the
// static page at odd ones. browse returns the milliseconds of both. A guest stops at the first error; errs joins the errors.
func (b Pages) browse(ctx context.Context, open func(ctx context.Context, guest, turn int) (float64, error)) (pages, static []float64, errs error) {
	ctx, cancel := context.WithTimeout(ctx, b.Span+30*time.Second)
	defer cancel()
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	end := time.Now().Add(b.Span)
	for guest := range b.Guests {
		wg.Go(func() {
			first := time.NewTimer(b.Pause * time.Duration(guest) / time.Duration(b.Guests)) // guests do not open pages in step
			defer first.Stop()
			select {
			case <-first.C:
			case <-ctx.Done():
			}
			pause := time.NewTicker(b.Pause / 2)
			defer pause.Stop()
			for turn := 0; time.Now().Before(end); turn++ {
				ms, err := open(ctx, guest, turn)
				mu.Lock()
				if turn%2 == 0 {
					pages = append(pages, ms)
				} else {
					static = append(static, ms)
				}
				errs = errors.Join(errs, err)
				mu.Unlock()
				if err != nil {
					return
				}
				select {
				case <-pause.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	wg.Wait()
	return pages, static, errs
}
