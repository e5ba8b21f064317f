package server

import (
	"context"
	"runtime"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/worker"
)

// describe returns the state of the installation as this node sees it. It fails while the database does not answer. Backup is nil if the
// last copy is not known, and on PostgreSQL.
func (s *Server) describe(ctx context.Context) (*adminv1.Installation, error) {
	c := s.currentCondition(ctx)
	out := &adminv1.Installation{
		Version: s.version, GoVersion: runtime.Version(), State: "ready", Reasons: slices.Concat(c.unready, c.degraded),
		BusConnected: s.bus.Connected(), Database: &adminv1.Database{Engine: "postgres"},
	}
	switch {
	case !c.ready():
		out.State = "unready"
	case len(c.degraded) > 0:
		out.State = "degraded"
	}
	if s.db.SQLite() {
		out.Database.Engine = "sqlite"
	}
	described, err := s.db.Describe(ctx)
	if err != nil {
		return nil, err
	}
	out.Database.Version, out.Database.SizeBytes, out.Database.Migration = described.Version, described.Bytes, described.Migration
	view := s.db.View(ctx)
	counts, err := s.jobs.Count(view)
	if err != nil {
		return nil, err
	}
	out.Jobs = &adminv1.JobCounts{Waiting: int32(counts.Waiting), Running: int32(counts.Running), Retrying: int32(counts.Retrying), Failed: int32(counts.Failed)}
	if !counts.OldestDueAt.IsZero() {
		out.Jobs.OldestDueAt = timestamppb.New(counts.OldestDueAt)
	}
	if out.Nodes, err = s.liveNodes(ctx); err != nil {
		return nil, err
	}
	switch made, found, err := s.db.LastCopy(); {
	case err != nil:
		s.log.WarnContext(ctx, "the last copy of the database is not known", "error", err)
	case found:
		out.Backup = &adminv1.Backup{MadeAt: timestamppb.New(made.MadeAt), SizeBytes: made.Bytes, File: made.File}
	}
	return out, nil
}

// liveNodes returns the nodes that have reported recently that they run. On SQLite it returns this node, which is the only one and stores
// no report.
func (s *Server) liveNodes(ctx context.Context) (list []*adminv1.Node, err error) {
	if s.db.SQLite() {
		return []*adminv1.Node{{Name: s.name, SeenAt: timestamppb.New(s.db.View(ctx).Now())}}, nil
	}
	rows, err := worker.LiveNodes(s.db.View(ctx))
	for _, n := range rows {
		list = append(list, &adminv1.Node{Name: n.ID, SeenAt: timestamppb.New(n.SeenAt), ClockAheadMs: n.ClockAheadMs})
	}
	return list, err
}
