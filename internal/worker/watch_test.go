package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/watch"
)

// watching opens a stream of notices of property a at a feed, and reads its first message.
func watching(t *testing.T, f *watch.Feed) *watch.Stream {
	t.Helper()
	s, err := f.Open("prp_a", "tok_1", []watch.Topic{watch.Notices}, "")
	if err != nil {
		t.Fatal(err)
	}
	s.Changes()
	return s
}

// An announcement says what changed on a node. A lost one, a new node and a silent node make everything change.
func TestAnnouncementsOfChanges(t *testing.T) {
	feed := watch.NewFeed()
	w := NewWatch(nil, feed)
	s := watching(t, feed)
	now := time.Now()
	key := watch.Key{PropertyID: "prp_a", Topic: watch.Notices, ID: "ntc_1"}.String()
	everything := []watch.Change{{Topic: watch.Notices, Everything: true}}
	one := []watch.Change{{Topic: watch.Notices, IDs: []string{"ntc_1"}}}
	for _, step := range []struct {
		name   string
		node   string
		number uint64
		keys   []string
		after  time.Duration
		want   []watch.Change
	}{
		{"a node that was not known", "a", 7, []string{key}, 0, everything},
		{"the next one", "a", 8, []string{key}, 0, one},
		{"nothing new", "a", 8, nil, 0, nil},
		{"another node", "b", 1, []string{key}, 0, everything},
		{"one was lost before it", "a", 10, []string{key}, 0, everything},
		{"the last one was lost", "a", 11, nil, 0, everything},
		{"this node's own", w.node, 5, []string{key}, 0, nil},
		{"a key of a later version", "a", 12, []string{"prp_a elevators elv_1", key}, 0, one},
		{"the nodes are silent", "", 0, nil, nodeSilence + time.Second, everything},
		{"a node that was silent", "a", 13, []string{key}, 0, everything},
	} {
		now = now.Add(step.after)
		if step.node == "" {
			w.checkPeers(now)
		} else {
			raw, err := json.Marshal(announcement{step.node, step.number, step.keys})
			if err != nil {
				t.Fatal(err)
			}
			w.receive(raw, now)
		}
		got, _ := s.Changes()
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
	}
	w.receive([]byte("no JSON"), now)
}

// Announcements are bounded: many things of one topic are announced as everything, and many keys in several messages.
func TestAnnouncementsAreBounded(t *testing.T) {
	w := NewWatch(nil, watch.NewFeed())
	hold := func(property string, n int) {
		for i := range n {
			w.queueChange(watch.Key{PropertyID: property, Topic: watch.Locks, ID: fmt.Sprintf("lck_%d", i)})
		}
	}
	hold("prp_a", 5000)
	for i := range 10 {
		hold(fmt.Sprintf("prp_%d", i), watch.MaxIDs)
	}
	all := w.takeAnnouncements()
	keys := 0
	for i, a := range all {
		keys += len(a.Changes)
		raw, err := json.Marshal(a)
		if err != nil || len(raw) > bus.MaxPayload/2 || a.Number != uint64(i+1) {
			t.Errorf("announcement %d has %d bytes, %v", a.Number, len(raw), err)
		}
	}
	if want := 10*watch.MaxIDs + 1; keys != want {
		t.Errorf("%d keys are announced, want %d", keys, want)
	}
	if rest := w.takeAnnouncements(); len(rest) != 1 || len(rest[0].Changes) > 0 || rest[0].Number != uint64(len(all)) {
		t.Errorf("then %v", rest)
	}
}

// Readers on the node of a change and on another node miss no last state, however fast things change, and also if the bus loses
// announcements.
func TestWatchersMissNoLastState(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const notices = 600
		b, err := bus.Open(t.Context(), bus.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		feeds := []*watch.Feed{watch.NewFeed(), watch.NewFeed()}
		here, there := NewWatch(b, feeds[0]), NewWatch(b, feeds[1])
		lost := 0
		d.Subscribe(watch.Changed, func(key string) {
			here.Notify(key)
			if lost++; lost%97 == 0 { // the next announcement is lost
				here.mu.Lock()
				clear(here.pending)
				here.number++
				here.mu.Unlock()
			}
		})
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		for _, w := range []*Watch{here, there} {
			running.Go(func() {
				if err := w.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		const propertyID = "prp_a"
		zone := "Europe/Lisbon"
		keys := dbtest.Keys(t, d, propertyID)
		write(t, d, func(tx *db.Tx) error {
			_, err := property.Create(tx, keys, propertyID, property.Settings{Name: &zone, TimeZone: &zone})
			return err
		})
		ends := make(chan struct{}, len(feeds))
		for _, feed := range feeds {
			s, err := feed.Open(propertyID, "tok_1", []watch.Topic{watch.Notices}, "")
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() {
				seen := map[string]bool{}
				for {
					list, _ := s.Changes()
					for _, c := range list {
						ids := c.IDs
						if c.Everything {
							ids = allNotices(d, propertyID)
						}
						for _, id := range ids {
							seen[id] = true
						}
					}
					if len(seen) == notices {
						ends <- struct{}{}
						return
					}
					select {
					case <-s.Woken():
					case <-ctx.Done():
						return
					}
				}
			})
		}
		for i := range notices {
			write(t, d, func(tx *db.Tx) error {
				return notice.Add(tx, notice.Notice{PropertyID: propertyID, Kind: notice.ShortPIN, Subject: fmt.Sprint("rsv_", i), Params: message.Params{"doors": nil}})
			})
		}
		for range feeds {
			select {
			case <-ends:
			case <-time.After(20 * time.Second):
				t.Fatal("a reader missed the last state")
			}
		}
	})
}

func allNotices(d *db.DB, propertyID string) (ids []string) {
	rows, err := notice.List(d.View(context.Background()), propertyID, notice.Filter{}, 10_000, "")
	if err != nil {
		return nil
	}
	for _, n := range rows {
		ids = append(ids, n.ID)
	}
	return ids
}
