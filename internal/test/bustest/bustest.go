// Package bustest runs NATS servers as separate processes, so that a test can freeze or kill one. The process is the test
// binary itself: its TestMain must call [Main] first.
package bustest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"latchkey.dev/internal/test/porttest"
)

// portVariable is the environment variable that makes a test binary run as a NATS server on that port.
const portVariable = "LATCHKEY_TEST_NATS_PORT"

// Main runs a NATS server and does not return in a process that [Start] started. In any other process it does nothing.
func Main() {
	port, ok := os.LookupEnv(portVariable)
	if !ok {
		return
	}
	if err := runServer(port); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runServer runs a server until standard input ends, which happens when the test's process ends.
func runServer(port string) error {
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: n, NoLog: true, NoSigs: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return errors.New("NATS did not start")
	}
	fmt.Println(s.ClientURL())
	_, err = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return err
}

// Server is a NATS server in a separate process. Its port stays reserved while it does not run.
type Server struct {
	t       testing.TB
	URL     string
	port    string
	process *exec.Cmd // nil after Kill
	stdin   io.Closer
}

// Start starts a server. It is killed when t ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := Reserve(t)
	s.Restart()
	return s
}

// Reserve returns a server that does not run yet but already has a URL. It is killed when t ends.
func Reserve(t testing.TB) *Server {
	t.Helper()
	address := porttest.Reserve(t)
	_, port, _ := strings.Cut(address, ":")
	s := &Server{t: t, URL: "nats://" + address, port: port}
	t.Cleanup(s.Kill)
	return s
}

// Restart starts a server that does not run.
func (s *Server) Restart() {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env, cmd.Stderr = append(os.Environ(), portVariable+"="+s.port), os.Stderr
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.process = cmd
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.Kill()
		s.t.Fatalf("NATS did not start: %v", err)
	}
}

// Freeze suspends the process, with its connections open.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw resumes a frozen process.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.process.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Kill ends the process at once, even a frozen one.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	_ = s.stdin.Close()
	s.process = nil
}
