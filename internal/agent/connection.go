package agent

import (
	"context"
	"time"

	"latchkey.dev/internal/agent/driver"
	"latchkey.dev/internal/clock"
)

const (
	findLocksRetry = time.Second            // between two attempts to get the driver's locks
	updateDelay    = 100 * time.Millisecond // collects the driver's updates; a returning broker causes several
)

// findLocks waits until the driver knows its locks. A driver without a connection of its own knows them at once or fails.
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

// followDriver reads the status of all locks whenever the driver signals a change.
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

// ConnectionHealth is the state of the driver's connection to the program through which it reaches the locks.
type ConnectionHealth struct {
	Peer   string    `json:"peer"`            // such as MQTT broker 127.0.0.1:1883
	Cause  string    `json:"cause,omitempty"` // brokerUnreachable or gatewayOffline; empty: connected
	Detail string    `json:"detail,omitempty"`
	Since  time.Time `json:"since"`
}

// connectionHealth returns nil for a driver without such a connection.
func (b *Bridge) connectionHealth() *ConnectionHealth {
	d, ok := b.cfg.Driver.(driver.Remote)
	if !ok {
		return nil
	}
	c := d.Connection()
	return &ConnectionHealth{Peer: c.Peer, Cause: c.Cause, Detail: c.Detail, Since: c.Since}
}
