package server

import (
	"context"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// setServing says of every gRPC service whether it serves; "" is the server as a whole.
func (p *parts) setServing(serves bool) {
	status := healthv1.HealthCheckResponse_NOT_SERVING
	if serves {
		status = healthv1.HealthCheckResponse_SERVING
	}
	p.health.SetServingStatus("", status)
	for name := range p.grpc.GetServiceInfo() {
		p.health.SetServingStatus(name, status)
	}
}

// watchHealth keeps what grpc.health says true.
func (s *Server) watchHealth(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	started := s.jobs.Started()
	for {
		s.parts.setServing(s.unready(ctx) == "")
		select {
		case <-ctx.Done():
			return nil
		case <-started:
			started = nil
		case <-tick.C:
		}
	}
}

// unready says why the server should get no calls now. Partners and bridges have no say in it, and neither has the bus:
// without it wake-ups between nodes wait, and every reservation is still stored and answered.
func (s *Server) unready(ctx context.Context) string {
	if !s.parts.ready.Load() {
		return "starting or stopping"
	}
	select {
	case <-s.jobs.Started():
	default:
		return "the job queue has not started yet"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if s.db.Ping(ctx) != nil {
		return "the database does not answer"
	}
	return ""
}
