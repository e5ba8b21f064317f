package watch

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/fault"
)

func open(t *testing.T, f *Feed, property, resume string, topics ...Topic) *Stream {
	t.Helper()
	s, err := f.Open(property, "tok_1", topics, resume)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// changed reads what a stream shows now, as words.
func changed(s *Stream) (words, resume string) {
	list, resume := s.Changes()
	var all []string
	for _, c := range list {
		word := string(c.Topic) + ":" + strings.Join(c.IDs, ",")
		if c.Everything {
			word += "everything"
		}
		all = append(all, word)
	}
	return strings.Join(all, " "), resume
}

func TestStreams(t *testing.T) {
	f := NewFeed()
	f.Add(Key{"prp_a", Locks, "lck_0"}) // no stream is open
	a, b := open(t, f, "prp_a", "", Locks, Notices), open(t, f, "prp_b", "", Locks)
	expect := func(s *Stream, want string) (resume string) {
		t.Helper()
		got, resume := changed(s)
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		return resume
	}
	first := expect(a, "locks:everything notices:everything")
	expect(b, "locks:everything")
	expect(a, "")

	f.Add(Key{"prp_a", Locks, "lck_1"})
	f.Add(Key{"prp_a", Bridges, "brg_1"}) // not of the stream
	f.Add(Key{"prp_a", Notices, ""})
	f.Add(Key{"prp_a", Locks, "lck_2"})
	f.Add(Key{"prp_a", Locks, "lck_1"})
	select {
	case <-a.Woken():
	default:
		t.Error("a change did not wake its stream")
	}
	select {
	case <-b.Woken():
		t.Error("a change woke the stream of another property")
	default:
	}
	second := expect(a, "locks:lck_2,lck_1 notices:everything")
	expect(b, "")

	// A stream continues another one, also of other topics. A token that is not known means everything.
	expect(open(t, f, "prp_a", first, Locks, Bridges), "locks:lck_2,lck_1 bridges:brg_1")
	expect(open(t, f, "prp_a", second, Locks, Notices), "")
	for _, token := range []string{"", "x", "x.1", first + "9", strings.TrimRight(first, "0123456789"), strings.Repeat("9", 64)} {
		expect(open(t, f, "prp_a", token, Locks), "locks:everything")
	}
	expect(open(t, f, "prp_b", second, Locks), "locks:everything")

	f.AddEverything()
	expect(a, "locks:everything notices:everything")
	expect(b, "locks:everything")
}

// A caller and a property have a bounded number of streams. An ended stream makes room.
func TestStreamsAreBounded(t *testing.T) {
	f := NewFeed()
	var all []*Stream
	for range maxOfCaller {
		all = append(all, open(t, f, "prp_a", "", Locks))
	}
	if _, err := f.Open("prp_a", "tok_1", []Topic{Locks}, ""); !fault.Has(err, fault.RateLimited) {
		t.Errorf("one stream too many: %v", err)
	}
	open(t, f, "prp_b", "", Locks)
	all[0].End()
	open(t, f, "prp_a", "", Locks)
	for n := len(all); n < maxOfAll; n++ {
		if _, err := f.Open("prp_a", strings.Repeat("x", n), []Topic{Locks}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Open("prp_a", "tok_2", []Topic{Locks}, ""); !fault.Has(err, fault.RateLimited) {
		t.Errorf("one stream of the property too many: %v", err)
	}
}

// What has no stream is forgotten, but not before an interrupted stream had time to continue.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed()
		s := open(t, f, "prp_a", "", Locks)
		_, resume := changed(s)
		s.End()
		f.Add(Key{"prp_a", Locks, "lck_1"})
		time.Sleep(keepUnwatched)
		f.Forget(time.Now())
		again := open(t, f, "prp_a", resume, Locks)
		if got, _ := changed(again); got != "locks:lck_1" {
			t.Errorf("a stream that continues shows %q", got)
		}
		f.Forget(time.Now().Add(time.Hour))
		if len(f.properties) != 1 {
			t.Error("a watched property was forgotten")
		}
		again.End()
		time.Sleep(keepUnwatched + time.Second)
		f.Forget(time.Now())
		if len(f.properties) != 0 {
			t.Error("a property without streams is kept")
		}
	})
}

func TestParseKey(t *testing.T) {
	for _, k := range []Key{{"prp_a", Locks, "lck_1"}, {"prp_a", Notices, ""}} {
		got, ok := ParseKey(k.String())
		if diff := cmp.Diff(k, got); diff != "" || !ok {
			t.Errorf("%v, %s", ok, diff)
		}
	}
	for _, bad := range []string{"", "prp_a", "prp_a locks", "prp_a doors x", "prp_a locks x y"} {
		if k, ok := ParseKey(bad); ok {
			t.Errorf("%q is read as %v", bad, k)
		}
	}
}
