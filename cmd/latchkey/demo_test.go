package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
)

// A demo that is stopped during its steps does not count as failed, and leaves no files behind.
func TestStoppedDemoCleansUp(t *testing.T) {
	// A caught signal is at its default in a child; one that is ignored here, as under nohup, would be ignored there too.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	signalled := func(s syscall.Signal) func(*exec.Cmd, *os.File) {
		return func(p *exec.Cmd, _ *os.File) {
			if err := p.Process.Signal(s); err != nil {
				t.Error(err)
			}
		}
	}
	for what, stop := range map[string]func(*exec.Cmd, *os.File){
		"Ctrl-C":                       signalled(syscall.SIGINT),
		"the terminal closes":          signalled(syscall.SIGHUP),
		"the reader of a pipe is gone": func(_ *exec.Cmd, read *os.File) { _ = read.Close() },
	} {
		temp := t.TempDir()
		p := exec.Command(os.Args[0], "demo", "--once")
		p.Env = append(os.Environ(), "LATCHKEY_TEST_AS_PROGRAM=1", "TMPDIR="+temp)
		var errs bytes.Buffer
		p.Stderr = &errs
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p.Stdout = write
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		_ = write.Close()
		out := bufio.NewReader(read)
		for line := ""; !strings.HasPrefix(line, " 1  "); {
			if line, err = out.ReadString('\n'); err != nil {
				t.Fatalf("%s: ended before its story began: %v %s", what, err, errs.String())
			}
		}
		stop(p, read)
		timer := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
		rest, _ := bufio.NewReader(out).ReadString(0)
		_ = p.Wait()
		timer.Stop()
		_ = read.Close()
		if code := p.ProcessState.ExitCode(); code != 1 || errs.String() != "latchkey: stopped\n" || strings.Contains(rest, "FAILED") {
			t.Errorf("%s: exit code %d: %s%s", what, code, rest, errs.String())
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v behind, %v", what, left, err)
		}
	}
}

// The ready file of a demo names everything that a program needs to play guest, staff, PMS and kiosk. The text after the demo has the same for a person.
func TestReadyFile(t *testing.T) {
	root := t.TempDir()
	cfg := config.Default()
	cfg.DataDir, cfg.KeyFile, cfg.Drain = filepath.Join(root, "d"), filepath.Join(root, "key"), time.Millisecond
	cfg.Listen = config.Listen{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", Bridge: "127.0.0.1:0", Ops: "127.0.0.1:0"}
	w, err := sandbox.Build(t.Context(), sandbox.Config{Server: cfg, Dir: filepath.Join(root, "b"), WithoutStorage: true, Play: true, Options: server.Options{Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(root, "ready.json")
	if err := (&demoCommand{ReadyFile: file}).writeReady(w); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]string
	if err := json.Unmarshal(raw, &keys); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"http", "grpc", "bridge", "clientToken", "accessToken", "apiKey", "staffToken", "propertyId", "keypad", "sandbox", "socket", "mailbox", "kiosk", "guest", "kioskCode", "dashboard",
		"staffLink",
	} {
		if keys[name] == "" {
			t.Errorf("the file has no %s", name)
		}
	}
	for name, want := range map[string]string{"mailbox": `"mails"`, "kiosk": "<html", "guest": "<html", "dashboard": "<html", "staffLink": `id="f-password"`} {
		a, err := http.Get(keys[name] + map[string]string{"kiosk": "/", "guest": "/"}[name])
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s answers %d: %.200s", name, a.StatusCode, body)
		}
	}
	if keys["kioskCode"] != w.KioskCode() {
		t.Errorf("the kiosk's code is %q", keys["kioskCode"])
	}
	var text bytes.Buffer
	printInvitation(&text, w)
	for what, part := range map[string]string{
		"page to play": w.PlayURL(), "kiosk's code": w.KioskCode(), "link for staff": w.StaffLink(), "staff's pages": w.DashboardURL(), "API key": w.APIKey,
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the text after the demo does not have the %s: %s", what, text.String())
		}
	}
	if strings.Contains(text.String(), "%!") {
		t.Errorf("the text after the demo has a broken verb: %s", text.String())
	}
}
