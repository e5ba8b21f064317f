package db

import (
	"syscall"
	"time"
)

// threadTime returns the CPU time that the calling thread has used.
func threadTime() time.Duration {
	const thread = 1 // the value of RUSAGE_THREAD
	var used syscall.Rusage
	if syscall.Getrusage(thread, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
