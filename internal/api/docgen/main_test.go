package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func TestInvalidOpenAPIIsRefused(t *testing.T) {
	for _, text := range []string{"", "a: 1", "\t", "paths: {}"} {
		s := site{areas: areas, files: map[string][]byte{}}
		if err := s.reference(areas[0], []byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// The reference page of an area lists each method that answers with a stream, and no other.
func TestReferenceListsStreams(t *testing.T) {
	for _, a := range areas {
		var want, listed []string
		protoregistry.GlobalFiles.RangeFilesByPackage(protoreflect.FullName(a.Package), func(file protoreflect.FileDescriptor) bool {
			for i := range file.Services().Len() {
				methods := file.Services().Get(i).Methods()
				for j := range methods.Len() {
					if m := methods.Get(j); m.IsStreamingServer() {
						want = append(want, string(m.Parent().Name()+"/"+m.Name()))
					}
				}
			}
			return true
		})
		for _, stream := range a.streams {
			listed = append(listed, stream.Method)
		}
		slices.Sort(want)
		slices.Sort(listed)
		if !slices.Equal(want, listed) {
			t.Errorf("%s lists the streams %q, want %q", a.Name, listed, want)
		}
		html, err := (&document{}).render(a, site{areas: areas})
		if err != nil {
			t.Fatal(err)
		}
		page := string(html)
		for _, method := range want {
			if !strings.Contains(page, `<dt id="`+method+`"><code>`+a.Package+"."+method+"</code>") {
				t.Errorf("the page of %s lacks %s", a.Name, method)
			}
		}
		if strings.Contains(page, "#streams") != (len(want) > 0) {
			t.Errorf("the page of %s has a list of streams, or lacks it", a.Name)
		}
	}
}

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
