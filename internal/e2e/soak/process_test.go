// Package soak kills the server and the bridge, as real processes, while partners go on sending, and looks at what is
// left: every acknowledged reservation once, every lock as it should be.
package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programs builds both programs, once in a process.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "latchkey-soak-"); err != nil {
		return "", err
	}
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	for _, name := range []string{"latchkey", "latchkey-bridge"} {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, name), "./cmd/"+name)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := programs(); err == nil && dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// patience is how long something that must come is waited for.
const patience = 3 * time.Minute

// process is a program that is started, killed and started again.
type process struct {
	t       *testing.T
	name    string
	args    []string
	env     []string
	answers string // URL that says 200 when it is ready

	mu      sync.Mutex
	running *exec.Cmd
	over    chan error
	log     *os.File
}

func newProcess(t *testing.T, name, answers string, args ...string) *process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, name: name, args: args, answers: answers, log: log}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("the end of what %s wrote:\n%s", name, tail(log.Name()))
		}
		_ = log.Close()
	})
	return p
}

func tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-4000):])
}

// start runs the program and waits until it answers.
func (p *process) start() {
	p.t.Helper()
	dir, err := programs()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, p.name), p.args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = p.log, p.log, append(os.Environ(), p.env...)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait(); close(over) }()
	p.mu.Lock()
	p.running, p.over = cmd, over
	p.mu.Unlock()
	await(p.t, p.name+" answers", func() (bool, error) {
		select {
		case err := <-over:
			p.t.Fatalf("%s ended by itself: %v\n%s", p.name, err, tail(p.log.Name()))
		default:
		}
		res, err := http.Get(p.answers)
		if err != nil {
			return false, err
		}
		_ = res.Body.Close()
		return res.StatusCode < 500, nil
	})
}

// kill ends the program as a power cut does, and waits until it is gone.
func (p *process) kill() { p.signal(syscall.SIGKILL) }

func (p *process) signal(s syscall.Signal) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return nil
	}
	_ = p.running.Process.Signal(s)
	err = <-p.over
	p.running = nil
	return err
}

// stop ends the program as its owner does; it has to end well.
func (p *process) stop() {
	p.t.Helper()
	if err := p.signal(syscall.SIGTERM); err != nil {
		p.t.Errorf("%s did not end well: %v\n%s", p.name, err, tail(p.log.Name()))
	}
}

// run runs a program that ends by itself.
func run(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, name), args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// ports finds free ones. They are given back before they are used, and again while the server is dead, so that they lie below
// those that systems give to whoever asks for any.
func ports(t *testing.T, n int) []string {
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

// await asks until something holds.
func await(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pause := 10 * time.Millisecond
	for {
		ok, err := holds()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s for this, in vain: %s: %v", patience, what, errors.Join(err, context.Cause(t.Context())))
		case <-time.After(pause):
			pause = min(2*pause, 250*time.Millisecond)
		}
	}
}
