package event

// Kinds of events about a lock itself, in addition to lock.offline and lock.batteryLow.
const (
	LockTampered Kind = "lock.tampered" // codes were changed at the lock, or it was opened, forced or reset
	LockJammed   Kind = "lock.jammed"
)
