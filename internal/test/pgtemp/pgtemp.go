// Package pgtemp starts a temporary PostgreSQL cluster from the installed programs, for tests and for generating migrations.
// It trades durability for speed: never use it for data that matters.
package pgtemp

import (
	"cmp"
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

// Cluster is a running server that ends when this process ends, even if the process is killed.
type Cluster struct {
	dir, bin string
	attr     *syscall.SysProcAttr
	lifeline *os.File // the watcher stops the server when this closes
	watcher  *exec.Cmd
}

// ErrMissing is the error when the server programs are not installed.
var ErrMissing = errors.New("PostgreSQL server programs (initdb, postgres) not found; on Debian: apt-get install postgresql")

// watchScript runs the server until standard input ends, which happens when the parent ends. Then it stops the server and removes its
// files. It ignores signals to the process group.
const watchScript = `trap "" INT TERM HUP
"$1" -D "$2/data" -k "$2" &
read -r _
kill -QUIT $!; kill -CONT $! && wait $!
rm -rf "$2"`

// Start creates a cluster and waits until it answers.
func Start(ctx context.Context) (*Cluster, error) {
	return start(ctx, (*Cluster).initialize)
}

// start creates a cluster, starts it and waits until it answers. create fills its data directory.
func start(ctx context.Context, create func(*Cluster, context.Context) error) (*Cluster, error) {
	bin, err := programDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(fastDirectory(), "latchkey-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin}
	if c.attr, err = giveToUnprivilegedUser(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := cmp.Or(create(c, ctx), c.startServer(), c.awaitReady(ctx)); err != nil {
		return nil, errors.Join(err, c.Stop(), os.RemoveAll(dir))
	}
	return c, nil
}

// fastDirectory returns the parent directory of clusters: in memory where there is plenty, because a database has some
// hundred files. Both paths are short, because the path of a Unix socket is limited to about 100 bytes.
func fastDirectory() string {
	const memory, plenty = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err == nil && fs.Bavail*uint64(fs.Bsize) > plenty {
		return memory
	}
	return "/tmp"
}

// programDir returns the directory of PostgreSQL's programs: the newest version under /usr/lib/postgresql, otherwise the one in PATH.
func programDir() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return majorVersion(b) - majorVersion(a) })
	for _, dir := range dirs {
		if isExecutable(filepath.Join(dir, "initdb")) && isExecutable(filepath.Join(dir, "postgres")) {
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

// majorVersion returns the version of PostgreSQL in a directory such as /usr/lib/postgresql/17/bin; 0 if the path has none.
func majorVersion(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

func isExecutable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// unprivileged is the id of the user and of the group without rights on Linux.
const unprivileged = 65534

// giveToUnprivilegedUser changes the owner of dir if this process runs as root, because PostgreSQL refuses to run as root. It returns
// the attributes to start processes as that user.
func giveToUnprivilegedUser(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	uid, gid := unprivileged, unprivileged
	if u, err := user.Lookup("postgres"); err == nil {
		uid, _ = strconv.Atoi(u.Uid)
		gid, _ = strconv.Atoi(u.Gid)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// initialize creates an empty data directory.
func (c *Cluster) initialize(ctx context.Context) error {
	if err := c.runProgram(ctx, "initdb", "-D", c.dataDir(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"); err != nil {
		return err
	}
	conf := strings.Join([]string{
		"listen_addresses = ''", "fsync = off", "synchronous_commit = off",
		"full_page_writes = off", "max_connections = 300", "shared_buffers = 64MB", "log_min_messages = fatal", "",
	}, "\n")
	f, err := os.OpenFile(filepath.Join(c.dataDir(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(conf)
	return errors.Join(err, f.Close())
}

func (c *Cluster) dataDir() string { return filepath.Join(c.dir, "data") }

// runProgram runs a PostgreSQL program as the cluster's user.
func (c *Cluster) runProgram(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// startServer starts the server under the watcher, which ends it when this process ends.
func (c *Cluster) startServer() error {
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
	// With files instead of buffers, os/exec starts no goroutine that could outlive a test.
	c.watcher = exec.Command("/bin/sh", "-c", watchScript, "sh", filepath.Join(c.bin, "postgres"), c.dir)
	c.watcher.Dir, c.watcher.SysProcAttr = "/", c.attr
	c.watcher.Stdin, c.watcher.Stdout, c.watcher.Stderr = in, log, log
	if err := c.watcher.Start(); err != nil {
		return errors.Join(err, out.Close())
	}
	c.lifeline = out
	return nil
}

// awaitReady polls until the server answers, because the server sends no signal when it is ready.
func (c *Cluster) awaitReady(ctx context.Context) error {
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

// URL returns the address of a database of the cluster. With others, such as its standby, the URL also names their hosts. The
// database "postgres" always exists.
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

// Copy creates a database as a copy of another one, to which nothing is connected.
func (c *Cluster) Copy(ctx context.Context, from, to string) error {
	statement := "CREATE DATABASE " + to + " TEMPLATE " + from
	if majorVersion(c.bin) >= 15 { // whose default is to log the content, which takes three times as long
		statement += " STRATEGY file_copy"
	}
	return c.Exec(ctx, statement)
}

// Dump returns the backup that pg_dump makes of a database.
func Dump(ctx context.Context, url string) ([]byte, error) {
	bin, err := programDir()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, filepath.Join(bin, "pg_dump"), "--dbname", url).Output()
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
