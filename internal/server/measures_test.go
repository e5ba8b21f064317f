package server_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/notice"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/dbtest"
)

// names are the figures that a server has.
func names(t *testing.T, n *node) []string {
	t.Helper()
	all, err := n.Metrics().Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := server.InstallationFigures()
	for _, f := range all {
		out = append(out, f.GetName())
	}
	return out
}

// The example alerts are about figures that there are.
func TestEachFigureOfTheAlertsExists(t *testing.T) {
	n := open(t, settings(t, ""), server.Options{})
	have := names(t, n)
	text, err := os.ReadFile("../../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	comment := regexp.MustCompile(`(?m)^#.*$`)
	found := regexp.MustCompile(`\blatchkey_[a-z_]+`).FindAllString(comment.ReplaceAllString(string(text), ""), -1)
	if len(found) < 15 {
		t.Errorf("the alerts name %d figures", len(found))
	}
	for _, name := range found {
		base := name
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if name == "latchkey_certificate_expiry_seconds" || name == "latchkey_clock_offset_seconds" { // with TLS alone, and with PostgreSQL alone
			continue
		}
		if !slices.Contains(have, name) && !slices.Contains(have, base) {
			t.Errorf("docs/alerts.yml: no figure is called %s", name)
		}
	}
}

// One node tells the figures of the installation, and each query runs on both databases.
func TestFiguresOfTheInstallation(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		h := tenantOf(t, open(t, settings(t, url), server.Options{}))
		eventually(t, "the node holds the lease and tells", func() bool {
			_, text := get(t, "http://"+h.OpsAddr()+"/metrics")
			return strings.Contains(text, "latchkey_lease_held 1") && strings.Contains(text, "\nlatchkey_installation_events_waiting ") && strings.Contains(text, "latchkey_ready 1")
		})
		h.add(t, "Cellar")
		h.online(t, 1)
		err := h.Database().Write(t.Context(), func(tx *db.Tx) error {
			property := tx.Property.Query().OnlyIDX(tx.Context())
			// A revoked bridge and one that is enrolled but never connected are not offline ones.
			tx.Bridge.Create().SetID("brg_revoked").SetPropertyID(property).SetName("Attic").SetEpoch(2).SetLastSeenAt(tx.Now()).SetRevokedAt(tx.Now()).SetCreatedAt(tx.Now()).ExecX(tx.Context())
			tx.Bridge.Create().SetID("brg_new").SetPropertyID(property).SetName("Shed").SetEpoch(1).SetEnrolledAt(tx.Now()).SetCreatedAt(tx.Now()).ExecX(tx.Context())
			if err := event.Append(tx, event.Event{PropertyID: property, Subject: "rsv_a", Kind: event.AccessIssued}); err != nil {
				return err
			}
			return notice.Add(tx, notice.Notice{PropertyID: property, Kind: "codeLate", Subject: "a", OnceKey: property + " test"})
		})
		if err != nil {
			t.Fatal(err)
		}
		all, err := h.ReadInstallation()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]float64{"bridges online": 1, "locks_unreached": 0, "notices_open codeLate": 1} {
			if got, ok := all[name]; !ok || got != want {
				t.Errorf("%s: %v %v, want %v", name, got, ok, want)
			}
		}
		if got, ok := all["bridges offline"]; ok {
			t.Errorf("bridges offline: %v, want none", got)
		}
		for _, name := range []string{"events_waiting", "events_oldest_seconds", "subscriber_events_waiting arrivals", "subscriber_events_oldest_seconds arrivals", "jobs_late_seconds"} {
			if got, ok := all[name]; !ok || got < 0 || got > 60 {
				t.Errorf("%s: %v %v", name, got, ok)
			}
		}
	})
}

// While a subject is held back, the age of the oldest event is that of the subject's own next event: events of others between are received.
func TestAgeOfTheEventsOfASubjectThatIsHeldBack(t *testing.T) {
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := open(t, settings(t, url), server.Options{})
		h := tenantOf(t, s)
		d := h.Database()
		property, err := d.View(t.Context()).Property.Query().OnlyID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		stored := func(subject string, position int, ago time.Duration) {
			dbtest.Insert(t, d, "events", dbtest.Values{
				"property_id": property, "subject": subject, "subject_sequence": position, "kind": string(event.AccessIssued), "body": "{}",
				"occurred_at": now, "created_at": now.Add(-ago), "position": position,
			})
		}
		stored("rsv_held", 1, 3*time.Hour) // delivered to the subject
		stored("rsv_other", 2, 2*time.Hour)
		stored("rsv_held", 3, 5*time.Minute)
		stored("rsv_other", 4, time.Minute)
		dbtest.Insert(t, d, "event_cursors", dbtest.Values{"subscriber": "trial", "subject": "", "position": 4, "created_at": now})
		dbtest.Insert(t, d, "event_cursors", dbtest.Values{"subscriber": "trial", "subject": "rsv_held", "position": 1, "attempts": 1, "created_at": now})
		all, err := h.ReadInstallation()
		if err != nil {
			t.Fatal(err)
		}
		if got := all["subscriber_events_oldest_seconds trial"]; got < 290 || got > 900 {
			t.Errorf("the oldest event of the subscriber is %v s old, want 300", got)
		}
	})
}
