package sandbox

import (
	"context"
	"fmt"
	"log/slog"
)

// Neighbour sets up one more property on the server of w, with a PMS, a bridge and locks of its own. It is a customer of
// the same vendor: the PMS is the same partner app, and its rooms have the same names and ids. The server must allow
// partners on loopback. It ends with w, and is not to be closed by itself.
func (w *World) Neighbour(ctx context.Context, c Config) (*World, error) {
	n := &World{
		Server: w.Server, log: w.log, Spaces: map[string]string{}, doors: map[string]string{}, failures: make(chan error, 4),
		app: w.app, ClientToken: w.ClientToken,
	}
	w.mu.Lock()
	w.stops = append(w.stops, func() {
		n.Server = nil
		if err := n.Close(); err != nil {
			w.log.Error("a neighbour did not end well", slog.Any("error", err))
		}
	})
	w.mu.Unlock()
	if err := n.openSites(); err != nil {
		return nil, err
	}
	if err := n.dial(); err != nil {
		return nil, err
	}
	if err := n.settle(ctx, c); err != nil {
		return nil, fmt.Errorf("set the neighbouring property up: %w", err)
	}
	return n, nil
}
