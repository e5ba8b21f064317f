package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/test/dbtest"
)

// typed runs a command line and returns its output on both streams.
func typed(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := start(t.Context(), args, strings.NewReader(""), &out, &errs); code != want {
		t.Errorf("%v: exit code %d, want %d: %s%s", args, code, want, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

// opens reports whether the key in a file decrypts a database.
func opens(t *testing.T, url, key string) bool {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = keyring.Open(t.Context(), keyring.Source{File: key}, db.KeyStore{DB: d})
	return err == nil
}

func TestBackupAndRotation(t *testing.T) {
	p := serve(t, nil)
	root := t.TempDir()
	backup, old := filepath.Join(root, "copy.db"), filepath.Join(root, "old.key")
	typed(t, 0, "property", "create", "House", "--time-zone", "Europe/Lisbon", "--data-dir", p.dir)
	if got := typed(t, 0, "backup", backup, "--data-dir", p.dir); !strings.Contains(got, p.dir+".key") {
		t.Errorf("does not say which key is needed: %s", got)
	}
	if got := typed(t, 1, "backup", backup, "--data-dir", p.dir); !strings.Contains(got, "exists already") {
		t.Errorf("a second time: %s", got)
	}
	if got := typed(t, 1, "key", "rotate", "--data-dir", p.dir); !strings.Contains(got, "stop that first") {
		t.Errorf("while a server runs: %s", got)
	}
	here := "sqlite:" + filepath.Join(p.dir, "latchkey.db")
	link := filepath.Join(root, "link.db")
	if err := os.Symlink(strings.TrimPrefix(here, "sqlite:"), link); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{here, "sqlite:" + link} {
		got := typed(t, 1, "key", "rotate", "--database", url, "--key-file", p.dir+".key", "--data-dir", filepath.Join(root, "elsewhere"))
		if !strings.Contains(got, "stop that first") {
			t.Errorf("while a server runs with another data directory: %s", got)
		}
	}
	p.signal()
	if err := p.ends(time.Minute); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(p.dir + ".key")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, was, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LATCHKEY_KEY", "anything")
	if got := typed(t, 1, "key", "rotate", "--data-dir", p.dir); !strings.Contains(got, "LATCHKEY_KEY") {
		t.Errorf("with a key that is not of a file: %s", got)
	}
	if err := os.Unsetenv("LATCHKEY_KEY"); err != nil {
		t.Fatal(err)
	}
	typed(t, 0, "key", "rotate", "--data-dir", p.dir)
	if !opens(t, here, p.dir+".key") || opens(t, here, old) {
		t.Error("the new key alone must open the database")
	}
	if there := "sqlite:" + backup; !opens(t, there, old) || opens(t, there, p.dir+".key") {
		t.Error("the old key alone must open the copy made before")
	}
}

func TestBackupAndRotationWithoutADatabase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	for _, args := range [][]string{{"backup", filepath.Join(t.TempDir(), "x")}, {"key", "rotate"}} {
		if got := typed(t, 1, append(args, "--data-dir", dir)...); !strings.Contains(got, "no database") {
			t.Errorf("%v: %s", args, got)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data directory is there: %v", err)
	}
	if got := typed(t, 1, "backup", "x", "--database", "postgres://nowhere.invalid/x"); !strings.Contains(got, "pg_dump") {
		t.Errorf("PostgreSQL: %s", got)
	}
}

func TestRotationOnPostgres(t *testing.T) {
	url, key := dbtest.URL(t, "postgres"), filepath.Join(t.TempDir(), "k", "key")
	if _, err := keyring.CreateFile(key, ""); err != nil {
		t.Fatal(err)
	}
	if !opens(t, url, key) {
		t.Fatal("a first start fails")
	}
	if got := typed(t, 0, "key", "rotate", "--database", url, "--key-file", key, "--data-dir", filepath.Join(t.TempDir(), "d")); !strings.Contains(got, "Encrypted 2 data keys") {
		t.Error(got)
	}
	if !opens(t, url, key) {
		t.Error("the new key does not open the database")
	}
}
