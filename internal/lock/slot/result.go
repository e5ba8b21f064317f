package slot

// Result is the lock's or driver's answer to one operation.
type Result string

// The results of setting, clearing or reading a slot.
const (
	OK             Result = "ok"
	NotConfirmed   Result = "unconfirmed"   // sent, no answer will ever come
	Duplicate      Result = "duplicate"     // another slot holds this PIN: final for this PIN on this lock
	Occupied       Result = "occupied"      // the slot holds a credential that is not ours
	SlotsFull      Result = "slotsFull"     // the lock has no room
	InvalidFormat  Result = "invalidFormat" // the lock's PIN rules refuse it
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

// Final reports whether trying the same again is pointless: the server has to desire something
// else. Everything else but OK is transient.
func (r Result) Final() bool {
	switch r {
	case Duplicate, Occupied, SlotsFull, InvalidFormat, Unsupported:
		return true
	}
	return false
}

// Transient reports whether the same operation may succeed later.
func (r Result) Transient() bool { return r != OK && r != "" && !r.Final() }

// MayLand reports whether the operation so answered can still take effect on the lock until its
// lifetime ends. LockOffline counts: a sleepy device's parent may hold the frame.
func (r Result) MayTakeEffect() bool { return r == NotConfirmed || r == Timeout || r == LockOffline }

// Why a bridge reaches none of its locks, whatever their own state is.
const (
	BrokerUnreachable = "brokerUnreachable" // it has no connection to the MQTT broker
	GatewayOffline    = "gatewayOffline"    // the program between the broker and the radio, such as Zigbee2MQTT, does not run
)
