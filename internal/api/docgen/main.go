// Command docgen generates the files that the server serves at /docs, /guide and /openapi.yaml: OpenAPI documents, reference pages and
// guides. scripts/generate runs it in the root of the repository.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// site holds the generated files.
type site struct {
	areas   []area
	reasons []reasonMeaning
	sized   *strings.Replacer // gives the pictures of guides their sizes
	files   map[string][]byte // generated files by URL path; pages have the suffix .html
}

// run generates the site from the files in the directory openapi and the guides in the directory docs of the repository, in whose root it
// must run, and writes it to the directory out.
func run(openapi, out string) error {
	style, err := os.ReadFile("internal/api/docgen/docs.css")
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
	s := site{areas: areas, reasons: reasons, files: map[string][]byte{"docs.css": style}}
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

// reference adds the OpenAPI document and the reference page of an area to the site. It makes both from openapi, the document of the
// protobuf generator.
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

// references returns links to the reference pages of all areas.
func (s site) references() []link {
	links := make([]link, len(s.areas))
	for i, a := range s.areas {
		links[i] = link{a.title(), a.page()}
	}
	return links
}
