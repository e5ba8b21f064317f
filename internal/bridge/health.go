package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"latchkey.dev/internal/lock/slot"
)

const (
	statusSocket = "status.sock"
	askWait      = 5 * time.Second
	maxHealth    = 1 << 20 // bytes
)

// Health is how a running bridge does. It holds no PIN and nothing about guests.
type Health struct {
	BridgeID   string    `json:"bridgeId"`
	PropertyID string    `json:"propertyId"`
	Service    string    `json:"service"` // host:port
	Software   string    `json:"software"`
	Started    time.Time `json:"started"`
	// Epoch and Since are of the present session; 0 without one, and Trouble says why.
	Epoch            uint64        `json:"epoch"`
	Since            time.Time     `json:"since,omitzero"`
	Trouble          string        `json:"trouble,omitempty"`
	ClockQuality     string        `json:"clockQuality"` // synchronized, drifting, untrusted
	ClockOffset      time.Duration `json:"clockOffset"`  // ours minus the service's, in nanoseconds; 0 if unknown
	CertificateUntil time.Time     `json:"certificateUntil"`
	EventsWaiting    int           `json:"eventsWaiting"` // at most maxWaiting
	Locks            []LockHealth  `json:"locks"`
}

// LockHealth is how one lock does.
type LockHealth struct {
	Address        string                `json:"address"`
	Model          string                `json:"model"`
	Online         bool                  `json:"online"`
	LastSeen       time.Time             `json:"lastSeen,omitzero"`
	Bolt           string                `json:"bolt"`
	BatteryPercent *uint32               `json:"batteryPercent,omitempty"`
	ClockOffset    *time.Duration        `json:"clockOffset,omitempty"`
	Slots          map[slot.Evidence]int `json:"slots,omitempty"` // how many of the service's slots are known how well
	Results        map[slot.Result]int   `json:"results,omitempty"`
	// FailedTries is how many operations have failed in a row, for reasons that may pass, and FailingSince since when.
	FailedTries  int       `json:"failedTries,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero"`
}

// maxWaiting is as far as waiting events are counted.
const maxWaiting = 1000

// Health says how the bridge does.
func (b *Bridge) Health() Health {
	id := b.identity()
	b.mu.Lock()
	h := Health{
		BridgeID: id.BridgeID, PropertyID: id.PropertyID, Service: id.ConnectAddress, Software: b.cfg.Software,
		Started: b.started, Epoch: b.connected, Since: b.since, Trouble: b.trouble,
	}
	b.mu.Unlock()
	h.ClockQuality = b.clockQuality()
	if skew := b.skew.Load(); skew != nil {
		h.ClockOffset = *skew
	}
	if leaf, err := id.leaf(); err == nil {
		h.CertificateUntil = leaf.NotAfter
	}
	if waiting, err := b.store.pending(0, maxWaiting); err == nil {
		h.EventsWaiting = len(waiting)
	}
	for _, l := range b.locks {
		h.Locks = append(h.Locks, b.lockHealth(l.Address(), l.Model()))
	}
	return h
}

func (b *Bridge) lockHealth(address, model string) LockHealth {
	rows, s := b.out.all(address)
	h := LockHealth{
		Address: address, Model: model, Online: s.Online, LastSeen: s.LastSeenAt, Bolt: s.Bolt,
		BatteryPercent: s.BatteryPercent, ClockOffset: s.ClockOffset, Slots: map[slot.Evidence]int{}, Results: map[slot.Result]int{},
	}
	for _, r := range rows {
		h.Slots[r.Observed.Evidence]++
		if r.Observed.Result != "" {
			h.Results[r.Observed.Result]++
		}
	}
	h.FailedTries, h.FailingSince = b.owners[address].trouble.failing()
	return h
}

// tellHealth answers whoever connects to the socket in the bridge's directory, until ctx ends. A
// bridge whose socket cannot be made does without.
func (b *Bridge) tellHealth(ctx context.Context) {
	path := filepath.Join(b.cfg.Dir, statusSocket)
	_ = os.Remove(path) // of a run that was killed: the store's lock says that we are alone
	lis, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		b.log.Warn("latchkey-bridge status will know less", "error", err)
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = lis.Close() })
	defer stop()
	if err := os.Chmod(path, 0o600); err != nil {
		b.log.Warn("latchkey-bridge status will know less", "error", err)
		_ = lis.Close()
		return
	}
	for {
		conn, err := lis.Accept()
		if err != nil {
			if ctx.Err() == nil {
				b.log.Warn("latchkey-bridge status will know less", "error", err)
			}
			return
		}
		_ = conn.SetDeadline(time.Now().Add(askWait))
		_ = json.NewEncoder(conn).Encode(b.Health())
		_ = conn.Close()
	}
}

// ErrNotRunning says that no bridge runs on a directory.
var ErrNotRunning = errors.New("no bridge runs on this directory")

// AskHealth asks the bridge that runs on a directory how it does.
func AskHealth(ctx context.Context, dir string) (h Health, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, statusSocket))
	if err != nil {
		return h, ErrNotRunning
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if err := json.NewDecoder(io.LimitReader(conn, maxHealth)).Decode(&h); err != nil {
		return h, fmt.Errorf("the running bridge's answer: %w", err)
	}
	return h, nil
}
