package db_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/test/dbtest"
)

// crashChild is the environment variable with the database that a child process of this test writes to.
const crashChild = "LATCHKEY_TEST_CRASH_URL"

// writeUntilKilled writes rows and prints the id of each one after its Write has returned.
func writeUntilKilled(url string) {
	d, err := db.Open(context.Background(), db.Config{URL: url})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				if err := d.Write(context.Background(), put(id)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(2)
				}
				mu.Lock()
				fmt.Println(id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestKilledWriterKeepsWhatItAcknowledged(t *testing.T) {
	rounds := 3
	if s, err := strconv.Atoi(os.Getenv("LATCHKEY_SOAK")); err == nil {
		rounds = s
	}
	dbtest.EachURL(t, func(t *testing.T, url string) {
		var acknowledged []string
		for range rounds {
			acknowledged = append(acknowledged, killAfter(t, url, 200)...)
		}
		d, err := db.Open(t.Context(), db.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		present := map[string]bool{}
		for _, id := range stored(t, d) {
			present[id] = true
		}
		for _, id := range acknowledged {
			if !present[id] {
				t.Errorf("%s was acknowledged and is gone", id)
			}
		}
		mustWrite(t, d, put("alive"))
	})
}

// killAfter starts a child that writes, kills it with SIGKILL after it has acknowledged n rows, and returns their ids.
func killAfter(t *testing.T, url string, n int) []string {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashChild+"="+url)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var acknowledged []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		acknowledged = append(acknowledged, lines.Text())
		if len(acknowledged) == n {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if child.Wait() == nil || len(acknowledged) < n {
		t.Fatalf("the child ended by itself after %d rows", len(acknowledged))
	}
	return acknowledged[:len(acknowledged)-1] // the last line may be torn
}
