package worker

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/bus"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/mobilekey"
)

const (
	// gatherTime is how long changes are gathered before the SmartKey status lists of their properties are updated.
	gatherTime = 20 * time.Millisecond
	// maxChanged bounds the queue of changed properties; the periodic sweep handles properties beyond it.
	maxChanged = 10_000
	issuerPage = 200
)

// SmartKeys revokes the SmartKeys of a reservation as soon as its access changes, and renews status lists and issuer
// keys.
type SmartKeys struct {
	DB   *db.DB
	Keys *keyring.Ring
	Log  *slog.Logger

	mu      sync.Mutex
	waiting map[string]bool // waiting are the properties with changed access
	changed chan struct{}
}

// NewSmartKeys returns a reconciler without queued properties. It works while [SmartKeys.Run] runs.
func NewSmartKeys(d *db.DB, keys *keyring.Ring, log *slog.Logger) *SmartKeys {
	return &SmartKeys{DB: d, Keys: keys, Log: log, waiting: map[string]bool{}, changed: make(chan struct{}, 1)}
}

// Notify queues a property in which access has changed. With maxChanged in the queue it does nothing: the sweep finds the change. It never
// blocks and is safe for concurrent use.
func (k *SmartKeys) Notify(propertyID string) {
	k.mu.Lock()
	if len(k.waiting) < maxChanged {
		k.waiting[propertyID] = true
	}
	k.mu.Unlock()
	bus.Signal(k.changed)
}

// takeWaiting returns the properties that wait for a check of their SmartKeys, and empties the list.
func (k *SmartKeys) takeWaiting() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := slices.Collect(maps.Keys(k.waiting))
	clear(k.waiting)
	return ids
}

// Run reconciles the queued properties until ctx ends. The periodic sweep finds lost changes.
func (k *SmartKeys) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.changed:
		}
		clock.Sleep(ctx, gatherTime)
		k.reconcileAll(ctx, k.DB, k.takeWaiting())
	}
}

// reconcileAll reconciles the SmartKeys of some properties, and logs failures: the next sweep retries them.
func (k *SmartKeys) reconcileAll(ctx context.Context, d *db.DB, propertyIDs []string) {
	for _, id := range propertyIDs {
		if err := k.reconcile(ctx, d, id); err != nil && ctx.Err() == nil {
			k.Log.Warn("reconciling the SmartKeys of a property failed; the next sweep retries", "property", id, "error", err)
		}
	}
}

// reconcile revokes and updates the SmartKeys of a property to fit the present access of their reservations. It writes only changes.
func (k *SmartKeys) reconcile(ctx context.Context, d *db.DB, propertyID string) error {
	due, suspected, err := mobilekey.Inspect(d.View(ctx), propertyID)
	if err != nil || !due {
		return err
	}
	return d.Write(ctx, func(tx *db.Tx) error {
		_, err := mobilekey.Reconcile(tx, k.Keys, propertyID, suspected...)
		return err
	})
}

// Sweep reconciles the SmartKeys of all properties: this revokes those without access, and renews status lists and issuer keys. It also
// deletes expired status indexes and links of all properties, at most 1000 of each. Only one process of an installation may run it: see
// [Lease].
func (k *SmartKeys) Sweep() Sweep {
	return Sweep{Name: "status lists", Every: 30 * time.Second, Run: func(ctx context.Context, d *db.DB) error {
		for after, more := "", true; more; {
			ids, err := mobilekey.IssuersAfter(d.View(ctx), after, issuerPage)
			if err != nil {
				return err
			}
			k.reconcileAll(ctx, d, ids)
			if more = len(ids) == issuerPage; more {
				after = ids[len(ids)-1]
			}
		}
		return d.Write(ctx, func(tx *db.Tx) error { return mobilekey.Sweep(tx, 1000) })
	}}
}
