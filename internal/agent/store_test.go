package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"latchkey.dev/internal/lock/slot"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func tempStore(t *testing.T, dir string) *store {
	t.Helper()
	s, err := openStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStoreKeepsALockAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	caps := slot.Capabilities{Slots: 4}
	want := slot.Lock{
		Caps: caps, Seq: 9, Fence: noon.Add(time.Minute),
		Op: slot.Op{Kind: slot.OpSet, Seq: 9, Slot: 2, Generation: 7, PIN: "048151", NotBefore: noon, NotAfter: noon.Add(time.Hour), Replace: true, ExpiresAt: noon.Add(time.Second)},
		Slots: []slot.Slot{
			{Number: 1, Desired: slot.Desired{Generation: 3, Intent: slot.Absent}},
			{
				Number:   2,
				Desired:  slot.Desired{Generation: 7, Intent: slot.Present, PIN: "048151", NotBefore: noon, NotAfter: noon.Add(time.Hour), MayHoldOwn: true},
				Content:  slot.Content{Kind: slot.Own, PIN: "031337", NotBefore: noon, NotAfter: noon.Add(time.Hour), Evidence: slot.Verified},
				Observed: slot.Observed{Generation: 6, Present: true, Evidence: slot.Verified, Result: slot.Busy, Rule: "x", At: noon},
				Refusal:  slot.Duplicate, RefusedRule: "prefix", LastResult: slot.Timeout, Attempts: 3, RetryAt: noon, RetryOf: slot.OpSet, NextReadAt: noon, ClearedOnce: true, TimesOvertaken: 2,
			},
			{Number: 300, Desired: slot.Desired{Generation: 1, Intent: slot.Present, PIN: "0000"}},
		},
	}
	s := tempStore(t, dir)
	for _, address := range []string{"front", "front/door"} {
		if err := s.saveLock(address, slot.Lock{}, want, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, _, ok, err := tempStore(t, dir).loadLock("front", caps)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	plain := cmp.Transformer("plain", func(p slot.PIN) string { return string(p) })
	if diff := cmp.Diff(want, got, plain); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	raw, err := os.ReadFile(filepath.Join(dir, storeFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"048151", "031337"} {
		if bytes.Contains(raw, []byte(secret)) {
			t.Errorf("the file holds PIN %s in clear", secret)
		}
	}
}

func TestStoreWritesOnlyWhatChanged(t *testing.T) {
	a := slot.Lock{Slots: []slot.Slot{{Number: 1}, {Number: 2}}}
	b := slot.Lock{Slots: []slot.Slot{{Number: 1}, {Number: 2, Attempts: 1}, {Number: 3}}}
	var numbers []uint32
	for _, s := range changedSlots(a, b) {
		numbers = append(numbers, s.Number)
	}
	if diff := cmp.Diff([]uint32{2, 3}, numbers); diff != "" {
		t.Error(diff)
	}
}

func TestStoreRefusesAnotherKeyAndAReadableOne(t *testing.T) {
	dir := t.TempDir()
	s := tempStore(t, dir)
	if err := s.setIdentity(identity{BridgeID: "brg_1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, keyFile)
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(dir); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a store without its key: %v", err)
	}
	if err := os.WriteFile(key, make([]byte, keyLen), 0o600); err != nil {
		t.Fatal(err)
	}
	s = tempStore(t, dir)
	if _, err := s.identity(); err == nil || errors.Is(err, errNotEnrolled) {
		t.Errorf("identity under another key: %v", err)
	}
}

func TestSealedRecordOpensOnlyUnderItsKey(t *testing.T) {
	s := tempStore(t, t.TempDir())
	if err := s.saveLock("front", slot.Lock{}, slot.Lock{Seq: 1}, 0); err != nil {
		t.Fatal(err)
	}
	tx, err := s.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	b := tx.Bucket(locksBucket)
	if err := b.Put([]byte("back"), bytes.Clone(b.Get([]byte("front")))); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.loadLock("back", slot.Capabilities{}); err == nil {
		t.Error("the record of one lock passes as another's")
	}
}

func TestOnlyOneBridgeOnAStore(t *testing.T) {
	dir := t.TempDir()
	tempStore(t, dir)
	if _, err := openStore(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("a second bridge on the same directory: %v", err)
	}
}

func journaled(t *testing.T, s *store, n int) {
	t.Helper()
	for i := range n {
		if _, err := s.appendEntry(journalEntry{Address: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
}

func sequences(t *testing.T, s *store) (out []string) {
	t.Helper()
	events, err := s.entriesAfter(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		out = append(out, fmt.Sprintf("%d:%s", e.Sequence, e.Address))
	}
	return out
}

func TestJournalSequenceContinuesAfterRestart(t *testing.T) {
	dir := t.TempDir()
	s := tempStore(t, dir)
	journaled(t, s, 3)
	if err := s.deleteAcknowledged(2); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = tempStore(t, dir)
	journaled(t, s, 1)
	if diff := cmp.Diff([]string{"3:2", "4:0"}, sequences(t, s)); diff != "" {
		t.Error(diff)
	}
	if err := s.deleteAcknowledged(4); err != nil {
		t.Fatal(err)
	}
	journaled(t, s, 1)
	if diff := cmp.Diff([]string{"5:0"}, sequences(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestJournalIsRenumberedAfterARestore(t *testing.T) {
	s := tempStore(t, t.TempDir())
	journaled(t, s, 2)
	if err := s.deleteAcknowledged(40); err != nil { // the store was restored from an old copy
		t.Fatal(err)
	}
	journaled(t, s, 1)
	if diff := cmp.Diff([]string{"41:0", "42:1", "43:0"}, sequences(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestJournalIsBounded(t *testing.T) {
	s := tempStore(t, t.TempDir())
	s.maxJournal = 3
	journaled(t, s, 3)
	if lost, err := s.appendEntry(journalEntry{Address: "new"}); err != nil || lost != 1 {
		t.Fatal(lost, err)
	}
	if diff := cmp.Diff([]string{"2:1", "3:2", "4:new"}, sequences(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestCommandsAreRememberedForTheirTime(t *testing.T) {
	s := tempStore(t, t.TempDir())
	if _, first, err := s.beginCommand("act_1", noon); err != nil || !first {
		t.Fatal(first, err)
	}
	if err := s.endCommand(commandRecord{ID: "act_1", Outcome: outcomeDone, At: noon}); err != nil {
		t.Fatal(err)
	}
	if rec, first, err := s.beginCommand("act_1", noon.Add(time.Minute)); err != nil || first || rec.Outcome != outcomeDone {
		t.Errorf("again: %+v %v %v", rec, first, err)
	}
	if _, _, err := s.beginCommand("act_2", noon.Add(commandMemory+time.Second)); err != nil {
		t.Fatal(err)
	}
	recs, err := s.commands()
	if err != nil || len(recs) != 1 || recs[0].ID != "act_2" {
		t.Errorf("remembered: %+v %v", recs, err)
	}
}

func TestEnrollingAgainDeletesEverything(t *testing.T) {
	s := tempStore(t, t.TempDir())
	if err := s.saveLock("front", slot.Lock{}, slot.Lock{Seq: 4, Slots: []slot.Slot{{Number: 1}}}, 0); err != nil {
		t.Fatal(err)
	}
	journaled(t, s, 3)
	if err := s.resetTo(identity{BridgeID: "brg_2"}); err != nil {
		t.Fatal(err)
	}
	if _, _, known, err := s.loadLock("front", slot.Capabilities{}); known || err != nil {
		t.Errorf("a lock is still known: %v %v", known, err)
	}
	journaled(t, s, 1)
	if diff := cmp.Diff([]string{"1:0"}, sequences(t, s)); diff != "" {
		t.Errorf("the server counts from 1 after an enrolment: %s", diff)
	}
	if id, err := s.identity(); err != nil || id.BridgeID != "brg_2" {
		t.Errorf("%+v %v", id, err)
	}
}
