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

// Clone starts a copy of a cluster that prepare filled. The first call with a key prepares it; later ones, also of other
// processes on this machine, copy its files, which takes a fraction of the time. The key names everything that prepare depends
// on; the version of PostgreSQL is added to it.
func Clone(ctx context.Context, key string, prepare func(*Cluster) error) (*Cluster, error) {
	original, err := preparedFiles(ctx, key, prepare)
	if err != nil {
		return nil, fmt.Errorf("prepare a PostgreSQL cluster: %w", err)
	}
	return start(ctx, func(c *Cluster, ctx context.Context) error {
		return copyAs(ctx, original, c.data(), c.attr)
	})
}

// copyAs copies a data directory for the user of attr.
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

// preparedFiles is the data directory of the prepared cluster of a key. One process prepares it while the others wait.
func preparedFiles(ctx context.Context, key string, prepare func(*Cluster) error) (dir string, err error) {
	bin, err := programs()
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return "", err
	}
	shelf, err := privateDirectory()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(shelf, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key + "\x00" + string(version)))
	dir = filepath.Join(shelf, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := removeOld(shelf); err != nil {
		return "", err
	}
	return dir, fill(ctx, dir, prepare)
}

// fill prepares a cluster, stops it and keeps its files as dir.
func fill(ctx context.Context, dir string, prepare func(*Cluster) error) (err error) {
	c, err := Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := prepare(c); err != nil {
		return err
	}
	if err := c.program(ctx, "pg_ctl", "-D", c.data(), "-m", "fast", "-w", "stop"); err != nil {
		return err
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	if err := copyAs(ctx, c.data(), partial, &syscall.SysProcAttr{}); err != nil {
		return err
	}
	return os.Rename(partial, dir)
}

// privateDirectory holds prepared clusters. Nobody else may write it, or they would choose what our tests run on.
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

// removeOld removes clusters that were prepared for earlier versions of the schema.
func removeOld(shelf string) error {
	entries, err := os.ReadDir(shelf)
	if err != nil {
		return err
	}
	for _, e := range entries {
		st, err := e.Info()
		if err == nil && e.IsDir() && time.Since(st.ModTime()) > 24*time.Hour {
			err = os.RemoveAll(filepath.Join(shelf, e.Name()))
		}
		if err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
