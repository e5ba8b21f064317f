package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

func TestFlagsBeforeTheCommand(t *testing.T) {
	for line, want := range map[string]string{
		"space list -p X":                            "space list -p X",
		"-p X space list":                            "space list -p X",
		"-pX --json space list --type Room":          "space list --type Room -pX --json",
		"--server=h:1 --token t lock unlock -- -odd": "lock unlock --server=h:1 --token t -- -odd",
		"--answers-in de notice list":                "notice list --answers-in de",
		"--help":                                     "--help",
		"-p X --help":                                "-p X --help",
		"-p":                                         "-p",
		"-p X":                                       "-p X",
		"--unknown X space":                          "--unknown X space",
		"":                                           "",
	} {
		if got := flagsLast(strings.Fields(line)); !reflect.DeepEqual(strings.Join(got, " "), want) {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
	s := newShell(t)
	a := id(s.json("property create A --time-zone Europe/Lisbon"))
	s.ok("property create B --time-zone Europe/Rome")
	code, out, errs := s.feed("", "-p", "b", "--data-dir", s.dir, "property", "show")
	if code != 0 || !strings.Contains(out, "Europe/Rome") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	code, out, errs = s.feed("", "--property="+a, "--json", "--data-dir", s.dir, "property", "show")
	if code != 0 || !strings.Contains(out, `"Europe/Lisbon"`) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

func TestHelp(t *testing.T) {
	help := func(want int, args ...string) string { return typed(t, want, args...) }
	own := help(0, "space", "list", "--help")
	for _, w := range []string{"--property", "--json", "latchkey help connection"} {
		if !strings.Contains(own, w) {
			t.Errorf("%q is not in %s", w, own)
		}
	}
	if strings.Contains(own, "--server") || strings.Count(own, "\n") > 20 {
		t.Errorf("the help of a command lists what all have in common:\n%s", own)
	}
	if again := help(0, "help", "space", "list"); again != own {
		t.Errorf("help space list is not space list --help:\n%s", again)
	}
	connection := help(0, "help", "connection")
	for _, w := range []string{"--data-dir", "--server", "LATCHKEY_SERVER", "--token", "LATCHKEY_TOKEN", "-p, --property", "--ca", "--plaintext", "--json"} {
		if !strings.Contains(connection, w) {
			t.Errorf("%q is not in %s", w, connection)
		}
	}
	if got := help(0, "help"); !strings.Contains(got, "space list") {
		t.Error(got)
	}
	help(2, "help", "nonsense")
	// Hidden in help, they are flags still.
	if got := typed(t, 1, "space", "list", "--server", "h:1"); !strings.Contains(got, "--server needs --token") {
		t.Error(got)
	}
}

func TestBuildVersion(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for want, info := range map[string]*debug.BuildInfo{
		"v1.2.3":       {Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{setting("vcs.revision", "abc")}},
		"0123456789ab": {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{setting("vcs.revision", "0123456789abcdef")}},
		"0123456789ab 2026-07-01T12:00:00Z modified": {Settings: []debug.BuildSetting{
			setting("vcs.revision", "0123456789abcdef"), setting("vcs.time", "2026-07-01T12:00:00Z"), setting("vcs.modified", "true")}},
		"dev": {Main: debug.Module{Version: "(devel)"}},
	} {
		if got := buildVersion(info, true); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := buildVersion(nil, false); got != "dev" {
		t.Errorf("without any information: %q", got)
	}
	if got := typed(t, 0, "--version"); got != version+"\n" {
		t.Errorf("--version prints %q", got)
	}
}

func TestUnknownVariables(t *testing.T) {
	known := []string{"LATCHKEY_DATA_DIR", "LATCHKEY_LISTEN_HTTP", "LATCHKEY_PROPERTY"}
	got := unknownVariableWarnings([]string{
		"LATCHKEY_LISTEN_HTTP=x", "LATCHKEY_LISTENHTTP=x", "LATCHKEY_PROPRETY=x", "LATCHKEY_SOMETHING_ELSE=", "LATCHKEY_MQTT_URL=x", "PATH=/LATCHKEY_", "LATCHKEY_JOIN_CODE=x",
	}, known)
	want := []string{
		"the environment variable LATCHKEY_LISTENHTTP is unknown and ignored; did you mean LATCHKEY_LISTEN_HTTP?",
		"the environment variable LATCHKEY_PROPRETY is unknown and ignored; did you mean LATCHKEY_PROPERTY?",
		"the environment variable LATCHKEY_SOMETHING_ELSE is unknown and ignored",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	t.Setenv("LATCHKEY_DATABSE", "x")
	dir := filepath.Join(t.TempDir(), "d")
	if got := typed(t, 1, "migrate", "--check", "--data-dir", dir); !strings.Contains(got, "latchkey: warning: the environment variable LATCHKEY_DATABSE is unknown and ignored; did you mean LATCHKEY_DATABASE?\n") {
		t.Error(got)
	}
	if got := typed(t, 1, "property", "list", "--json", "--data-dir", dir); strings.Contains(got, "warning") {
		t.Errorf("a program reads this: %s", got)
	}
}

// What is wrong in a file of settings is named with its line, wherever it is noticed.
func TestErrorsNameTheFileAndLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "latchkey.json")
	run := func(content string, args ...string) string {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if code := start(t.Context(), append([]string{"serve", "--config", file, "--data-dir", t.TempDir()}, args...), strings.NewReader(""), &out, &errs); code == 0 {
			t.Error("started")
		}
		return errs.String()
	}
	for content, want := range map[string][]string{
		"{\n\"listen-http\": \"x\",\n\"listen-opps\": 1,\n\"nonsense\": 2}": {file + `, line 3: there is no setting "listen-opps"; did you mean "listen-ops"?`, file + `, line 4: there is no setting "nonsense"`},
		"{\n\"drain\": \"1s\",\n}": {file + ", line "},
		"[]":                       {file + ", line 1: must be a JSON object"},
		"":                         {file + ", line 1: must be a JSON object"},
		"{\n\"drain\": \"1s\"":     {file + ", line 2", "ends too early"},
		"{\"drain\": \"1s\"}\n{}":  {file + ", line 2", "text after the object"},
		"{\n\"drain\": \"1s\",\n\"drain\": \"2s\"}":           {file + ", line 3", `"drain" is set twice`},
		"{\n\n\"drain\": \"soon\"}":                           {"want a duration such as 30d", "--drain is set in " + file + ", line 3"},
		"{\n\"drain\": 20}":                                   {"in quotes", "--drain is set in " + file + ", line 2"},
		"{\n\"rate-burst\": 0,\n\"listen-ops\": \"nowhere\"}": {"--rate-burst is set in " + file + ", line 2", "--listen-ops is set in " + file + ", line 3"},
	} {
		got := run(content)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q: %q is not in %s", content, w, got)
			}
		}
	}
	if got := run("{\n\"listen-ops\": \"file\"}", "--listen-ops", "flag"); strings.Contains(got, "is set in") {
		t.Errorf("the flag won, and the file is blamed: %s", got)
	}
	t.Setenv("LATCHKEY_LISTEN_OPS", "environment")
	if got := run("{\n\"listen-ops\": \"file\"}"); strings.Contains(got, "is set in") {
		t.Errorf("the environment won, and the file is blamed: %s", got)
	}
}

func TestPartnerAllowRefusesURLs(t *testing.T) {
	for entry, says := range map[string]string{"http://x": "it is a URL", "https://pms.internal:8443/api": "it is a URL", "pms.internal:0": "port"} {
		got := typed(t, 2, "serve", "--data-dir", filepath.Join(t.TempDir(), "d"), "--listen-http=127.0.0.1:0", "--listen-grpc=127.0.0.1:0",
			"--listen-bridge=127.0.0.1:0", "--listen-ops=127.0.0.1:0", "--partner-allow", entry)
		if !strings.Contains(got, `--partner-allow "`+entry+`": `) || !strings.Contains(got, says) || !strings.Contains(got, "want HOST or HOST:PORT") {
			t.Errorf("%s: %s", entry, got)
		}
	}
}

// Every flag that is a duration takes days.
func TestDurationsInDays(t *testing.T) {
	if got := typed(t, 2, "serve", "--keep-events", "29d", "--data-dir", t.TempDir()); !strings.Contains(got, "--keep-events must be at least 30d") {
		t.Error(got)
	}
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	s.fails(2, "token create --ttl 1w", `want a duration such as 30d`, `"1w"`)
	for _, command := range []string{"token create --ttl 0s", "token create --ttl=-30s", "admin token create Ana --ttl 0d"} {
		s.fails(2, command, "leave it out for a token that never expires")
	}
	in := id(s.json("integration connect " + id(s.json("app create PMS"))))
	s.ok("integration rotate-token "+in+" --overlap 1d", "lka_")
	s.ok("integration rotate-token "+in+" --overlap 60", "lka_")
	s.fails(2, "integration rotate-token "+in+" --overlap soon", "want a duration")
	s.fails(2, "integration rotate-token "+in+" --overlap 8d", "--overlap", "from 0 to 7d")
	s.fails(2, "integration rotate-token "+in+" --overlap 10081", "from 0 to 7d")
	s.fails(2, "integration rotate-token "+in+" --overlap 5s", "whole minutes")
	s.fails(2, "token create --ttl 1s", "whole minutes")
	s.fails(2, "token create --ttl 367d", "at most 366d")
}

// A wrong setting of the server is a usage error that names the flag once.
func TestWrongSettingsAreUsageErrors(t *testing.T) {
	for _, tt := range [][]string{
		{"--bridge-address", "foo"}, {"--public-url", "ftp://x"}, {"--otlp-url", "foo"}, {"--partner-ports", "0"},
		{"--partner-allow", "http://x"}, {"--partner-deny", "x"}, {"--mail-allow", "http://x"}, {"--database", "mysql://x"}, {"--database", "sqlite:"},
		{"--trusted-proxies", "10.0.0.1"},
	} {
		got := typed(t, 2, append([]string{"serve", "--data-dir", t.TempDir()}, tt...)...)
		if strings.Count(got, tt[0]) != 1 || strings.Contains(got, "netip") {
			t.Errorf("%v: %s", tt, got)
		}
	}
	typed(t, 2, "migrate", "--database", "mysql://x")
	typed(t, 2, "backup", "copy.db", "--database", "mysql://x")
}

// What the help shows as usage can be typed.
func TestUsageLine(t *testing.T) {
	for _, command := range []string{"reservation list", "app token list", "admin token create"} {
		usage, _, _ := strings.Cut(typed(t, 0, append(strings.Fields(command), "--help")...), "\n")
		if !strings.Contains(usage, " "+command+" ") || !strings.HasSuffix(usage, " [flags]") || strings.Contains(usage, "(") {
			t.Errorf("%s: %s", command, usage)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { panic("a defect") }

// Only the panic with which kong ends is caught: any other one is a defect, which must not look like success.
func TestDefectIsNoSuccess(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic is lost")
		}
	}()
	t.Errorf("ended with %d", start(t.Context(), []string{"--version"}, strings.NewReader(""), brokenWriter{}, brokenWriter{}))
}

// The case of a word that the command line itself chooses does not matter.
func TestCaseOfChosenWords(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	s.ok("space create 101 --type room", "Room")
	s.ok("space list --type ROOM", "101")
	s.ok("today INHOUSE", "in house")
	s.fails(2, "space create 102 --type villa", "villa")
}
