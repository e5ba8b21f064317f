//go:build !linux

package doorkeeper

import "time"

// kernelClock reports that synchronization is unknown on kernels other than Linux.
func kernelClock() (bound time.Duration, ok bool) { return 0, false }
