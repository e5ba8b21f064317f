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

// A file is replaced, not what a link at its path leads to, and the new file belongs to the owner of the directory.
func TestReplaceFollowsNoLink(t *testing.T) {
	dir, other := t.TempDir(), os.Geteuid()
	if other == 0 {
		other = 4711
		if err := os.Chown(dir, other, other); err != nil {
			t.Fatal(err)
		}
	}
	victim, path := filepath.Join(t.TempDir(), "victim"), filepath.Join(dir, "note")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	if err := disk.Replace(path, []byte("new"), dir); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{victim: "mine", path: "new"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s has %q (%v), want %q", filepath.Base(file), got, err, want)
		}
	}
	st, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode() != 0o600 {
		t.Errorf("the file has mode %v, want 0600", st.Mode())
	}
	if got := ownerOf(t, func() (os.FileInfo, error) { return os.Lstat(path) }); got != other {
		t.Errorf("the file belongs to user %d, want %d", got, other)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}
