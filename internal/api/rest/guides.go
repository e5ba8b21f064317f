package rest

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
)

//go:embed guide.html
var guidePage string

// Guide is a page of the documentation, other than the reference.
type Guide struct{ Title, Path string }

// guideOrder is the order of the guides; others follow by name.
var guideOrder = []string{"quick-start", "partner-guide", "bridge-guide", "locks", "operations", "smartkey"}

// repositoryLinks matches links to files of the repository that the server does not serve. Only their text is kept.
var repositoryLinks = regexp.MustCompile(`\[([^\]]*)\]\(\.\./[^)]*\)`)

// AddGuides serves Markdown files as pages at /docs/NAME, and also with the suffix .md, with which they link to each
// other. It also serves the start page at /guide, which links to all pages.
func (d *Docs) AddGuides(files fs.FS) error {
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return fmt.Errorf("guides: %w", err)
	}
	rank := func(file string) int {
		if i := slices.Index(guideOrder, strings.TrimSuffix(file, ".md")); i >= 0 {
			return i
		}
		return len(guideOrder)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("guides: %w", err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(raw), "# "), "\n")
		g := Guide{title, "/docs/" + strings.TrimSuffix(name, ".md")}
		d.guides = append(d.guides, g)
		d.served[g.Path] = servedFile{render: sync.OnceValues(func() ([]byte, error) { return d.renderGuide(title, raw) }), html: true}
		d.served[g.Path+".md"] = d.served[g.Path]
	}
	d.served["/guide"] = servedFile{render: sync.OnceValues(func() ([]byte, error) { return d.renderGuide("Latchkey", nil) }), html: true}
	return nil
}

// renderGuide renders a Markdown file as a page with links to all pages.
func (d *Docs) renderGuide(title string, raw []byte) ([]byte, error) {
	page, err := template.New("guide").Parse(guidePage)
	if err != nil {
		return nil, fmt.Errorf("guides: %w", err)
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	var text, out bytes.Buffer
	if err := markdown.Convert(repositoryLinks.ReplaceAll(raw, []byte("$1")), &text); err != nil {
		return nil, fmt.Errorf("guides: %s: %w", title, err)
	}
	err = page.Execute(&out, map[string]any{
		"Title": title, "Text": template.HTML(text.String()), "Style": template.CSS(docsStyle),
		"Guides": d.guides, "References": d.references,
	})
	if err != nil {
		return nil, fmt.Errorf("guides: %w", err)
	}
	return out.Bytes(), nil
}
