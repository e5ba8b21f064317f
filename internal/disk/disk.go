// Package disk makes files in directories that may belong to another user. Root runs commands there, and the owner of a directory
// can replace any name in it at any time: permissions and owners are therefore set on open files, never by path.
package disk

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// OwnAs gives an open file the owner and the group of the file at like.
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

// InheritOwner gives a file that root created the owner of its directory or neighbour, because the server of that owner must be
// able to open it. Files that other users create stay theirs.
func InheritOwner(f *os.File, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return OwnAs(f, like)
}

// SyncDir writes the names in a directory to the disk.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// ListenSocket listens on a Unix socket that only the user of this process can connect to.
func ListenSocket(ctx context.Context, path string) (net.Listener, error) {
	l := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var modeErr error
		// Linux gives the socket file the mode of the descriptor.
		err := conn.Control(func(fd uintptr) { modeErr = syscall.Fchmod(int(fd), 0o600) })
		return errors.Join(err, modeErr)
	}}
	return l.Listen(ctx, "unix", path)
}
