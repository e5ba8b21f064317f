package slot

// Result is the answer of a lock or its driver to one operation.
type Result string

const (
	OK             Result = "ok"
	NotConfirmed   Result = "unconfirmed" // the operation was sent, and the lock does not acknowledge such operations
	Duplicate      Result = "duplicate"   // another slot holds this PIN: a retry with this PIN is pointless
	Occupied       Result = "occupied"    // the slot holds a credential that Latchkey did not set
	SlotsFull      Result = "slotsFull"
	InvalidFormat  Result = "invalidFormat" // the PIN breaks a rule of the lock
	Unsupported    Result = "unsupported"   // the lock does not support the operation
	LockOffline    Result = "lockOffline"
	Busy           Result = "busy" // nothing was sent; retry later
	Timeout        Result = "timeout"
	ClockUntrusted Result = "clockUntrusted" // the lock cannot enforce a window because its clock is wrong
	LowPower       Result = "lowPower"
	Jammed         Result = "jammed"
)

// Results returns all results that a driver may answer.
func Results() []Result {
	return []Result{OK, NotConfirmed, Duplicate, Occupied, SlotsFull, InvalidFormat, Unsupported,
		LockOffline, Busy, Timeout, ClockUntrusted, LowPower, Jammed}
}

// Final reports whether a retry of the same operation is pointless, so that the server must desire something else. It is false for OK,
// which needs no retry, and for each result after which a retry may succeed, also for a result of a newer bridge that is unknown here.
func (r Result) Final() bool {
	switch r {
	case Duplicate, Occupied, SlotsFull, InvalidFormat, Unsupported:
		return true
	}
	return false
}

// MayTakeEffect reports whether an operation with this result may still take effect on the lock until its lifetime
// ends. LockOffline counts: in a Zigbee network, the parent of a sleeping lock may hold the frame.
func (r Result) MayTakeEffect() bool { return r == NotConfirmed || r == Timeout || r == LockOffline }

// Reasons why a bridge reaches none of its locks.
const (
	BrokerUnreachable = "brokerUnreachable" // the bridge has no connection to the MQTT broker
	GatewayOffline    = "gatewayOffline"    // the program between the MQTT broker and the radio, such as Zigbee2MQTT, does not run
)
