package partner

import (
	"testing"
	"time"
)

func TestRetryWait(t *testing.T) {
	for attempts, want := range map[int]time.Duration{
		1: 5 * time.Second, 2: 5 * time.Minute, 3: 30 * time.Minute, 4: 2 * time.Hour, 5: 5 * time.Hour, 6: 10 * time.Hour, 7: 14 * time.Hour,
		8: 20 * time.Hour, 9: 24 * time.Hour,
	} {
		if got, again := RetryWait(attempts); got != want || !again {
			t.Errorf("after %d attempts: %v, %v; want %v", attempts, got, again, want)
		}
	}
	for _, attempts := range []int{0, 10, 11, 1000} {
		if _, again := RetryWait(attempts); again {
			t.Errorf("retried after %d attempts", attempts)
		}
	}
}

func TestDisabledReason(t *testing.T) {
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	for _, c := range []struct {
		name      string
		created   time.Duration
		succeeded *time.Time
		delivery  Delivery
		want      string
	}{
		{"a failure", 1000 * time.Hour, nil, Delivery{Failure: Failure{Text: "no"}}, ""},
		{"gone", time.Hour, ago(0), Delivery{Failure: Failure{Text: "no"}, Gone: true}, DisabledGone},
		{"given up, but others succeed", 1000 * time.Hour, ago(time.Hour), Delivery{Failure: Failure{Text: "no"}, GivenUp: true}, ""},
		{"given up, and nothing succeeds", 1000 * time.Hour, ago(76 * time.Hour), Delivery{Failure: Failure{Text: "no"}, GivenUp: true}, DisabledFailing},
		{"given up, never succeeded", 76 * time.Hour, nil, Delivery{Failure: Failure{Text: "no"}, GivenUp: true}, DisabledFailing},
	} {
		w := &WebhookRow{CreatedAt: now.Add(-c.created), LastSuccessAt: c.succeeded}
		if got := disabledReason(w, c.delivery, now); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
