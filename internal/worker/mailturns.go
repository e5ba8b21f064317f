package worker

import (
	"sync"
	"time"

	"latchkey.dev/internal/clock"
)

const (
	// maxSends is how many mails of one property a process sends at once, and maxSlowSends how many if its mail server is slow. All
	// properties share the job queue, so a server that keeps each connection open would otherwise delay the mails of every other property.
	maxSends     = 16
	maxSlowSends = 4
	// urgentSends is how many more mails of one property may be sent at once if a person waits for them: see [mail.Kind.IsUrgent]. A guest at
	// the door would otherwise wait for the code until the invitations of the season are sent.
	urgentSends = 4
	// slowSend is the duration of an attempt from which the mail server of a property counts as slow, until another takes less. Only
	// maxSlowSends of its mails are sent at once meanwhile.
	slowSend = 5 * time.Second
	// sendWait is the average wait of a mail for which its property has no turn, if few mails wait.
	sendWait = 5 * time.Second
	// waitStep is the time between two mails of a property that try again to get a turn. Thousands of mails may wait, and each try writes to
	// the job queue.
	waitStep = 20 * time.Millisecond
)

// mailTurns bounds the attempts of each property that run at once. The zero value is ready to use.
type mailTurns struct {
	mu      sync.Mutex
	running map[string]int
	slow    map[string]bool
	last    map[string]time.Time // when the last of the mails that wait for a turn tries again
}

// take reports whether an attempt of a property may run now. If so, the caller must end its turn. urgent means that a person waits for the
// mail.
func (t *mailTurns) take(propertyID string, urgent bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := maxSends
	if t.slow[propertyID] {
		limit = maxSlowSends
	}
	if urgent {
		limit += urgentSends
	}
	if t.running[propertyID] >= limit {
		return false
	}
	if t.running == nil {
		t.running, t.slow = map[string]int{}, map[string]bool{}
	}
	t.running[propertyID]++
	return true
}

// end ends a turn. took is how long the attempt ran: from slowSend on, the mail server of the property counts as slow, otherwise no longer.
func (t *mailTurns) end(propertyID string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running[propertyID]--; t.running[propertyID] == 0 {
		delete(t.running, propertyID)
	}
	if took >= slowSend {
		t.slow[propertyID] = true
	} else {
		delete(t.slow, propertyID)
	}
}

// wait returns how long a mail of a property that got no turn waits before it tries again: about sendWait, and waitStep longer than the mail
// before it if many wait.
func (t *mailTurns) wait(propertyID string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := now.Add(clock.Spread(sendWait, sendWait/2))
	if after := t.last[propertyID].Add(waitStep); after.After(at) {
		at = after
	}
	if t.last == nil {
		t.last = map[string]time.Time{}
	}
	for id, last := range t.last {
		if last.Before(now) {
			delete(t.last, id) // none of its mails waits any more
		}
	}
	t.last[propertyID] = at
	return at.Sub(now)
}
