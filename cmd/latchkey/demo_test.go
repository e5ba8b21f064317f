package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A demo that is stopped within its story did not fail, and leaves nothing behind.
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
