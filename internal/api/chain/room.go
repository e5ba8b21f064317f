package chain

import (
	"context"
	"errors"
	"sync"
	"time"

	"latchkey.dev/internal/fault"
)

const (
	// decodingBytes bounds the bytes of requests that the process decodes at once, by what they take once decoded.
	decodingBytes = 32 << 20
	// smallBytes is what needs no room: calls of the usual size never wait for large ones.
	smallBytes = 16 << 10
	// maxRoomWait is how long a large request waits for room.
	maxRoomWait = 5 * time.Second
)

// Reserve waits until there is room to decode a request that takes so many bytes, and takes the room until the request is
// validated, or the call ends.
func (call *Call) Reserve(ctx context.Context, bytes int) error {
	if call == nil || bytes <= smallBytes {
		return nil
	}
	call.decoded()
	n := min(int64(bytes), decodingBytes)
	ctx, cancel := context.WithTimeout(ctx, maxRoomWait)
	defer cancel()
	if err := call.chain.decoding.Acquire(ctx, n); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return fault.New(fault.Unavailable, fault.UnavailableReason, "too many large requests are being read at once: send this one again shortly").Retry(time.Second)
	}
	call.room = n
	return nil
}

// decoded gives back the room that the call's request took.
func (call *Call) decoded() {
	if call.room > 0 {
		call.chain.decoding.Release(call.room)
		call.room = 0
	}
}

// maxAwaited is how many messages of calls that need no credential one address may leave unfinished at once. A stream counts
// for as long as it lasts.
const maxAwaited = 64

// awaited counts, by address, the calls without a credential whose message has not arrived.
type awaited struct {
	mu sync.Mutex
	by map[string]int
}

// take takes a place for a call and returns what gives it back, nil if the call needs none.
func (a *awaited) take(call *Call) (back func(), err error) {
	if call.who.Kind != "" || !call.Client.IsValid() {
		return nil, nil
	}
	from := network(call.Client)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by[from] >= maxAwaited {
		return nil, fault.New(fault.Exhausted, fault.RateLimited, "more than %d requests from this address are unfinished: finish them first", maxAwaited).
			Put("quota", "unfinished").Retry(time.Second)
	}
	a.by[from]++
	return func() { a.give(from) }, nil
}

func (a *awaited) give(from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by[from]--; a.by[from] == 0 {
		delete(a.by, from)
	}
}
