package chain

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"latchkey.dev/internal/fault"
)

// TestLargeRequestsShareMemory sends more large requests than the process decodes at the same time.
func TestLargeRequestsShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memoryOnly()
		large := func() *Call { return &Call{chain: c, memory: reservation{chain: c}} }
		var held []*Call
		for range decodeMemoryBytes / MaxRequestBytes {
			call := large()
			if err := call.Reserve(t.Context(), MaxRequestBytes); err != nil {
				t.Fatal(err)
			}
			held = append(held, call)
		}
		began := time.Now()
		late := large()
		f, ok := fault.Of(late.Reserve(t.Context(), MaxRequestBytes))
		if !ok || f.Kind != fault.Unavailable || f.RetryAfter <= 0 || time.Since(began) != maxReserveWait {
			t.Errorf("one too many: %+v after %v", f, time.Since(began))
		}
		late.End()
		if err := large().Reserve(t.Context(), unreservedBytes); err != nil {
			t.Errorf("a small request waits: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := late.Reserve(gone, MaxRequestBytes); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that went away: %v", err)
		}
		held[0].releaseMemory()
		held[0].End()
		if err := late.Reserve(t.Context(), MaxRequestBytes); err != nil {
			t.Errorf("the room that was given back: %v", err)
		}
		for _, call := range append(held, late) {
			call.End()
		}
		if err := large().Reserve(t.Context(), 100*decodeMemoryBytes); err != nil {
			t.Errorf("a request larger than all the room, alone: %v", err)
		}
	})
}
