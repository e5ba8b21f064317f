package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"latchkey.dev/internal/disk"
	"latchkey.dev/internal/lock/slot"
)

const (
	statusSocket = "status.sock"
	askWait      = 5 * time.Second
	askRetry     = 100 * time.Millisecond
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
	// Connection is the driver's, nil if it needs none. Ready is false while the bridge waits for it to learn its locks.
	Connection *ConnectionHealth `json:"connection,omitempty"`
	Ready      bool              `json:"ready"`
	Locks      []LockHealth      `json:"locks"`
}

// LockHealth is how one lock does.
type LockHealth struct {
	Address        string         `json:"address"`
	Name           string         `json:"name,omitempty"`
	Model          string         `json:"model"`
	Online         bool           `json:"online"`
	OfflineCause   string         `json:"offlineCause,omitempty"` // brokerUnreachable, gatewayOffline; empty: the lock itself
	LastSeen       time.Time      `json:"lastSeen,omitzero"`
	Bolt           string         `json:"bolt"`
	BatteryPercent *uint32        `json:"batteryPercent,omitempty"`
	ClockOffset    *time.Duration `json:"clockOffset,omitempty"`
	// Of the slots that the service uses: how many hold its code, by evidence; how many are known to be empty; and how many
	// are on their way to what the service wants, by the evidence so far.
	Codes      map[slot.Evidence]int `json:"codes,omitempty"`
	EmptySlots int                   `json:"emptySlots"`
	Changing   map[slot.Evidence]int `json:"changing,omitempty"`
	Results    map[slot.Result]int   `json:"results,omitempty"`
	// FailedTries is how many operations have failed in a row, for reasons that may pass, and FailingSince since when.
	FailedTries  int       `json:"failedTries,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	// KeypadPausedUntil is when the current pause of the keypad after wrong PINs ends; zero: it is not paused.
	KeypadPausedUntil time.Time `json:"keypadPausedUntil,omitzero"`
}

// maxWaiting is as far as waiting events are counted.
const maxWaiting = 1000

// noLocksYet is why a bridge has no session before it knows its locks.
const noLocksYet = "it begins when the bridge knows its locks"

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
	h.Connection = b.connectionHealth()
	if h.Ready = b.ready.Load(); !h.Ready {
		h.Trouble = noLocksYet
		return h
	}
	for _, l := range b.locks {
		h.Locks = append(h.Locks, b.lockHealth(l.Address(), l.Model()))
	}
	return h
}

func (b *Bridge) lockHealth(address, model string) LockHealth {
	rows, s := b.out.all(address)
	h := LockHealth{
		Address: address, Name: s.Name, Model: model, Online: s.Online, OfflineCause: s.OfflineCause, LastSeen: s.LastSeenAt, Bolt: s.Bolt,
		BatteryPercent: s.BatteryPercent, ClockOffset: s.ClockOffset,
		Codes: map[slot.Evidence]int{}, Changing: map[slot.Evidence]int{}, Results: map[slot.Result]int{},
	}
	for _, r := range rows {
		switch o := r.Observed; {
		case o.Generation != r.Generation || !o.Evidence.Confirmed():
			h.Changing[o.Evidence]++
		case o.Present:
			h.Codes[o.Evidence]++
		default:
			h.EmptySlots++
		}
		if r.Observed.Result != "" {
			h.Results[r.Observed.Result]++
		}
	}
	if until := s.guard.PausedUntil; until.After(b.clock.Now()) {
		h.KeypadPausedUntil = until
	}
	h.FailedTries, h.FailingSince = b.owners[address].trouble.failing()
	return h
}

// serveHealth answers each connection to the socket in the bridge's directory with its health, until ctx ends. A bridge
// whose socket cannot be made works without it.
func (b *Bridge) serveHealth(ctx context.Context) {
	path := filepath.Join(b.cfg.Dir, statusSocket)
	if err := os.Remove(path); err == nil { // the store's lock says that no other bridge uses it
		b.log.Debug("removed the status socket of a run that was killed")
	}
	lis, err := disk.ListenSocket(ctx, path)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = lis.Close() })
		defer stop()
		err = b.answerHealth(lis)
	}
	if err != nil && ctx.Err() == nil {
		b.log.Warn("status and doctor cannot ask this bridge", "error", err)
	}
}

// answerHealth answers until the listener is closed.
func (b *Bridge) answerHealth(lis net.Listener) error {
	defer func() { _ = lis.Close() }()
	for {
		conn, err := lis.Accept()
		if err != nil {
			return err
		}
		_ = conn.SetDeadline(time.Now().Add(askWait))
		_ = json.NewEncoder(conn).Encode(b.Health())
		_ = conn.Close()
	}
}

var (
	// ErrNotRunning says that no bridge runs on a directory.
	ErrNotRunning = errors.New("no bridge runs on this directory")
	// errSilent says that one runs and cannot be asked.
	errSilent = fmt.Errorf("%w, but it does not answer on %s. It may be starting or stopping: try again in a few seconds. "+
		"If this stays, its log says why: journalctl -u latchkey-bridge", ErrInUse, statusSocket)
)

// AskHealth asks the bridge that runs on a directory how it does. A bridge that is just starting or stopping has its store
// open and does not answer: that is asked again for a while.
func AskHealth(ctx context.Context, dir string) (h Health, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	for {
		h, err = askOnce(ctx, dir)
		switch {
		case !errors.Is(err, ErrNotRunning) || !inUse(dir):
			return h, err
		case !sleep(ctx, askRetry):
			return h, errSilent
		}
	}
}

func askOnce(ctx context.Context, dir string) (h Health, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, statusSocket))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return h, fmt.Errorf("%w: run this command as the bridge's user: sudo -u latchkey-bridge latchkey-bridge --dir %s", err, dir)
	case err != nil:
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
