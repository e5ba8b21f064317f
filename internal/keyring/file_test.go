package keyring_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"latchkey.dev/internal/keyring"
)

func TestFirstStartCreatesAPrivateKeyFile(t *testing.T) {
	p, store := newPlace(t), memory{}
	open(t, p.source(), store)
	st, err := os.Stat(p.key)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o, want 0600", st.Mode().Perm())
	}
	if err := os.Chmod(p.key, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Open(t.Context(), p.source(), store); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a key file that others may read: %v", err)
	}
}

func TestMissingKeyFileIsNotReplaced(t *testing.T) {
	p, store := newPlace(t), memory{}
	open(t, p.source(), store)
	if err := os.Remove(p.key); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.Open(t.Context(), p.source(), store); err == nil || !strings.Contains(err.Error(), "restore") {
		t.Errorf("error = %v, want what to do", err)
	}
	if _, err := os.Stat(p.key); err == nil {
		t.Error("a new key file was made over a database that it cannot open")
	}
}

// The key file is a symbolic link and, if the test runs as root, belongs to another user. Rotation must keep both.
func TestRotationKeepsLinkAndOwnerOfTheKeyFile(t *testing.T) {
	p, store := newPlace(t), memory{}
	open(t, p.source(), store)
	if os.Geteuid() == 0 {
		if err := os.Chown(p.key, 12345, 23456); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(p.key)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.key, link); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.RotateFile(t.Context(), link, store); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != p.key {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	after, err := os.Stat(p.key)
	if err != nil {
		t.Fatal(err)
	}
	was, is := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
	if is.Uid != was.Uid || is.Gid != was.Gid || after.Mode() != before.Mode() {
		t.Errorf("the file is of %d:%d with %v, and was of %d:%d with %v", is.Uid, is.Gid, after.Mode(), was.Uid, was.Gid, before.Mode())
	}
	open(t, p.source(), store)
}

func TestKeyFileMustBeOutsideTheDataDirectory(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	for _, inside := range []string{"data/key", "data/sub/key", "link/key", "data/../data/key"} {
		if _, err := keyring.CreateFile(filepath.Join(dir, inside), data); err == nil {
			t.Errorf("%s was accepted", inside)
		}
	}
	for _, outside := range []string{"key", "data2/key", "data/../key2"} {
		if _, err := keyring.CreateFile(filepath.Join(dir, outside), data); err != nil {
			t.Errorf("%s: %v", outside, err)
		}
	}
}

func TestOtherSourcesOfTheKey(t *testing.T) {
	p, store := newPlace(t), memory{}
	open(t, p.source(), store)
	text, err := os.ReadFile(p.key)
	if err != nil {
		t.Fatal(err)
	}
	open(t, keyring.Source{Text: string(text)}, store)
	open(t, keyring.Source{Command: []string{"cat", p.key}}, store)
	for name, src := range map[string]keyring.Source{
		"none":        {},
		"bad text":    {Text: "lkkek_short"},
		"bad command": {Command: []string{"false"}},
		"another key": {File: newPlace(t).key, Text: mustText(t)},
	} {
		if _, err := keyring.Open(t.Context(), src, store); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

func mustText(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if _, err := keyring.CreateFile(path, ""); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKeysDoNotPrint(t *testing.T) {
	text := mustText(t)
	keys, err := keyring.ParseKEKs(text)
	if err != nil {
		t.Fatal(err)
	}
	secret := text[strings.LastIndex(text, "lkkek_")+len("lkkek_"):]
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if strings.Contains(fmt.Sprintf(verb, keys), strings.TrimSpace(secret)) {
			t.Errorf("%s prints the key", verb)
		}
	}
}

func TestParseKEKsRefuses(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "lkkek_", "x", "lkkek_" + strings.Repeat("A", 42), "lkkek_" + strings.Repeat("!", 43)} {
		if _, err := keyring.ParseKEKs(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// The advice for a file with a wrong mode would break a directory such as /etc.
func TestKeyFileThatIsADirectory(t *testing.T) {
	_, err := keyring.LoadFile(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "it is a directory") || strings.Contains(err.Error(), "chmod") {
		t.Errorf("%v", err)
	}
}

func TestWrongKeyNamesItsSetting(t *testing.T) {
	for want, s := range map[string]keyring.Source{"--key or LATCHKEY_KEY": {Text: "abc"}, "--key-command": {Command: []string{"echo", "abc"}}} {
		if _, err := keyring.Open(t.Context(), s, memory{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
