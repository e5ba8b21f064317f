// Command docgen writes what the server shows at /docs, /guide, /openapi.yaml and below: the OpenAPI documents and the
// pages of the reference and of the guides. scripts/generate runs it from the root of the repository.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: docgen OPENAPI OUT: reads AREA.yaml and reasons.yaml from OPENAPI, and writes the site to OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

// site is what is written.
type site struct {
	areas   []area
	style   string
	reasons []reasonMeaning
	files   map[string][]byte // by path, which is that of the URL, and of pages with the suffix .html
}

func run(openapi, out string) error {
	style, err := os.ReadFile("internal/api/rest/docs.css")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(openapi, "reasons.yaml"))
	if err != nil {
		return err
	}
	reasons, err := parseMeanings(text)
	if err != nil {
		return err
	}
	s := site{areas: areas, style: string(style), reasons: reasons, files: map[string][]byte{}}
	for _, a := range areas {
		raw, err := os.ReadFile(filepath.Join(openapi, a.Name+".yaml"))
		if err != nil {
			return err
		}
		if err := s.reference(a, raw); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	if err := s.guides(os.DirFS("docs")); err != nil {
		return err
	}
	for name, content := range s.files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// reference makes the OpenAPI document and the page of an area.
func (s site) reference(a area, openapi []byte) error {
	root, err := refine(a, openapi)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return err
	}
	s.files[a.document()] = text.Bytes()
	var doc document
	if err := root.Decode(&doc); err != nil {
		return err
	}
	s.files[a.page()+".html"], err = doc.render(a, s)
	return err
}

// references links to the pages of the areas.
func (s site) references() []link {
	links := make([]link, len(s.areas))
	for i, a := range s.areas {
		links[i] = link{a.title(), a.page()}
	}
	return links
}
