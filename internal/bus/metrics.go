package bus

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the Prometheus metrics of the bus.
type metrics struct {
	reconnects prometheus.Counter
	requests   *prometheus.HistogramVec // by outcome
}

// The outcomes of a request, as values of a metric's label.
const (
	answered     = "answered"
	noResponder  = "noResponder"
	notConnected = "notConnected"
	remoteError  = "remoteError"
	failed       = "failed" // in most cases a timeout
)

// newMetrics returns the metrics, and registers them with r unless r is nil. connected is called at each scrape.
func newMetrics(r prometheus.Registerer, connected func() bool) *metrics {
	m := &metrics{
		reconnects: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "latchkey_bus_reconnects_total", Help: "Connections to a NATS server made after one was lost.",
		}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "latchkey_bus_request_duration_seconds", Help: "Requests to other nodes, by outcome.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{answered, noResponder, notConnected, remoteError, failed} {
		m.requests.WithLabelValues(outcome) // export 0 before the first request, so that an alert detects the first
	}
	if r == nil {
		return m
	}
	r.MustRegister(m.reconnects, m.requests, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "latchkey_bus_connected", Help: "1 while this node is connected to a NATS server, the embedded one included.",
	}, func() float64 {
		if connected() {
			return 1
		}
		return 0
	}))
	return m
}

// observeRequest records the duration and the outcome of a request that began at a time and returned err.
func (m *metrics) observeRequest(began time.Time, err error) {
	m.requests.WithLabelValues(outcomeOf(err)).Observe(time.Since(began).Seconds())
}

// outcomeOf returns the outcome label for the error of a request.
func outcomeOf(err error) string {
	var remote *RemoteError
	switch {
	case err == nil:
		return answered
	case errors.Is(err, ErrNoResponder):
		return noResponder
	case errors.Is(err, ErrNotConnected):
		return notConnected
	case errors.As(err, &remote):
		return remoteError
	}
	return failed
}
