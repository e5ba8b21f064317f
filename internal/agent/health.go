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

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/disk"
	"latchkey.dev/internal/lock/slot"
)

const (
	statusSocket  = "status.sock"          // name in the bridge's directory
	healthTimeout = 5 * time.Second        // longest time for one answer, and for AskHealth with its retries
	healthRetry   = 100 * time.Millisecond // wait between two attempts of AskHealth
	maxHealth     = 1 << 20                // maximum size of the answer in bytes
)

// Health is the state of a running bridge. It contains no PINs and nothing about guests.
type Health struct {
	BridgeID   string    `json:"bridgeId"`
	PropertyID string    `json:"propertyId"`
	Service    string    `json:"service"` // Service is the host:port of the server
	Software   string    `json:"software"`
	Started    time.Time `json:"started"`
	// Epoch and Since belong to the current session with the server. Without a session, Epoch is 0 and Trouble is the reason; it is empty
	// until the first attempt has ended.
	Epoch            uint64        `json:"epoch"`
	Since            time.Time     `json:"since,omitzero"`
	Trouble          string        `json:"trouble,omitempty"`
	ClockQuality     string        `json:"clockQuality"` // ClockQuality is that of the bridge's clock: synchronized, drifting or untrusted
	ClockOffset      time.Duration `json:"clockOffset"`  // ClockOffset is this clock minus the server's in nanoseconds; 0 if unknown
	CertificateUntil time.Time     `json:"certificateUntil"`
	// EventsWaiting counts the events that the server has not stored; maxWaiting means that many or more.
	EventsWaiting int `json:"eventsWaiting"`
	// Connection is the driver's connection to another program; nil if it needs none. Ready is false, and Locks is empty, until the driver
	// knows its locks.
	Connection *ConnectionHealth `json:"connection,omitempty"`
	Ready      bool              `json:"ready"`
	Locks      []LockHealth      `json:"locks"`
}

// LockHealth is the state of one lock in Health.
type LockHealth struct {
	Address string `json:"address"`
	Name    string `json:"name,omitempty"`
	Model   string `json:"model"`
	Online  bool   `json:"online"`
	// OfflineCause is brokerUnreachable or gatewayOffline; empty: the lock is online, or it is itself offline.
	OfflineCause   string         `json:"offlineCause,omitempty"`
	LastSeen       time.Time      `json:"lastSeen,omitzero"` // LastSeen is zero if the lock was never seen
	Bolt           string         `json:"bolt"`              // Bolt is as in driver.Status
	BatteryPercent *uint32        `json:"batteryPercent,omitempty"`
	ClockOffset    *time.Duration `json:"clockOffset,omitempty"` // ClockOffset is the lock's clock minus the bridge's, in ns; nil: unknown
	// Codes, EmptySlots and Changing count the slots that the server uses, each slot in one of them: those that hold its code, by evidence;
	// those known to be empty; and those that do not match the desired state yet, by evidence. Results counts all these slots by their last
	// result, without those that have none.
	Codes      map[slot.Evidence]int `json:"codes,omitempty"`
	EmptySlots int                   `json:"emptySlots"`
	Changing   map[slot.Evidence]int `json:"changing,omitempty"`
	Results    map[slot.Result]int   `json:"results,omitempty"`
	// FailedTries is how many operations have failed in a row for temporary reasons. FailingSince is when the first of them failed.
	FailedTries  int       `json:"failedTries,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	// KeypadPausedUntil is when the current pause after wrong PINs ends; zero: the keypad is not paused.
	KeypadPausedUntil time.Time `json:"keypadPausedUntil,omitzero"`
}

// FormatTime formats a time for people in the machine's time zone, which it names.
func FormatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// maxWaiting is the highest value of Health.EventsWaiting.
const maxWaiting = 1000

// noLocksYet explains why a bridge has no session before it knows its locks.
const noLocksYet = "it starts when the bridge knows its locks"

// Health returns the current state of the bridge and its locks, which the commands status and doctor show. It calls no lock. What the store
// cannot give is left zero.
func (b *Bridge) Health() Health {
	id := b.identity()
	b.mu.Lock()
	h := Health{
		BridgeID: id.BridgeID, PropertyID: id.PropertyID, Service: id.ConnectAddress, Software: b.cfg.Software,
		Started: b.started, Epoch: b.epoch, Since: b.sessionSince, Trouble: b.noSession,
	}
	b.mu.Unlock()
	h.ClockQuality = b.clockQuality()
	if skew := b.clockSkew.Load(); skew != nil {
		h.ClockOffset = *skew
	}
	if leaf, err := id.leaf(); err == nil {
		h.CertificateUntil = leaf.NotAfter
	}
	if waiting, err := b.store.entriesAfter(0, maxWaiting); err == nil {
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

// lockHealth returns the state of one lock from what the bridge has recorded. It does not call the lock, which must be one of the bridge's.
func (b *Bridge) lockHealth(address, model string) LockHealth {
	rows, s := b.outbox.lockState(address)
	h := LockHealth{
		Address: address, Name: s.Name, Model: model, Online: s.Online, OfflineCause: s.OfflineCause, LastSeen: s.LastSeenAt, Bolt: s.Bolt,
		BatteryPercent: s.BatteryPercent, ClockOffset: s.ClockOffset,
		Codes: map[slot.Evidence]int{}, Changing: map[slot.Evidence]int{}, Results: map[slot.Result]int{},
	}
	for _, r := range rows {
		switch o := r.Observed; {
		case o.Generation != r.Generation || !o.Evidence.ConfirmedByLock():
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
	h.FailedTries, h.FailingSince = b.workers[address].failures.failuresInRow()
	return h
}

// serveHealth answers status and doctor on a Unix socket in the bridge's directory until ctx ends. It first removes a socket that a killed
// bridge left there. If the socket cannot be created, it logs that and returns: the bridge runs without it.
func (b *Bridge) serveHealth(ctx context.Context) {
	path := filepath.Join(b.cfg.Dir, statusSocket)
	if err := os.Remove(path); err == nil { // the socket is a leftover: no other bridge uses it, because this one holds the lock of the store
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

// answerHealth sends the bridge's health as JSON to one connection after the other. It ends with the error of the first failed Accept, such
// as that the listener was closed, and closes lis.
func (b *Bridge) answerHealth(lis net.Listener) error {
	defer func() { _ = lis.Close() }()
	for {
		conn, err := lis.Accept()
		if err != nil {
			return err
		}
		_ = conn.SetDeadline(time.Now().Add(healthTimeout))
		_ = json.NewEncoder(conn).Encode(b.Health())
		_ = conn.Close()
	}
}

var (
	// ErrNotRunning means that no bridge runs on the directory.
	ErrNotRunning = errors.New("no bridge runs on this directory")
	// errNoAnswer means that a bridge runs on the directory but does not answer.
	errNoAnswer = fmt.Errorf("%w, but it does not answer on %s. It may be starting or stopping: try again in a few seconds. "+
		"If this persists, its log says why: journalctl -u latchkey-bridge", ErrInUse, statusSocket)
)

// AskHealth asks the bridge that runs on a directory for its health, or returns [ErrNotRunning]. If a bridge has the store open but does
// not answer, because it is starting or stopping, AskHealth retries for healthTimeout, and then returns an error that wraps [ErrInUse].
// Other errors are a missing permission or a broken answer.
func AskHealth(ctx context.Context, dir string) (h Health, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	for {
		h, err = askOnce(ctx, dir)
		switch {
		case !errors.Is(err, ErrNotRunning) || !inUse(dir):
			return h, err
		case !clock.Sleep(ctx, healthRetry):
			return h, errNoAnswer
		}
	}
}

// askOnce makes one attempt of [AskHealth]. It returns ErrNotRunning if no bridge listens on the socket.
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
