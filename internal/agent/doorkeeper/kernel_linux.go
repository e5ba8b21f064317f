package doorkeeper

import (
	"syscall"
	"time"
)

// unsynchronized is the flag STA_UNSYNC of adjtimex(2).
const unsynchronized = 0x40

// kernelClock returns the maximum error of the machine's clock. ok is false if the kernel does not count the clock as synchronized.
func kernelClock() (bound time.Duration, ok bool) {
	var t syscall.Timex
	if _, err := syscall.Adjtimex(&t); err != nil || t.Status&unsynchronized != 0 {
		return 0, false
	}
	return time.Duration(t.Maxerror) * time.Microsecond, true
}
