package sandbox

import (
	"context"
	"fmt"
	"log/slog"
)

// AddProperty sets up another property on the server of w, with its own PMS, bridge and locks. The PMS is the same partner app,
// and its rooms have the same names and ids. The server must allow partners on loopback. The new World ends with w; do not
// close it.
func (w *World) AddProperty(ctx context.Context, c Config) (*World, error) {
	n := &World{
		Server: w.Server, log: w.log, Spaces: map[string]string{}, doors: map[string]string{}, failures: make(chan error, 4),
		app: w.app, ClientToken: w.ClientToken,
	}
	w.mu.Lock()
	w.stops = append(w.stops, func() {
		n.Server = nil
		if err := n.Close(); err != nil {
			w.log.Error("closing a second property failed", slog.Any("error", err))
		}
	})
	w.mu.Unlock()
	if err := n.openPMSAndKeypads(); err != nil {
		return nil, err
	}
	if err := n.dial(); err != nil {
		return nil, err
	}
	if err := n.setUp(ctx, c); err != nil {
		return nil, fmt.Errorf("set up the second property: %w", err)
	}
	return n, nil
}
