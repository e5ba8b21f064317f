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

// setServing sets the gRPC health status of every service and of the whole server, which has the name "".
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

// watchHealth updates the gRPC health status and the metrics of health at once, when the job queue has started, and periodically until ctx
// ends. It never fails. No other goroutine updates it between the start and the stop of the server: with a second writer, an older result
// could overwrite a newer one.
func (s *Server) watchHealth(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	started := s.jobs.Started()
	for {
		now := s.currentCondition(ctx)
		s.parts.setServing(now.ready())
		s.measures.recordCondition(now)
		select {
		case <-ctx.Done():
			return nil
		case <-started:
			started = nil
		case <-tick.C:
		}
	}
}

// condition is the health of this node as /readyz reports it. grpc.health reports only whether it is ready. Each reason is a short sentence
// for operators and ends without a period.
type condition struct {
	unready  []string // reasons why the node should get no calls now
	degraded []string // reasons why some function fails although the node answers calls
}

// ready reports whether the node should get calls, which it should also while it is degraded.
func (c condition) ready() bool { return len(c.unready) == 0 }

// String returns the text of /readyz: "ready", or "degraded: " or "unready: " followed by the reasons. After "unready: ", those of degraded
// follow too. Scripts may rely on the first word.
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

// currentCondition checks the health of the node. It is unready while it starts or stops, without job queue or database, while the database
// cannot store, or with a clock that other nodes contradict. If no other node does, a wrong clock degrades it, and so does a missing bus.
// Failing partners and bridges change nothing. Without the bus, notifications between nodes are late, but reservations are still stored and
// answered.
func (s *Server) currentCondition(ctx context.Context) (c condition) {
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
	_, v := s.nodeClock.Last()
	if v.Unready != "" {
		c.unready = append(c.unready, v.Unready)
	}
	if v.Degraded != "" {
		c.degraded = append(c.degraded, v.Degraded)
	}
	if !s.bus.Connected() {
		c.degraded = append(c.degraded, "no NATS server is connected, so openings for bridges of other nodes are refused and codes for them come some seconds late")
	}
	return c
}

// serveReady answers GET /readyz: status 200 if the node should get calls, otherwise 503.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	c := s.currentCondition(r.Context())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !c.ready() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintln(w, c)
}
