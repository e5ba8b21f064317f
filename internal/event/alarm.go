package event

// What happens to a lock itself, besides lock.offline and lock.batteryLow.
const (
	LockTampered Kind = "lock.tampered" // codes were changed at the lock, it was opened up or forced, or reset
	LockJammed   Kind = "lock.jammed"
)
