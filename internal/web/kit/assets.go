package kit

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// staticFiles are built by internal/tools/web from the css and ts files of all areas.
//
//go:embed static
var staticFiles embed.FS

// assets are the style sheets, scripts and images. A file name contains the hash of its content, so browsers can cache it forever.
type assets struct {
	byName map[string]*asset // by file name
	names  map[string]string // file name with hash, by the name without it: guest-4UINZKSM.css by guest.css
}

// asset is a file with its content type (kind), its content, its gzip copy, if it has one, and its ETag (tag).
type asset struct {
	kind          string
	plain, zipped []byte
	tag           string
}

// hashed matches a file name with a hash, such as guest-4UINZKSM.css, and captures the parts around the hash: guest and .css.
var hashed = regexp.MustCompile(`^(\w+)-[A-Z0-9]{8}(\.\w+)$`)

// loadAssets loads the embedded files of the directory static. If several have the same name without the hash, the last by name counts.
func loadAssets() (*assets, error) {
	a := &assets{byName: map[string]*asset{}, names: map[string]string{}}
	files, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		content, err := staticFiles.ReadFile("static/" + f.Name())
		if err != nil {
			return nil, err
		}
		a.byName[f.Name()] = newAsset(f.Name(), content)
		if m := hashed.FindStringSubmatch(f.Name()); m != nil {
			a.names[m[1]+m[2]] = f.Name()
		}
	}
	return a, nil
}

// newAsset returns a file with its compressed copy and its ETag. The extension of name decides the content type.
func newAsset(name string, content []byte) *asset {
	a := newSmallAsset(name, content)
	a.zipped = zip(content)
	return a
}

// newSmallAsset is newAsset without a compressed copy, for a file that is made for one request.
func newSmallAsset(name string, content []byte) *asset {
	sum := sha256.Sum256(content)
	return &asset{kind: mime.TypeByExtension(path.Ext(name)), plain: content, tag: fmt.Sprintf(`"%x"`, sum[:8])}
}

// URL returns the URL of a file under /static. name is without the hash, such as guest.css. For a name that no file has, the URL is of no
// file.
func (a *assets) URL(name string) string { return "/static/" + a.names[name] }

// serve answers a request for a file of /static, which browsers can cache forever. A name without a hash is not found, because its content
// can change.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	f, ok := a.byName[r.PathValue("name")]
	if !ok || hashed.FindStringSubmatch(r.PathValue("name")) == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	f.write(w, r)
}

// ServeWorker returns the handler of a service worker's script. name is the file of the script, whose name has no hash; without such a file
// it panics. keeps are the names without the hash of the files that the worker stores for offline use. Their hashed names are in the
// script, so browsers install a new worker when one of them changes.
func (k *Kit) ServeWorker(name string, keeps ...string) http.HandlerFunc {
	var kept []string
	for _, plain := range keeps {
		kept = append(kept, k.files.URL(plain))
	}
	body := fmt.Appendf(nil, "self.KEPT=%q.split(\" \");\n", strings.Join(kept, " "))
	worker := newAsset(name, append(body, k.files.byName[name].plain...))
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		worker.write(w, r)
	}
}

// write sends the file, compressed if the browser accepts it. It answers 304 if the browser has the same version. The caller sets
// Cache-Control before.
func (f *asset) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("ETag", f.tag)
	if f.zipped != nil {
		h.Add("Vary", "Accept-Encoding")
	}
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.zipped != nil && acceptsGzip(r) && len(f.zipped) < len(f.plain) {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// acceptsGzip reports whether the browser accepts gzip.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(name, "gzip") && strings.Trim(strings.TrimPrefix(quality, "q="), "0.") != "" || strings.EqualFold(name, "gzip") && quality == "" {
			return true
		}
	}
	return false
}

var zippers = sync.Pool{New: func() any { z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return z }}

// mayCompress reports whether it is safe to compress the response to r, and the browser accepts gzip. It prevents the attack BREACH:
// another site makes the browser load a page with a text of its choice, and learns from the compressed size whether the page contains that
// text. So a request that comes from another origin, by its header Sec-Fetch-Site, gets no compressed page. [Exchange.Render] also leaves
// pages with a secret uncompressed.
func mayCompress(r *http.Request) bool {
	from := r.Header.Get("Sec-Fetch-Site") // empty in old browsers and without TLS: the response is compressed nevertheless
	return (from == "" || from == "same-origin" || from == "none") && acceptsGzip(r)
}

// write sends a complete page, compressed with gzip if compress is true. It ignores an error of sending.
func (x *Exchange) write(status int, body []byte, compress bool) {
	if compress {
		var b bytes.Buffer
		z, _ := zippers.Get().(*gzip.Writer)
		z.Reset(&b)
		_, _ = z.Write(body)
		_ = z.Close()
		zippers.Put(z)
		x.W.Header().Set("Content-Encoding", "gzip")
		body = b.Bytes()
	}
	x.W.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.W.WriteHeader(status)
	_, _ = x.W.Write(body)
}

// zip returns content as gzip with the best ratio.
func zip(content []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = z.Write(content)
	_ = z.Close()
	return b.Bytes()
}
