package webhooks

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc/metadata"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/test/dbtest"
	"latchkey.dev/internal/test/porttest"
)

func TestMain(m *testing.M) { program.Main(m) }

// killed is a server in a process of its own, with a property whose doors have no locks, and a partner.
type killed struct {
	*e2etest.API
	t        *testing.T
	database string
	server   *program.Process
	partner  e2etest.Caller
}

func newKilled(t *testing.T, r *receiver) *killed {
	t.Helper()
	k := &killed{t: t, database: dbtest.URL(t, "sqlite")}
	data, at := filepath.Join(t.TempDir(), "data"), porttest.ReserveN(t, 4)
	k.server = program.New(t, "latchkey", "http://"+at[3]+"/readyz", "serve", "--data-dir", data, "--listen-http", at[0], "--listen-grpc", at[1],
		"--listen-bridge", at[2], "--listen-ops", at[3], "--drain", "10ms", "--log-level", "warn", "--partner-allow", r.Listener.Addr().String())
	k.server.Env = []string{"LATCHKEY_DATABASE=" + k.database}
	k.must(k.server.Start(t.Context()))
	k.API = e2etest.Dial(t, at[0], at[1], filepath.Join(data, "operator.sock"))
	name, zone := "Grand Hotel", "Europe/Vienna"
	p, err := adminv1.NewPropertyServiceClient(k.Socket).CreateProperty(t.Context(), &adminv1.CreatePropertyRequest{Settings: &propertyv1.PropertySettings{Name: &name, TimeZone: &zone}})
	k.must(err)
	staff, err := adminv1.NewTokenServiceClient(k.Socket).CreateStaffToken(t.Context(), &adminv1.CreateStaffTokenRequest{PropertyId: p.GetData().GetId(), Role: "owner"})
	k.must(err)
	app, err := adminv1.NewAppServiceClient(k.Socket).CreateApp(t.Context(), &adminv1.CreateAppRequest{Name: "PMS"})
	k.must(err)
	owner := metadata.NewOutgoingContext(t.Context(), metadata.New(e2etest.Bearer("owner", staff.GetToken()).Headers))
	own, err := propertyv1.NewIntegrationServiceClient(k.Public).ConnectApp(owner, &propertyv1.ConnectAppRequest{AppId: app.GetData().GetId(), Scopes: []string{"reservations:read", "reservations:write", "webhooks:write"}})
	k.must(err)
	k.partner = e2etest.Caller{Name: "partner", Headers: map[string]string{"client-token": app.GetClientToken(), "access-token": own.GetAccessToken()}}
	k.call(http.MethodPatch, "/v1/webhooks", map[string]any{"url": r.URL, "events": []string{"access.issued", "access.updated", "access.removed", "access.failed"}})
	return k
}

func (k *killed) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *killed) call(verb, path string, body any) {
	k.t.Helper()
	o, err := k.Do(k.t.Context(), k.partner, verb, path, body)
	if err != nil || !o.OK() {
		k.t.Fatalf("%s %s: %v %v", verb, path, o, err)
	}
}

// push changes the stay of a guest.
func (k *killed) push(pmsID, state string) {
	k.t.Helper()
	k.call(http.MethodPatch, "/v1/reservations", map[string]any{
		"pmsMeta": map[string]any{"id": pmsID}, "pmsNumber": "N-" + pmsID, "booker": map[string]any{"lastName": "Lovelace"}, "state": state,
		"fromDate": e2etest.LocalDate(0), "toDate": e2etest.LocalDate(2),
	})
}

// stored returns the sequences of the events that the webhook receives, by subject.
func (k *killed) stored() map[string][]int64 {
	k.t.Helper()
	d, err := db.Open(k.t.Context(), db.Config{URL: k.database})
	k.must(err)
	defer func() { k.must(d.Close()) }()
	out := map[string][]int64{}
	rows, err := d.View(k.t.Context()).QueryContext(k.t.Context(), "SELECT subject, subject_sequence FROM events WHERE kind LIKE 'access.%' ORDER BY id")
	k.must(err)
	defer rows.Close()
	for rows.Next() {
		var subject string
		var n int64
		k.must(rows.Scan(&subject, &n))
		out[subject] = append(out[subject], n)
	}
	k.must(rows.Err())
	return out
}

// The server is killed while a webhook receives a message, and again while it receives the next one. After the restarts every event has
// arrived at least once, those of a stay in order, and what was repeated has the same webhook-id.
func TestKilledInADelivery(t *testing.T) {
	r := newReceiver(t)
	k := newKilled(t, r)
	entered, goOn := make(chan struct{}), make(chan struct{})
	deliveries := 0 // deliveries is accessed by one request at a time: a webhook receives one message at a time
	r.setAnswer(func(message) int {
		if deliveries++; deliveries == 2 || deliveries == 4 {
			entered <- struct{}{}
			<-goOn
		}
		return http.StatusNoContent
	})
	for _, state := range []string{"started", "processed", "started", "processed"} {
		k.push("B-1", state)
		k.push("B-2", state)
	}
	for range 2 {
		<-entered
		k.server.Kill()
		goOn <- struct{}{}
		k.must(k.server.Start(t.Context()))
	}
	want := k.stored()
	if len(want) != 2 {
		t.Fatalf("events of %d stays: too few to prove anything", len(want))
	}
	var got map[string][]int64
	err := program.Await(t.Context(), "every event has arrived", func() (bool, error) {
		got = firstArrivals(r.attempts())
		for subject, all := range want {
			if !slices.Equal(got[subject], all) {
				return false, fmt.Errorf("%s: %v, want %v", subject, got[subject], all)
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ids, repeated := map[string]string{}, 0
	for _, m := range r.attempts() {
		key := fmt.Sprint(m.Body.Subject, m.Body.Sequence)
		if ids[key] != "" {
			repeated++
		}
		if ids[key] != "" && ids[key] != m.ID {
			t.Errorf("%s was repeated as %s, first %s", key, m.ID, ids[key])
		}
		ids[key] = m.ID
	}
	if repeated != 2 {
		t.Errorf("%d messages were repeated, want the two that the server was killed in", repeated)
	}
	k.must(k.server.Stop())
}

// firstArrivals returns the sequences of each subject in the order of their first arrival.
func firstArrivals(all []message) map[string][]int64 {
	out := map[string][]int64{}
	for _, m := range all {
		if !slices.Contains(out[m.Body.Subject], m.Body.Sequence) {
			out[m.Body.Subject] = append(out[m.Body.Subject], m.Body.Sequence)
		}
	}
	return out
}
