package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestABridgeThatIsNotEnrolledSaysSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bridge")
	if code := start([]string{"--dir", dir, "status"}); code != 1 {
		t.Errorf("status exits with %d", code)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("asking for the status made something: %v", err)
	}
	if code := start([]string{"--dir", dir, "run", "--sim-locks", "front=zwave,back=nuki", "--sim-keypads", "127.0.0.1:0"}); code != 1 {
		t.Errorf("run exits with %d", code)
	}
	if code := start([]string{"--dir", dir, "doctor"}); code != 1 {
		t.Errorf("doctor exits with %d", code)
	}
	if code := start([]string{"--dir", dir, "run", "--sim-locks", "front=brass"}); code != 1 {
		t.Errorf("run with an unknown profile exits with %d", code)
	}
	if code := start([]string{"--dir", dir, "enroll", "192.0.2.1:1", "--plaintext", "--join-code", "lkj_x.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}); code != 1 {
		t.Errorf("a join code in the clear to another machine exits with %d", code)
	}
}
