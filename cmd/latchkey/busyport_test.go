package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A first start that fails because another program has a port leaves neither a data directory nor a key.
func TestBusyPortLeavesNothing(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	root := t.TempDir()
	var out, errs bytes.Buffer
	args := []string{"serve", "--data-dir", filepath.Join(root, "d"), "--key-file", filepath.Join(root, "key"),
		"--listen-http", "127.0.0.1:0", "--listen-grpc", "127.0.0.1:0", "--listen-bridge", "127.0.0.1:0", "--listen-ops", busy.Addr().String()}
	if code := start(t.Context(), args, strings.NewReader(""), &out, &errs); code != 1 || !strings.Contains(errs.String(), "--listen-ops: ") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) > 0 {
		t.Errorf("%v was left, %v", left, err)
	}
}
