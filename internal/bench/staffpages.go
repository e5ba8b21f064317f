package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"latchkey.dev/internal/server"
	"latchkey.dev/internal/web/staff"
)

// StaffPages measures the pages of the dashboard in a large hotel, and how an open page follows changes.
type StaffPages struct {
	Rooms, Reservations, Bridges int
	Samples                      int           // Samples is how often each page is opened in each round
	Span                         time.Duration // Span is the duration of the live measurement
	Rounds                       int
	// Profile is the file for a CPU profile of the last round's pages, with the load; empty: none.
	Profile string
}

// Aims for each page: the most milliseconds and kilobytes. A missed aim is reported and is no error.
const (
	staffMilliseconds = 100
	staffKilobytes    = 150
)

// staffPage is a page of the dashboard, with its size in kilobytes of 1000 bytes and its measured times in milliseconds.
type staffPage struct {
	pattern, path string
	form          url.Values // form is posted; nil: the page is opened
	kilobytes     float64
	took          []float64
}

// load opens a page, or posts its form, and returns its HTML.
func (w *staffWorld) load(ctx context.Context, p *staffPage) (html string, err error) {
	if p.form != nil {
		return w.owner.Post(ctx, p.path, p.form)
	}
	return w.owner.Open(ctx, p.path)
}

// Run measures the time of each page, from the request until its last byte, and then how a live page follows changes. The baseline is a
// static page of the median size.
func (b StaffPages) Run(ctx context.Context) (_ *Result, err error) {
	if b.Rooms < 4*staffNights || b.Reservations < b.Rooms || b.Bridges < 1 || b.Samples < 1 || b.Rounds < 1 || b.Span < time.Second {
		return nil, errors.New("pages --staff: want at least twelve rooms, a reservation for each, one bridge, one sample, one round and one second")
	}
	tuning, stop := context.WithCancel(ctx)
	defer stop()
	go server.TuneGarbage(tuning) // as the server command does; the load, one person, makes little garbage
	dir, err := os.MkdirTemp("", "latchkey-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err := newStaffWorld(ctx, dir, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.chooseRows(ctx, "200"); err != nil {
		return nil, err
	}
	pages, err := w.pages(ctx)
	if err != nil {
		return nil, err
	}
	var sizes []float64
	for _, p := range pages {
		sizes = append(sizes, p.kilobytes)
	}
	baseline, err := newStatic(bytes.Repeat([]byte("x"), int(median(sizes)*1000)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, baseline.close()) }()
	var least []float64
	for n := range b.Rounds + 1 {
		end, err := profile(b.Profile, n == b.Rounds)
		if err != nil {
			return nil, err
		}
		static, err := b.open(ctx, w, baseline, pages)
		if err = errors.Join(err, end()); err != nil {
			return nil, err
		}
		if n == 0 { // the first round is a warm-up
			for _, p := range pages {
				p.took = nil
			}
			continue
		}
		least = append(least, static...)
	}
	if err := w.chooseRows(ctx, "50"); err != nil { // the number that most people have
		return nil, err
	}
	live, err := b.follow(ctx, w)
	if err != nil {
		return nil, err
	}
	return b.result(pages, least, live), nil
}

// result summarizes the times of the pages, which it sorts, the slowest first. least has the milliseconds of the static page.
func (b StaffPages) result(pages []*staffPage, least []float64, live liveResult) *Result {
	p99 := func(p *staffPage) float64 { return quantile(p.took, 0.99) }
	slices.SortFunc(pages, func(a, b *staffPage) int { return int(1000 * (p99(b) - p99(a))) })
	var all []float64
	for _, p := range pages {
		all = append(all, p.took...)
	}
	biggest := slices.MaxFunc(pages, func(a, b *staffPage) int { return int(1000 * (a.kilobytes - b.kilobytes)) })
	r := &Result{Name: "pages --staff", Unit: "ms", Rounds: b.Rounds, Value: p99(pages[0]), Baseline: quantile(least, 0.99)}
	r.P50, r.P99, r.BaselineP50, r.BaselineP99 = quantile(all, 0.5), quantile(all, 0.99), quantile(least, 0.5), r.Baseline
	r.note("pages of the dashboard", float64(len(pages)), "")
	for _, p := range pages[:min(5, len(pages))] {
		r.note(p.pattern+", p99", p99(p), "ms")
	}
	r.note(biggest.pattern+", the biggest", biggest.kilobytes, "kB")
	r.note("changes per second while a page is live", live.changes/b.Span.Seconds(), "")
	r.note("a fetch of the live page, p99", quantile(live.took, 0.99), "ms")
	r.note("from the last change until the live page shows it", live.late, "ms")
	r.atMost("milliseconds of the slowest page, p99", r.Value, staffMilliseconds)
	r.atMost("kB of the biggest page", biggest.kilobytes, staffKilobytes)
	r.atMost("fetches of the live page per second", live.fetches/b.Span.Seconds(), 4)
	r.atMost("last states that the live page misses", live.missed, 0)
	return r.finish()
}

// open opens every page b.Samples times, and the static page after each. It adds the times to the pages, and returns those of the static
// page in milliseconds.
func (b StaffPages) open(ctx context.Context, w *staffWorld, baseline *static, pages []*staffPage) (least []float64, err error) {
	for range b.Samples {
		for _, p := range pages {
			began := time.Now()
			if _, err := w.load(ctx, p); err != nil {
				return nil, err
			}
			p.took = append(p.took, milliseconds(time.Since(began)))
			ms, err := baseline.get(ctx)
			if err != nil {
				return nil, err
			}
			least = append(least, ms)
		}
	}
	return least, nil
}

// chooseRows sets how many rows the pages of lists show to the owner: rows is a number as text.
func (w *staffWorld) chooseRows(ctx context.Context, rows string) error {
	_, err := w.owner.Post(ctx, "/app/locks?look", url.Values{"rows": {rows}})
	return err
}

// pages opens every page of the dashboard that a GET route serves once and returns them with their sizes. It leaves out public pages, the
// stream /app/live, and pages that redirect. It adds the guest register of the last days. If a path needs an id, it uses the first link on
// the parent page, and leaves the page out if there is none.
func (w *staffWorld) pages(ctx context.Context) (pages []*staffPage, err error) {
	for _, r := range staff.Routes() {
		pattern, ok := strings.CutPrefix(r.Pattern, "GET ")
		if !ok || r.Right == staff.Anyone || pattern == "/app/live" {
			continue
		}
		path, err := w.example(ctx, strings.TrimSuffix(pattern, "{$}"))
		if err != nil {
			return nil, err
		}
		if path == "" {
			continue
		}
		html, err := w.owner.Open(ctx, path)
		if err != nil {
			return nil, err
		}
		if at, _, _ := strings.Cut(path, "?"); w.owner.Path() != at { // the path redirects to another page
			continue
		}
		pages = append(pages, &staffPage{pattern: pattern, path: path, kilobytes: float64(len(html)) / 1000})
	}
	register := registerPage()
	html, err := w.load(ctx, register)
	register.kilobytes = float64(len(html)) / 1000
	return append(pages, register), err
}

// examples maps the beginning of a path to the page that links to it, where that is not the parent page in the path.
var examples = map[string]string{"/app/spaces/rooms/": "/app/spaces", "/app/spaces/changes?": "/app/spaces"}

// example returns a path that matches the pattern of a route, or "" if it needs an id and no page links to one.
func (w *staffWorld) example(ctx context.Context, pattern string) (string, error) {
	prefix, rest, ok := strings.Cut(pattern, "{id}")
	if !ok && examples[pattern+"?"] == "" {
		return pattern, nil
	}
	if !ok {
		prefix += "?"
	}
	parent := cmp.Or(examples[prefix], strings.TrimSuffix(prefix, "/"))
	if _, err := w.owner.Open(ctx, parent); err != nil {
		return "", err
	}
	link := w.owner.Link(prefix)
	if link == "" {
		return "", nil
	}
	return link + rest, nil
}
