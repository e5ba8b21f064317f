package rest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// Docs serves the documentation: /docs, /guide, /openapi.yaml and the paths below them.
type Docs struct{ served map[string]servedFile }

type servedFile struct {
	content         []byte
	mediaType, etag string
}

// NewDocs serves the files of site at their paths, pages without the suffix .html. Guides are also served with the suffix .md, because
// guides link to each other that way. It also serves the proto files of the API.
func NewDocs(site fs.FS) (*Docs, error) {
	d := &Docs{served: map[string]servedFile{}}
	err := fs.WalkDir(site, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := fs.ReadFile(site, name)
		switch at, isPage := strings.CutSuffix("/"+name, ".html"); {
		case isPage:
			d.add(at, "text/html; charset=utf-8", content)
			if strings.HasPrefix(at, "/docs/") {
				d.add(at+".md", "text/html; charset=utf-8", content)
			}
		case path.Ext(name) == ".yaml":
			d.add(at, "application/yaml", content)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	protos, err := descriptorSet()
	d.add("/proto/latchkey.binpb", "application/octet-stream", protos)
	return d, err
}

func (d *Docs) add(at, mediaType string, content []byte) {
	sum := sha256.Sum256(content)
	d.served[at] = servedFile{content, mediaType, fmt.Sprintf(`"%x"`, sum[:16])}
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

func (d *Docs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, h := d.served[r.URL.Path], w.Header()
	h["X-Content-Type-Options"] = noSniff
	h.Set("Cache-Control", "no-cache") // no-cache makes browsers revalidate with the ETag
	if strings.HasPrefix(f.mediaType, "text/html") {
		setPageHeaders(h)
	}
	h.Set("Content-Type", f.mediaType)
	h.Set("ETag", f.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}
