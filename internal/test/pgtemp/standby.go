package pgtemp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Standby starts a synchronous standby of the cluster: from then on each commit waits until the standby has it.
func (c *Cluster) Standby(ctx context.Context) (*Cluster, error) {
	s, err := start(ctx, func(s *Cluster, ctx context.Context) error {
		return s.runProgram(ctx, "pg_basebackup", "-D", s.dataDir(), "-h", c.dir, "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync")
	})
	if err != nil {
		return nil, err
	}
	for _, statement := range []string{
		"ALTER SYSTEM SET synchronous_standby_names = '*'", "ALTER SYSTEM SET synchronous_commit = on", "SELECT pg_reload_conf()",
	} {
		if err := c.Exec(ctx, statement); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
	}
	return s, nil
}

// Promote makes a standby the primary and waits until it is. The new primary commits without a standby.
func (c *Cluster) Promote(ctx context.Context) error {
	return errors.Join(
		c.Exec(ctx, "ALTER SYSTEM SET synchronous_standby_names = ''"),
		c.Exec(ctx, "SELECT pg_promote(true, 60)"),
	)
}

// Freeze suspends every process of the server, like a host that hangs: connections stay open, the kernel accepts new ones,
// and nothing is answered.
func (c *Cluster) Freeze() error { return c.signal(syscall.SIGSTOP) }

// Thaw resumes a frozen server.
func (c *Cluster) Thaw() error { return c.signal(syscall.SIGCONT) }

// signal sends s to the server and its child processes. The server is first, so that a stopped server starts no more
// children.
func (c *Cluster) signal(s syscall.Signal) error {
	pid, err := c.pid()
	if errors.Is(err, os.ErrNotExist) {
		return nil // it does not run
	}
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal PostgreSQL: %w", err)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, path := range stats {
		child, parent := processAndParentID(path)
		if parent != pid {
			continue
		}
		if err := syscall.Kill(child, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal a process of PostgreSQL: %w", err)
		}
	}
	return nil
}

// pid returns the id of the server's process.
func (c *Cluster) pid() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.dataDir(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(line)
}

// processAndParentID reads the ids of a process and of its parent from a file such as /proc/1/stat. It returns zeros if the process has
// ended.
func processAndParentID(path string) (pid, parent int) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0
	}
	head, tail, _ := strings.Cut(string(text), ") ") // the name in parentheses may contain spaces
	first, _, _ := strings.Cut(head, " ")
	fields := strings.Fields(tail)
	if len(fields) < 2 {
		return 0, 0
	}
	pid, _ = strconv.Atoi(first)
	parent, _ = strconv.Atoi(fields[1])
	return pid, parent
}
