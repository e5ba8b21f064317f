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

// Launch is the command line that starts this program as a process of a benchmark; the name of the role is appended.
type Launch []string

// part is a measured process.
type part struct {
	command *exec.Cmd
	caller  *caller
}

// start starts a process of a benchmark with a role, such as "server". The process ends when its standard input closes, so it cannot
// outlive its parent. It is killed when ctx ends.
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

// call calls a method of the process and waits for the answer, which it decodes into reply. If ctx ends before, the process cannot be
// called again.
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

// stop makes the process end by closing its standard input, and waits. It kills a process that does not end within 30 seconds. It returns
// an error if the process failed or was killed, and does nothing for nil.
func (p *part) stop() error {
	if p == nil {
		return nil
	}
	_ = p.caller.close()
	killed := time.AfterFunc(30*time.Second, func() { _ = p.command.Process.Kill() })
	defer killed.Stop()
	return p.command.Wait()
}

// RunPart is the main function of a process with the role name. It serves calls until in ends, and then closes the role.
func RunPart(name string, in io.Reader, out io.WriteCloser) (err error) {
	roles := map[string]func() role{
		"world":  func() role { return &worldPart{} },
		"hostel": func() role { return &hostelPart{} },
		"server": func() role { return &serverPart{} },
		"bare":   func() role { return &barePart{} },
	}
	make, ok := roles[name]
	if !ok {
		return fmt.Errorf("no part %q", name)
	}
	p := make()
	defer func() { err = errors.Join(err, p.Close()) }()
	if name != "bare" { // the server command also tunes the garbage collector
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go server.TuneGarbage(ctx)
	}
	return p.methods().serveCalls(in, out)
}

// role is what a process of a benchmark does, such as running a server. methods returns the calls that the coordinating process can make;
// Close stops what the role runs.
type role interface {
	methods() methods
	Close() error
}

// None is an empty argument or answer.
type None struct{}

// Use is the CPU time that a process has used so far, and the memory that it uses now.
type Use struct {
	CPU      time.Duration // CPU is user and system time
	Resident int64         // Resident is the current memory in bytes
}

// process has the methods that every process of a benchmark has.
type process struct{ profile *os.File }

// methods returns the methods that every role has.
func (p *process) methods() methods {
	return methods{"Usage": decodeArgs(p.Usage), "FreeMemory": decodeArgs(p.FreeMemory), "Profile": decodeArgs(p.Profile)}
}

// Usage stores in u the CPU time that the process has used so far, and the memory that it uses now. It fails on systems other than Linux.
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

// FreeMemory collects garbage and returns free memory to the operating system, as an idle process does over time.
func (*process) FreeMemory(None, *None) error {
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	return nil
}

// Profile begins to write a CPU profile to the file at path, which it creates or empties. A call with "" ends the profile, and fails if
// there is none.
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

// profile begins to write a CPU profile of this process to a new file. The caller must call end, which finishes it. If file is "" or wanted
// is false, neither does anything.
func profile(file string, wanted bool) (end func() error, err error) {
	if file == "" || !wanted {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
