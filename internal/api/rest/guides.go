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
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	page, err := template.New("guide").Parse(guidePage)
	if err != nil {
		return fmt.Errorf("guides: %w", err)
	}
	texts := make([]template.HTML, len(names))
	for i, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("guides: %w", err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(raw), "# "), "\n")
		d.guides = append(d.guides, Guide{title, "/docs/" + strings.TrimSuffix(name, ".md")})
		var html bytes.Buffer
		if err := markdown.Convert(repositoryLinks.ReplaceAll(raw, []byte("$1")), &html); err != nil {
			return fmt.Errorf("guides: %s: %w", name, err)
		}
		texts[i] = template.HTML(html.String()) // an embedded file
	}
	for i, g := range d.guides {
		text, err := d.renderGuide(page, g.Title, texts[i])
		if err != nil {
			return err
		}
		d.served[g.Path] = servedFile{content: text, html: true}
		d.served[g.Path+".md"] = d.served[g.Path]
	}
	entrance, err := d.renderGuide(page, "Latchkey", "")
	d.served["/guide"] = servedFile{content: entrance, html: true}
	return err
}

func (d *Docs) renderGuide(page *template.Template, title string, text template.HTML) ([]byte, error) {
	var out bytes.Buffer
	err := page.Execute(&out, map[string]any{
		"Title": title, "Text": text, "Style": template.CSS(docsStyle), // an embedded file
		"Guides": d.guides, "References": d.references,
	})
	if err != nil {
		return nil, fmt.Errorf("guides: %w", err)
	}
	return out.Bytes(), nil
}
