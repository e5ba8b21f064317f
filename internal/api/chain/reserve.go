package chain

import (
	"context"
	"errors"
	"sync"
	"time"

	"latchkey.dev/internal/fault"
)

const (
	// decodeMemoryBytes bounds the estimated memory of all requests that the process decodes at the same time.
	decodeMemoryBytes = 32 << 20
	// unreservedBytes is the size up to which no reservation is needed: small requests never wait for large ones.
	unreservedBytes = 16 << 10
	// maxReserveWait is how long a large request waits for memory.
	maxReserveWait = 5 * time.Second
)

// Reserve waits until the memory to decode a request is available, and reserves it until the request is validated or
// the call ends.
func (call *Call) Reserve(ctx context.Context, bytes int) error {
	if call == nil || bytes <= unreservedBytes {
		return nil
	}
	call.releaseMemory()
	n := min(int64(bytes), decodeMemoryBytes)
	ctx, cancel := context.WithTimeout(ctx, maxReserveWait)
	defer cancel()
	if err := call.chain.decodeMemory.Acquire(ctx, n); err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		return fault.New(fault.Unavailable, fault.UnavailableReason, "too many large requests are being read at once: send this one again shortly").Retry(time.Second)
	}
	call.reserved = n
	return nil
}

// releaseMemory releases the memory that Reserve reserved.
func (call *Call) releaseMemory() {
	if call.reserved > 0 {
		call.chain.decodeMemory.Release(call.reserved)
		call.reserved = 0
	}
}

// maxUnfinished is how many calls without a credential one client network may have unfinished at a time. A stream
// counts until it ends.
const maxUnfinished = 64

// unfinishedCalls counts, by client network, the calls without a credential whose message has not arrived.
type unfinishedCalls struct {
	mu        sync.Mutex
	byNetwork map[string]int
}

// acquire counts a call and returns a function that ends the count. The function is nil if the call is not counted.
func (a *unfinishedCalls) acquire(call *Call) (release func(), err error) {
	if call.actor.Kind != "" || !call.Client.IsValid() {
		return nil, nil
	}
	network := clientNetwork(call.Client)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byNetwork[network] >= maxUnfinished {
		return nil, fault.New(fault.Exhausted, fault.RateLimited, "more than %d requests from this address are unfinished: finish them first", maxUnfinished).
			Put("quota", "unfinished").Retry(time.Second)
	}
	a.byNetwork[network]++
	return func() { a.release(network) }, nil
}

func (a *unfinishedCalls) release(from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byNetwork[from]--; a.byNetwork[from] == 0 {
		delete(a.byNetwork, from)
	}
}
