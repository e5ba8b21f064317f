package main

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// People type the address of the HTTP listener, which they know from the browser.
func TestEnrollExplainsAnHTTPListener(t *testing.T) {
	for what, http2 := range map[string]bool{"HTTP/2": true, "HTTP/1": false} {
		front := httptest.NewUnstartedServer(http.NotFoundHandler())
		front.Config.Protocols = new(http.Protocols)
		front.Config.Protocols.SetHTTP1(true)
		front.Config.Protocols.SetUnencryptedHTTP2(http2)
		front.Start()
		e := enroll{Server: front.Listener.Addr().String(), Plaintext: true, JoinCode: "lkj_x.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
		err := e.Run(t.Context(), &commands{Dir: filepath.Join(t.TempDir(), "bridge")})
		front.Close()
		if err == nil || !strings.Contains(err.Error(), "is an HTTP listener") || !strings.Contains(err.Error(), "--listen-grpc") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestEnrollWithoutACodeExplainsJoinCodes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bridge")
	c := parsed(t, "--dir", dir, "enroll", "127.0.0.1:7070")
	err := c.Enroll.Run(t.Context(), &c)
	if err == nil || !strings.Contains(err.Error(), "latchkey bridge create") || !strings.Contains(err.Error(), "latchkey bridge join-code") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it made something: %v", err)
	}
}

func TestCommandsExplainAMissingEnrolment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bridge")
	if code := start([]string{"--dir", dir, "status"}); code != 1 {
		t.Errorf("status exits with %d", code)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("asking for the status made something: %v", err)
	}
	if code := start([]string{"--dir", dir, "run", "--sim-locks", "front=zwave,back=nuki", "--sim-keypads", "127.0.0.1:0"}); code != 1 {
		t.Errorf("run exits with %d", code)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("run without an enrolment made something: %v", err)
	}
	if code := start([]string{"--dir", dir, "doctor"}); code != 1 {
		t.Errorf("doctor exits with %d", code)
	}
	if code := start([]string{"--dir", dir, "enroll", "192.0.2.1:1", "--plaintext", "--join-code", "lkj_x.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}); code != 1 {
		t.Errorf("a join code in the clear to another machine exits with %d", code)
	}
}

// kong ends a wrong command line with a code of its own.
func TestWrongCommandLineEndsWith2(t *testing.T) {
	for code, want := range map[int]int{80: 2, 0: 0, 1: 1} {
		if got := exitCode(code); got != want {
			t.Errorf("exit code %d for %d, want %d", got, code, want)
		}
	}
	parser, err := kong.New(&commands{}, kong.Vars{"version": "1"})
	if err != nil {
		t.Fatal(err)
	}
	var coder interface{ ExitCode() int }
	if _, err := parser.Parse([]string{"nonsense"}); !errors.As(err, &coder) || exitCode(coder.ExitCode()) != 2 {
		t.Errorf("%v", err)
	}
}
