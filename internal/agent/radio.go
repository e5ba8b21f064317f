package agent

import (
	"context"
	"slices"
	"sync"
)

// radio is a mutex for a radio channel, which carries one call at a time. The zero value is free. Unlock commands go first, because they
// expire after seconds: at the hour of check-in, the calls for the codes of all locks take minutes.
type radio struct {
	mu     sync.Mutex
	busy   bool
	first  []chan struct{} // unlock commands that wait, in their order; each channel is closed at its turn
	others []chan struct{} // other calls that wait, in their order; each channel is closed at its turn
}

// acquire waits for the radio. It returns false if ctx ends. After true, the caller must call release.
func (r *radio) acquire(ctx context.Context) bool { return r.waitIn(ctx, &r.others) }

// acquireFirst is acquire for an unlock command, which waits only for the running call and for unlock commands before it.
func (r *radio) acquireFirst(ctx context.Context) bool { return r.waitIn(ctx, &r.first) }

// waitIn waits in a queue of the radio, r.first or r.others. It returns false if ctx ends first; the caller then does not have the radio.
func (r *radio) waitIn(ctx context.Context, queue *[]chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	turn := r.enter(queue)
	if turn == nil {
		return true
	}
	select {
	case <-turn:
		return true
	case <-ctx.Done():
		r.cancelWait(queue, turn)
		return false
	}
}

// enter takes the radio and returns nil, or enters a queue and returns the channel that is closed at its turn.
func (r *radio) enter(queue *[]chan struct{}) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.busy {
		r.busy = true
		return nil
	}
	turn := make(chan struct{})
	*queue = append(*queue, turn)
	return turn
}

// cancelWait removes a turn from a queue. If the turn has come meanwhile, it passes the radio on.
func (r *radio) cancelWait(queue *[]chan struct{}, turn chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(*queue, turn); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
		return
	}
	r.pass()
}

// release lets the next call use the radio, after acquire or acquireFirst.
func (r *radio) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
}

// pass gives the radio to the next call that waits. The caller holds the mutex.
func (r *radio) pass() {
	for _, queue := range []*[]chan struct{}{&r.first, &r.others} {
		if len(*queue) > 0 {
			close((*queue)[0])
			*queue = slices.Delete(*queue, 0, 1)
			return
		}
	}
	r.busy = false
}
