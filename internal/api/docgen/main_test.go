package main

import (
	"slices"
	"strings"
	"testing"

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
