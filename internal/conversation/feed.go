package conversation

import (
	"sync"

	"latchkey.dev/internal/watch"
)

// maxChanged limits the changed conversations that a watcher of a property collects. With more, the watcher reads all conversations again.
const maxChanged = 500

// Feed wakes the watchers of conversations. A wake-up carries no message: the watcher reads what is stored.
type Feed struct {
	closed   chan struct{}
	mu       sync.Mutex
	watchers map[string]*watchers // by the id of a guest or a property
}

// watchers are the watchers of one guest or property.
type watchers struct {
	all   map[*Watcher]struct{}
	quota watch.Quota
}

// NewFeed returns a feed without watchers.
func NewFeed() *Feed {
	return &Feed{closed: make(chan struct{}), watchers: map[string]*watchers{}}
}

// Close closes the channel of [Feed.Closed], because the service stops. It does not close or wake the channels of the watchers, so each
// user of a watcher waits for Closed, too. Close must be called at most once.
func (f *Feed) Close() { close(f.closed) }

// Closed returns a channel that is closed when the service stops.
func (f *Feed) Closed() <-chan struct{} { return f.closed }

// Watcher waits for changes of conversations.
type Watcher struct {
	feed    *Feed
	of      string // the id of the guest or the property that is watched
	caller  string // on whose quota the watcher counts
	woken   chan struct{}
	changed map[string]struct{} // the guests whose conversations changed since the last call of Changed
	all     bool                // more than maxChanged conversations changed since the last call of Changed
}

// WatchGuest watches the conversation of a guest. It returns a fault if the guest has too many watchers: see [watch.Quota]. The caller
// stops the watcher.
func (f *Feed) WatchGuest(guestID string) (*Watcher, error) { return f.watch(guestID, guestID) }

// WatchProperty watches all conversations of a property. caller is the person or token that reads them. It returns a fault if the caller or
// the property has too many watchers: see [watch.Quota]. The caller stops the watcher.
func (f *Feed) WatchProperty(propertyID, caller string) (*Watcher, error) {
	return f.watch(propertyID, caller)
}

// watch registers a watcher. of is the id of a guest or a property, and caller is on whose quota the watcher counts. It returns a fault if
// that is used up.
func (f *Feed) watch(of, caller string) (*Watcher, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.watchers[of]
	if list == nil {
		list = &watchers{all: map[*Watcher]struct{}{}}
		f.watchers[of] = list
	}
	if err := list.quota.Take(caller); err != nil {
		return nil, err
	}
	w := &Watcher{feed: f, of: of, caller: caller, woken: make(chan struct{}, 1), changed: map[string]struct{}{}}
	list.all[w] = struct{}{}
	return w, nil
}

// Stop ends the watcher. It must be called once only. The channel of [Watcher.Woken] stays open and receives nothing more.
func (w *Watcher) Stop() {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	list := w.feed.watchers[w.of]
	delete(list.all, w)
	list.quota.Give(w.caller)
	if len(list.all) == 0 {
		delete(w.feed.watchers, w.of)
	}
}

// Woken returns a channel that receives a value after a change, or one for several changes. [Watcher.Changed] returns what has changed.
func (w *Watcher) Woken() <-chan struct{} { return w.woken }

// Changed returns the ids of the guests whose conversations have changed since the last call, in no order. all means that those of other
// guests may have changed too.
func (w *Watcher) Changed() (guests []string, all bool) {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	for g := range w.changed {
		guests = append(guests, g)
	}
	all = w.all
	clear(w.changed)
	w.all = false
	return guests, all
}

// Wake wakes the watchers of a conversation and of its property. It does not block.
func (f *Feed) Wake(k Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, of := range []string{k.GuestID, k.PropertyID} {
		list := f.watchers[of]
		if list == nil {
			continue
		}
		for w := range list.all {
			if len(w.changed) >= maxChanged {
				w.all = true
			} else {
				w.changed[k.GuestID] = struct{}{}
			}
			select {
			case w.woken <- struct{}{}:
			default:
			}
		}
	}
}
