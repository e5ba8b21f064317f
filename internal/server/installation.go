package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"entgo.io/ent/dialect"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// installationEvery is the minimum interval between two queries for the metrics of the installation, however often Prometheus scrapes.
	installationEvery = 15 * time.Second
	installationTime  = 5 * time.Second // timeout of all queries for one scrape together
)

// figure is a metric of the installation and the SQL query that reads it. Its rows contain the label values and then the number.
type figure struct {
	name, help string // name is without the prefix latchkey_installation_
	labels     []string
	query      string // SQL; AGE(x) is replaced by the seconds since the oldest x, NOW by the time
}

const (
	// eventsWaiting is the query that counts, for each subscriber that is not a webhook, the events without a position, the events after its
	// cursor, and the events of subjects that are held back.
	eventsWaiting = `SELECT subscriber, (SELECT count(*) FROM events WHERE position IS NULL)
		+ (SELECT count(*) FROM events e WHERE e.position > c.position AND e.position > 0)
		+ (SELECT count(*) FROM event_cursors h JOIN events e ON e.subject = h.subject AND e.position > h.position AND e.position <= c.position
			WHERE h.subscriber = c.subscriber AND h.subject <> '') AS events
		FROM event_cursors c WHERE subject = '' AND webhook_id IS NULL`
	// nextEvents is the query for the time of the event after each cursor, for subjects that are held back of their own next event, but not of
	// webhooks. It is NULL if no event follows.
	nextEvents = `SELECT subscriber, (SELECT e.created_at FROM events e WHERE e.position > c.position AND e.position > 0 ORDER BY e.position LIMIT 1) AS created_at
		FROM event_cursors c WHERE subject = '' AND webhook_id IS NULL
		UNION ALL SELECT subscriber, (SELECT min(e.created_at) FROM events e WHERE e.subject = h.subject AND e.position > h.position)
		FROM event_cursors h WHERE subject <> '' AND webhook_id IS NULL`
	// webhookEvents is the query for the time of each event that a webhook has not received, of the kinds that it gets. An event occurs once
	// for each such webhook.
	webhookEvents = `SELECT e.created_at FROM event_cursors c JOIN webhooks w ON w.id = c.webhook_id
			JOIN events e ON e.property_id = w.property_id AND e.position > c.position AND e.position > 0
			WHERE c.subject = '' AND (CAST(w.kinds AS text) LIKE '%"all"%' OR CAST(w.kinds AS text) LIKE '%"' || e.kind || '"%')
		UNION ALL SELECT e.created_at FROM event_cursors h JOIN event_cursors c ON c.webhook_id = h.webhook_id AND c.subject = ''
			JOIN webhooks w ON w.id = h.webhook_id JOIN events e ON e.subject = h.subject AND e.position > h.position AND e.position <= c.position
			WHERE h.subject <> '' AND e.property_id = w.property_id AND (CAST(w.kinds AS text) LIKE '%"all"%' OR CAST(w.kinds AS text) LIKE '%"' || e.kind || '"%')`
)

// figures are the metrics of the whole installation. Only the node that holds the lease exports them, so that each number is exported once.
// Each query uses an index, or reads a table that stays small, such as those of locks and webhooks.
var figures = []figure{
	{"events_waiting", "Events that a subscriber has not received yet.", nil, `SELECT COALESCE(max(events), 0) FROM (` + eventsWaiting + `) AS waiting`},
	{"events_oldest_seconds", "Age of the oldest event that a subscriber has not received yet.", nil,
		`SELECT COALESCE(AGE(created_at), 0) FROM (SELECT min(created_at) AS created_at FROM events WHERE position IS NULL UNION ALL SELECT created_at FROM (` + nextEvents + `) AS next) AS oldest`},
	{"subscriber_events_waiting", "Events that a subscriber has not received yet.", []string{"subscriber"}, eventsWaiting},
	{"subscriber_events_oldest_seconds", "Age of the oldest event that has a position and that a subscriber has not received yet.", []string{"subscriber"},
		`SELECT subscriber, COALESCE(AGE(created_at), 0) FROM (` + nextEvents + `) AS next GROUP BY subscriber`},
	{"webhooks", "Webhooks, by state: ok (or nothing delivered yet), failing or disabled.", []string{"state"},
		`SELECT CASE WHEN disabled_at IS NOT NULL THEN 'disabled' WHEN failures > 0 THEN 'failing' ELSE 'ok' END, count(*) FROM webhooks GROUP BY 1`},
	{"webhook_backlog", "Events that a webhook has not received yet, of all webhooks together.", nil, `SELECT count(*) FROM (` + webhookEvents + `) AS waiting`},
	{"webhook_backlog_oldest_seconds", "Age of the oldest event that a webhook has not received yet.", nil,
		`SELECT COALESCE(AGE(created_at), 0) FROM (` + webhookEvents + `) AS waiting`},
	{"webhook_subjects_failing", "Subjects whose events wait for a retry to a webhook.", nil, `SELECT count(*) FROM event_cursors WHERE webhook_id IS NOT NULL AND subject <> ''`},
	{"jobs", "Unfinished jobs, by kind and state.", []string{"kind", "state"},
		`SELECT kind, CAST(state AS text), count(*) FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled', 'discarded') GROUP BY kind, state`},
	{"jobs_late_seconds", "How long the oldest due job has waited.", nil,
		`SELECT COALESCE(AGE(scheduled_at), 0) FROM river_job WHERE state IN ('available', 'retryable') AND scheduled_at <= NOW`},
	{"jobs_failing", "Jobs that failed and will be retried, by kind.", []string{"kind"}, `SELECT kind, count(*) FROM river_job WHERE state = 'retryable' GROUP BY kind`},
	{"bridges", "Bridges that have ever connected and are not revoked, by whether they are online.", []string{"state"},
		`SELECT CASE WHEN online THEN 'online' ELSE 'offline' END, count(*) FROM bridges WHERE last_seen_at IS NOT NULL AND revoked_at IS NULL GROUP BY 1`},
	{"locks_unreached", "Locks that cannot be reached.", nil, `SELECT count(*) FROM locks WHERE unreached_at IS NOT NULL`},
	{"slots_open", "Codes whose installation in a lock or removal from it is not confirmed, by evidence.", []string{"evidence"},
		`SELECT evidence, count(*) FROM slots WHERE evidence IN ('queued', 'sent', 'accepted', 'unconfirmed', 'removing') GROUP BY evidence`},
	{"slots_open_oldest_seconds", "Age of the oldest unconfirmed code, by evidence.", []string{"evidence"},
		`SELECT evidence, AGE(changed_at) FROM slots WHERE evidence IN ('queued', 'sent', 'accepted', 'unconfirmed', 'removing') GROUP BY evidence`},
	{"mails_waiting", "Mails that were ordered and have not ended.", nil, `SELECT count(*) FROM mails WHERE state = 'waiting' OR state = 'sending'`},
	{"mails_oldest_seconds", "Age of the oldest mail that has not ended.", nil, `SELECT COALESCE(AGE(created_at), 0) FROM mails WHERE state = 'waiting' OR state = 'sending'`},
	{"notices_open", "Open notices, by kind.", []string{"kind"}, `SELECT kind, count(*) FROM notices WHERE once_key IS NOT NULL GROUP BY kind`},
}

// statement returns the SQL query for the dialect called name. It replaces NOW by the present time, and AGE(column) by the seconds since
// the oldest value of the column, which must be created_at, scheduled_at or changed_at.
func (f figure) statement(name string) string {
	age, now := "extract(epoch FROM now() - min(%s))", "now()"
	if name == dialect.SQLite {
		age, now = "86400.0 * (julianday('now') - julianday(min(%s)))", "strftime('%Y-%m-%d %H:%M:%f', 'now')"
	}
	words := []string{"NOW", now}
	for _, column := range []string{"created_at", "scheduled_at", "changed_at"} {
		words = append(words, "AGE("+column+")", fmt.Sprintf(age, column))
	}
	return strings.NewReplacer(words...).Replace(f.query)
}

// installation is a Prometheus collector for the metrics of the installation.
type installation struct {
	s          *Server
	holdsLease func() bool
	descs      []*prometheus.Desc

	mu   sync.Mutex
	read time.Time           // when the queries last ran, also if one failed; zero: never
	last []prometheus.Metric // the result of the last queries, incomplete if one failed
}

// newInstallation returns the collector. Only the node for which holdsLease returns true exports these metrics.
func newInstallation(s *Server, holdsLease func() bool) *installation {
	in := &installation{s: s, holdsLease: holdsLease}
	for _, f := range figures {
		in.descs = append(in.descs, prometheus.NewDesc("latchkey_installation_"+f.name, f.help, f.labels, nil))
	}
	return in
}

// Describe implements prometheus.Collector.
func (in *installation) Describe(to chan<- *prometheus.Desc) {
	for _, d := range in.descs {
		to <- d
	}
}

// Collect implements prometheus.Collector. It exports nothing without the lease. It repeats the last result if that is younger than
// installationEvery. After a query that fails, it runs no further ones and exports, until the next queries, only what it read before.
func (in *installation) Collect(to chan<- prometheus.Metric) {
	if !in.holdsLease() {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if time.Since(in.read) >= installationEvery {
		in.read, in.last = time.Now(), nil
		ctx, cancel := context.WithTimeout(context.Background(), installationTime)
		defer cancel()
		for i, f := range figures {
			if err := in.queryMetric(ctx, in.descs[i], f); err != nil {
				in.s.log.Warn("a figure of the installation cannot be read", "figure", f.name, "error", err)
				break
			}
		}
	}
	for _, m := range in.last {
		to <- m
	}
}

// queryMetric runs the query of f and appends to in.last a metric with desc for each of its rows, also for those before an error.
func (in *installation) queryMetric(ctx context.Context, desc *prometheus.Desc, f figure) (err error) {
	view := in.s.db.View(ctx)
	rows, err := view.QueryContext(view.Context(), f.statement(in.s.db.Dialect()))
	if err != nil {
		return err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for rows.Next() {
		labels, into := make([]string, len(f.labels)), make([]any, 0, len(f.labels)+1)
		for i := range labels {
			into = append(into, &labels[i])
		}
		var value float64
		if err := rows.Scan(append(into, &value)...); err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		in.last = append(in.last, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...))
	}
	return rows.Err()
}
