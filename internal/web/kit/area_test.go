package kit

import (
	"strings"
	"testing"
	"testing/fstest"
)

// Pages share one set of templates, so a block that two pages define would replace the block of one of them.
func TestBlocksOfPagesHaveNamesOfTheirOwn(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{
		"parts/layout.html": file(`{{define "layout"}}{{.Main}}{{end}}`),
		"pages/a.html":      file(`{{define "main"}}a{{template "row" .}}{{end}}{{define "row"}}1{{end}}`),
		"pages/b.html":      file(`{{define "main"}}b{{end}}`),
	}
	k := &Kit{}
	if _, err := k.NewArea(files, nil); err != nil {
		t.Fatal(err)
	}
	files["pages/b.html"] = file(`{{define "main"}}b{{end}}{{define "row"}}2{{end}}`)
	if _, err := k.NewArea(files, nil); err == nil || !strings.Contains(err.Error(), `pages/b.html: the block "row" exists already`) {
		t.Errorf("a block of two pages: %v", err)
	}
}
