package bus

// For tests.
const (
	PingInterval    = pingInterval
	PingsUnanswered = pingsUnanswered
)
