package chain

import (
	"bytes"
	"io"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/fault"
)

// memoryOnly returns a chain that can only count requests and memory.
func memoryOnly() *Chain {
	return &Chain{decodeMemory: semaphore.NewWeighted(decodeMemoryBytes), arrivals: &arrivals{bySender: map[string]arriving{}}}
}

// TestArrivingBodiesReserveMemory reads bodies of several senders and ends no call.
func TestArrivingBodiesReserveMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memoryOnly()
		var open []*Call
		read := func(sender string, size int, known bool) (reserved int64, err error) {
			call := &Call{chain: c, memory: reservation{chain: c, sender: sender}}
			open = append(open, call)
			r := httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, size)))
			if !known {
				r.ContentLength = -1
			}
			n, err := io.Copy(io.Discard, call.Body(t.Context(), httptest.NewRecorder(), r, new(bool)))
			if err == nil && n != int64(size) {
				t.Errorf("%d of %d bytes were read", n, size)
			}
			return call.memory.bytes, err
		}
		for _, step := range []struct {
			sender   string
			size     int
			known    bool
			reserved int64
			wait     time.Duration
		}{
			{"a", unreservedBytes, true, 0, 0},
			{"a", unreservedBytes, false, 0, 0},
			{"a", unreservedBytes + 1, true, unreservedBytes + 1, 0},
			{"a", 1 << 20, true, 1 << 20, 0},
			{"a", 2 << 20, true, 1 << 20, 0},              // more than a call may have
			{"a", unreservedBytes + 2, false, 1 << 20, 0}, // how much follows is not known
			{"a", 1 << 20, true, 0, maxReserveWait},       // the sender has its share
			{"a", unreservedBytes, true, 0, 0},
			{"b", 1 << 20, true, 1 << 20, 0},
		} {
			began := time.Now()
			reserved, err := read(step.sender, step.size, step.known)
			if reserved != step.reserved || time.Since(began) != step.wait {
				t.Errorf("%+v: %d bytes are reserved after %v", step, reserved, time.Since(began))
			}
			if f, ok := fault.Of(err); ok != (step.wait > 0) || ok && f.Kind != fault.Unavailable {
				t.Errorf("%+v: %v", step, err)
			}
		}
		for _, call := range open {
			call.End()
		}
		if len(c.arrivals.bySender) > 0 || !c.decodeMemory.TryAcquire(decodeMemoryBytes) {
			t.Errorf("ended calls use %v", c.arrivals.bySender)
		}
	})
}

// A body that has arrived reserves only its size, and no longer takes the share of its sender.
func TestArrivedBodyFreesTheRest(t *testing.T) {
	c := memoryOnly()
	call := &Call{chain: c, memory: reservation{chain: c, sender: "a"}}
	defer call.End()
	r := httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, 20<<10)))
	r.ContentLength = -1
	if _, err := io.Copy(io.Discard, call.Body(t.Context(), httptest.NewRecorder(), r, new(bool))); err != nil {
		t.Fatal(err)
	}
	if err := call.Reserve(t.Context(), 20<<10); err != nil || call.memory.bytes != 20<<10 || len(c.arrivals.bySender) > 0 {
		t.Errorf("%v: %d bytes, %v", err, call.memory.bytes, c.arrivals.bySender)
	}
}

// TestSenders counts unfinished calls by token, integration and network.
func TestSenders(t *testing.T) {
	c := memoryOnly()
	begin := func(client string, a actor.Actor) (*Call, error) {
		call := &Call{chain: c, actor: a, memory: reservation{chain: c}}
		if client != "" {
			call.Client = clientAddr(FromHTTP(t.Context(), httptest.NewRequest("GET", "/", nil)), nil, nil)
		}
		return call, call.beginArrival()
	}
	staff, guest := actor.Actor{Kind: actor.Staff, TokenID: "tok_1"}, actor.Actor{Kind: actor.Guest, TokenID: "ses_1"}
	partner := actor.Actor{Kind: actor.Integration, IntegrationID: "int_1", TokenID: "tok_2"}
	for _, a := range []actor.Actor{staff, guest, partner, {}} {
		var last *Call
		for range maxUnfinished {
			call, err := begin("192.0.2.1", a)
			if err != nil {
				t.Fatal(err)
			}
			last = call
		}
		if _, err := begin("192.0.2.1", a); !fault.Has(err, fault.RateLimited) {
			t.Errorf("%+v: one too many: %v", a, err)
		}
		last.MessageArrived()
		last.End()
		if _, err := begin("192.0.2.1", a); err != nil {
			t.Errorf("%+v: the place of a finished call: %v", a, err)
		}
	}
	for range maxUnfinished + 1 {
		if _, err := begin("", staff); err != nil {
			t.Fatalf("over the socket: %v", err)
		}
	}
}
