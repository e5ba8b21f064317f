package pgtemp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Clone starts a copy of a cluster that prepare filled. The first call with a key runs prepare. Later calls, also from other
// processes on this machine, copy the files, which takes a fraction of the time. The key must identify everything that
// prepare depends on, except the version of PostgreSQL, which Clone adds.
func Clone(ctx context.Context, key string, prepare func(*Cluster) error) (*Cluster, error) {
	original, err := preparedFiles(ctx, key, prepare)
	if err != nil {
		return nil, fmt.Errorf("prepare a PostgreSQL cluster: %w", err)
	}
	return start(ctx, func(c *Cluster, ctx context.Context) error {
		return copyAs(ctx, original, c.dataDir(), c.attr)
	})
}

// copyAs copies a data directory and gives the copy to the user of attr.
func copyAs(ctx context.Context, from, to string, attr *syscall.SysProcAttr) error {
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy a cluster: %w: %s", err, out)
	}
	if attr.Credential == nil {
		return nil
	}
	owner := fmt.Sprintf("%d:%d", attr.Credential.Uid, attr.Credential.Gid)
	if out, err := exec.CommandContext(ctx, "chown", "-R", owner, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy a cluster: %w: %s", err, out)
	}
	return nil
}

// preparedFiles returns the data directory of the prepared cluster with that key. One process prepares it while the others
// wait.
func preparedFiles(ctx context.Context, key string, prepare func(*Cluster) error) (dir string, err error) {
	bin, err := programDir()
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return "", err
	}
	parent, err := privateDirectory()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(parent, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key + "\x00" + string(version)))
	dir = filepath.Join(parent, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := removeOld(parent); err != nil {
		return "", err
	}
	return dir, prepareFiles(ctx, dir, prepare)
}

// prepareFiles starts a cluster, calls prepare, stops the cluster and stores its files in dir.
func prepareFiles(ctx context.Context, dir string, prepare func(*Cluster) error) (err error) {
	c, err := Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := prepare(c); err != nil {
		return err
	}
	if err := c.runProgram(ctx, "pg_ctl", "-D", c.dataDir(), "-m", "fast", "-w", "stop"); err != nil {
		return err
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := copyAs(ctx, c.dataDir(), partial, &syscall.SysProcAttr{}); err != nil {
		return err
	}
	return os.Rename(partial, dir)
}

// privateDirectory returns the directory of prepared clusters. Only this user may write to it: another user could replace the
// databases of the tests.
func privateDirectory() (string, error) {
	dir := filepath.Join("/tmp", "latchkey-pg-prepared-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if owner, ok := st.Sys().(*syscall.Stat_t); !ok || !st.IsDir() || st.Mode().Perm() != 0o700 || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a directory of this user alone: remove it", dir)
	}
	return dir, nil
}

// removeOld removes the directories in parent that are older than a day: most are clusters for earlier versions of the schema.
func removeOld(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		st, err := e.Info()
		if err == nil && e.IsDir() && time.Since(st.ModTime()) > 24*time.Hour {
			err = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
		if err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
