package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"latchkey.dev/internal/fault"
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
		now := s.condition(ctx)
		s.parts.setServing(now.ready())
		s.measures.condition(now)
		select {
		case <-ctx.Done():
			return nil
		case <-started:
			started = nil
		case <-tick.C:
		}
	}
}

// condition is what /readyz and grpc.health say of this node. Each reason is a short sentence without a final stop, for an
// operator.
type condition struct {
	unready  []string // why the node should get no calls now
	degraded []string // what does not work although the node answers calls
}

// ready reports whether the node should get calls.
func (c condition) ready() bool { return len(c.unready) == 0 }

// String is the answer of /readyz: "ready", or "degraded: " or "unready: " and the reasons. The first word is stable.
func (c condition) String() string {
	reasons := strings.Join(slices.Concat(c.unready, c.degraded), "; ")
	switch {
	case !c.ready():
		return "unready: " + reasons
	case len(c.degraded) > 0:
		return "degraded: " + reasons
	}
	return "ready"
}

// condition judges the node. A partner, a bridge or the bus never makes a node unready: without the bus wake-ups between
// nodes wait, and every reservation is still stored and answered.
func (s *Server) condition(ctx context.Context) (c condition) {
	if !s.parts.ready.Load() {
		c.unready = append(c.unready, "starting or stopping")
	}
	select {
	case <-s.jobs.Started():
	default:
		c.unready = append(c.unready, "the job queue has not started yet")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := s.db.Check(ctx)
	if f, ok := fault.Of(err); ok {
		c.unready = append(c.unready, f.Message)
	} else if err != nil {
		c.unready = append(c.unready, "the database does not answer")
	}
	v := s.clockVerdict()
	if v.unready != "" {
		c.unready = append(c.unready, v.unready)
	}
	if v.degraded != "" {
		c.degraded = append(c.degraded, v.degraded)
	}
	if !s.bus.Connected() {
		c.degraded = append(c.degraded, "no NATS server is connected, so openings for bridges of other nodes are refused and codes for them come some seconds late")
	}
	return c
}

// serveReady is GET /readyz: 200 while the node should get calls, else 503.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	c := s.condition(r.Context())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !c.ready() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintln(w, c)
}
