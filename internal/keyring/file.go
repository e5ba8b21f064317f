package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// LoadFile reads the key file. It must be readable by its owner alone.
func LoadFile(path string) (KEKs, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("key file %s: others may read it (mode %04o); run: chmod 600 %s", path, st.Mode().Perm(), path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	keys, err := ParseKEKs(string(text))
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return keys, nil
}

// CreateFile draws a key and writes it to a new file with mode 0600. The file must lie
// outside dataDir: a backup of the data must not hold the key to it.
func CreateFile(path, dataDir string) (KEKs, error) {
	inside, err := within(path, dataDir)
	if err != nil {
		return nil, err
	}
	if inside {
		return nil, fmt.Errorf("key file %s lies in the data directory %s: keep the key apart from what it opens", path, dataDir)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	k, err := NewKEK()
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return KEKs{k}, errors.Join(fill(f, KEKs{k}), syncDir(filepath.Dir(path)))
}

// replaceFile writes keys over the file that path leads to, in one step that a crash leaves done or not done. Whose the file
// is stays: root rotates keys that a server of less standing reads.
func replaceFile(path string, keys KEKs) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing to remove
	if owner, ok := st.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
		if err := f.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := fill(f, keys); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func fill(f *os.File, keys KEKs) error {
	var b strings.Builder
	b.WriteString("# Latchkey key-encryption keys. Without this file the database cannot be read:\n")
	b.WriteString("# keep a copy in a safe place, apart from backups of the data. The first key seals.\n")
	for _, k := range keys {
		l, ok := k.(*localKEK)
		if !ok {
			return errors.Join(errors.New("key file: holds keys of its own only"), f.Close())
		}
		b.WriteString(l.text + "\n")
	}
	_, err := f.WriteString(b.String())
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// within reports whether path lies below dir, links resolved as far as both exist.
func within(path, dir string) (bool, error) {
	if dir == "" {
		return false, nil
	}
	p, err := resolved(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	d, err := resolved(dir)
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(d, p)
	if err != nil {
		return false, err
	}
	return rel == "." || (rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))), nil
}

func resolved(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(abs) != abs {
		parent, err := resolved(filepath.Dir(abs))
		return filepath.Join(parent, filepath.Base(abs)), err
	}
	return real, err
}
