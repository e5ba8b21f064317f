package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Own locks an embedded database for this process, until release or the end of the process. A server holds the lock while it
// runs, and so does a command that must not run beside a server. A PostgreSQL database can have several servers: Own does
// nothing. Reading and copying need no lock.
func Own(databaseURL string) (release func() error, err error) {
	path, ok := strings.CutPrefix(databaseURL, "sqlite:")
	if !ok {
		return func() error { return nil }, nil
	}
	path = strings.TrimPrefix(path, "//")
	if err := makeDirectory(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make the directory of the database: %w", err)
	}
	// One database is one lock, whichever links lead to it.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	// The user of the directory must not point root to another file.
	f, err := os.OpenFile(path+".lock", os.O_RDONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the database: %w", err)
	}
	if err := own(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

func own(lock *os.File, database string) error {
	like := database
	if _, err := os.Stat(database); errors.Is(err, os.ErrNotExist) {
		like = filepath.Dir(database)
	}
	if err := ownAs(lock, like); err != nil {
		return fmt.Errorf("lock the database: %w", err)
	}
	err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("the database %s is in use by another Latchkey process: stop that first", database)
	}
	if err != nil {
		return fmt.Errorf("lock the database with %s: %w", lock.Name(), err)
	}
	return nil
}

// makeDirectory creates a directory and its missing parents. Each new directory gets the owner of its parent.
func makeDirectory(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if err := makeDirectory(parent); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		return err
	}
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(ownAs(dir, parent), dir.Close())
}

// ownAs gives what root created the owner of another file: the user of the server must be able to open it.
func ownAs(f *os.File, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	st, err := os.Stat(like)
	if err != nil {
		return err
	}
	if owner, ok := st.Sys().(*syscall.Stat_t); ok {
		return f.Chown(int(owner.Uid), int(owner.Gid))
	}
	return nil
}
