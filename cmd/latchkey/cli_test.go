package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/server"
)

// shell runs command lines against a server of its own.
type shell struct {
	*testing.T
	dir, grpc string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	root := t.TempDir()
	cfg := config.Default()
	cfg.KeepStays = 100 * 365 * 24 * time.Hour // tests name fixed days
	cfg.DataDir, cfg.KeyFile, cfg.Drain = filepath.Join(root, "d"), filepath.Join(root, "key"), time.Millisecond
	cfg.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	s, err := server.New(t.Context(), cfg, server.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shell{T: t, dir: cfg.DataDir, grpc: s.GRPCAddr()}
}

// run runs a command over the socket.
func (s *shell) run(args ...string) (code int, out, errs string) {
	return s.feed("", append(args, "--data-dir", s.dir)...)
}

func (s *shell) feed(in string, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = start(s.Context(), args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

// ok runs a command that must succeed and whose output must contain all given texts.
func (s *shell) ok(command string, wanted ...string) string {
	s.Helper()
	code, out, errs := s.run(words(command)...)
	if code != 0 {
		s.Fatalf("%s: exit code %d: %s", command, code, errs)
	}
	for _, w := range wanted {
		if !strings.Contains(out, w) {
			s.Errorf("%s: %q is not in:\n%s", command, w, out)
		}
	}
	return out
}

// fails runs a command that must fail and whose error must contain all given texts.
func (s *shell) fails(want int, command string, wanted ...string) {
	s.Helper()
	code, _, errs := s.run(words(command)...)
	if code != want {
		s.Errorf("%s: exit code %d, want %d: %s", command, code, want, errs)
	}
	for _, w := range wanted {
		if !strings.Contains(errs, w) {
			s.Errorf("%s: %q is not in:\n%s", command, w, errs)
		}
	}
}

// json runs a command with --json and returns what it prints, decoded.
func (s *shell) json(command string) map[string]any {
	s.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(s.ok(command+" --json")), &m); err != nil {
		s.Fatalf("%s --json: %v", command, err)
	}
	return m
}

// follow runs a command that prints lines until it is stopped.
func (s *shell) follow(args ...string) (code <-chan int, lines <-chan string, stop func()) {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), time.Minute)
	out, to := io.Pipe()
	ended, printed := make(chan int, 1), make(chan string, 100)
	go func() {
		ended <- start(ctx, append(args, "--data-dir", s.dir), strings.NewReader(""), to, io.Discard)
		_ = to.Close()
	}()
	go func() {
		defer close(printed)
		for r := bufio.NewScanner(out); r.Scan(); {
			printed <- r.Text()
		}
	}()
	s.Cleanup(stop)
	return ended, printed, stop
}

// words splits a command at blanks, except within single quotes.
func words(command string) []string {
	list := wordPattern.FindAllString(command, -1)
	for i, w := range list {
		list[i] = strings.Trim(w, "'")
	}
	return list
}

var wordPattern = regexp.MustCompile(`'[^']*'|\S+`)

func id(m map[string]any) string { return m["data"].(map[string]any)["id"].(string) }

func TestEachCommandSuggestsTheNext(t *testing.T) {
	s := newShell(t)
	s.ok("property list", "There is no property yet", "latchkey property create")
	s.fails(1, "space list", "there is no property yet", "latchkey property create")
	s.ok("property create 'Hostel Miramar' --time-zone Europe/Lisbon --late-out 30", "Created prp_", "Next:", "latchkey integration connect")
	s.ok("property show", "Hostel Miramar", "Europe/Lisbon", "late out", "30 min")
	s.ok("property set --no-gates-alone --owing threshold --owing-threshold 500", "threshold 500")

	app := s.json("app create 'Cloud PMS'")
	if !strings.HasPrefix(app["clientToken"].(string), "lkc_") {
		t.Error("no client token")
	}
	s.ok("app list", "Cloud PMS", id(app))
	in := s.json("integration connect " + id(app))
	if !strings.HasPrefix(in["accessToken"].(string), "lka_") {
		t.Error("no access token")
	}
	s.ok("integration show "+id(in), "reservations:write", "access token tok_", "PATCH /v1/endpoints")
	s.ok("integration rotate-token "+id(in)+" --overlap 60", "shown only this once", "lka_")
	s.ok("integration rotate-secret "+id(in), "whsec_")
	s.fails(1, "integration read-spaces "+id(in), "endpoint")
	s.ok("integration revoke-token "+id(in), "no valid access token")
	s.ok("endpoint list "+id(in), "No endpoint is registered")

	s.ok("space create 'Dorm A' --type Dorm --beds 2", "Dorm A", "Bed", "Next:")
	s.ok("space create 101 --type Room --floor 1", "Room")
	s.fails(1, "space create 101 --type Room", "101")
	s.fails(1, "space create 9 --type Bed --dorm 'Dorm Z'", "--dorm", "names no dorm")
	s.ok("space list --type Bed", "Bed")
	s.ok("gate create Entrance", "Entrance", "all")
	s.ok("kiosk list", "There is no kiosk yet")
	s.ok("kiosk create Lobby", "ksk_", "Lobby", "enrolment code", "/k/enrol", "/q/")
	s.ok("kiosk list", "Lobby", "notEnrolled")
	s.ok("kiosk reset lobby", "enrolment code")
	s.ok("kiosk delete Lobby", "Deleted ksk_")
	s.ok("mail list", "No mails")
	s.ok("mail settings", "There is no mail server")
	s.fails(1, "mail settings --host smtp.example.com --security none", "security", "fromAddress")
	s.ok("mail settings --host smtp.example.com --user desk --from desk@example.com", "smtp.example.com:587", "starttls", " <desk@example.com>", "latchkey mail test")
	if out := s.ok("mail settings --host ''", "There is no mail server"); strings.Contains(out, "latchkey mail test") {
		s.Errorf("a mail server that was removed will be tested: %s", out)
	}
	s.fails(1, "mail test owner@example.com", "the mail was not sent. No mail server is set")
	s.fails(1, "mail list --reservation 4711", "there is no reservation 4711")
	if code, out, errs := s.feed("Subject: hello\r\n\r\nHello", "mail", "bounce", "--data-dir", s.dir); code != 0 || !strings.Contains(out, "Nothing changed") {
		s.Errorf("a mail that is no report: exit code %d, %s%s", code, out, errs)
	}
	s.ok("checkin settings --mandatory contact,home --accent '#336699' --address 'Rua do Mar 1' --directions 'Tram 28\nTo the end' --language en", "contact, home", "#336699", "Rua do Mar 1", "Tram 28 / To the end")
	s.ok("checkin settings --mandatory ''", "#336699")
	s.ok("checkin settings --directions-in 'de=Linie 28;\nbis zum Ende' --directions-in fr=Tram --address-in 'de=Weg 1'", "directions in de", "Linie 28; / bis zum Ende", "Tram", "Weg 1")
	if out := s.ok("checkin settings --directions-in fr=", "Weg 1"); strings.Contains(out, "directions in fr") {
		s.Errorf("a text that was removed is shown: %s", out)
	}
	s.fails(1, "checkin settings --address-in xx-toolongtag=Weg", "texts.byLanguage")
	s.ok("checkin settings --keep-stay-days 90 --message-days 30", "90 days", "30 days", "server keeps stays ", "36500 days", "server keeps audit log ", "1095 days")
	s.fails(1, "checkin settings --keep-stay-days 29", "--keep-stay-days must be 0, or from 30")
	s.ok("mail invite "+id(in), "Invitations are off")
	s.ok("mail invite "+id(in)+" --on", "Invitations are on")
	s.ok("mail invite "+id(in)+" --off", "Invitations are off")
	s.ok("mapping list "+id(in), "No spaces to show")
	s.ok("mapping suggest "+id(in), "have not been read", "latchkey integration read-spaces ")
	s.ok("mapping suggest "+id(in)+" --apply", "have not been read")
	s.ok("today --rooms --date 2026-07-01", "Arrivals on 2026-07-01", "No guest arrives")
	s.fails(1, "today departures --rooms", "counts arrivals only")
	s.ok("mapping create "+id(in), "Created and mapped 0 spaces")
	s.ok("mapping create "+id(in)+" --dry-run", "The doors of 0 reservations would change")
	s.ok("mapping conflicts", "No conflict")

	bridge := s.json("bridge create Reception")
	if bridge["joinCode"].(string) == "" {
		t.Error("no join code")
	}
	s.ok("bridge list", "Reception", "waiting")
	s.ok("bridge join-code "+id(bridge), "valid for one enrolment")
	s.ok("lock list", "There is no lock yet")
	s.fails(1, "lock unlock lck_none", "lock")
	s.ok("arrivals", "No arrivals")
	s.fails(1, "arrivals --date tomorrow", "--date", "YYYY-MM-DD")
	s.fails(1, "reservations explain rsv_none", "no such reservation")
	s.ok("notice list", "No notice")
	s.fails(1, "notice read", "--all")
	s.ok("api-key create", "lkk_")
	s.fails(1, "api-key create", "rotate it")
	s.ok("api-key rotate --overlap 1d", "lkk_")
	if out := s.ok("api-key show", "BEGINS"); strings.Count(out, "lkk_") != 2 {
		t.Errorf("the key in its overlap is missing:\n%s", out)
	}
	s.ok("api-key revoke", "Revoked")
	// The tokens that commands created for themselves are revoked.
	s.ok("token list", "There is no valid token")
}

func TestImport(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	code, out, errs := s.feed("type,name,floor,dorm\nRoom,101,1,\nDorm,Dorm A,2,\nBed,1,2,Dorm A\n", "space", "import", "--data-dir", s.dir)
	if code != 0 || !strings.Contains(out, "Dorm A") {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	code, _, errs = s.feed("type,name\nRoom,102\nRoom,101\n", "space", "import", "--data-dir", s.dir)
	if code != 1 || !strings.Contains(errs, `line 3: another space here is called "101"`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, _, errs = s.feed("type,name,dorm\nRoom,102,\nBed,1,Dorm Y\nBed,1,Dorm Z\n", "space", "import", "--data-dir", s.dir)
	if code != 1 || !strings.Contains(errs, "line 3: dorm names no dorm") || !strings.Contains(errs, "line 4: dorm names no dorm") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if out := s.ok("space list"); strings.Contains(out, "102") {
		t.Errorf("the refused file left something:\n%s", out)
	}
}

func TestWhichProperty(t *testing.T) {
	s := newShell(t)
	a := id(s.json("property create A --time-zone Europe/Lisbon"))
	b := id(s.json("property create B --time-zone Europe/Rome"))
	s.fails(1, "space list", "--property", a, b)
	s.ok("property show --property "+b, "Europe/Rome")
	s.fails(1, "property show --property prp_none", "no such property")
	t.Setenv("LATCHKEY_PROPERTY", a)
	s.ok("property show", "Europe/Lisbon")
}

func TestCommandsFromAnotherMachine(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	operator := s.json("admin token create Ana --ttl 1h")["token"].(string)
	viewer := s.json("token create --role viewer --name Desk")
	remote := func(token string, args ...string) (int, string, string) {
		return s.feed("", append(args, "--server", s.grpc, "--token", token)...)
	}
	for _, c := range []struct {
		what, token string
		args        []string
		code        int
		says        string
	}{
		{"an operator lists properties", operator, []string{"property", "list"}, 0, "Europe/Lisbon"},
		{"an operator works for the property", operator, []string{"space", "create", "101", "--type", "Room"}, 0, "101"},
		{"a viewer reads", viewer["token"].(string), []string{"space", "list"}, 0, "101"},
		{"a viewer changes nothing", viewer["token"].(string), []string{"space", "create", "102", "--type", "Room"}, 1, "latchkey token create --role operator"},
		{"a viewer is no operator", viewer["token"].(string), []string{"app", "list"}, 1, "lko_ token"},
		{"a wrong token", "lko_nonsense", []string{"app", "list"}, 1, "Create a new one"},
		{"no token", "", []string{"app", "list"}, 1, "--server needs --token"},
	} {
		code, out, errs := remote(c.token, c.args...)
		if code != c.code || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s: exit code %d, want %d and %q in:\n%s%s", c.what, code, c.code, c.says, out, errs)
		}
	}
	s.ok("token revoke "+id(viewer), "Revoked")
	if code, _, _ := remote(viewer["token"].(string), "space", "list"); code != 1 {
		t.Errorf("revoked, it reads: exit code %d", code)
	}
	list := s.ok("admin token list", "Ana")
	if strings.Contains(list, operator) {
		t.Error("the list shows the secret")
	}
}

// A staff token opens one property: naming another must not change the token's own.
func TestStaffTokenIsForOneProperty(t *testing.T) {
	s := newShell(t)
	a := id(s.json("property create A --time-zone Europe/Lisbon"))
	b := id(s.json("property create B --time-zone Europe/Rome"))
	token := s.json("token create --role owner --name Desk --property " + a)["token"].(string)
	s.fails(1, "space create 101 --type Room --token "+token+" --property "+b, a, b)
	s.ok("space create 102 --type Room --token "+token+" --property "+a, "102")
	s.ok("space create 103 --type Room --token "+token, "103")
	if out := s.ok("space list --property " + a); strings.Contains(out, "101") {
		t.Errorf("the refused change was made at the token's property:\n%s", out)
	}
}

// The audit log names the operator who read a PIN, not the token that the command created for itself.
func TestOperatorIsRecorded(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	s.ok("space create 101 --type Room")
	code := id(s.json("code create Ana --all-rooms"))
	ana := s.json("admin token create Ana --ttl 1h")
	s.ok("code reveal " + code + " --server " + s.grpc + " --token " + ana["token"].(string))
	s.ok("code show "+code, "operator:"+id(ana), "operator:socket")
	desk := s.json("token create --role owner --name Desk")
	s.ok("code reveal " + code + " --token " + desk["token"].(string))
	s.ok("code show "+code, "staff:"+id(desk))
}

// A suggested command can be typed unchanged.
func TestNextStepsUseTheSameServer(t *testing.T) {
	s := newShell(t)
	s.fails(1, "space list", "latchkey property create --data-dir "+s.dir+" \"Hostel Miramar\"")
	p := id(s.json("property create A --time-zone Europe/Lisbon"))
	s.ok("property create B --time-zone Europe/Lisbon", "latchkey space create --data-dir "+s.dir+" 101", "latchkey space import --data-dir "+s.dir+" FILE")
	s.ok("gate create G --property "+p, "latchkey lock assign --property "+p+" --data-dir "+s.dir+" LOCK gat_")
	s.ok("lock list --property "+p, "latchkey bridge list --property "+p)
	operator := s.json("admin token create Ana --ttl 1h")["token"].(string)
	code, out, errs := s.feed("", "app", "create", "X", "--server", s.grpc, "--token", operator)
	if code != 0 || !strings.Contains(out, "latchkey integration connect --server "+s.grpc+" --token TOKEN app_") || strings.Contains(out, operator) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	t.Setenv("LATCHKEY_DATA_DIR", s.dir)
	t.Setenv("LATCHKEY_PROPERTY", p)
	if code, out, errs := s.feed("", "gate", "create", "H"); code != 0 || !strings.Contains(out, "latchkey lock assign LOCK gat_") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

func TestNoServer(t *testing.T) {
	s := &shell{T: t, dir: t.TempDir()}
	s.fails(1, "property list", "no server runs with the data directory", "latchkey serve --data-dir "+s.dir)
	code, _, errs := s.feed("", "property", "list", "--server", "127.0.0.1:1", "--token", "lko_x")
	if code != 1 || !strings.Contains(errs, "no server answers") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, _, errs = s.feed("", "property", "list", "--server", "nowhere", "--token", "lko_x")
	if code != 1 || !strings.Contains(errs, "HOST:PORT") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// A server may well run where its data directory cannot be entered: root can enter every one, so the error is made here.
func TestSocketOfAnotherUser(t *testing.T) {
	text := noSocket("/srv/latchkey", &fs.PathError{Op: "stat", Path: "/srv/latchkey/operator.sock", Err: syscall.EACCES}).Error()
	if strings.Contains(text, "no server runs") || !strings.Contains(text, "another user") || !strings.Contains(text, "sudo -u") {
		t.Error(text)
	}
}

func TestWrongCommandLines(t *testing.T) {
	s := &shell{T: t, dir: t.TempDir()}
	s.fails(2, "property create", "--time-zone", "Try: latchkey property create --help")
	s.fails(2, "space create x --type Villa", "Villa")
	s.fails(2, "nosuch", "Try: latchkey --help")
	s.fails(1, "space create x --type Room --beds 3", "--beds needs --type Dorm")
}
