package server

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "latchkey.dev/"

// ground may be imported by everybody and imports the ground alone.
var ground = []string{"config", "db", "bus", "jobs", "telemetry", "fault", "id", "actor", "clock", "keyring", "money", "text", "connlimit", "disk"}

// domain in the one direction imports may go: each may import those after it. staff stands beside partner.
var domain = []string{"checkin", "guest", "reservation", "phone", "access", "lock", "space", "partner", "staff", "event"}

// edge stands above the domain, and only the server may put its parts together.
var edge = []string{"api", "web", "bridgelink", "pms", "worker"}

// only says who may import something.
var only = map[string][]string{
	"latchkey.dev/gen/":         {"internal/api/", "internal/bridgelink", "internal/pms", "internal/web", "internal/agent", "internal/sandbox", "internal/e2e", "internal/bench", "internal/server", "cmd/", "gen/"},
	"google.golang.org/grpc":    {"internal/api/", "internal/bridgelink", "internal/agent", "internal/server", "internal/telemetry", "internal/e2e", "internal/sandbox", "internal/bench", "cmd/", "gen/"},
	"latchkey.dev/ent":          {"internal/db", "internal/server", "internal/worker", "internal/api/", "internal/bridgelink", "internal/tools", "ent"},
	"latchkey.dev/internal/e2e": {"internal/e2e/"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"...").Output()
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
	}
}

// room is the first word of a path below internal/, empty elsewhere.
func room(path string) string {
	rest, ok := strings.CutPrefix(path, "internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// allowed says whether one room below internal/ may import another.
func allowed(from, to string) bool {
	switch {
	case from == to:
		return true
	case slices.Contains(ground, to), to == "smartkey":
		return true
	case slices.Contains(ground, from), from == "smartkey":
		return false
	case slices.Contains(domain, from):
		return slices.Contains(domain, to) && slices.Index(domain, from) < slices.Index(domain, to)
	case slices.Contains(edge, from):
		return slices.Contains(domain, to) || to == "api" && from != "pms"
	}
	return true
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		from := room(p.ImportPath)
		for _, i := range p.Imports {
			if to := room(strings.TrimPrefix(i, module)); strings.HasPrefix(i, module) && from != "" && to != "" && !allowed(from, to) {
				t.Errorf("%s imports %s: against the direction", p.ImportPath, i)
			}
		}
	}
}

func TestOnly(t *testing.T) {
	for _, p := range packages(t) {
		domainPackage := slices.Contains(domain, room(p.ImportPath))
		for _, i := range p.Imports {
			for what, who := range only {
				if i != strings.TrimSuffix(what, "/") && !strings.HasPrefix(i, strings.TrimSuffix(what, "/")+"/") {
					continue
				}
				if what == module+"ent" && domainPackage && p.ImportPath != "internal/lock/slot" {
					continue
				}
				if !slices.ContainsFunc(who, func(w string) bool { return strings.HasPrefix(p.ImportPath, w) }) {
					t.Errorf("%s imports %s, which is for %s only", p.ImportPath, i, strings.Join(who, ", "))
				}
			}
		}
	}
}

// What production decides with must stay free of everything: the bridge and the model checker run it too.
func TestPure(t *testing.T) {
	for _, p := range packages(t) {
		pure := p.ImportPath == "internal/lock/slot" || p.ImportPath == "internal/smartkey" || p.ImportPath == "internal/access/pin"
		agent := p.ImportPath == "internal/agent" || strings.HasPrefix(p.ImportPath, "internal/agent/") || p.ImportPath == "cmd/latchkey-bridge"
		for _, i := range p.Imports {
			if pure && strings.HasPrefix(i, module) {
				t.Errorf("%s is pure and imports %s", p.ImportPath, i)
			}
			if agent && (strings.HasPrefix(i, module+"ent") || i == module+"internal/db" || i == module+"internal/lock" || strings.HasPrefix(i, module+"internal/server")) {
				t.Errorf("%s runs on site and imports %s", p.ImportPath, i)
			}
		}
	}
}
