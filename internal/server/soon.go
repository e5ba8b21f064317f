package server

import (
	"context"

	"latchkey.dev/internal/db"
)

// soon reads getSpaces of integrations that were found worth it. A reading that is lost with the process is made good by
// the periodic one.
type soon struct {
	server *Server
	queue  chan source
}

type source struct{ propertyID, integrationID string }

func newSoon(s *Server) *soon { return &soon{server: s, queue: make(chan source, 256)} }

// readSoon has getSpaces of an integration read once the change is stored.
func (s *Server) readSoon(tx *db.Tx, propertyID, integrationID string) error {
	tx.After(func() {
		select {
		case s.soon.queue <- source{propertyID, integrationID}:
		default:
		}
	})
	return nil
}

func (q *soon) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case next := <-q.queue:
			if _, err := q.server.parts.spaces.Read(ctx, next.propertyID, next.integrationID); err != nil && ctx.Err() == nil {
				q.server.log.Info("getSpaces was not read", "integration", next.integrationID, "error", err)
			}
		}
	}
}
