package chain

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/fault"
)

// maxUnfinished bounds the unfinished requests of one sender. A stream is unfinished until it ends.
const maxUnfinished = 64

// arrivals counts the requests that have not arrived completely, and the memory that these have reserved, by sender. A sender is an
// integration, another token or, without a credential, a client network. The posts of a client network are another sender than its calls.
// The sender "" is not counted.
type arrivals struct {
	mu       sync.Mutex
	bySender map[string]arriving
}

// arriving is what the requests of one sender use while they arrive: how many there are, and their memory.
type arriving struct {
	unfinished int
	holders    int                 // the requests that have reserved memory or wait for it
	memory     *semaphore.Weighted // the memory of all holders, at most maxArrivingBytes; nil without holders
	posts      []*post             // the unfinished posts, oldest first
}

// post is an HTTP request that is no call and whose body has not arrived completely.
type post struct{ cut func() } // cut makes the next Read of the body fail

// sender returns the sender for which [arrivals] counts a call and its memory: the integration, the token or, without a credential, the
// client network. It is "" for calls over the Unix socket and for those of bridges.
func (call *Call) sender() string {
	switch {
	case !call.Client.IsValid():
		return ""
	case call.actor.Kind == actor.Integration:
		return call.actor.Subject()
	case call.actor.Kind != "":
		return call.actor.TokenID
	}
	return ClientNetwork(call.Client)
}

// begin counts a request as unfinished, until end. At maxUnfinished requests it returns a fault and counts nothing. The sender "" is never
// refused.
func (a *arrivals) begin(sender string) error {
	if sender == "" {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.bySender[sender]
	if s.unfinished >= maxUnfinished {
		return fault.New(fault.Exhausted, fault.RateLimited, "more than %d requests of this token or address are unfinished: finish them first", maxUnfinished).
			Put("quota", "unfinished").Retry(time.Second)
	}
	s.unfinished++
	a.bySender[sender] = s
	return nil
}

// end stops counting a request that begin counted.
func (a *arrivals) end(sender string) {
	if sender == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.bySender[sender]
	s.unfinished--
	a.store(sender, s)
}

// beginPost counts a post as unfinished, until endPost. At maxUnfinished posts, it cuts the oldest off. Refusing the new one instead would
// let a guest keep all others of the hotel's network from posting, whereas an honest post arrives long before it is the oldest.
func (a *arrivals) beginPost(sender string, p *post) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.bySender[sender]
	if len(s.posts) >= maxUnfinished {
		s.posts[0].cut()
		s.posts = slices.Delete(s.posts, 0, 1)
	}
	s.posts = append(s.posts, p)
	a.bySender[sender] = s
}

// endPost stops counting a post. Afterwards it is not cut off.
func (a *arrivals) endPost(sender string, p *post) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.bySender[sender]
	s.posts = slices.DeleteFunc(s.posts, func(o *post) bool { return o == p })
	a.store(sender, s)
}

// reserve waits until a sender may use n more bytes, which it does until release. If ctx ends first, it returns the error of ctx and has
// reserved nothing.
func (a *arrivals) reserve(ctx context.Context, sender string, n int64) error {
	a.mu.Lock()
	s := a.bySender[sender]
	if s.memory == nil {
		s.memory = semaphore.NewWeighted(maxArrivingBytes)
	}
	s.holders++
	a.bySender[sender] = s
	a.mu.Unlock()
	err := s.memory.Acquire(ctx, n)
	if err != nil {
		a.release(sender, 0)
	}
	return err
}

// release frees n bytes that reserve reserved.
func (a *arrivals) release(sender string, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.bySender[sender]
	s.memory.Release(n)
	if s.holders--; s.holders == 0 {
		s.memory = nil
	}
	a.store(sender, s)
}

// store stores what a sender uses, and forgets a sender that uses nothing. The caller holds a.mu.
func (a *arrivals) store(sender string, s arriving) {
	if s.unfinished == 0 && s.holders == 0 && len(s.posts) == 0 {
		delete(a.bySender, sender)
		return
	}
	a.bySender[sender] = s
}

// beginArrival counts the call as unfinished until MessageArrived. It fails if its sender has too many unfinished requests.
func (call *Call) beginArrival() error {
	call.memory.sender = call.sender()
	if err := call.chain.arrivals.begin(call.memory.sender); err != nil {
		return err
	}
	call.arriving = true
	return nil
}

// MessageArrived ends the count of the call as unfinished, if it is counted, because its message has arrived or the call is over.
func (call *Call) MessageArrived() {
	if call != nil && call.arriving {
		call.arriving = false
		call.chain.arrivals.end(call.memory.sender)
	}
}

// Receive limits the unfinished HTTP requests that are no calls, such as forms that are posted to a page, and their memory. A request
// counts as unfinished until arrived is called, which the caller must do once: a client network has at most maxUnfinished of them, and a
// further one cuts the oldest off. These requests are counted apart from calls. Receive replaces r.Body by one like that of [Call.Body],
// with memory until the request's context ends. most is how many bytes the caller reads of it at most: Receive reserves no more, but does
// not enforce it.
func (c *Chain) Receive(w http.ResponseWriter, r *http.Request, most int64) (arrived func()) {
	call := &Call{chain: c, memory: reservation{chain: c}}
	sent, p := *r, &post{cut: func() { _ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) }}
	if from := clientAddr(FromHTTP(r.Context(), r), r.Header.Values(HeaderForwardedFor), c.proxies); from.IsValid() {
		call.memory.sender = "post " + ClientNetwork(from)
		c.arrivals.beginPost(call.memory.sender, p)
	}
	r.Body = call.body(r.Context(), w, &sent, most, new(bool))
	return func() {
		if call.memory.sender != "" {
			c.arrivals.endPost(call.memory.sender, p)
		}
		if call.memory.bytes > 0 {
			context.AfterFunc(r.Context(), call.releaseMemory)
		}
	}
}

// Body returns the body of an HTTP request from which the message of the call is read. A body whose known length needs no reservation is
// returned unchanged. If more than unreservedBytes arrive, it first reserves memory for the complete body. Without free memory, it discards
// the body as [Discard] does, stores its result in late, and a Read fails with the fault of [Call.Reserve].
func (call *Call) Body(ctx context.Context, w http.ResponseWriter, r *http.Request, late *bool) io.ReadCloser {
	return call.body(ctx, w, r, MaxRequestBytes, late)
}

// body is [Call.Body], also in what it stores in late, for a body of which the caller reads at most most bytes. It reserves memory for no
// more, but does not refuse a larger body.
func (call *Call) body(ctx context.Context, w http.ResponseWriter, r *http.Request, most int64, late *bool) io.ReadCloser {
	if r.ContentLength >= 0 && r.ContentLength <= unreservedBytes || r.Body == nil {
		return r.Body
	}
	b := &body{ReadCloser: r.Body, ctx: ctx, memory: &call.memory, whole: most, free: unreservedBytes + 1}
	b.discard = func() { *late = Discard(w, r) }
	if r.ContentLength >= 0 {
		b.whole = min(b.whole, r.ContentLength)
	}
	return b
}

// body is a request body that reserves memory while it arrives. It reserves for the complete body at once: two bodies that each reserved
// a part could wait for each other. For a body of unknown length it reserves the most that the caller reads.
type body struct {
	io.ReadCloser
	ctx     context.Context // ends the wait for memory
	memory  *reservation
	discard func() // reads and discards the body if memory is refused, so that the sender gets the answer
	whole   int64  // bytes to reserve: the length of the body if known, at most what the caller reads
	free    int64  // how many bytes are still read without a reservation
	err     error  // why the memory could not be reserved, which every later Read returns; nil if it was, or was not needed yet
}

// Read reserves memory before it reads beyond the bytes that need none.
func (b *body) Read(p []byte) (int, error) {
	if b.free == 0 && b.memory.bytes == 0 && b.err == nil {
		if b.err = b.memory.reserve(b.ctx, b.whole, true); b.err != nil {
			b.discard()
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	if b.free > 0 && int64(len(p)) > b.free {
		p = p[:b.free]
	}
	n, err := b.ReadCloser.Read(p)
	b.free = max(b.free-int64(n), 0)
	return n, err
}
