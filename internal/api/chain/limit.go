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

// Limits of calls. A rate of zero or less does not limit.
type Limits struct {
	// Of each integration, of each address that calls without a credential, and of refused calls of each address.
	PerMinute      int // calls that are no batch
	Burst          int
	BatchPerMinute int
	// Of each token of staff, their scripts and operators.
	TokenPerMinute int
	TokenBurst     int
}

// maxSubjects bounds how many subjects a limiter remembers.
const maxSubjects = 1 << 16

type limiter struct {
	name   string
	minute int
	burst  int
	policy string

	mu       sync.Mutex
	subjects map[string]*rate.Limiter
}

// newLimiter returns nil for no limit.
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

// take counts one call and says in the header what is left, as the IETF's draft
// "RateLimit header fields for HTTP" writes it.
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
	return fault.New(fault.Exhausted, fault.RateLimited, "too many %s: at most %d at once and %d a minute; wait as Retry-After says", l.name, l.burst, l.minute).
		Put("quota", l.name).Retry(max(wait, time.Millisecond))
}

func (l *limiter) bucket(now time.Time, subject string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.subjects[subject]
	if b == nil {
		if len(l.subjects) >= maxSubjects {
			l.forget(now)
		}
		b = rate.NewLimiter(rate.Limit(float64(l.minute)/60), l.burst)
		l.subjects[subject] = b
	}
	return b
}

// forget drops the subjects that are as good as new, and if there are none, an eighth of
// those remembered, whichever come first.
func (l *limiter) forget(now time.Time) {
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
