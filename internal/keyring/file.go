package keyring

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"latchkey.dev/internal/disk"
)

// LoadFile reads the key file. It refuses a file whose mode gives the group or others any right. For a missing file the error matches
// [fs.ErrNotExist].
func LoadFile(path string) (KEKs, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() { // otherwise the advice below would take a directory such as / from its users
		return nil, fmt.Errorf("key file %s: it is a directory; name the file", path)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("key file %s: other users can read it (mode %04o); run: chmod 600 %s", path, st.Mode().Perm(), path)
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

// CreateFile generates a key and writes it to a new file with mode 0600, in a directory that it creates if necessary. It fails if the file
// exists, or is below dataDir (unless that is empty), because a backup of the data must not contain its key.
func CreateFile(path, dataDir string) (KEKs, error) {
	inside, err := isBelow(path, dataDir)
	if err != nil {
		return nil, err
	}
	if inside {
		return nil, fmt.Errorf("key file %s is in the data directory %s; choose a path outside of it, so that backups of the data do not contain the key", path, dataDir)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	k, err := NewKEK()
	if err != nil {
		return nil, err
	}
	content, err := keyFile(KEKs{k})
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path)) // an empty key file would prevent the next start
	}
	return KEKs{k}, disk.SyncDir(filepath.Dir(path))
}

// replaceFile replaces the content of the key file atomically, so that a crash leaves the old or the new content. It keeps
// the owner of the file: root may rotate keys that an unprivileged server reads.
func replaceFile(path string, keys KEKs) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	content, err := keyFile(keys)
	if err != nil {
		return err
	}
	return disk.Replace(path, content, path)
}

// keyFile returns the content of a key file with these keys. It fails for keys that are not in memory, such as those of a KMS.
func keyFile(keys KEKs) ([]byte, error) {
	var b strings.Builder
	b.WriteString("# Latchkey key-encryption keys. Without this file the secrets in the database cannot be read:\n")
	b.WriteString("# keep a copy in a safe place, separate from backups of the data. The first key encrypts.\n")
	for _, k := range keys {
		l, ok := k.(*localKEK)
		if !ok {
			return nil, errors.New("key file: only generated keys can be stored in a file")
		}
		b.WriteString(l.text + "\n")
	}
	return []byte(b.String()), nil
}

// isBelow reports whether path is below dir; an empty dir contains nothing. It resolves symbolic links as far as the paths exist.
func isBelow(path, dir string) (bool, error) {
	if dir == "" {
		return false, nil
	}
	p, err := resolveLinks(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	d, err := resolveLinks(dir)
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(d, p)
	if err != nil {
		return false, err
	}
	return rel == "." || (rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))), nil
}

// resolveLinks returns the absolute path without symbolic links. The last parts of the path need not exist.
func resolveLinks(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(abs) != abs {
		parent, err := resolveLinks(filepath.Dir(abs))
		return filepath.Join(parent, filepath.Base(abs)), err
	}
	return real, err
}
