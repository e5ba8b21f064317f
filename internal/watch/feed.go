package watch

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"
)

// keepUnwatched is how long the changes of a property are kept after its last stream ended, so that a stream can continue after a lost
// connection. A stream that resumes later reports that everything may have changed.
const keepUnwatched = 2 * time.Minute

// Feed distributes changes to the open streams of this process. It stores for each watched property, not for each stream, which things
// changed, so that a slow stream costs nothing.
type Feed struct {
	closed     chan struct{}
	mu         sync.Mutex
	properties map[string]*property
}

// property has the recent changes of a watched property.
type property struct {
	id        string // id is random: a resume token with another id is of another process or of a forgotten history
	position  uint64
	topics    map[Topic]*history
	streams   map[*Stream]struct{}
	quota     Quota
	unwatched time.Time // unwatched is when the last stream ended; zero while there is one
}

// NewFeed returns a feed without streams.
func NewFeed() *Feed {
	return &Feed{closed: make(chan struct{}), properties: map[string]*property{}}
}

// Close closes the channel of [Feed.Closed], by which the readers of all streams end. It must be called once only.
func (f *Feed) Close() { close(f.closed) }

// Closed returns a channel that is closed when the process stops.
func (f *Feed) Closed() <-chan struct{} { return f.closed }

// Stream is an open stream of changes.
type Stream struct {
	feed       *Feed
	propertyID string
	caller     string
	topics     []Topic
	position   uint64
	known      bool // known means that the reader has received the changes up to position; if false, Changes reports that everything may have changed
	woken      chan struct{}
}

// Open opens a stream of some topics of a property. caller is the person or token that reads it. It returns a fault if the caller or the
// property has too many streams. A resume token of an earlier stream continues where that stream was, if the changes since then are still
// known. Any other token, such as "", is no error: the first call of [Stream.Changes] reports that everything may have changed. The caller
// must call [Stream.End].
func (f *Feed) Open(propertyID, caller string, topics []Topic, resume string) (*Stream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.properties[propertyID]
	if p == nil {
		p = &property{id: rand.Text(), topics: map[Topic]*history{}, streams: map[*Stream]struct{}{}}
		for _, t := range Topics {
			p.topics[t] = &history{}
		}
		f.properties[propertyID] = p
	}
	if err := p.quota.Take(caller); err != nil {
		return nil, err
	}
	s := &Stream{feed: f, propertyID: propertyID, caller: caller, topics: topics, woken: make(chan struct{}, 1)}
	s.position, s.known = p.positionOf(resume)
	p.streams[s], p.unwatched = struct{}{}, time.Time{}
	return s, nil
}

// positionOf returns the position that a resume token names. It returns false for a token of another process or of a forgotten history.
func (p *property) positionOf(resume string) (position uint64, ok bool) {
	id, number, _ := strings.Cut(resume, ".")
	position, err := strconv.ParseUint(number, 10, 64)
	if id != p.id || err != nil || position > p.position {
		return 0, false
	}
	return position, true
}

// End ends the stream. It must be called once only.
func (s *Stream) End() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.properties[s.propertyID]
	delete(p.streams, s)
	p.quota.Give(s.caller)
	if len(p.streams) == 0 {
		p.unwatched = time.Now()
	}
}

// Woken returns a channel that receives a value after a change in a topic of the stream. The reader then calls [Stream.Changes].
func (s *Stream) Woken() <-chan struct{} { return s.woken }

// Changes returns what changed since the last call, none if nothing did, and the resume token after it. The first call reports that
// everything may have changed, unless the stream continues another one.
func (s *Stream) Changes() (changes []Change, resume string) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	select {
	case <-s.woken: // drops the wake-up for a change that this call returns anyway
	default:
	}
	p := s.feed.properties[s.propertyID]
	for _, t := range s.topics {
		if !s.known {
			changes = append(changes, Change{Topic: t, Everything: true})
		} else if c, ok := p.topics[t].after(t, s.position); ok {
			changes = append(changes, c)
		}
	}
	s.position, s.known = p.position, true
	return changes, p.id + "." + strconv.FormatUint(p.position, 10)
}

// Add records a change and wakes the streams of its topic. It does not block. The topic must be one of [Topics]. It ignores properties that
// have no stream and had none lately.
func (f *Feed) Add(k Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.properties[k.PropertyID]; p != nil {
		p.add(k.Topic, k.ID)
	}
}

// AddEverything records that notifications were possibly lost: all streams then report that everything may have changed.
func (f *Feed) AddEverything() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.properties {
		for _, t := range Topics {
			p.add(t, "")
		}
	}
}

// add records a change of the thing with an id, and wakes the streams of its topic. An empty id means all things of the topic.
func (p *property) add(topic Topic, id string) {
	p.position++
	p.topics[topic].add(id, p.position)
	for s := range p.streams {
		s.wake(topic)
	}
}

// wake sends a value to Woken if the stream has the topic. Further changes before the reader receives it send nothing.
func (s *Stream) wake(topic Topic) {
	for _, t := range s.topics {
		if t != topic {
			continue
		}
		select {
		case s.woken <- struct{}{}:
		default:
		}
	}
}

// Forget drops the changes of properties whose last stream ended more than keepUnwatched before now. A stream that resumes one of them then
// reports that everything may have changed.
func (f *Feed) Forget(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, p := range f.properties {
		if !p.unwatched.IsZero() && now.Sub(p.unwatched) > keepUnwatched {
			delete(f.properties, id)
		}
	}
}
