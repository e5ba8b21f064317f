// Package program builds the product's programs once, and runs them as processes that tests can kill and restart.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Patience is the timeout of each wait of Start, Run and Await. Kill and Stop wait without a limit.
const Patience = 3 * time.Minute

// build compiles both programs once per test process. It names them by import path, which works in every directory of the module.
var build = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "latchkey-programs-"); err != nil {
		return "", err
	}
	built.Store(&dir)
	args := []string{"build", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	if checked {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "latchkey.dev/cmd/latchkey", "latchkey.dev/cmd/latchkey-bridge")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, nil
})

// built is the directory of the compiled programs, which Main removes; nil until build has made it.
var built atomic.Pointer[string]

// processes holds each *Process that New returned. Main kills them if the tests are interrupted.
var processes sync.Map

// Main implements TestMain for packages that run programs: it runs the tests, removes the compiled programs and exits. If the tests are
// interrupted, it first kills the running processes.
func Main(m interface{ Run() int }) {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		processes.Range(func(p, _ any) bool {
			p.(*Process).Kill()
			return true
		})
		end(1)
	}()
	end(m.Run())
}

// end removes the compiled programs and exits with a code.
func end(code int) {
	if dir := built.Load(); dir != nil {
		_ = os.RemoveAll(*dir)
	}
	os.Exit(code)
}

// Process is a program that a test can start more than once.
type Process struct {
	// Env has entries KEY=value for the process, in addition to the test's own environment.
	Env []string

	name  string
	args  []string
	ready string // URL that answers with a status below 500 once the program is ready; required

	mu      sync.Mutex
	running *exec.Cmd
	done    chan struct{}
	err     error // error of the last run; valid once done is closed
	log     *os.File
}

// New returns a process of the program name, which is latchkey or latchkey-bridge, that is not started yet. The process is ready when the
// URL ready answers with a status below 500. When the test ends, the process is killed. A report of the race detector in its log fails the
// test. If the test failed, the end of the log is printed.
func New(t testing.TB, name, ready string, args ...string) *Process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{name: name, args: args, ready: ready, log: log}
	processes.Store(p, true)
	t.Cleanup(func() {
		p.Kill()
		processes.Delete(p)
		if race := p.race(); race != "" {
			t.Errorf("%s: %s", name, race)
		}
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", name, p.Tail())
		}
		_ = log.Close()
	})
	return p
}

// race returns the first report of the race detector in the log, or "". If it cannot read the log, it returns that error as text.
func (p *Process) race() string {
	raw, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	i := bytes.Index(raw, []byte("WARNING: DATA RACE"))
	if i < 0 {
		return ""
	}
	return string(raw[i:min(len(raw), i+4000)])
}

// Tail returns the last 4000 bytes of the log, or the text of the error if the log cannot be read.
func (p *Process) Tail() string {
	raw, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-4000):])
}

// Start runs the program and waits until it is ready, at most for Patience. If the program ends before, the error has the end of its log.
// After a timeout the program still runs. An earlier run must have ended, because Kill and Stop end only the last one.
func (p *Process) Start(ctx context.Context) error {
	dir, err := build()
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(dir, p.name), p.args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = p.log, p.log, append(os.Environ(), p.Env...)
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(done)
	}()
	p.mu.Lock()
	p.running, p.done = cmd, done
	p.mu.Unlock()
	return Await(ctx, p.name+" answers at "+p.ready, func() (bool, error) {
		select {
		case <-done:
			return false, fmt.Errorf("%w: %s: %w\n%s", errGaveUp, p.name, p.exit(), p.Tail())
		default:
		}
		res, err := http.Get(p.ready)
		if err != nil {
			return false, err
		}
		_ = res.Body.Close()
		return res.StatusCode < http.StatusInternalServerError, nil
	})
}

// exit returns why the program ended by itself. Status 0 is an error too.
func (p *Process) exit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return errors.New("it exited with status 0")
	}
	return p.err
}

// Kill ends the program as a power cut does, and waits for its end.
func (p *Process) Kill() { _ = p.signal(syscall.SIGKILL) }

// Stop sends SIGTERM to the program and waits for its end, without a limit. It returns an error if the program does not exit successfully.
func (p *Process) Stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%s did not end well: %w\n%s", p.name, err, p.Tail())
	}
	return nil
}

// signal sends a signal to the process, waits for its end and returns the process's error, also if it ended by itself before. It returns
// nil if the process was not started since the last call of signal.
func (p *Process) signal(s syscall.Signal) error {
	p.mu.Lock()
	cmd, done := p.running, p.done
	p.running = nil
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = cmd.Process.Signal(s)
	<-done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Run runs latchkey or latchkey-bridge until it ends, and compiles both first if necessary. env is added to the environment of the test. If
// the program fails, the error has its output. It kills a program that runs longer than Patience.
func Run(ctx context.Context, env []string, name string, args ...string) error {
	dir, err := build()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, name), args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// errGaveUp ends a wait early, because the program has ended and the condition can no longer hold.
var errGaveUp = errors.New("ended by itself")

// Await polls until holds returns true, at most for Patience, also after an error of holds other than errGaveUp. what completes "waiting
// until" in the error.
func Await(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	pause := 10 * time.Millisecond
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		if errors.Is(err, errGaveUp) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("timeout while waiting until %s: %w", what, errors.Join(err, context.Cause(ctx)))
		case <-time.After(pause):
			pause = min(2*pause, 250*time.Millisecond)
		}
	}
}
