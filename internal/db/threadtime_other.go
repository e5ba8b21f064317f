//go:build !linux

package db

import "time"

// threadTime returns 0 on this system, so that LimitComputing has no effect.
func threadTime() time.Duration { return 0 }
