package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/sandbox"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/telemetry"
)

// demoCommand starts a server with a simulated PMS, a bridge and virtual locks.
type demoCommand struct {
	Once      bool   `xor:"mode" help:"Run the demo steps, check each, and end. Exit code 0, or 1 and the step that failed."`
	ReadyFile string `xor:"mode" type:"path" placeholder:"FILE" help:"Skip the demo steps. Write addresses and tokens as JSON to FILE when everything is set up, and keep running."`
	Data      string `type:"path" placeholder:"DIR" help:"Store the data in DIR, which must be empty or missing. Left out: a temporary directory that is deleted at the end."`
	HTTP      string `name:"listen-http" default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"REST, Connect and documentation. Port 0: any free port."`
	GRPC      string `name:"listen-grpc" default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"gRPC."`
	Bridge    string `name:"listen-bridge" default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"The bridges' streams."`
}

// Help returns what --help adds: what the demo starts and shows, and when it ends.
func (*demoCommand) Help() string {
	return `Starts the server with an embedded database, a property management system, and a bridge with nine virtual locks. The first line of the output is the address of a page to play with: the PMS's desk, the guests' mailbox and their stays, the doors, a kiosk, the guest's phone and a login for staff.

Its steps show how a guest checks in alone, how a reservation becomes a code that opens a door, and how the code ends. Then the demo keeps running, so that you can try it by hand.

Without a terminal it ends after the steps. Only in the demo, the partner's endpoints may be on loopback over plain HTTP without --partner-allow.`
}

// errStopped means that the demo was stopped before its last step.
var errStopped = errors.New("stopped")

// Run runs the demo. If its output is a pipe that closes, the demo stops and cleans up.
func (c *demoCommand) Run(ctx context.Context, std *streams) error {
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return c.run(ctx, &streams{in: std.in, out: &watchedWriter{to: std.out, failed: stop}, errs: std.errs})
}

// watchedWriter calls failed when a write fails.
type watchedWriter struct {
	to     io.Writer
	failed func()
}

// Write writes to the underlying writer, and calls failed if that returns an error.
func (l *watchedWriter) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	if err != nil {
		l.failed()
	}
	return n, err
}

// run sets up the demo in its directory and runs its steps. With --ready-file it runs no step: it writes the file and waits until the demo
// is stopped.
func (c *demoCommand) run(ctx context.Context, std *streams) (err error) {
	dir, done, err := c.directory()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	log, err := os.OpenFile(filepath.Join(dir, "demo.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	logger, err := telemetry.Logger(log, "info", "text")
	if err != nil {
		return err
	}
	w, err := sandbox.Build(ctx, sandbox.Config{
		Server: c.config(dir), Dir: dir, Profile: sandbox.LockoutProfile, Play: true, MandatoryGroups: sandbox.DemoGroups,
		Options: server.Options{Logger: logger, Version: version},
	})
	if err != nil && ctx.Err() != nil {
		return errStopped
	}
	if err != nil {
		return fmt.Errorf("the demo could not be set up: %w", err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if c.ReadyFile != "" {
		if err := c.writeReady(w); err != nil {
			return err
		}
		return awaitStop(ctx, w)
	}
	return c.runSteps(ctx, std, w)
}

// config returns the configuration of the demo's server, whose data are below dir.
func (c *demoCommand) config(dir string) config.Config {
	cfg := config.Default()
	cfg.DataDir = filepath.Join(dir, "data")
	cfg.Listen = config.Listen{HTTP: c.HTTP, GRPC: c.GRPC, Bridge: c.Bridge, Ops: "127.0.0.1:0"}
	cfg.Drain = 100 * time.Millisecond
	return cfg
}

// directory creates the demo's directory. It fails if the directory of --data is not empty. The caller must call done at the end, which
// deletes a temporary directory.
func (c *demoCommand) directory() (dir string, done func() error, err error) {
	if c.Data == "" {
		dir, err = os.MkdirTemp("", "latchkey-demo-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return "", nil, err
	}
	there, err := os.ReadDir(c.Data)
	if err == nil && len(there) > 0 {
		err = fmt.Errorf("--data %s is not empty: name an empty directory", c.Data)
	}
	return c.Data, func() error { return nil }, err
}

// ready is the content of the file that --ready-file names: the addresses, tokens and codes with which a program uses the demo.
type ready struct {
	HTTP        string `json:"http"`
	GRPC        string `json:"grpc"`
	Bridge      string `json:"bridge"`
	ClientToken string `json:"clientToken"`
	AccessToken string `json:"accessToken"`
	APIKey      string `json:"apiKey"`
	StaffToken  string `json:"staffToken"`
	PropertyID  string `json:"propertyId"`
	Keypad      string `json:"keypad"`
	Sandbox     string `json:"sandbox"`
	Socket      string `json:"socket"`
	Mailbox     string `json:"mailbox"`
	Kiosk       string `json:"kiosk"`
	Guest       string `json:"guest"`
	KioskCode   string `json:"kioskCode"`
	Dashboard   string `json:"dashboard"`
	StaffLink   string `json:"staffLink"`
}

// writeReady writes addresses and tokens of the demo to the file of --ready-file. It renames a finished file, so that a waiting program
// never reads an incomplete one.
func (c *demoCommand) writeReady(w *sandbox.World) error {
	raw, err := json.MarshalIndent(ready{
		HTTP: "http://" + w.Server.HTTPAddr(), GRPC: w.Server.GRPCAddr(), Bridge: w.Server.BridgeAddr(),
		ClientToken: w.ClientToken, AccessToken: w.AccessToken, APIKey: w.APIKey, StaffToken: w.StaffToken, PropertyID: w.PropertyID,
		Keypad: w.KeypadURL(), Sandbox: w.PMSURL(), Socket: w.Server.SocketPath(),
		Mailbox: w.MailboxURL(), Kiosk: "http://" + w.Server.HTTPAddr() + "/k", Guest: "http://" + w.Server.HTTPAddr() + "/g", KioskCode: w.KioskCode(),
		Dashboard: w.DashboardURL(), StaffLink: w.StaffLink(),
	}, "", "  ")
	if err != nil {
		return err
	}
	temp := c.ReadyFile + ".part"
	if err := os.WriteFile(temp, append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, c.ReadyFile)
}

// awaitStop waits until the demo is stopped, and returns nil, or until a part of the demo fails, and returns the failure.
func awaitStop(ctx context.Context, w *sandbox.World) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.Failures():
		return err
	}
}

// runSteps runs and prints the steps of the demo. At a terminal and without --once it then waits, so that the user can try the demo by
// hand. It returns errStopped if ctx ends during a step.
func (c *demoCommand) runSteps(ctx context.Context, std *streams, w *sandbox.World) error {
	fmt.Fprintf(std.out, "Open this page to play:  %s\n\n", w.PlayURL())
	fmt.Fprintf(std.out, "Latchkey demo: Hostel Miramar in Lisbon, its PMS, and a bridge with nine virtual locks.\n\n")
	if err := w.RunDemo(ctx, &narrator{ctx: ctx, out: std.out}); err != nil && ctx.Err() != nil {
		return errStopped
	} else if err != nil {
		return fmt.Errorf("the demo failed at %w", err)
	}
	fmt.Fprintf(std.out, "All steps succeeded.\n")
	if f, ok := std.in.(*os.File); c.Once || !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	printInvitation(std.out, w)
	return awaitStop(ctx, w)
}

// narrator prints the steps of the demo.
type narrator struct {
	ctx context.Context // the demo's context: if it is cancelled, a step was stopped and did not fail
	out io.Writer
}

// Begin prints the title of a step before it runs.
func (n *narrator) Begin(number int, title string) { fmt.Fprintf(n.out, "%2d  %s\n", number, title) }

// End prints the outcome of a step, whether it succeeded, and how long it took.
func (n *narrator) End(outcome []string, err error, took time.Duration) {
	for _, line := range outcome {
		fmt.Fprintf(n.out, "      %s\n", line)
	}
	mark := "ok"
	switch {
	case err != nil && n.ctx.Err() != nil:
		mark = errStopped.Error()
	case err != nil:
		mark = "FAILED: " + err.Error()
	}
	fmt.Fprintf(n.out, "      %s, %s\n\n", mark, took.Round(time.Millisecond))
}

// printInvitation prints how to continue by hand after the demo: the addresses and tokens of w, and commands to type.
func printInvitation(out io.Writer, w *sandbox.World) {
	today, later := time.Now().Format(time.DateOnly), time.Now().AddDate(0, 0, 2).Format(time.DateOnly)
	headers := fmt.Sprintf("-H 'client-token: %s' -H 'access-token: %s'", w.ClientToken, w.AccessToken)
	fmt.Fprintf(out, `
Now try it yourself. The demo runs until you press Ctrl-C.

  play               %[12]s    (in a browser: desk, mailbox, stays, doors, kiosk, staff)
  kiosk code         %[13]s
  staff              %[14]s    (make a login: the link works once, within a day; later: %[15]s)
  REST and Connect   http://%[1]s    (documentation at http://%[1]s/docs)
  gRPC               %[2]s
  the PMS            %[3]s
  client-token       %[4]s
  access-token       %[5]s
  api-key            %[6]s
  property           %[7]s

Check a guest in to Room 103, read the PIN, and type it at the door (the third command reads the PIN itself; a wrong PIN is refused):

curl -sX PATCH http://%[1]s/v1/reservations %[8]s -H 'content-type: application/json' -d '{"pmsMeta":{"id":"MINE"},"pmsNumber":"42","booker":{"lastName":"You"},"state":"started","roomId":"R103","fromDate":"%[9]s","toDate":"%[10]s"}'

curl -s 'http://%[1]s/v1/reservations/find?pmsId=MINE&extend=pin,gatePins,access' %[8]s

curl -sX POST %[11]s -d '{"pin":"'$(curl -s 'http://%[1]s/v1/reservations/find?pmsId=MINE&extend=pin' %[8]s | grep -o '"pin":"[0-9]*"' | grep -o '[0-9]*')'"}'

`, w.Server.HTTPAddr(), w.Server.GRPCAddr(), w.PMSURL(), w.ClientToken, w.AccessToken, w.APIKey, w.PropertyID, headers, today, later,
		strings.Replace(w.KeypadURL(), "{doorId}", w.Spaces["Room 103"], 1), w.PlayURL(), w.KioskCode(), w.StaffLink(), w.DashboardURL())
}
