package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/event"
	"latchkey.dev/internal/server"
	"latchkey.dev/internal/test/bustest"
	"latchkey.dev/internal/test/dbtest"
)

// The environment of a process of this test program that runs a server instead of the tests.
const (
	nodeDirectory = "LATCHKEY_TEST_NODE_DIRECTORY"
	nodeDatabase  = "LATCHKEY_TEST_NODE_DATABASE"
	nodeNATS      = "LATCHKEY_TEST_NODE_NATS"
	nodeKey       = "LATCHKEY_TEST_NODE_KEY"
)

// serveNode runs a server and does not return in a process that [startNode] began. In any other it does nothing.
func serveNode() {
	dir, ok := os.LookupEnv(nodeDirectory)
	if !ok {
		return
	}
	if err := serveIn(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveIn runs a server until standard input ends, as it does when the test's process is gone.
func serveIn(dir string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c := settingsIn(dir, os.Getenv(nodeDatabase))
	c.NATS.URL, c.KeyFile = os.Getenv(nodeNATS), os.Getenv(nodeKey)
	s, err := server.New(ctx, c, server.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	fmt.Println(s.OpsAddr())
	return errors.Join(s.Run(ctx), s.Close())
}

// nodeProcess is a server in a process of its own, which a test can freeze.
type nodeProcess struct {
	t       *testing.T
	name    string // of its sessions in the database
	ops     string
	process *os.Process
}

// startNode starts a server. It is gone when t ends.
func startNode(t *testing.T, name, database, nats, key string) *nodeProcess {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), nodeDirectory+"="+t.TempDir(), nodeDatabase+"="+u.String(), nodeNATS+"="+nats, nodeKey+"="+key)
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // also ends a frozen process
		_ = cmd.Wait()
		_ = stdin.Close()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("node %s did not start: %v", name, err)
	}
	return &nodeProcess{t: t, name: name, ops: "http://" + strings.TrimSpace(line), process: cmd.Process}
}

func (n *nodeProcess) signal(s os.Signal) {
	n.t.Helper()
	if err := n.process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

func (n *nodeProcess) ready() bool {
	code, _ := get(n.t, n.ops+"/readyz")
	return code == http.StatusOK
}

func (n *nodeProcess) holdsLease() bool {
	_, text := get(n.t, n.ops+"/metrics")
	return strings.Contains(text, "\nlatchkey_lease_held 1\n")
}

// The node that holds the lease hangs. Another node takes the lease and does the work of all. The former holder does none of
// it after it wakes up.
func TestThreeNodesReplaceALeaseHolderThatHangs(t *testing.T) {
	t.Parallel()
	database, nats, key := dbtest.URL(t, "postgres"), bustest.Start(t), filepath.Join(t.TempDir(), "key")
	d, err := db.Open(t.Context(), db.Config{URL: database, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	exec := func(statement string) {
		t.Helper()
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			_, err := tx.ExecContext(tx.Context(), statement)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE dispatches (node text NOT NULL)")
	exec(`CREATE FUNCTION note_dispatch() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO dispatches VALUES (current_setting('application_name')); RETURN NULL; END $$`)
	exec(`CREATE TRIGGER note_dispatch AFTER UPDATE ON events FOR EACH ROW
		WHEN (OLD.position IS NULL AND NEW.position IS NOT NULL) EXECUTE FUNCTION note_dispatch()`)
	dispatches := func(n *nodeProcess) (count int) {
		t.Helper()
		if _, err := d.View(t.Context()).ReadOne("SELECT count(*) FROM dispatches WHERE node = $1", []any{n.name}, &count); err != nil {
			t.Fatal(err)
		}
		return count
	}

	var nodes []*nodeProcess
	for i := range 3 {
		nodes = append(nodes, startNode(t, fmt.Sprintf("node%d", i), database, nats.URL, key))
	}
	var holder *nodeProcess
	eventually(t, "all nodes are ready and one holds the lease", func() bool {
		held := 0
		for _, n := range nodes {
			if !n.ready() {
				return false
			}
			if n.holdsLease() {
				holder, held = n, held+1
			}
		}
		return held == 1
	})

	// Events come all the time, so that the holder hangs in the midst of its work and finds more when it wakes up.
	ctx, enough := context.WithCancel(t.Context())
	var events sync.WaitGroup
	defer events.Wait()
	defer enough()
	events.Go(func() {
		pace := time.NewTicker(5 * time.Millisecond)
		defer pace.Stop()
		for ctx.Err() == nil {
			<-pace.C
			err := d.Write(ctx, func(tx *db.Tx) error {
				return event.Append(tx, event.Event{PropertyID: "prp_1", Subject: "prp_1", Kind: event.LockOffline})
			})
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	eventually(t, "the holder dispatches events", func() bool { return dispatches(holder) > 0 })
	holder.signal(syscall.SIGSTOP)
	var next *nodeProcess
	eventually(t, "another node holds the lease", func() bool {
		for _, n := range nodes {
			if n != holder && n.holdsLease() {
				next = n
			}
		}
		return next != nil
	})
	eventually(t, "the new holder dispatches events", func() bool { return dispatches(next) > 0 })

	before := dispatches(holder)
	holder.signal(syscall.SIGCONT)
	eventually(t, "the former holder knows that it lost the lease", func() bool { return holder.ready() && !holder.holdsLease() })
	more := dispatches(next)
	eventually(t, "the new holder dispatches more events", func() bool { return dispatches(next) > more })
	if after := dispatches(holder); after != before {
		t.Errorf("the former holder dispatched %d events after another node took the lease", after-before)
	}
	if !next.holdsLease() {
		t.Error("the new holder lost the lease to a node that had hung")
	}
}
