//go:build !linux

package doorkeeper

import "time"

// kernelClock is unknown on other kernels.
func kernelClock() (bound time.Duration, ok bool) { return 0, false }
