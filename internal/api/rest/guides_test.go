package rest_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	// the services of the server
	_ "latchkey.dev/gen/latchkey/admin/v1"
	_ "latchkey.dev/gen/latchkey/guest/v1"
	_ "latchkey.dev/gen/latchkey/kiosk/v1"
	_ "latchkey.dev/gen/latchkey/lock/v1"
	_ "latchkey.dev/gen/latchkey/property/v1"
)

// Every guide that an error message may name is a page, and every link between guides works.
func TestGuidesArePages(t *testing.T) {
	link := regexp.MustCompile(`href="([^"#:]+\.md)(?:#([^"]*))?"`)
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".md")
		header, page := docs(t, "/docs/"+name)
		if !strings.Contains(page, "<h1") || !strings.Contains(page, `href="/docs/bridge-guide"`) || header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %v %.200s", name, header, page)
		}
		if strings.Contains(page, "<script") || strings.Contains(page, `href="../`) {
			t.Errorf("%s holds a script or a link out of the pages", name)
		}
		for _, to := range link.FindAllStringSubmatch(page, -1) {
			_, target := docs(t, "/docs/"+to[1])
			if to[2] != "" && !strings.Contains(target, `id="`+to[2]+`"`) {
				t.Errorf("%s links to %s#%s, which is not there", name, to[1], to[2])
			}
		}
	}
	if _, page := docs(t, "/guide"); !strings.Contains(page, `href="/docs/quick-start"`) || !strings.Contains(page, `href="/docs/property"`) || !strings.Contains(page, `href="/g/"`) || !strings.Contains(page, `href="/app"`) {
		t.Errorf("the entrance leads nowhere: %s", page)
	}
}

// The served descriptors are complete: every import is included, before the files that import it.
func TestProtosAreComplete(t *testing.T) {
	_, raw := docs(t, "/proto/latchkey.binpb")
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal([]byte(raw), &set); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range set.GetFile() {
		for _, i := range f.GetDependency() {
			if !seen[i] {
				t.Errorf("%s imports %s, which does not come before it", f.GetName(), i)
			}
		}
		seen[f.GetName()] = true
	}
	sources, err := filepath.Glob("../../../proto/latchkey/*/v1/*.proto")
	if err != nil || len(sources) < 10 {
		t.Fatal(sources, err)
	}
	for _, source := range sources {
		name := strings.TrimPrefix(filepath.ToSlash(source), "../../../proto/")
		if private := strings.HasPrefix(name, "latchkey/lock/"); seen[name] == private {
			t.Errorf("%s: served %v", name, seen[name])
		}
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"latchkey.partner.v1.ReservationService", "latchkey.pms.v1.GetCheckInStatusResponse", "google.api.http", "buf.validate.field"} {
		if d, err := files.FindDescriptorByName(protoreflect.FullName(name)); err != nil {
			t.Errorf("%s: %v %v", name, d, err)
		}
	}
}
