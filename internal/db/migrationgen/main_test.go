package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range list {
		list[i] = strings.TrimPrefix(f, dir+"/")
	}
	return list
}

func TestNextMigrationHoldsWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if err := run(t.Context(), dir, "init"); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), dir, "nothing"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(files(t, dir), " "); got != "postgres/0001_init.sql sqlite/0001_init.sql" {
		t.Fatalf("files: %s", got)
	}
	init := filepath.Join(dir, "sqlite", "0001_init.sql")
	text, err := os.ReadFile(init)
	if err != nil {
		t.Fatal(err)
	}
	i := strings.LastIndex(string(text), "CREATE INDEX")
	if err := os.WriteFile(init, text[:i], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), dir, "more"); err != nil {
		t.Fatal(err)
	}
	lite, err := os.ReadFile(filepath.Join(dir, "sqlite", "0002_more.sql"))
	if err != nil || strings.Count(string(lite), "CREATE INDEX") != 1 {
		t.Errorf("sqlite: %q, %v", lite, err)
	}
	pg, err := os.ReadFile(filepath.Join(dir, "postgres", "0002_more.sql"))
	if err != nil || !strings.HasPrefix(string(pg), "-- Nothing changes") {
		t.Errorf("postgres has the same number: %q, %v", pg, err)
	}
}

func TestRenamedColumnsKeepTheirValues(t *testing.T) {
	dir := t.TempDir()
	if err := run(t.Context(), dir, "init"); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		init := filepath.Join(dir, engine, "0001_init.sql")
		text, err := os.ReadFile(init)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(init, []byte(strings.ReplaceAll(string(text), "_notified_at", "_told_at")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(t.Context(), dir, "renamed"); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		text, err := os.ReadFile(filepath.Join(dir, engine, "0002_renamed.sql"))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text); strings.Count(got, "RENAME COLUMN") != 4 || strings.Contains(got, "ADD COLUMN") || strings.Contains(got, "DROP TABLE") {
			t.Errorf("%s: %s", engine, got)
		}
	}
}

func TestBadNames(t *testing.T) {
	for _, name := range []string{"", "../x", "Upper", "a b", "1x"} {
		if run(t.Context(), t.TempDir(), name) == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}
