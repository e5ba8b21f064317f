package worker

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// holderURL makes the test binary a process that works under the lease on a database, instead of running tests.
const holderURL = "LATCHKEY_TEST_HOLDER"

// holderConfig ends transactions that a hung holder left open before the lease expires, as the defaults do.
func holderConfig(url string) db.Config {
	return db.Config{URL: url, WriteTimeout: 500 * time.Millisecond}
}

func hangingLease(d *db.DB) PostgresLease {
	return PostgresLease{DB: d, Name: "hang", Log: quiet, Check: 50 * time.Millisecond, Expire: 1500 * time.Millisecond}
}

// act records one act under the lease.
func act(ctx context.Context, d *db.DB, who string) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		_, err := tx.ExecContext(tx.Context(), "INSERT INTO turns (who) VALUES ($1)", who)
		return err
	})
}

// actUnderLease acts as fast as it can while it holds the lease, and prints a line when it has lost the lease.
func actUnderLease(url string) {
	ctx := context.Background()
	d, err := db.Open(ctx, holderConfig(url))
	if err != nil {
		panic(err)
	}
	err = hangingLease(d).Hold(ctx, func(ctx context.Context, held *db.DB) error {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					_ = act(ctx, held, "child")
				}
			})
		}
		all.Wait()
		fmt.Println("lost")
		return nil
	})
	panic(err)
}

// A hung holder keeps its connection. It loses the lease, and changes nothing when it resumes.
func TestHungHolderLosesTheLease(t *testing.T) {
	url := dbtest.URL(t, "postgres")
	d, err := db.Open(t.Context(), holderConfig(url))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	write(t, d, func(tx *db.Tx) error {
		_, err := tx.ExecContext(tx.Context(), "CREATE TABLE turns (who text NOT NULL)")
		return err
	})
	acts := func(who string) (n int) {
		t.Helper()
		if _, err := d.View(t.Context()).ReadOne("SELECT count(*) FROM turns WHERE who = $1", []any{who}, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(program)
	child.Env = append(os.Environ(), holderURL+"="+url)
	child.Stderr = t.Output()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	lines := bufio.NewScanner(out)
	for acts("child") < 20 {
		if t.Context().Err() != nil {
			t.Fatal("the child does not act")
		}
	}
	if err := child.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := 0
	err = hangingLease(d).Hold(ctx, func(ctx context.Context, held *db.DB) error {
		defer cancel()
		before = acts("child")
		if err := act(ctx, held, "parent"); err != nil {
			t.Errorf("act as the new holder: %v", err)
		}
		if err := child.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
		if !lines.Scan() || strings.TrimSpace(lines.Text()) != "lost" {
			t.Errorf("the child says %q: %v", lines.Text(), lines.Err())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if after := acts("child"); before == 0 || after != before {
		t.Errorf("the child acted %d times before it lost the lease and %d times after", before, after-before)
	}
}
