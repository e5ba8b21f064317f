package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestGuideLinksToItsSections(t *testing.T) {
	s := site{files: map[string][]byte{}}
	err := s.guides(fstest.MapFS{
		"locks.md":   {Data: []byte("# Locks\n\n## The `slots` of *a lock*\n\n### Not listed\n\n## Health & state\n")},
		"privacy.md": {Data: []byte("# Privacy\n\n## Elsewhere\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	nav, _, _ := strings.Cut(string(s.files["/docs/locks.html"]), "</nav>")
	for _, want := range []string{
		`<a href="/docs/locks" aria-current="page">Locks</a>`,
		`<a href="#the-slots-of-a-lock">The slots of a lock</a>`,
		`<a href="#health--state">Health &amp; state</a>`,
		`<a href="/docs/privacy">Privacy</a></li>`,
	} {
		if !strings.Contains(nav, want) {
			t.Errorf("the navigation lacks %s:\n%s", want, nav)
		}
	}
	if strings.Contains(nav, "Not listed") || strings.Contains(nav, "Elsewhere") || strings.Count(nav, "aria-current") != 1 {
		t.Errorf("the navigation has more than the sections of this page:\n%s", nav)
	}
}
