// Package canary drives every flow of the product with secrets and people that can be recognised, and looks for them in
// all that comes out: logs at debug level, traces, metrics, answers that are errors, and what lies on the disks, where
// events and notices are. What is secret is known only once it was issued; so everything is captured first and searched
// in the end.
package canary

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/agent/driver/sim"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/lock/slot"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/test/dbtest"
)

// The people. Their data may be in the answer to who sent it, and nowhere else; names of staff and of phones may lie on the disk.
const (
	first  = "Qwerkanaria"
	last   = "Zyxwkanaria"
	email  = "kanaria.zyxw@example.org"
	mobile = "+35191kanaria77"
	holder = "Vogelkanaria"
	phone  = "Telefonkanaria"
)

// partnerToken is what the service shows to the PMS.
const partnerToken = "kanariatoken0123456789"

// people are the data that is known from the start.
func people() (all []secret) {
	for _, v := range []string{first, last, email, mobile} {
		all = append(all, of("personal data", []byte(v), "errors", "files at the end"))
	}
	return append(all,
		of("the booker of a visit", []byte(booker), "errors", "files at the end"),
		of("the holder of a staff code", []byte(holder), "files", "files at the end", "errors"),
		of("the name of a phone", []byte(phone), "files", "files at the end"))
}

// flows is a world and what was learned in it.
type flows struct {
	*e2etest.World
	t       *testing.T
	dir     string
	url     string // of the database
	out     *capture
	secrets []secret
	lastPIN string

	door *http.Client // of the bridge's own interface
	at   string       // its address
}

func TestNothingSecretComesOut(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		t.Parallel()
		f := &flows{t: t, url: url, out: newCapture(), secrets: people()}
		local := f.nearby()
		f.World = e2etest.Open(t, e2etest.Database(url), func(c *sandbox.Config) {
			f.dir, c.PhoneListener = c.Dir, local
			c.Options.Logger, c.Options.Traces = f.out.logger(t), f.out.traces(t)
		})
		f.longPINs()
		f.learn("the client token", f.ClientToken)
		f.learn("the access token", f.AccessToken)
		f.learn("the API key", f.APIKey)
		f.learn("a staff token", f.StaffToken)
		f.keys()
		f.partners()
		f.stay()
		f.codes()
		f.visit()
		f.guests()
		f.phones()
		f.strangers()
		f.credentials()
		f.bridges()
		f.unlocks()
		f.disks("files")
		f.everyRPC() // which calls apps, rooms and locks by the names of the people
		f.disks("files at the end")
		f.out.collect(t, f.World)
		f.out.search(t, f.secrets)
	})
}

// disks captures what lies on the disks: the directories of server and bridge, and the database. On SQLite these are its files and a copy
// that is made while the server runs; the rows of PostgreSQL are read.
func (f *flows) disks(part string) {
	f.t.Helper()
	dirs := []string{filepath.Join(f.dir, "data"), filepath.Join(f.dir, "bridge")}
	d, err := db.Open(f.t.Context(), db.Config{URL: f.url})
	if err != nil {
		f.t.Fatal(err)
	}
	if path, embedded := strings.CutPrefix(f.url, "sqlite:"); embedded {
		copies := f.t.TempDir()
		err = d.Backup(f.t.Context(), filepath.Join(copies, "copy.backup"))
		dirs = append(dirs, filepath.Dir(path), copies)
	} else {
		rows, _ := dbtest.Text(f.t, d)
		for table, text := range rows {
			f.out.add(part, []byte(table+": "+text))
		}
	}
	if err := errors.Join(err, d.Close()); err != nil {
		f.t.Fatal(err)
	}
	f.out.disks(f.t, part, dirs...)
}

// learn remembers a secret. What is asked for with a wrong one of the same kind does not count.
func (f *flows) learn(what, value string) {
	f.t.Helper()
	if len(value) < 8 {
		f.t.Fatalf("%s is %q: too short to be recognised", what, value)
	}
	f.secrets = append(f.secrets, of(what, []byte(value)))
}

// keys are those that lie in files. The others are known by their looks.
func (f *flows) keys() {
	f.t.Helper()
	kek, err := os.ReadFile(filepath.Join(f.dir, "data.key"))
	if err != nil {
		f.t.Fatal(err)
	}
	for line := range strings.Lines(string(kek)) {
		if !strings.HasPrefix(line, "#") {
			f.learn("the key-encryption key", strings.TrimSpace(line))
		}
	}
	own, err := os.ReadFile(filepath.Join(f.dir, "bridge", "bridge.key"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.secrets = append(f.secrets, of("the key of the bridge's store", own))
}

// call calls REST and notes what is refused.
func (f *flows) call(c e2etest.Caller, verb, path string, content any) e2etest.Outcome {
	f.t.Helper()
	o, err := f.Do(f.t.Context(), c, verb, path, content)
	if err != nil && !strings.Contains(err.Error(), "envelope") {
		f.t.Errorf("%s %s: %v", verb, path, err)
	}
	f.out.failed(verb, o)
	return o
}

// must is call for what has to go well.
func (f *flows) must(c e2etest.Caller, verb, path string, content any) map[string]any {
	f.t.Helper()
	o := f.call(c, verb, path, content)
	if !o.OK() {
		f.t.Fatalf("%s %s: %v", verb, path, o)
	}
	return o.Data()
}

// longPINs has PINs of eight digits, which nothing else is by chance.
func (f *flows) longPINs() {
	f.t.Helper()
	n := int32(8)
	if _, err := propertyv1.NewPropertyServiceClient(f.Public).UpdateProperty(f.Staff(f.t.Context()), &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{PinLength: &n}}); err != nil {
		f.t.Fatal(err)
	}
}

func guest() map[string]any {
	return map[string]any{
		"state": "started", "roomId": "R101", "pmsNumber": "N-1", "fromDate": e2etest.LocalDate(0), "toDate": e2etest.LocalDate(2),
		"booker": map[string]any{"firstName": first, "lastName": last, "email": email, "mobile": mobile},
	}
}

// pin reads a stay's PIN once it opens, and is another than the old one, and remembers it.
func (f *flows) pin(id, door, old string) string {
	f.t.Helper()
	var pin string
	f.Await(id+" opens "+door, func(context.Context) (bool, error) {
		a := f.must(f.Partner(), "GET", "/v1/reservations/find?pmsId="+id+"&extend=pin,gatePins,access", nil)
		pin, _ = a["pin"].(string)
		return pin != "" && pin != old && f.press(door, pin), nil
	})
	f.learn("the PIN of "+id, pin)
	f.lastPIN = pin
	return pin
}

func (f *flows) press(door, pin string) bool {
	f.t.Helper()
	p, err := f.Site.Press(door, slot.PIN(pin))
	if err != nil {
		f.t.Fatal(err)
	}
	return p.Opened
}

// stay is a stay with a move, a reset, a lock that refuses, an explanation, and its end.
func (f *flows) stay() {
	f.t.Helper()
	push := func(id string, fields map[string]any) {
		f.t.Helper()
		if a, err := f.PMS.Push(f.t.Context(), id, fields); err != nil || a.Status != 200 {
			f.t.Fatal(id, a, err)
		}
	}
	push("K1", guest())
	old := f.pin("K1", "Room 101", "")
	for _, fault := range []sim.FaultKind{sim.Duplicate, sim.Jammed, sim.LostAck, sim.Occupied} {
		if err := f.Site.Inject("Room 102", sim.Fault{Kind: fault}); err != nil {
			f.t.Fatal(err)
		}
	}
	push("K1", map[string]any{"roomId": "R102"})
	f.pin("K1", "Room 102", "")
	id := f.must(f.Partner(), "GET", "/v1/reservations/find?pmsId=K1", nil)["id"].(string)
	f.must(f.Partner(), "POST", "/v1/reservations/resetKeyChain", map[string]any{"pmsId": "K1", "reset": "pin"})
	f.Await("the old PIN is gone", func(context.Context) (bool, error) { return !f.press("Room 102", old), nil })
	fresh := f.pin("K1", "Room 102", old)
	f.press("Room 103", fresh) // a stranger's door
	if err := f.Site.Program("Room 103", 9, slot.PIN(fresh)); err != nil {
		f.t.Fatal(err)
	}
	f.call(f.Owner(), "GET", "/v1/reservations/"+id+"/explain", nil)
	f.call(f.Partner(), "GET", "/v1/reservations/"+id+"/explain", nil)
	f.call(f.Owner(), "GET", "/v1/property/notices", nil)
	push("K1", map[string]any{"state": "processed"})
	f.Await("the PIN is gone", func(context.Context) (bool, error) { return !f.press("Room 102", fresh), nil })
	push("K2", guest())
	f.pin("K2", "Room 101", "")
}

// strangers are calls that are wrong in every way, with secrets and personal data in unexpected fields.
func (f *flows) strangers() {
	f.t.Helper()
	pin := f.lastPIN
	partner := f.Partner()
	wrong := guest()
	wrong["state"], wrong["fromDate"], wrong["adultCount"], wrong[pin] = last, email, mobile, first
	key := partner.WithHeader("Idempotency-Key", "kanaria-1")
	f.call(partner, "PATCH", "/v1/reservations", wrong)
	f.call(key, "PATCH", "/v1/reservations", map[string]any{"pmsMeta": map[string]any{"id": "K3"}, "booker": map[string]any{"lastName": last}})
	f.call(key, "PATCH", "/v1/reservations", map[string]any{"pmsMeta": map[string]any{"id": "K4"}, "booker": map[string]any{"lastName": last}})
	f.call(partner, "PATCH", "/v1/reservations", `{"booker":{"lastName":"`+last+`","pin":"`+pin)
	f.call(partner, "PATCH", "/v1/reservations", strings.Repeat(last, 300_000))
	for _, path := range []string{"/v1/reservations/" + pin, "/v1/" + f.AccessToken, "/v1/reservations/find?pmsId=" + email + "&extend=" + last, "/v1/reservations?pageToken=" + f.StaffToken, "/" + last} {
		f.call(partner, "GET", path, nil)
	}
	for _, c := range []e2etest.Caller{
		{Headers: map[string]string{"client-token": f.AccessToken, "access-token": f.ClientToken}},
		{Headers: map[string]string{"client-token": f.ClientToken, "access-token": f.AccessToken + "x"}},
		{Headers: map[string]string{"api-key": f.StaffToken}},
		e2etest.Bearer("wrong", f.APIKey), e2etest.Bearer("wrong", last),
		partner.WithHeader("Idempotency-Key", strings.Repeat(last, 100)), partner.WithHeader("X-Request-Id", email),
	} {
		f.call(c, "GET", "/v1/integration", nil)
		f.call(c, "PATCH", "/v1/reservations", guest())
	}
}
