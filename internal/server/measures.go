package server

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/lock"
	"latchkey.dev/internal/mail"
	"latchkey.dev/internal/pms"
	"latchkey.dev/internal/worker"
)

// measures are the metrics of the server itself. Other packages have their own metrics.
type measures struct {
	ready, degraded       prometheus.Gauge
	leaseHeld, leaseSince prometheus.Gauge
	lease                 atomic.Bool              // whether this node holds the lease
	unlocks               *prometheus.HistogramVec // duration of unlock commands by outcome
	partners              *prometheus.HistogramVec // duration of calls to partners by action and outcome
	webhooks              *prometheus.HistogramVec // duration of deliveries to webhooks by outcome
	mails                 *prometheus.CounterVec   // mails that ended, by kind and state
}

// callBuckets are histogram buckets, in seconds, for calls that a person waits for, up to their deadline.
var callBuckets = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// newMeasures registers the metrics of the server with r. version and schema become labels.
func newMeasures(r prometheus.Registerer, version, schema string) *measures {
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "latchkey", Name: name, Help: help})
		r.MustRegister(g)
		return g
	}
	timed := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "latchkey", Name: name, Help: help, Buckets: callBuckets}, labels)
		r.MustRegister(h)
		return h
	}
	m := &measures{
		ready:      gauge("ready", "1 while this node should get calls, else 0; /readyz has the reason."),
		degraded:   gauge("degraded", "1 while a part fails although this node answers calls; /readyz has the reason."),
		leaseHeld:  gauge("lease_held", "1 while this node does the background work of the installation."),
		leaseSince: gauge("lease_since_seconds", "When this node took the lease, as a Unix time; 0 while it does not hold it."),
		unlocks:    timed("act_duration_seconds", "Remote unlocks, by outcome; a failed one is answered 200.", "outcome"),
		partners:   timed("partner_call_duration_seconds", "Calls to partners' endpoints, by action and outcome: ok or the cause of the failure.", "action", "outcome"),
	}
	m.webhooks = timed("webhook_delivery_duration_seconds", "Deliveries of events to partners' webhooks, by outcome: ok or the cause of the failure.", "outcome")
	m.webhooks.WithLabelValues("ok")
	for _, outcome := range []string{lock.CommandDone, lock.CommandFailed, lock.CommandExpired, lock.CommandUnknown, refused} {
		m.unlocks.WithLabelValues(outcome)
	}
	m.partners.WithLabelValues("getSpaces", "ok")
	m.mails = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "latchkey", Name: "mails_total", Help: "Mails that ended, by kind and state: sent, mailbox, failed, bounced or canceled. One that comes back later stays counted as sent."}, []string{"kind", "state"})
	r.MustRegister(m.mails)
	m.mails.WithLabelValues(string(mail.Invitation), string(mail.Sent))
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "latchkey", Name: "build_info", Help: "1, with the version of the program and its database schema."}, []string{"version", "schema"})
	r.MustRegister(build)
	build.WithLabelValues(version, schema).Set(1)
	return m
}

// refused is the outcome label of an unlock call that was answered with an error.
const refused = "refused"

// recordUnlock records the duration of an unlock call that began at a time, and its outcome: the state in done, or "refused" if err is not
// nil.
func (m *measures) recordUnlock(began time.Time, done lock.Outcome, err error) {
	outcome := done.State
	if err != nil {
		outcome = refused
	}
	m.unlocks.WithLabelValues(outcome).Observe(time.Since(began).Seconds())
}

// recordPartnerCall records the duration and outcome of a call to a partner's endpoint. The outcome is ok, the cause of a [pms.CallError],
// or failed. action names the endpoint, such as getSpaces.
func (m *measures) recordPartnerCall(began time.Time, action string, err error) {
	outcome := "ok"
	var failed *pms.CallError
	switch {
	case errors.As(err, &failed):
		outcome = string(failed.Cause)
	case err != nil:
		outcome = "failed"
	}
	m.partners.WithLabelValues(action, outcome).Observe(time.Since(began).Seconds())
}

// recordDelivery records the duration and outcome of a delivery to a webhook. cause is the cause of its failure, or "".
func (m *measures) recordDelivery(began time.Time, cause pms.Cause) {
	m.webhooks.WithLabelValues(cmp.Or(string(cause), "ok")).Observe(time.Since(began).Seconds())
}

// recordMail counts a mail that needs no further attempt; state is its final state.
func (m *measures) recordMail(kind mail.Kind, state mail.State) {
	m.mails.WithLabelValues(string(kind), string(state)).Inc()
}

// recordCondition records the health that /readyz reports.
func (m *measures) recordCondition(c condition) {
	m.ready.Set(boolToFloat(c.ready()))
	m.degraded.Set(boolToFloat(len(c.degraded) > 0))
}

// holdsLease reports whether this node holds the lease, and so does the background work of the installation.
func (m *measures) holdsLease() bool { return m.lease.Load() }

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// measuredLease is a lease that records in a metric when this node holds it.
type measuredLease struct {
	worker.Lease
	m *measures
}

// Hold waits for the lease and runs f while this node holds it, as [worker.Lease] says, and records in the metrics how long that is.
func (l measuredLease) Hold(ctx context.Context, f func(ctx context.Context, held *db.DB) error) error {
	return l.Lease.Hold(ctx, func(ctx context.Context, held *db.DB) error {
		l.m.leaseSince.SetToCurrentTime()
		l.m.leaseHeld.Set(1)
		l.m.lease.Store(true)
		defer l.m.lease.Store(false)
		defer l.m.leaseHeld.Set(0)
		defer l.m.leaseSince.Set(0)
		return f(ctx, held)
	})
}

// measureStorage registers the metrics of database connections, of the clock and of the listeners' certificates. The database must be open.
func (s *Server) measureStorage() {
	value := func(name, help string, f func() float64) {
		s.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "latchkey", Name: name, Help: help}, f))
	}
	count := func(name, help string, f func() float64) {
		s.metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "latchkey", Name: name, Help: help}, f))
	}
	value("db_connections_in_use", "Connections that queries and, on PostgreSQL, changes hold now.", func() float64 { return float64(s.db.Pool().InUse) })
	value("db_connections_limit", "Connections that queries and, on PostgreSQL, changes may hold.", func() float64 { return float64(s.db.Pool().Limit) })
	count("db_connection_waits_total", "How often a query waited for a free connection.", func() float64 { return float64(s.db.Pool().Waits) })
	count("db_connection_wait_seconds_total", "How long queries waited for a free connection, together.", func() float64 { return s.db.Pool().Waited.Seconds() })
	count("db_changes_rerun_total", "Changes that were retried because of a serialization conflict on PostgreSQL.", func() float64 { return float64(s.db.Reruns()) })
	value("clock_offset_seconds", "How far this machine's clock is ahead of the database's; negative: behind. With SQLite always 0.", func() float64 {
		ahead, _ := s.nodeClock.Last()
		return ahead.Seconds()
	})
	if s.cfg.TLS.On() {
		s.metrics.MustRegister(certificates{s, prometheus.NewDesc("latchkey_certificate_expiry_seconds", "When a certificate of the HTTP and gRPC listeners expires, as a Unix time.", []string{"name"}, nil)})
	}
}

// certificates is a Prometheus collector for the expiry times of the listeners' certificates.
type certificates struct {
	s    *Server
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c certificates) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector: it exports the expiry times. It omits one that cannot be read, for
// example because it is not issued yet.
func (c certificates) Collect(to chan<- prometheus.Metric) {
	files := map[string]string{}
	if cert := c.s.cfg.TLS.Cert; cert != "" {
		files[filepath.Base(cert)] = cert
	}
	for _, domain := range c.s.cfg.TLS.Domains {
		files[domain] = filepath.Join(c.s.cfg.DataDir, "acme", filepath.Base(domain))
	}
	for name, path := range files {
		if leaf, err := firstCertificate(path); err == nil {
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(leaf.NotAfter.Unix()), name)
		}
	}
}

// firstCertificate reads the first certificate of a PEM file. A private key may precede it.
func firstCertificate(path string) (*x509.Certificate, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errors.New("no certificate in " + path)
		}
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
}
