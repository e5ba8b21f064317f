package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
)

const (
	findLocksRetry = time.Second            // interval of attempts to get the locks from the driver
	updateDelay    = 100 * time.Millisecond // the wait before status reads, so that several signals of a returning broker cause one read
)

// findLocks returns the locks of the driver. It asks a [driver.Remote], which connects to another program, again every findLocksRetry until
// it knows its locks or ctx ends (then the error is that of ctx). It asks any other driver once and returns its error.
func (b *Bridge) findLocks(ctx context.Context) ([]driver.Lock, error) {
	_, remote := b.cfg.Driver.(driver.Remote)
	for {
		locks, err := b.cfg.Driver.Locks(ctx)
		if err == nil || !remote {
			return locks, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b.log.Warn("the locks are not known yet", "error", err)
		if !clock.Sleep(ctx, findLocksRetry) {
			return nil, ctx.Err()
		}
	}
}

// followDriver reads the status of all locks whenever a [driver.Remote] signals that its connection or a lock's status may have changed,
// until ctx ends. For other drivers it returns at once.
func (b *Bridge) followDriver(ctx context.Context) {
	d, ok := b.cfg.Driver.(driver.Remote)
	if !ok {
		return
	}
	for {
		select {
		case <-d.Updates():
		case <-ctx.Done():
			return
		}
		if !clock.Sleep(ctx, updateDelay) {
			return
		}
		for _, l := range b.locks {
			b.readStatus(ctx, l)
		}
	}
}

// ConnectionHealth is the state of the driver's connection to the program through which it reaches the locks, such as an MQTT broker.
type ConnectionHealth struct {
	Peer   string    `json:"peer"`             // Peer is the other program, such as MQTT broker 127.0.0.1:1883
	Cause  string    `json:"cause,omitempty"`  // Cause is brokerUnreachable or gatewayOffline; empty: connected
	Detail string    `json:"detail,omitempty"` // Detail describes the cause, for display
	Since  time.Time `json:"since"`            // Since is when the connection was made or lost
}

// connectionHealth returns the state of the driver's connection to another program; nil for a driver that needs none.
func (b *Bridge) connectionHealth() *ConnectionHealth {
	d, ok := b.cfg.Driver.(driver.Remote)
	if !ok {
		return nil
	}
	c := d.Connection()
	return &ConnectionHealth{Peer: c.Peer, Cause: c.Cause, Detail: c.Detail, Since: c.Since}
}
