package slot

// Result is the lock's or driver's answer to one operation.
type Result string

// The results of setting, clearing or reading a slot.
const (
	OK             Result = "ok"
	NotConfirmed   Result = "unconfirmed"   // it was sent, and the lock does not answer such operations
	Duplicate      Result = "duplicate"     // another slot holds this PIN: final for this PIN on this lock
	Occupied       Result = "occupied"      // the slot holds a credential that is not ours
	SlotsFull      Result = "slotsFull"     // the lock has no free slot
	InvalidFormat  Result = "invalidFormat" // the PIN breaks a rule of the lock
	Unsupported    Result = "unsupported"   // the lock cannot do this
	LockOffline    Result = "lockOffline"
	Busy           Result = "busy" // nothing was sent; try again
	Timeout        Result = "timeout"
	ClockUntrusted Result = "clockUntrusted" // a window cannot be kept with this clock
	LowPower       Result = "lowPower"
	Jammed         Result = "jammed"
)

// Results lists every result once.
func Results() []Result {
	return []Result{OK, NotConfirmed, Duplicate, Occupied, SlotsFull, InvalidFormat, Unsupported,
		LockOffline, Busy, Timeout, ClockUntrusted, LowPower, Jammed}
}

// Final reports whether a retry of the same operation is pointless, so that the server has to desire something else. All other results
// but OK are transient.
func (r Result) Final() bool {
	switch r {
	case Duplicate, Occupied, SlotsFull, InvalidFormat, Unsupported:
		return true
	}
	return false
}

// Transient reports whether the same operation may succeed later.
func (r Result) Transient() bool { return r != OK && r != "" && !r.Final() }

// MayTakeEffect reports whether an operation with this answer may still take effect on the lock until its lifetime ends. LockOffline
// counts: in a Zigbee network, the parent of a sleeping lock may hold the frame.
func (r Result) MayTakeEffect() bool { return r == NotConfirmed || r == Timeout || r == LockOffline }

// The reasons why a bridge reaches none of its locks.
const (
	BrokerUnreachable = "brokerUnreachable" // it has no connection to the MQTT broker
	GatewayOffline    = "gatewayOffline"    // the program between the broker and the radio, such as Zigbee2MQTT, does not run
)
