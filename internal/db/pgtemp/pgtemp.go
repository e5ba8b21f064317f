// Package pgtemp starts a temporary PostgreSQL cluster from the installed programs,
// for tests and for writing migrations. It is fast and forgets everything: never for
// data that matters.
package pgtemp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a running server that ends with this process, however that ends.
type Cluster struct {
	dir      string
	lifeline *os.File // the server's watcher ends it when this closes
	watcher  *exec.Cmd
}

// ErrMissing is the error when the server programs are not installed.
var ErrMissing = errors.New("PostgreSQL server programs (initdb, postgres) not found; on Debian: apt-get install postgresql")

// watch runs the server beside a read that ends when the parent is gone, then removes
// everything. Signals that reach the whole process group are left to that.
const watch = `trap "" INT TERM HUP
"$1" -D "$2/data" &
read -r _
kill -QUIT $!; kill -CONT $! && wait $!
rm -rf "$2"`

// Start makes a cluster and waits until it answers.
func Start(ctx context.Context) (*Cluster, error) {
	return begin(ctx, func(bin, data string) []string {
		return []string{filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	}, "fsync = off", "synchronous_commit = off", "full_page_writes = off", "max_connections = 300", "shared_buffers = 64MB", "log_min_messages = fatal")
}

// begin makes the directory of a cluster, fills it by a program, and starts a server on it.
func begin(ctx context.Context, fill func(bin, data string) []string, settings ...string) (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "latchkey-pg-") // short: a socket's path holds about 100 bytes
	if err != nil {
		return nil, err
	}
	attr, err := unprivileged(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &Cluster{dir: dir}
	if err := c.start(ctx, bin, attr, fill(bin, c.data()), settings); err != nil {
		return nil, errors.Join(err, c.Stop(), os.RemoveAll(dir))
	}
	return c, nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// programs is the directory of the newest installed server.
func programs() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range dirs {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrMissing
	}
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		return "", err
	}
	return filepath.Dir(initdb), nil
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// unprivileged gives dir to another user if we are root, as whom the server refuses to run.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func (c *Cluster) start(ctx context.Context, bin string, attr *syscall.SysProcAttr, fill, settings []string) error {
	command := exec.CommandContext(ctx, fill[0], fill[1:]...)
	command.Dir, command.SysProcAttr = c.dir, attr
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(fill[0]), err, out)
	}
	conf := strings.Join(append(settings, "listen_addresses = ''", "unix_socket_directories = '"+c.dir+"'", ""), "\n")
	f, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(conf); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := c.launch(bin, attr); err != nil {
		return err
	}
	return c.await(ctx)
}

func (c *Cluster) launch(bin string, attr *syscall.SysProcAttr) error {
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	// Files, not buffers: os/exec needs no goroutine then, and none outlives a test.
	c.watcher = exec.Command("/bin/sh", "-c", watch, "sh", filepath.Join(bin, "postgres"), c.dir)
	c.watcher.Dir, c.watcher.SysProcAttr = "/", attr
	c.watcher.Stdin, c.watcher.Stdout, c.watcher.Stderr = in, log, log
	if err := c.watcher.Start(); err != nil {
		return errors.Join(err, out.Close())
	}
	c.lifeline = out
	return nil
}

// await tries until the server answers; it has no other signal to give.
func (c *Cluster) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := c.Exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("PostgreSQL does not answer: %w: %s", err, log)
		}
	}
}

// URL is the address of one of the cluster's databases, and of the same database on other clusters, such as its standby;
// "postgres" is always there.
func (c *Cluster) URL(database string, others ...*Cluster) string {
	hosts := c.dir
	for _, o := range others {
		hosts += "," + o.dir
	}
	return "postgres://postgres@/" + url.PathEscape(database) + "?host=" + url.QueryEscape(hosts) + "&sslmode=disable"
}

// Exec runs one statement in the database "postgres", such as CREATE DATABASE.
func (c *Cluster) Exec(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// Stop ends the server and removes its files.
func (c *Cluster) Stop() error {
	if c.lifeline == nil {
		return nil
	}
	err := errors.Join(c.Thaw(), c.lifeline.Close())
	c.lifeline = nil
	return errors.Join(err, c.watcher.Wait())
}
