package agent

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"latchkey.dev/internal/lock/slot"
)

const (
	childDir = "LATCHKEY_BRIDGE_TEST_STORE"
	rounds   = "LATCHKEY_SOAK" // number of kills; make soak sets it
)

// writeUntilKilled makes numbered writes like those of a bridge. It prints the number of each write when the write is durable.
func writeUntilKilled(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	st, err := openStore(dir)
	fail(err)
	caps := slot.Capabilities{OpLifetime: time.Second}
	before, _, _, err := st.loadLock("front", caps)
	fail(err)
	n := before.Seq
	for {
		n++
		after := slot.Lock{Seq: n, Caps: caps, Fence: time.Unix(int64(n), 0).UTC()}
		for number := range uint32(20) {
			after.Slots = append(after.Slots, slot.Slot{Number: number + 1, Desired: slot.Desired{Generation: n, Intent: slot.Present, PIN: slot.PIN(strconv.FormatUint(n, 10))}})
		}
		fail(st.saveLock("front", before, after, time.Duration(n)))
		before = after
		_, err = st.appendEntry(journalEntry{Address: "front", Kind: "opened", Generation: n})
		fail(err)
		_, _, err = st.beginCommand(fmt.Sprint("act_", n), time.Now())
		fail(err)
		fmt.Println(n)
	}
}

// kills returns how many times the test kills the writer.
func kills(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(rounds))
	if err != nil {
		return 5
	}
	return n
}

func TestStoreSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	last, lines := uint64(0), 0
	for round := range kills(t) {
		said, n := killAt(t, dir, 1+rand.IntN(15))
		last, lines = max(last, said), lines+n
		survived(t, dir, last, lines, round+1)
	}
}

// killAt starts a writer and kills it when it has printed a given count of numbers, or shortly after. It returns the last number and the
// count.
func killAt(t *testing.T, dir string, most int) (said uint64, n int) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "failed") {
			t.Error(lines.Text())
			break
		}
		if said, err = strconv.ParseUint(lines.Text(), 10, 64); err != nil {
			t.Error(err)
		}
		if n++; n == most { // the writer continues until the signal arrives
			if err := child.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = child.Wait()
	return said, n
}

// survived checks that the store has all writes that were printed as durable. Each kill may leave one further write.
func survived(t *testing.T, dir string, said uint64, lines, kills int) {
	t.Helper()
	st, err := openStore(dir)
	if err != nil {
		t.Fatalf("after a kill: %v", err)
	}
	defer func() { _ = st.Close() }()
	l, clock, _, err := st.loadLock("front", slot.Capabilities{OpLifetime: time.Second})
	if err != nil || l.Seq < said || l.Seq > said+1 || uint64(clock) != l.Seq || len(l.Slots) != 20 {
		t.Fatalf("lock %d of %d, %d slots, %v", l.Seq, said, len(l.Slots), err)
	}
	for _, s := range l.Slots {
		if s.Desired.Generation != l.Seq || string(s.Desired.PIN) != strconv.FormatUint(l.Seq, 10) {
			t.Errorf("slot %d is of generation %d, the lock of %d", s.Number, s.Desired.Generation, l.Seq)
		}
	}
	events, err := st.entriesAfter(0, lines+kills+1)
	if err != nil || len(events) < lines || len(events) > lines+kills {
		t.Errorf("%d events of %d, %v", len(events), lines, err)
	}
	for i, o := range events {
		if o.Sequence != uint64(i+1) {
			t.Errorf("event %d has sequence %d", i, o.Sequence)
		}
	}
	acts, err := st.commands()
	if err != nil || len(acts) < lines || len(acts) > lines+kills {
		t.Errorf("%d acts of %d, %v", len(acts), lines, err)
	}
}
