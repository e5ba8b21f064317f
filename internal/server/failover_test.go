package server_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/pgtemp"
)

// replicated is a primary with a synchronous standby and the schema.
func replicated(t *testing.T) (primary, standby *pgtemp.Cluster) {
	t.Helper()
	primary, err := pgtemp.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := primary.Stop(); err != nil {
			t.Error(err)
		}
	})
	if standby, err = primary.Standby(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	d, err := db.Open(t.Context(), db.Config{URL: primary.URL("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Migrate(t.Context())
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return primary, standby
}

// Three nodes leave a primary that hangs for the promoted standby. Nothing that was answered is lost, and one of them takes
// the work of all.
func TestThreeNodesLeaveAPrimaryThatHangs(t *testing.T) {
	primary, standby := replicated(t)
	bus, key := cluster(t), filepath.Join(t.TempDir(), "key")
	var nodes []*node
	for range 3 {
		c := settings(t, primary.URL("postgres", standby))
		c.NATS.URL, c.KeyFile = bus.ClientURL(), key
		nodes = append(nodes, open(t, c, server.Options{DatabaseCheck: 250 * time.Millisecond}))
	}
	thaw := func() {
		if err := primary.Thaw(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(thaw)
	ready := func() bool {
		for _, n := range nodes {
			if code, _ := get(t, "http://"+n.OpsAddr()+"/readyz"); code != http.StatusOK {
				return false
			}
		}
		return true
	}
	holders := func() (held int) {
		for _, n := range nodes {
			if _, text := get(t, "http://"+n.OpsAddr()+"/metrics"); strings.Contains(text, "\nlatchkey_lease_held 1\n") {
				held++
			}
		}
		return held
	}
	create := func(n *node, name string) {
		t.Helper()
		if res, text := overSocket(t, n, http.MethodPost, "/v1/admin/apps", `{"name": "`+name+`"}`); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, res.StatusCode, text)
		}
	}
	eventually(t, "all nodes are ready and one holds the lease", func() bool { return ready() && holders() == 1 })
	create(nodes[0], "before")

	if err := primary.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all nodes use the promoted server and one holds the lease there", func() bool { return ready() && holds(t, standby) && holders() == 1 })
	for _, n := range nodes {
		create(n, "by "+n.HTTPAddr())
	}
	if _, text := overSocket(t, nodes[2], http.MethodGet, "/v1/admin/apps", ""); !strings.Contains(text, `"before"`) || strings.Count(text, `"by `) != 3 {
		t.Errorf("apps after the failover: %s", text)
	}
}

// holds tells whether a session of a server holds the lease.
func holds(t *testing.T, c *pgtemp.Cluster) bool {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: c.URL("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var held bool
	_, err = d.View(t.Context()).ReadOne("SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted)", nil, &held)
	if err != nil {
		t.Fatal(err)
	}
	return held
}
