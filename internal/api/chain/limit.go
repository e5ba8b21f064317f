package chain

import (
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/metadata"

	"latchkey.dev/internal/fault"
)

// Limits are the rate limits of calls. A rate per minute of zero or less means no limit. A burst of zero or less means one call at once.
type Limits struct {
	// Limits per integration, per address for calls without a credential, and per address for refused calls.
	PerMinute      int // PerMinute limits calls other than batches; 0: no limit
	Burst          int // Burst is how many calls other than batches may come at once
	BatchPerMinute int // BatchPerMinute limits batches, in a minute and at once; 0: no limit
	// TokenPerMinute limits calls per token, batches included, for callers that are not integrations: staff, scripts, operators, guests and
	// kiosks; 0: no limit.
	TokenPerMinute int
	TokenBurst     int // TokenBurst is how many calls with one token may come at once; 0 counts as 1
}

// maxSubjects is how many integrations, tokens or addresses a limiter tracks. For a further one it forgets others, first those whose burst
// is completely free again.
const maxSubjects = 1 << 16

// limiter limits the calls of each subject, such as an integration, a token or an address. A nil limiter allows every call.
type limiter struct {
	name   string // "calls" or "batches", for headers and errors
	minute int    // calls per minute
	burst  int    // calls at once
	policy string // value of the header RateLimit-Policy

	mu       sync.Mutex
	subjects map[string]*rate.Limiter
}

// newLimiter creates a rate limiter; nil if the rate is zero or less. minute is the number of calls per minute, and burst of calls at once;
// a burst below 1 counts as 1.
func newLimiter(name string, minute, burst int) *limiter {
	if minute <= 0 {
		return nil
	}
	return &limiter{
		name: name, minute: minute, burst: max(burst, 1),
		policy:   fmt.Sprintf("%q;q=%d;w=60", name, minute),
		subjects: map[string]*rate.Limiter{},
	}
}

// take counts one call against the limit of a subject, and refuses it if the limit is reached. It sets the RateLimit headers of the IETF
// draft "RateLimit header fields for HTTP" in header. A nil limiter does nothing.
func (l *limiter) take(now time.Time, subject string, header metadata.MD) error {
	if l == nil {
		return nil
	}
	bucket := l.bucket(now, subject)
	ok := bucket.AllowN(now, 1)
	left := bucket.TokensAt(now)
	perSecond := float64(l.minute) / 60
	full := int(math.Ceil((float64(l.burst) - left) / perSecond))
	header[HeaderRatePolicy] = []string{l.policy}
	header[HeaderRateLimit] = []string{strconv.Quote(l.name) + ";r=" + strconv.Itoa(max(int(left), 0)) + ";t=" + strconv.Itoa(full)}
	if ok {
		return nil
	}
	wait := time.Duration((1 - left) / perSecond * float64(time.Second))
	return fault.New(fault.Exhausted, fault.RateLimited, "too many %s: at most %d at once and %d a minute; wait for the time in Retry-After", l.name, l.burst, l.minute).
		Put("quota", l.name).Retry(max(wait, time.Millisecond))
}

// bucket returns the token bucket of a subject. It creates a full one for a new subject; at maxSubjects it first evicts others, those that
// are full at now before the rest.
func (l *limiter) bucket(now time.Time, subject string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.subjects[subject]
	if b == nil {
		if len(l.subjects) >= maxSubjects {
			l.evictSubjects(now)
		}
		b = rate.NewLimiter(rate.Limit(float64(l.minute)/60), l.burst)
		l.subjects[subject] = b
	}
	return b
}

// evictSubjects removes the subjects whose token bucket is full again. If too many remain, it removes any others until seven eighths of
// maxSubjects remain. The caller holds l.mu.
func (l *limiter) evictSubjects(now time.Time) {
	for s, b := range l.subjects {
		if b.TokensAt(now) >= float64(l.burst) {
			delete(l.subjects, s)
		}
	}
	for s := range l.subjects {
		if len(l.subjects) <= maxSubjects*7/8 {
			return
		}
		delete(l.subjects, s)
	}
}
