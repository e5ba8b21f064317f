package rest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// Docs serves the documentation: /docs, /docs.css, /guide, /openapi.yaml, the paths below them, and /proto/latchkey.binpb. It reads the
// files at each request to save memory. They must not change while the server runs: NewDocs computes their ETags once.
type Docs struct{ served map[string]servedFile }

// servedFile is one file of the documentation. read is called at each request, so that no copy stays in memory.
type servedFile struct {
	read            func() ([]byte, error)
	mediaType, etag string
}

// NewDocs returns the handler of the HTML, YAML, CSS and PNG files in site. Their URL paths are their names without .gz; pages have no
// suffix .html either. Guides, the pages below docs, also have a path with the suffix .md, because guides link to each other that way. It
// ignores other files. At /proto/latchkey.binpb it serves the proto files of the API in one file, a FileDescriptorSet.
func NewDocs(site fs.FS) (*Docs, error) {
	d := &Docs{served: map[string]servedFile{}}
	err := fs.WalkDir(site, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		plain, isCompressed := strings.CutSuffix(name, ".gz")
		read := func() ([]byte, error) { return fs.ReadFile(site, name) }
		if isCompressed {
			read = func() ([]byte, error) { return decompress(site, name) }
		}
		switch at, isPage := strings.CutSuffix("/"+plain, ".html"); {
		case isPage:
			err = d.add(at, "text/html; charset=utf-8", read)
			if err == nil && strings.HasPrefix(at, "/docs/") {
				err = d.add(at+".md", "text/html; charset=utf-8", read)
			}
		case path.Ext(plain) == ".yaml":
			err = d.add(at, "application/yaml", read)
		case path.Ext(plain) == ".css":
			err = d.add(at, "text/css; charset=utf-8", read)
		case path.Ext(plain) == ".png":
			err = d.add(at, "image/png", read)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	protos, err := descriptorSet()
	if err != nil {
		return nil, err
	}
	return d, d.add("/proto/latchkey.binpb", "application/octet-stream", func() ([]byte, error) { return protos, nil })
}

// decompress returns the content of a gzip file.
func decompress(site fs.FS, name string) ([]byte, error) {
	f, err := site.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(content)
}

// add serves a file at a URL path. It reads the file once to compute the ETag; ServeHTTP reads it again at each request.
func (d *Docs) add(at, mediaType string, read func() ([]byte, error)) error {
	content, err := read()
	sum := sha256.Sum256(content)
	d.served[at] = servedFile{read, mediaType, fmt.Sprintf(`"%x"`, sum[:16])}
	return err
}

// Paths returns the http.ServeMux patterns of the documentation.
func (d *Docs) Paths() []string {
	var paths []string
	for path := range d.served {
		paths = append(paths, "GET "+path)
	}
	slices.Sort(paths)
	return paths
}

// ServeHTTP serves the file at a path of [Docs.Paths]. It panics for any other path.
func (d *Docs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, h := d.served[r.URL.Path], w.Header()
	h["X-Content-Type-Options"] = noSniff
	h.Set("Cache-Control", "no-cache") // no-cache makes browsers revalidate with the ETag
	if strings.HasPrefix(f.mediaType, "text/html") {
		setPageHeaders(h)
	}
	h.Set("Content-Type", f.mediaType)
	h.Set("ETag", f.etag)
	content, err := f.read()
	if err != nil {
		http.Error(w, "The file could not be read.", http.StatusInternalServerError)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
