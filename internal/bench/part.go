package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"latchkey.dev/internal/server"
)

// Launch is the command line, without the role, that starts this program as one part of a benchmark.
type Launch []string

// part is a measured process.
type part struct {
	command *exec.Cmd
	caller  *caller
}

// start starts a part. The part ends when its standard input ends, so it cannot outlive this process.
func (l Launch) start(ctx context.Context, role string) (*part, error) {
	if len(l) == 0 {
		return nil, errors.New("bench: no way to start a part was given")
	}
	c := exec.CommandContext(ctx, l[0], append(l[1:len(l):len(l)], role)...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start the part %s: %w", role, err)
	}
	return &part{command: c, caller: newCaller(in, out)}, nil
}

// call calls the part and waits. After a call that ctx ended, the part is unusable.
func (p *part) call(ctx context.Context, method string, args, reply any) error {
	done := make(chan error, 1)
	go func() { done <- p.caller.call(method, args, reply) }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s in a part of the benchmark: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop stops the part and waits for its end.
func (p *part) stop() error {
	if p == nil {
		return nil
	}
	_ = p.caller.close()
	killed := time.AfterFunc(30*time.Second, func() { _ = p.command.Process.Kill() })
	defer killed.Stop()
	return p.command.Wait()
}

// RunPart runs in the measured process: it serves one part until in ends.
func RunPart(name string, in io.Reader, out io.WriteCloser) (err error) {
	roles := map[string]func() role{
		"world":  func() role { return &worldPart{} },
		"server": func() role { return &serverPart{} },
		"bare":   func() role { return &barePart{} },
	}
	make, ok := roles[name]
	if !ok {
		return fmt.Errorf("no part %q", name)
	}
	p := make()
	defer func() { err = errors.Join(err, p.Close()) }()
	if name != "bare" { // as serve does
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go server.TuneGarbage(ctx)
	}
	return p.methods().serveCalls(in, out)
}

// role is what a part does, such as running a server.
type role interface {
	methods() methods
	Close() error
}

// None is an empty argument or reply.
type None struct{}

// Use is what a process has used so far.
type Use struct {
	CPU      time.Duration // of user and system
	Resident int64         // bytes, now
}

// process has the methods that every part has.
type process struct{ profile *os.File }

func (p *process) methods() methods {
	return methods{"Usage": decodeArgs(p.Usage), "Settle": decodeArgs(p.Settle), "Profile": decodeArgs(p.Profile)}
}

// Usage returns what the process has used.
func (*process) Usage(_ None, u *Use) error {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return err
	}
	u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return errors.New("/proc/self/statm is not what it used to be")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	u.Resident = pages * int64(os.Getpagesize())
	return err
}

// Settle collects garbage and returns free memory to the system, as an idle process does over time.
func (*process) Settle(None, *None) error {
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	return nil
}

// Profile writes a CPU profile to a file until it is called with "".
func (p *process) Profile(path string, _ *None) (err error) {
	if path == "" {
		pprof.StopCPUProfile()
		return p.profile.Close()
	}
	if p.profile, err = os.Create(path); err != nil {
		return err
	}
	return pprof.StartCPUProfile(p.profile)
}
