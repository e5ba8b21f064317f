package main

import (
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestHealthOfAnotherUsersServer(t *testing.T) {
	err := healthUnanswered("/srv/data", "/srv/data/operator.sock", &url.Error{Op: "Get", URL: "http://localhost/readyz", Err: fs.ErrPermission})
	if !strings.Contains(err.Error(), "belongs to another user") || strings.Contains(err.Error(), "no server") {
		t.Error(err)
	}
}

func TestHealthSaysWhy(t *testing.T) {
	s := newShell(t)
	for late := time.After(time.Minute); ; { // the job queue starts after the listeners
		code, out, errs := s.run("health")
		if code == 0 {
			if out != "ready\n" {
				t.Errorf("%q", out)
			}
			break
		}
		if code != 1 || !strings.Contains(errs, "unready: ") {
			t.Errorf("exit code %d: %q", code, errs)
		}
		select {
		case <-late:
			t.Fatal(errs)
		default:
		}
	}
	if code, _, errs := s.feed("", "health", "--data-dir", t.TempDir()); code != 1 || !strings.Contains(errs, "no server answers at ") {
		t.Errorf("without a server: exit code %d: %q", code, errs)
	}
}
