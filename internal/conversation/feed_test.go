package conversation

import (
	"fmt"
	"testing"

	"latchkey.dev/internal/fault"
)

// watching returns a function that returns a watcher, which must have been registered.
func watching(t *testing.T) func(*Watcher, error) *Watcher {
	return func(w *Watcher, err error) *Watcher {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
}

// A guest, a caller of a property, and a property have a bounded number of watchers. A stopped watcher makes room at once.
func TestWatchersAreBounded(t *testing.T) {
	callers := 0
	for name, c := range map[string]struct {
		most  int
		watch func(*Feed) (*Watcher, error)
	}{
		"a guest":  {20, func(f *Feed) (*Watcher, error) { return f.WatchGuest("gst_1") }},
		"a caller": {20, func(f *Feed) (*Watcher, error) { return f.WatchProperty("prp_1", "tok_1") }},
		"a property": {200, func(f *Feed) (*Watcher, error) {
			callers++
			return f.WatchProperty("prp_1", fmt.Sprint("tok_", callers))
		}},
	} {
		f := NewFeed()
		var all []*Watcher
		for range c.most {
			all = append(all, watching(t)(c.watch(f)))
		}
		if _, err := c.watch(f); !fault.Has(err, fault.RateLimited) {
			t.Errorf("%s: one watcher too many: %v", name, err)
		}
		watching(t)(f.WatchGuest("gst_2"))
		watching(t)(f.WatchProperty("prp_2", "tok_1"))
		all[0].Stop()
		watching(t)(c.watch(f))
	}
}

// A change wakes the watchers of its guest and of the property, and names the guest. Too many changes are "all".
func TestFeed(t *testing.T) {
	f := NewFeed()
	k := Key{"prp_1", "rsv_1", "gst_1"}
	own, house, other := watching(t)(f.WatchGuest("gst_1")), watching(t)(f.WatchProperty("prp_1", "tok_1")), watching(t)(f.WatchGuest("gst_2"))
	f.Wake(k)
	f.Wake(k)
	for name, w := range map[string]*Watcher{"the guest's": own, "the property's": house} {
		select {
		case <-w.Woken():
		default:
			t.Errorf("%s watcher sleeps", name)
		}
		if guests, all := w.Changed(); fmt.Sprint(guests) != "[gst_1]" || all {
			t.Errorf("%s watcher reads %v, %v", name, guests, all)
		}
		if guests, all := w.Changed(); len(guests) > 0 || all {
			t.Errorf("%s watcher reads a change twice", name)
		}
	}
	select {
	case <-other.Woken():
		t.Error("another guest's watcher is woken")
	default:
	}
	for i := range maxChanged + 1 {
		f.Wake(Key{"prp_1", "rsv_1", fmt.Sprint("gst_", i)})
	}
	if guests, all := house.Changed(); len(guests) != maxChanged || !all {
		t.Errorf("%d guests, all %v", len(guests), all)
	}
	for _, w := range []*Watcher{own, house, other} {
		w.Stop()
	}
	f.Wake(k)
	if len(f.watchers) != 0 {
		t.Errorf("stopped watchers are kept: %v", f.watchers)
	}
	f.Close()
	<-f.Closed()
}
