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

// Check says whether the database answers and stores changes. A fault of the storage that a change has met is reported
// until a probe is stored: a full disk refuses changes while queries go on.
func (d *DB) Check(ctx context.Context) error {
	if err := d.engine.check(ctx); err != nil {
		return Explain(err)
	}
	return d.trouble.check(func() error { return d.probe(ctx) })
}

// trouble is the last fault of the storage that a change has met.
type trouble struct {
	fault  atomic.Pointer[fault.Fault]
	mu     sync.Mutex // held during a probe
	probed time.Time
	row    string // the id of what a probe stores
}

// probesApart is the least time between two probes, however often Check is called.
const probesApart = 2 * time.Second

// note remembers a fault of the storage.
func (t *trouble) note(err error) {
	if f, ok := fault.Of(err); ok && isTrouble(f) {
		t.fault.Store(f)
	}
}

// check returns the remembered fault. It forgets the fault after a probe that is stored.
func (t *trouble) check(probe func() error) error {
	if t.fault.Load() == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.fault.Load()
	if last == nil {
		return nil
	}
	if time.Since(t.probed) >= probesApart {
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

// isTrouble tells the faults of the storage from those of a change. [fault.Fault.With] copies a fault, so the message identifies it.
func isTrouble(f *fault.Fault) bool {
	for _, known := range []*fault.Fault{errAway, errUnknown, errStandby, errFull, errCrowded, errSlow, errDisk} {
		if f.Message == known.Message {
			return true
		}
	}
	return false
}

// probe stores 64 KiB, so that the database needs room for it, and deletes it. Each process has a row of its own.
func (d *DB) probe(ctx context.Context) error {
	filler := make([]byte, 64<<10)
	_, _ = rand.Read(filler) // random, because PostgreSQL compresses; it never fails
	remove := func(tx *Tx) error {
		_, err := tx.Secret.Delete().Where(secret.ID(d.trouble.row)).Exec(tx.Context())
		return err
	}
	err := d.engine.write(ctx, func(tx *Tx) error {
		if err := remove(tx); err != nil { // of a probe that could not
			return err
		}
		return tx.Secret.Create().SetID(d.trouble.row).SetSealed(filler).Exec(tx.Context())
	})
	if err == nil {
		err = d.engine.write(ctx, remove)
	}
	return Explain(err)
}
