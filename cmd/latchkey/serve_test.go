package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"latchkey.dev/internal/test/dbtest"
)

// TestMain lets a test run this program as a separate process.
func TestMain(m *testing.M) {
	if os.Getenv("LATCHKEY_TEST_AS_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is a latchkey serve in a process of its own.
type process struct {
	*exec.Cmd
	t       *testing.T
	out     *bufio.Reader
	dir     string
	welcome string
}

// serve starts a server on free ports and waits until it has printed its addresses.
func serve(t *testing.T, environment []string, args ...string) *process {
	t.Helper()
	return serveAt(t, filepath.Join(t.TempDir(), "d"), "create", environment, args...)
}

// serveAt is serve on a data directory, until the server has printed a word.
func serveAt(t *testing.T, dir, until string, environment []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, dir: dir}
	p.Cmd = exec.Command(os.Args[0], append([]string{"serve", "--data-dir", dir}, args...)...)
	p.Env = append(append(os.Environ(), "LATCHKEY_TEST_AS_PROGRAM=1", "LATCHKEY_LISTEN_HTTP=127.0.0.1:0", "LATCHKEY_LISTEN_GRPC=127.0.0.1:0",
		"LATCHKEY_LISTEN_BRIDGE=127.0.0.1:0", "LATCHKEY_LISTEN_OPS=127.0.0.1:0"), environment...)
	p.Stderr = t.Output()
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	p.out = bufio.NewReader(out)
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatalf("the server ended: %v\n%s", err, p.welcome)
		}
		if p.welcome += line; strings.Contains(line, until) {
			return p
		}
	}
}

// ends waits for the end, which must come within a bound far above what it takes.
func (p *process) ends(within time.Duration) error {
	p.t.Helper()
	timer := time.AfterFunc(within, func() {
		p.t.Errorf("did not end within %v", within)
		_ = p.Process.Kill()
	})
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, p.out)
	return p.Wait()
}

func (p *process) signal() {
	p.t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
}

func TestFirstStartSaysWhatComesNext(t *testing.T) {
	p := serve(t, nil)
	typed := regexp.MustCompile(`latchkey (property create .*)\n`).FindStringSubmatch(p.welcome)
	if typed == nil {
		t.Fatalf("does not say what to type:\n%s", p.welcome)
	}
	var out, errs bytes.Buffer
	if code := start(t.Context(), words(strings.ReplaceAll(typed[1], `"`, "'")), strings.NewReader(""), &out, &errs); code != 0 {
		t.Errorf("what it says does not work: %d %s", code, errs.String())
	}
	p.signal()
	if err := p.ends(time.Minute); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

// While a property waits for its first person, a restart keeps the links that the operator made.
func TestRestartKeepsOwnerLinks(t *testing.T) {
	p := serve(t, nil)
	run := func(line string) string {
		var out, errs bytes.Buffer
		if code := start(t.Context(), append(words(line), "--data-dir", p.dir), strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%s: %d %s", line, code, errs.String())
		}
		return out.String()
	}
	run("property create Miramar --time-zone Europe/Lisbon")
	secret := regexp.MustCompile(`/app/first/([^?\s]+)`).FindStringSubmatch(run("admin owner-link"))[1]
	p.signal()
	if err := p.ends(time.Minute); err != nil {
		t.Fatal(err)
	}
	p = serveAt(t, p.dir, "owner-link", nil)
	body := `{"secret":"` + secret + `","email":"ana@example.com","password":"a long password","name":"Ana","propertyName":"Vista","timeZone":"Europe/Lisbon"}`
	res, err := http.Post(regexp.MustCompile(`http://[^\s]+`).FindString(p.welcome)+"/v1/property/session:createFirstOwner", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the operator's link answers %d %s %v", res.StatusCode, text, err)
	}
}

// The README and the help of serve name what the first start prints: the link of the first owner, and the command that creates a property.
func TestFirstStartIsDescribed(t *testing.T) {
	p := serveAt(t, filepath.Join(t.TempDir(), "d"), "/app/first/", nil)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Run a server\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for name, text := range map[string]string{"what serve prints": p.welcome, "the README": section, "the help": (&serveCommand{}).Help()} {
		for _, want := range []string{"/app/first/", "within 24 hours", "property create"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
	}
}

// A client watches the health, so that a stop takes seconds. The second signal does not wait for that.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	p := serve(t, nil)
	address := regexp.MustCompile(`gRPC +(\S+)`).FindStringSubmatch(p.welcome)[1]
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	for status, signalled := healthv1.HealthCheckResponse_UNKNOWN, false; status != healthv1.HealthCheckResponse_NOT_SERVING || !signalled; {
		answer, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if status = answer.GetStatus(); status == healthv1.HealthCheckResponse_SERVING {
			p.signal()
			signalled = true
		}
	}
	p.signal()
	err = p.ends(time.Minute)
	if state, ok := p.ProcessState.Sys().(syscall.WaitStatus); !ok || !state.Signaled() || state.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v", err)
	}
}

func TestSettingsComeFromFlagEnvironmentAndFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := start(t.Context(), append([]string{"serve", "--config", file, "--data-dir", t.TempDir()}, args...), strings.NewReader(""), &out, &errs); code == 0 {
			t.Error("started")
		}
		return errs.String()
	}
	// Each value is wrong in another way, so that the error shows which value the server used.
	write(`{"listen-ops": "file"}`)
	if got := run(); !strings.Contains(got, `--listen-ops "file"`) {
		t.Errorf("the file: %s", got)
	}
	t.Setenv("LATCHKEY_LISTEN_OPS", "environment")
	if got := run(); !strings.Contains(got, `--listen-ops "environment"`) {
		t.Errorf("the environment over the file: %s", got)
	}
	if got := run("--listen-ops", "flag"); !strings.Contains(got, `--listen-ops "flag"`) {
		t.Errorf("the flag over both: %s", got)
	}
	t.Setenv("LATCHKEY_LISTEN_OPS", "127.0.0.1:0")
	write(`{"listen-ops": "` + strings.Repeat("x", mostSettings) + `"}`)
	if got := run(); !strings.Contains(got, "more than 1048576 bytes") {
		t.Errorf("a large file: %.200s", got)
	}
	write(`{"listen-opps": "file"}`)
	if got := run(); !strings.Contains(got, `no setting "listen-opps"`) {
		t.Errorf("a misspelt setting: %s", got)
	}
	write(`{"listen-http": 7083}`)
	if got := run(); !strings.Contains(got, "must be a text in quotes") || strings.Contains(got, "7083") {
		t.Errorf("a number: %s", got)
	}
}

func TestMigrateCheckMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	run := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := start(t.Context(), append(args, "--data-dir", dir), strings.NewReader(""), &out, &errs); code != want {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, code, want, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	if got := run(1, "migrate", "--check"); !strings.Contains(got, "there is no database at") {
		t.Errorf("said %s", got)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data directory is there: %v", err)
	}
	run(0, "migrate")
	run(0, "migrate", "--check")
}

func TestMigrate(t *testing.T) {
	url := dbtest.Empty(t, "postgres")
	dir := filepath.Join(t.TempDir(), "d")
	run := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := start(t.Context(), append(args, "--database", url, "--data-dir", dir), strings.NewReader(""), &out, &errs); code != want {
			t.Errorf("%v: exit code %d, want %d: %s%s", args, code, want, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	free := []string{"serve", "--listen-http=127.0.0.1:0", "--listen-grpc=127.0.0.1:0", "--listen-bridge=127.0.0.1:0", "--listen-ops=127.0.0.1:0"}
	if got := run(1, free...); !strings.Contains(got, "run: latchkey migrate") {
		t.Errorf("serve on an empty database: %s", got)
	}
	if got := run(1, "migrate", "--check"); !strings.Contains(got, "pending: 0001") {
		t.Errorf("migrate --check: %s", got)
	}
	if got := run(0, "migrate"); !strings.Contains(got, "done: 0001") {
		t.Errorf("migrate: %s", got)
	}
	for _, again := range [][]string{{"migrate"}, {"migrate", "--check"}} {
		if got := run(0, again...); !strings.Contains(got, "up to date") || strings.Contains(got, "done:") {
			t.Errorf("%v again: %s", again, got)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	said, out := io.Pipe()
	done := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		done <- start(ctx, append(free, "--database", url, "--data-dir", dir, "--log-level=error"), strings.NewReader(""), out, &errs)
		_ = out.Close()
	}()
	lines := bufio.NewScanner(said)
	for lines.Scan() && lines.Text() != "" {
		continue
	}
	stop()
	_, _ = io.Copy(io.Discard, said)
	if code := <-done; code != 0 {
		t.Errorf("serve after migrate: %d %s", code, errs.String())
	}
}

// A first start that fails because another program has a port leaves neither a data directory nor a key.
func TestBusyPortLeavesNothing(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	root := t.TempDir()
	var out, errs bytes.Buffer
	args := []string{"serve", "--data-dir", filepath.Join(root, "d"), "--key-file", filepath.Join(root, "key"),
		"--listen-http", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-bridge", "127.0.0.1:0", "--listen-ops", busy.Addr().String()}
	if code := start(t.Context(), args, strings.NewReader(""), &out, &errs); code != 1 || !strings.Contains(errs.String(), "--listen-ops: ") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) > 0 {
		t.Errorf("%v was left, %v", left, err)
	}
}
