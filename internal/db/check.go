package db

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"latchkey.dev/ent/secret"
	"latchkey.dev/internal/fault"
)

// Check returns nil if the database answers and stores changes. After a storage error of a Write, Check returns that fault until a probe
// write succeeds, which Check itself runs at most every 2 s: on a full disk, writes fail while queries still work.
func (d *DB) Check(ctx context.Context) error {
	if err := d.engine.check(ctx); err != nil {
		return Explain(err)
	}
	return d.storageState.check(func() error { return d.probe(ctx) })
}

// storageState holds the last storage error with which a change failed; fault is nil if there is none, or after a successful probe.
type storageState struct {
	fault  atomic.Pointer[fault.Fault]
	mu     sync.Mutex // mu is held during a probe
	probed time.Time
	row    string // row is the id of the row that a probe writes
}

// probeInterval is the shortest time between two probes, however often Check is called.
const probeInterval = 2 * time.Second

// note records err if it is a storage error that Explain has converted. It ignores any other error, and nil: only a successful probe clears
// the recorded one. Every Write calls it with its outcome.
func (t *storageState) note(err error) {
	if f, ok := fault.Of(err); ok && isStorageFault(f) {
		t.fault.Store(f)
	}
}

// check returns the recorded error, or nil. It calls probe at most once per probeInterval, and clears the error when a probe succeeds.
func (t *storageState) check(probe func() error) error {
	if t.fault.Load() == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.fault.Load()
	if last == nil {
		return nil
	}
	if time.Since(t.probed) >= probeInterval {
		t.probed = time.Now()
		err := probe()
		if err == nil {
			t.fault.CompareAndSwap(last, nil)
			return nil
		}
		t.note(err)
	}
	return fault.Err(t.fault.Load())
}

// probe writes a row of 64 KiB, which fails on a full disk, and deletes it. Each process has its own row.
func (d *DB) probe(ctx context.Context) error {
	filler := make([]byte, 64<<10)
	_, _ = rand.Read(filler) // the bytes are random, because PostgreSQL compresses values
	remove := func(tx *Tx) error {
		_, err := tx.Secret.Delete().Where(secret.ID(d.storageState.row)).Exec(tx.Context())
		return err
	}
	err := d.engine.write(ctx, func(tx *Tx) error {
		if err := remove(tx); err != nil { // delete the row that an earlier probe failed to delete
			return err
		}
		return tx.Secret.Create().SetID(d.storageState.row).SetSealed(filler).Exec(tx.Context())
	})
	if err == nil {
		err = d.engine.write(ctx, remove)
	}
	return Explain(err)
}
