package conversation

import (
	"fmt"
	"testing"
)

// A change wakes the watchers of its guest and of the property, and names the guest. Too many changes are "all".
func TestFeed(t *testing.T) {
	f := NewFeed()
	k := Key{"prp_1", "rsv_1", "gst_1"}
	own, house, other := f.WatchGuest("gst_1"), f.WatchProperty("prp_1"), f.WatchGuest("gst_2")
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
