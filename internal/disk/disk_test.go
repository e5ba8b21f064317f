package disk_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"latchkey.dev/internal/disk"
)

func TestListenSocketIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := disk.ListenSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, want 0600", st.Mode())
	}
}

// The path is replaced by a link after the file was opened. Only the open file may change.
func TestInheritOwnerFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	other := os.Geteuid()
	if other == 0 {
		other = 4711
		if err := os.Chown(dir, other, other); err != nil {
			t.Fatal(err)
		}
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, f.Name()); err != nil {
		t.Fatal(err)
	}
	if err := disk.InheritOwner(f, dir); err != nil {
		t.Fatal(err)
	}
	if got := ownerOf(t, f.Stat); got != other {
		t.Errorf("the open file belongs to user %d, want %d", got, other)
	}
	if got := ownerOf(t, func() (os.FileInfo, error) { return os.Stat(victim) }); got != os.Geteuid() {
		t.Errorf("the file behind the link now belongs to user %d", got)
	}
}

func ownerOf(t *testing.T, stat func() (os.FileInfo, error)) int {
	t.Helper()
	st, err := stat()
	if err != nil {
		t.Fatal(err)
	}
	return int(st.Sys().(*syscall.Stat_t).Uid)
}
