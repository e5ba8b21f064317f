package server

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "latchkey.dev/"

// line has every package below internal/ that is not only for tests. A package may import those after it.
var line = []string{
	"bench", "sandbox", "server",

	// The edge: its parts do not import each other.
	"api/admin", "api/partner", "api/property", "api/guest", "api/kiosk", "web", "web/guest", "web/staff", "web/operator", "web/kit", "api/idem", "api/connectrpc", "api/rest",
	"api/chain", "api/inproc", "api/jsonpb", "api/convert",
	"bridgelink", "pms", "worker",

	// On site: free of the server's packages.
	"agent", "agent/doorkeeper", "agent/keypad", "agent/driver/sim", "agent/driver/zigbee2mqtt", "agent/driver",

	// The domain.
	"checkin", "guest", "guest/rule", "guest/drawing", "kiosk", "conversation", "reservation/readiness", "reservation/explain", "reservation", "mobilekey", "access/code", "access", "access/pin", "lock", "bridge",
	"space", "partner", "staff", "notice", "mail", "property", "event", "audit", "lock/slot", "health", "smartkey",

	// The foundation.
	"credential", "openid", "jobs", "telemetry", "bus", "config", "watch", "db", "keyring", "keyring/pinseal", "connlimit", "certfile", "disk", "fault/envelope", "fault", "actor", "id", "clock",
	"money", "message", "text", "throttle", "privacy",
}

var (
	edge       = []string{"api", "bridgelink", "pms", "web", "worker"}
	domain     = line[slices.Index(line, "checkin") : slices.Index(line, "smartkey")+1]
	foundation = line[slices.Index(line, "credential"):]
	// pure packages make the decisions that the server, the bridge and the model checker share. They import no other package of the module.
	pure = []string{"access/pin", "guest/rule", "guest/drawing", "lock/slot", "health", "smartkey"}
	// support is imported by tests and by other support only.
	support = []string{
		"test", "e2e", "simulation", "db/migrationgen", "api/docgen",
	}
	// measuring is the support that a benchmark of the program may import: it starts the databases that it measures.
	measuring = map[string][]string{"bench": {"test/pgtemp"}}
	// encoders build protobuf messages and gRPC statuses: the edge, the connection of bridges and the form of errors.
	encoders = []string{"internal/api", "internal/fault/envelope", "internal/bridgelink"}
	// speakers use the generated API as its servers and clients.
	speakers = []string{"internal/agent", "internal/server", "internal/sandbox", "internal/bench", "internal/test", "internal/e2e", "cmd"}
)

// only says who may import something, besides itself.
var only = map[string][]string{
	"gen":                    slices.Concat(encoders, speakers, []string{"internal/pms", "internal/web"}),
	"google.golang.org/grpc": slices.Concat(encoders, speakers, []string{"gen", "internal/telemetry"}),
	"ent":                    append([]string{"internal/server", "internal/worker", "internal/db", "internal/credential", "internal/test"}, internal(slices.DeleteFunc(slices.Clone(domain), isPure))...),
	"internal/server":        {"internal/sandbox", "internal/bench", "internal/e2e", "cmd/latchkey"},
	"internal/sandbox":       {"internal/bench", "internal/e2e", "cmd/latchkey"},
	"internal/bench":         {"cmd/latchkey"},
	"internal/agent":         {"internal/sandbox", "internal/bench", "internal/test", "internal/e2e", "internal/simulation", "cmd/latchkey-bridge"},
}

func internal(paths []string) (all []string) {
	for _, p := range paths {
		all = append(all, "internal/"+p)
	}
	return all
}

func isPure(path string) bool { return slices.Contains(pure, path) }

// below reports whether a path is one of some paths or below it.
func below(path string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return path == r || strings.HasPrefix(path, r+"/") })
}

// violation says why a package may not import another, by their paths below the module. It is empty if it may.
func violation(from, to string) string {
	if room, ok := strings.CutPrefix(from, "internal/"); ok && isPure(room) && below(to, "ent", "gen", "internal") {
		return "the importer is pure"
	}
	for what, who := range only {
		if below(to, what) && !below(from, what) && !below(from, who...) {
			return "only " + strings.Join(who, ", ") + " may import " + what
		}
	}
	fromRoom, fromInternal := strings.CutPrefix(from, "internal/")
	toRoom, toInternal := strings.CutPrefix(to, "internal/")
	switch {
	case !toInternal:
		return ""
	case below(toRoom, support...):
		if below(fromRoom, support...) || slices.Contains(measuring[fromRoom], toRoom) {
			return ""
		}
		return "only tests may import it"
	case !slices.Contains(line, toRoom):
		return "it has no place in the line"
	case from == "cmd/latchkey-bridge" || below(fromRoom, "agent"):
		if below(toRoom, "agent") || isPure(toRoom) || slices.Contains(foundation, toRoom) && !slices.Contains([]string{"db", "jobs", "credential"}, toRoom) {
			return after(fromRoom, toRoom)
		}
		return "the bridge's program has no package of the server"
	case from == "cmd/latchkey":
		if slices.Contains(domain, toRoom) || below(toRoom, edge...) {
			return "the command line speaks the public API"
		}
		return ""
	case !fromInternal, below(fromRoom, support...):
		return ""
	case !slices.Contains(line, fromRoom):
		return "the importer has no place in the line"
	}
	if part := edgePart(fromRoom); part != "" && edgePart(toRoom) != "" && part != edgePart(toRoom) {
		return "parts of the edge do not import each other"
	}
	if below(fromRoom, "web") && slices.Contains(domain, toRoom) {
		return "pages call the API"
	}
	if fromRoom != "web" && below(fromRoom, "web") && toRoom != "web/kit" && below(toRoom, "web") {
		return "areas of the pages do not import each other"
	}
	return after(fromRoom, toRoom)
}

// after checks the line, before which the programs come.
func after(from, to string) string {
	if slices.Index(line, from) >= slices.Index(line, to) {
		return "it comes before the importer in the line"
	}
	return ""
}

func edgePart(path string) string {
	part, _, _ := strings.Cut(path, "/")
	if slices.Contains(edge, part) {
		return part
	}
	return ""
}

type listed struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		all = append(all, p)
		touch(t, p.Dir)
	}
}

// touch opens the Go files of a folder. "go test" repeats a stored result unless a file changes that the test itself opened, and it does not
// see what the go command reads.
func touch(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if err == nil && strings.HasSuffix(e.Name(), ".go") {
			var f *os.File
			if f, err = os.Open(filepath.Join(folder, e.Name())); err == nil {
				err = f.Close()
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		if room, ok := strings.CutPrefix(p.ImportPath, "internal/"); ok && !below(room, support...) && !slices.Contains(line, room) {
			t.Errorf("%s has no place in the line", p.ImportPath)
		}
		for _, i := range p.Imports {
			to := strings.TrimPrefix(i, module)
			if why := violation(p.ImportPath, to); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, to, why)
			}
		}
	}
}

// upward are the packages whose tests import a package that comes before them in the line, with the reason.
var upward = map[string]map[string]string{
	"checkin":        {"pms": "calls a PMS over HTTP"},
	"fault/envelope": {"access": "the list of reasons is complete"},
	"keyring":        {"db": "the key store of both databases"},
	"privacy":        {"config": "a retention time is a flag of the server"},
	"reservation":    {"reservation/explain": "each change of a stay is explained"},
	"server":         {"sandbox": "a server with a property, a PMS and a bridge"},
}

// Tests keep the order of the line too, but not the other rules: they store rows, make calls and connect packages of both sides.
func TestLayersOfTests(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		from, _ := strings.CutPrefix(p.ImportPath, "internal/")
		if !slices.Contains(line, from) {
			continue
		}
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			to, ours := strings.CutPrefix(i, module+"internal/")
			switch {
			case !ours, to == from, below(to, support...), after(from, to) == "":
			case upward[from][to] != "":
				used[from+" "+to] = true
			default:
				t.Errorf("a test of %s imports %s: %s", from, to, after(from, to))
			}
		}
	}
	for from, all := range upward {
		for to := range all {
			if !used[from+" "+to] {
				t.Errorf("no test of %s imports %s: shorten the list", from, to)
			}
		}
	}
}

func TestOnlyAllowedImports(t *testing.T) {
	for _, test := range []struct {
		from, to string
		allowed  bool
	}{
		{"internal/access", "internal/lock", true},
		{"internal/lock", "internal/access", false},
		{"internal/reservation/explain", "internal/reservation", true},
		{"internal/reservation", "internal/reservation/explain", false},
		{"internal/access", "ent/grant", true},
		{"internal/lock/slot", "ent/grant", false},
		{"internal/lock/slot", "internal/clock", false},
		{"internal/api/rest", "ent/grant", false},
		{"internal/api/rest", "gen/latchkey/partner/v1", true},
		{"internal/reservation", "gen/latchkey/partner/v1", false},
		{"internal/reservation", "google.golang.org/grpc/codes", false},
		{"internal/worker", "internal/api/chain", false},
		{"internal/api/partner", "internal/api/jsonpb", true},
		{"internal/agent", "internal/lock/slot", true},
		{"internal/agent", "internal/lock", false},
		{"internal/agent", "internal/db", false},
		{"cmd/latchkey-bridge", "internal/agent/driver/sim", true},
		{"cmd/latchkey-bridge", "internal/server", false},
		{"cmd/latchkey", "internal/reservation", false},
		{"internal/db", "internal/keyring", true},
		{"internal/keyring", "internal/db", false},
		{"internal/api/rest", "internal/server", false},
		{"internal/web", "internal/web/guest", true},
		{"internal/web/guest", "internal/web/kit", true},
		{"internal/web/kit", "internal/web/guest", false},
		{"internal/web/staff", "internal/staff", false},
		{"internal/web/kit", "internal/text", true},
		{"internal/access", "internal/test/dbtest", false},
		{"internal/bench", "internal/test/pgtemp", true},
		{"internal/bench", "internal/test/dbtest", false},
		{"internal/e2e/doors", "internal/test/dbtest", true},
		{"internal/access", "internal/unknown", false},
	} {
		if why := violation(test.from, test.to); (why == "") != test.allowed {
			t.Errorf("%s imports %s: %q, want allowed %v", test.from, test.to, why, test.allowed)
		}
	}
}

// decisions are the files whose functions decide from values alone. They import nothing with which they could read or store a row.
var decisions = []string{
	"access/decide.go", "access/delta.go", "access/describe.go", "access/reconcile.go", "checkin/next.go", "reservation/merge.go",
	"reservation/readiness/judge.go", "reservation/explain/verdict.go", "space/diff.go", "space/suggest.go",
}

func TestDecisionsReadNothing(t *testing.T) {
	for _, name := range decisions {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			path := strings.TrimPrefix(strings.Trim(i.Path.Value, `"`), module)
			if below(path, "ent", "internal/db", "internal/watch", "internal/event", "context", "net", "os", "database/sql") {
				t.Errorf("%s imports %s: it decides from values alone", name, path)
			}
		}
	}
}
