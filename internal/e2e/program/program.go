// Package program runs the product's own programs as processes: built once, started, killed and started again.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
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

// Patience bounds every wait for something that must happen.
const Patience = 3 * time.Minute

// build compiles both programs once in a test process. They are named by import path, so that it works in every directory of
// the module and with every build flag.
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

// built is the directory of the compiled programs. Main removes it.
var built atomic.Pointer[string]

// processes holds each *Process that New returned. If the tests are interrupted, Main kills them.
var processes sync.Map

// Main is the TestMain of a package that runs programs. It removes the compiled programs. If the tests are interrupted, it kills the
// running processes first.
func Main(m *testing.M) {
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

func end(code int) {
	if dir := built.Load(); dir != nil {
		_ = os.RemoveAll(*dir)
	}
	os.Exit(code)
}

// Process is a program that can be started more than once.
type Process struct {
	// Env is added to the environment.
	Env []string

	name  string
	args  []string
	ready string // URL

	mu      sync.Mutex
	running *exec.Cmd
	done    chan struct{}
	err     error // of the last run; valid once done is closed
	log     *os.File
}

// New describes a process. It is ready when the URL answers with less than 500. It is killed when t ends, and the end of its
// log is shown if t failed.
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

// race is the first report of the race detector, empty if there is none.
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

// Tail is the end of the log.
func (p *Process) Tail() string {
	raw, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-4000):])
}

// Start runs the program and waits until it is ready.
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

func (p *Process) exit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return errors.New("it exited with status 0")
	}
	return p.err
}

// Kill ends the program as a power cut does, and waits until it is gone.
func (p *Process) Kill() { _ = p.signal(syscall.SIGKILL) }

// Stop ends the program as its owner does, and returns an error unless it ends well.
func (p *Process) Stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("%s did not end well: %w\n%s", p.name, err, p.Tail())
	}
	return nil
}

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

// Run runs a program that ends by itself.
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

// Ports finds free addresses on loopback. They are given back before they are used, and again while a server is dead, so
// they lie below the ports that systems hand out by themselves.
func Ports(t testing.TB, n int) []string {
	t.Helper()
	var out []string
	var all []io.Closer
	for tries := 0; len(out) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err != nil {
			if tries > 1000 {
				t.Fatal(err)
			}
			continue
		}
		all = append(all, l)
		out = append(out, l.Addr().String())
	}
	for _, l := range all {
		_ = l.Close()
	}
	return out
}

// errGaveUp ends a wait early: what is waited for cannot happen any more.
var errGaveUp = errors.New("ended by itself")

// Await asks until something holds, for Patience at most.
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
