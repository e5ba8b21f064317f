package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/png"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed guide.html
var guidePage string

// link is a hyperlink to a page, or to a section of the page that has the link: then Path is #ID.
type link struct{ Title, Path string }

// guideOrder is the order of the guides. Guides that are not listed follow, sorted by name.
var guideOrder = []string{
	"quick-start", "owner-guide", "check-in", "partner-guide", "bridge-guide", "locks", "operations", "operator-guide", "cluster", "privacy", "smartkey",
}

// repositoryLinks matches links to repository files that the server does not serve; the renderer keeps only their text.
var repositoryLinks = regexp.MustCompile(`\[([^\]]*)\]\(\.\./[^)]*\)`)

// accessible makes the HTML of guides accessible: the keyboard can scroll wide code and tables, and empty table headers become cells.
var accessible = strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`, "<th></th>", "<td></td>")

// guides adds the guides in Markdown files as pages to the site, with their pictures, and a start page that links to all pages.
func (s site) guides(files fs.FS) error {
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return err
	}
	rank := func(file string) int {
		if i := slices.Index(guideOrder, strings.TrimSuffix(file, ".md")); i >= 0 {
			return i
		}
		return len(guideOrder)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	texts, links := make([][]byte, len(names)), make([]link, len(names))
	for i, name := range names {
		if texts[i], err = fs.ReadFile(files, name); err != nil {
			return err
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(texts[i]), "# "), "\n")
		links[i] = link{title, "/docs/" + strings.TrimSuffix(name, ".md")}
	}
	if s.sized, err = s.pictures(files); err != nil {
		return err
	}
	for i, l := range links {
		if err := s.guide(l, texts[i], links); err != nil {
			return err
		}
	}
	return s.guide(link{"Latchkey", "/guide"}, nil, links)
}

// pictures adds the pictures of guides to the site. It returns the replacer that adds the width and height to each image of a page, so that
// no text moves while pictures load.
func (s site) pictures(files fs.FS) (sized *strings.Replacer, err error) {
	names, err := fs.Glob(files, "*/*.png")
	if err != nil {
		return nil, err
	}
	var pairs []string
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		size, err := png.DecodeConfig(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("picture %s: %w", name, err)
		}
		s.files["/docs/"+name] = raw
		source := fmt.Sprintf("src=%q", name)
		pairs = append(pairs, source, fmt.Sprintf(`%s width="%d" height="%d" loading="lazy"`, source, size.Width, size.Height))
	}
	return strings.NewReplacer(pairs...), nil
}

// guide adds one Markdown text as the page with the title and path in at. The page links to its sections, and to all guides and reference
// pages.
func (s site) guide(at link, raw []byte, all []link) error {
	page, err := template.New("guide").Parse(guidePage)
	if err != nil {
		return err
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	raw = repositoryLinks.ReplaceAll(raw, []byte("$1"))
	tree := markdown.Parser().Parse(text.NewReader(raw))
	var body, out bytes.Buffer
	if err := markdown.Renderer().Render(&body, raw, tree); err != nil {
		return fmt.Errorf("guide %s: %w", at.Title, err)
	}
	err = page.Execute(&out, map[string]any{
		"Title": at.Title, "Path": at.Path, "Text": template.HTML(s.sized.Replace(accessible.Replace(body.String()))),
		"Sections": sections(tree, raw), "Guides": all, "References": s.references(),
	})
	s.files[at.Path+".html"] = out.Bytes()
	return err
}

// sections returns links to the headings of level 2 of a parsed guide, in order. raw is its Markdown text.
func sections(tree ast.Node, raw []byte) (links []link) {
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		if heading, ok := n.(*ast.Heading); ok && heading.Level == 2 {
			id, _ := heading.AttributeString("id")
			links = append(links, link{plain(heading, raw), fmt.Sprintf("#%s", id)})
		}
	}
	return links
}

// plain returns the text of a Markdown node without its markup. raw is the Markdown text of the whole document.
func plain(node ast.Node, raw []byte) string {
	var words strings.Builder
	for n := node.FirstChild(); n != nil; n = n.NextSibling() {
		if leaf, ok := n.(*ast.Text); ok {
			words.Write(leaf.Value(raw))
		} else {
			words.WriteString(plain(n, raw))
		}
	}
	return words.String()
}
