package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A backup that is restored elsewhere, with the key from the time of the backup, has the same data.
func TestRestore(t *testing.T) {
	root := t.TempDir()
	p := serve(t, nil)
	typed(t, 0, "property", "create", "Before", "--time-zone", "Europe/Lisbon", "--data-dir", p.dir)
	backup := filepath.Join(root, "copy.db")
	typed(t, 0, "backup", backup, "--data-dir", p.dir)
	typed(t, 0, "property", "set", "--name", "After", "--data-dir", p.dir)
	key := p.dir + ".key"
	says := func(what, got string, wanted ...string) {
		t.Helper()
		for _, w := range wanted {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is not in:\n%s", what, w, got)
			}
		}
	}
	says("while a server runs", typed(t, 1, "restore", backup, "--force", "--data-dir", p.dir), "in use by another Latchkey process")
	p.signal()
	if err := p.ends(time.Minute); err != nil {
		t.Fatal(err)
	}
	present := filepath.Join(p.dir, "latchkey.db")
	before := read(t, present)
	says("over data", typed(t, 1, "restore", backup, "--data-dir", p.dir), "there is a database", "--force")

	// A wrong file is refused before anything changes.
	whole := read(t, backup)
	damaged := filepath.Join(root, "damaged.db")
	for what, c := range map[string]struct {
		content []byte
		says    string
	}{
		"cut short":      {whole[:len(whole)/2], "damaged or cut short"},
		"one page short": {whole[:len(whole)-4096], "damaged or cut short"},
		"overwritten":    {append(append(bytes.Clone(whole[:8192]), bytes.Repeat([]byte{0xa5}, 40960)...), whole[8192+40960:]...), "damaged or cut short"},
		"no database":    {[]byte("hello"), "not an SQLite database"},
		"empty":          {nil, "not an SQLite database"},
		"a bare header":  {whole[:100], ""},
	} {
		if err := os.WriteFile(damaged, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		says(what, typed(t, 1, "restore", damaged, "--force", "--data-dir", p.dir), damaged, c.says)
	}
	says("no such file", typed(t, 1, "restore", filepath.Join(root, "none"), "--force", "--data-dir", p.dir), "no such file")
	other := filepath.Join(root, "other.key")
	otherServer := serve(t, []string{"LATCHKEY_KEY_FILE=" + other})
	otherServer.signal()
	if err := otherServer.ends(time.Minute); err != nil {
		t.Fatal(err)
	}
	says("another key", typed(t, 1, "restore", backup, "--force", "--key-file", other, "--data-dir", p.dir), "not the one of this database", "--key-file")
	open := filepath.Join(root, "open.key")
	if err := os.WriteFile(open, read(t, key), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := typed(t, 1, "restore", backup, "--force", "--key-file", open, "--data-dir", p.dir); !strings.Contains(said, "chmod") || strings.Contains(said, "time of the backup") {
		t.Errorf("a key file that others can read: %s", said)
	}
	pipe := filepath.Join(root, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	says("a pipe", typed(t, 1, "restore", pipe, "--force", "--data-dir", p.dir), "not a regular file")
	says("no key", typed(t, 1, "restore", backup, "--force", "--key-file", filepath.Join(root, "no.key"), "--data-dir", p.dir), "no.key is missing")
	if _, err := os.Stat(filepath.Join(root, "no.key")); !os.IsNotExist(err) {
		t.Errorf("a key was made: %v", err)
	}
	says("PostgreSQL", typed(t, 1, "restore", backup, "--database", "postgres://nowhere.invalid/x"), "pg_restore")
	if !bytes.Equal(before, read(t, present)) {
		t.Error("a refused file changed the data")
	}

	elsewhere := filepath.Join(root, "elsewhere")
	says("elsewhere", typed(t, 0, "restore", backup, "--data-dir", elsewhere, "--key-file", key), "Restored", "revoked later are valid again",
		"\n  latchkey serve --data-dir "+elsewhere+" --key-file "+key+"\n", "\n  latchkey bridge list --data-dir "+elsewhere+"  ", "\n  latchkey arrivals --data-dir "+elsewhere+"  ")
	third := "sqlite:" + filepath.Join(root, "a place", "third.db")
	says("another database", typed(t, 0, "restore", backup, "--database", third, "--key-file", key, "--data-dir", elsewhere),
		"\n  latchkey serve --data-dir "+elsewhere+" --database '"+third+"' --key-file "+key+"\n")
	if got := typed(t, 0, "restore", backup, "--force", "--data-dir", p.dir); !strings.Contains(got, "kept as "+present+".before-restore-") {
		t.Errorf("does not say where the former database is: %s", got)
	}
	former, err := filepath.Glob(present + ".before-restore-*")
	if err != nil || len(former) != 1 || !bytes.Equal(before, read(t, former[0])) {
		t.Errorf("the former database: %v, %v", former, err)
	}
	if left, err := filepath.Glob(filepath.Join(p.dir, ".restore-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if st, err := os.Stat(present); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the restored file: %v, %v", st.Mode(), err)
	}
	for dir, keyFile := range map[string]string{p.dir: key, elsewhere: key} {
		again := serveAt(t, dir, "operations", []string{"LATCHKEY_KEY_FILE=" + keyFile})
		if got := typed(t, 0, "property", "show", "--data-dir", dir); !strings.Contains(got, "Before") {
			t.Errorf("%s serves other data: %s", dir, got)
		}
		again.signal()
		if err := again.ends(time.Minute); err != nil {
			t.Error(err)
		}
	}
}

// After a server was killed, some changes are only in the database's log. The log is moved together with the replaced database, and its
// changes never reach the restored one.
func TestRestoreAfterAKill(t *testing.T) {
	p := serve(t, nil)
	backup := filepath.Join(t.TempDir(), "copy.db")
	typed(t, 0, "property", "create", "Before", "--time-zone", "Europe/Lisbon", "--data-dir", p.dir)
	typed(t, 0, "backup", backup, "--data-dir", p.dir)
	typed(t, 0, "property", "set", "--name", "After", "--data-dir", p.dir)
	_ = p.Process.Kill()
	_ = p.Wait()
	typed(t, 0, "restore", backup, "--force", "--data-dir", p.dir)
	former, err := filepath.Glob(filepath.Join(p.dir, "latchkey.db.before-restore-*Z"))
	if err != nil || len(former) != 1 {
		t.Fatalf("the former database: %v, %v", former, err)
	}
	for _, want := range []string{"Before", "After"} {
		if want == "After" { // the former one, brought back
			typed(t, 0, "restore", former[0], "--force", "--data-dir", p.dir)
		}
		again := serveAt(t, p.dir, "operations", nil)
		if got := typed(t, 0, "property", "show", "--data-dir", p.dir); !strings.Contains(got, want) {
			t.Errorf("want %s: %s", want, got)
		}
		again.signal()
		if err := again.ends(time.Minute); err != nil {
			t.Error(err)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
