package chain

import (
	"context"
	"errors"
	"sync"
	"time"

	"latchkey.dev/internal/fault"
)

const (
	// decodeMemoryBytes bounds the estimated memory of all requests that are decoded at the same time.
	decodeMemoryBytes = 32 << 20
	// unreservedBytes is the size up to which a request needs no reservation, so that small requests never wait for large ones.
	unreservedBytes = 16 << 10
	// maxReserveWait is how long a large request waits for free memory.
	maxReserveWait = 5 * time.Second
)

// Reserve waits until memory for decoding a request is free and reserves it until the request is validated or the call ends. It fails after
// maxReserveWait. A request of at most unreservedBytes needs no reservation; a larger one replaces the former reservation of the call.
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

// releaseMemory frees the memory that Reserve reserved, if any.
func (call *Call) releaseMemory() {
	if call.reserved > 0 {
		call.chain.decodeMemory.Release(call.reserved)
		call.reserved = 0
	}
}

// maxUnfinished bounds the unfinished calls without a credential of one client network. A stream is unfinished until it ends.
const maxUnfinished = 64

// unfinishedCalls counts the calls without a credential whose message has not arrived completely, by client network.
type unfinishedCalls struct {
	mu        sync.Mutex
	byNetwork map[string]int
}

// acquire counts a call as unfinished and returns the function that ends the count. The function is nil for calls that are not counted:
// those with a credential or over the Unix socket. It fails at maxUnfinished calls.
func (a *unfinishedCalls) acquire(call *Call) (release func(), err error) {
	if call.actor.Kind != "" || !call.Client.IsValid() {
		return nil, nil
	}
	network := ClientNetwork(call.Client)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byNetwork[network] >= maxUnfinished {
		return nil, fault.New(fault.Exhausted, fault.RateLimited, "more than %d requests from this address are unfinished: finish them first", maxUnfinished).
			Put("quota", "unfinished").Retry(time.Second)
	}
	a.byNetwork[network]++
	return func() { a.release(network) }, nil
}

// release ends the count of one call from a network.
func (a *unfinishedCalls) release(from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byNetwork[from]--; a.byNetwork[from] == 0 {
		delete(a.byNetwork, from)
	}
}
