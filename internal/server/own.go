package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Own takes an embedded database for this process alone, until release or the end of the process, however it ends: a server
// has it while it runs, and so has what must not run beside one. Several have a PostgreSQL database, of which it takes nothing.
// Reading and copying go on beside an owner.
func Own(databaseURL string) (release func() error, err error) {
	path, ok := strings.CutPrefix(databaseURL, "sqlite:")
	if !ok {
		return func() error { return nil }, nil
	}
	path = strings.TrimPrefix(path, "//")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the database: %w", err)
	}
	// One database is one lock, whichever links lead to it.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.OpenFile(path+".lock", os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the database: %w", err)
	}
	if err := own(f, path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

func own(lock *os.File, database string) error {
	if st, err := os.Stat(database); err == nil && os.Geteuid() == 0 {
		// What root makes the user of the server must be able to open.
		if owner, ok := st.Sys().(*syscall.Stat_t); ok {
			if err := lock.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
				return fmt.Errorf("lock the database: %w", err)
			}
		}
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
