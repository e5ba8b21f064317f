package chain

import (
	"context"
	"errors"
	"time"

	"latchkey.dev/internal/fault"
)

const (
	// decodeMemoryBytes bounds the estimated memory of all requests that arrive or are decoded at the same time.
	decodeMemoryBytes = 32 << 20
	// maxArrivingBytes bounds the memory that the requests of one sender reserve until they have arrived completely. A sender that sends
	// slowly, or never finishes, leaves the rest of decodeMemoryBytes to others.
	maxArrivingBytes = 4 << 20
	// unreservedBytes is the size up to which a request needs no reservation, so that small requests never wait for large ones.
	unreservedBytes = 16 << 10
	// maxReserveWait is how long a large request waits for free memory before it is refused.
	maxReserveWait = 5 * time.Second
)

// reservation is the part of the chain's memory that one request has reserved for its message.
type reservation struct {
	chain    *Chain
	sender   string // see arrivals
	bytes    int64  // bytes of Chain.decodeMemory; 0: nothing is reserved
	arriving int64  // the part of bytes that counts for the sender in Chain.arrivals
}

// reserve waits until n bytes are free and reserves them in place of the former reservation. It fails after maxReserveWait, or when ctx
// ends, and then the request has no reservation. With arriving, the bytes also count for the sender.
func (m *reservation) reserve(ctx context.Context, n int64, arriving bool) error {
	m.release()
	n = min(n, decodeMemoryBytes)
	ctx, cancel := context.WithTimeout(ctx, maxReserveWait)
	defer cancel()
	if arriving && m.sender != "" {
		if err := m.chain.arrivals.reserve(ctx, m.sender, n); err != nil {
			return noMemory(err)
		}
		m.arriving = n
	}
	if err := m.chain.decodeMemory.Acquire(ctx, n); err != nil {
		m.endArrival()
		return noMemory(err)
	}
	m.bytes = n
	return nil
}

// noMemory returns the fault (Unavailable, to retry) for a request that got no memory because of err. It returns err if the caller has gone
// away.
func noMemory(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New(fault.Unavailable, fault.UnavailableReason, "too many large requests are being read at once: send this one again shortly").Retry(time.Second)
}

// shrink frees the part of the reservation above n bytes, because the message has arrived and is no larger. It also stops counting the
// bytes for the sender.
func (m *reservation) shrink(n int64) {
	m.endArrival()
	m.chain.decodeMemory.Release(m.bytes - n)
	m.bytes = n
}

// endArrival stops counting the bytes for the sender.
func (m *reservation) endArrival() {
	if m.arriving > 0 {
		m.chain.arrivals.release(m.sender, m.arriving)
		m.arriving = 0
	}
}

// release frees the reserved memory, if any.
func (m *reservation) release() {
	m.endArrival()
	if m.bytes > 0 {
		m.chain.decodeMemory.Release(m.bytes)
		m.bytes = 0
	}
}

// Reserve waits until memory for decoding a request is free and reserves it until the request is validated or the call ends. bytes is the
// estimate for the whole request. A small request, of at most unreservedBytes, needs none. A call that has reserved more already keeps only
// bytes of it; otherwise the new reservation replaces the former one. It fails after maxReserveWait, or when ctx ends, and does nothing for
// a nil call.
func (call *Call) Reserve(ctx context.Context, bytes int) error {
	if call == nil || bytes <= unreservedBytes {
		return nil
	}
	if n := int64(bytes); n <= call.memory.bytes {
		call.memory.shrink(n)
		return nil
	}
	return call.memory.reserve(ctx, int64(bytes), false)
}

// releaseMemory frees the memory that the call has reserved, if any.
func (call *Call) releaseMemory() { call.memory.release() }
