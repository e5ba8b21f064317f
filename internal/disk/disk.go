// Package disk makes files in directories that may belong to another user. Root runs commands there, and the owner of a directory
// can replace any name in it at any time: permissions and owners are therefore set on open files, never by path.
package disk

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// OwnAs gives an open file the owner and the group of the file at the path like. It changes nothing if that owner is the user of this
// process. It fails if this process has no right to give a file to that owner.
func OwnAs(f *os.File, like string) error {
	st, err := os.Stat(like)
	if err != nil {
		return err
	}
	owner, ok := st.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) == os.Geteuid() {
		return nil
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}

// InheritOwner gives the open file f the owner of the directory or file at the path like, if root runs this process: the server, which runs
// as that owner, must be able to open f. Otherwise f keeps its owner.
func InheritOwner(f *os.File, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return OwnAs(f, like)
}

// Replace gives the file at path the content atomically: a crash leaves the old or the new content. Only the owner of the file at the path
// like can read it. If path is a symbolic link, Replace replaces the link. It fails if this process has no right to give a file to that
// owner. After an error the old content is in place, unless only the sync of the directory failed.
func Replace(path string, content []byte, like string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // CreateTemp creates the file with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing to remove
	err = OwnAs(f, like)
	if err == nil {
		_, err = f.Write(content)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory durable, after files in it were created, renamed or deleted.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// ListenSocket listens on a Unix socket that only the user of this process can connect to. It fails if a file exists at path. Closing the
// listener deletes the file.
func ListenSocket(ctx context.Context, path string) (net.Listener, error) {
	l := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var modeErr error
		// Linux gives the socket file the mode of the descriptor.
		err := conn.Control(func(fd uintptr) { modeErr = syscall.Fchmod(int(fd), 0o600) })
		return errors.Join(err, modeErr)
	}}
	return l.Listen(ctx, "unix", path)
}
