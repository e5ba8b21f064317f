// Package kit has what the pages of guests, tablets and staff share: requests and answers, cookies, headers, languages and looks, style
// sheets and scripts. Each of them is an [Area]. An area embeds [Exchange] and [Page] in types of its own.
package kit

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"text/template/parse"
	"time"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
)

// Options are what pages need of the server.
type Options struct {
	Logger *slog.Logger
	// Secure reports whether the client uses TLS. Cookies are then bound to the host.
	Secure func(*http.Request) bool
	Now    func() time.Time
	// As returns the context of an API call for a request.
	As func(ctx context.Context, r *http.Request, c Credential) context.Context
	// Fault returns the fault of a call's error.
	Fault func(error) *fault.Fault
}

// Credential is what a call of the API has in addition to its request. Each may be empty.
type Credential struct {
	Token    string
	Property string // of the calls of staff
	Language string // of the texts in the answer
	Key      string // the idempotency key
	// Automatic means that the page loads by itself, without its person.
	Automatic bool
}

// Kit is what all areas share.
type Kit struct {
	Options
	files *assets
	// languages are those that have texts.
	languages []string
	mux       *http.ServeMux
}

// New returns the kit.
func New(o Options) (*Kit, error) {
	if o.As == nil || o.Fault == nil || o.Logger == nil || o.Secure == nil || o.Now == nil {
		return nil, errors.New("web: As, Fault, Logger, Secure and Now are required")
	}
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	k := &Kit{Options: o, files: files, languages: message.Languages(), mux: http.NewServeMux()}
	k.mux.HandleFunc("GET /static/{name}", files.serve)
	k.mux.HandleFunc("GET /theme/{name}", serveTheme)
	k.mux.HandleFunc("GET /icon/{name}", serveIcon)
	return k, nil
}

// Paths are the patterns of the paths that [Kit.WithFiles] answers itself.
var Paths = []string{"/static/", "/theme/", "/icon/"}

// WithFiles serves the files of all areas, which are style sheets, scripts and icons, and passes other requests to pages.
func (k *Kit) WithFiles(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.ContainsFunc(Paths, func(p string) bool { return strings.HasPrefix(r.URL.Path, p) }) {
			k.mux.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

// Area is a part of the site with pages of its own: those of guests and tablets, or those of staff.
type Area struct {
	*Kit
	Mux       *http.ServeMux
	templates *template.Template
	pages     []string
}

//go:embed parts
var partFiles embed.FS

// NewArea parses the templates of an area: the parts of the kit, shared ones, those of its parts/*.html, and its pages/*.html. All are one set, which
// takes a tenth of the memory of a set for each page, so the names of two pages' blocks must differ. The block "main" of a page is renamed to
// pageBlock.
func (k *Kit) NewArea(files fs.FS, functions template.FuncMap, shared ...fs.FS) (*Area, error) {
	all := maps.Clone(templateFunctions)
	maps.Copy(all, functions)
	set, err := template.New("").Funcs(all).ParseFS(partFiles, "parts/*.html")
	if err != nil {
		return nil, err
	}
	for _, more := range shared {
		if set, err = set.ParseFS(more, "*/*.html"); err != nil {
			return nil, err
		}
	}
	if set, err = set.ParseFS(files, "parts/*.html"); err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	a := &Area{Kit: k, Mux: http.NewServeMux(), templates: set}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".html")
		page, err := template.New("").Funcs(all).ParseFS(files, file)
		if err == nil {
			err = addPage(set, name, page)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		a.pages = append(a.pages, name)
	}
	return a, nil
}

// pageBlock returns the name of the block "main" of a page.
func pageBlock(name string) string { return "pages/" + name }

// addPage adds the blocks of a page to a set of templates.
func addPage(set *template.Template, name string, page *template.Template) error {
	for _, block := range page.Templates() {
		as := block.Name()
		if as == "main" {
			as = pageBlock(name)
		}
		if block.Tree == nil || parse.IsEmptyTree(block.Tree.Root) {
			continue
		}
		if set.Lookup(as) != nil {
			return fmt.Errorf("the block %q exists already", as)
		}
		if _, err := set.AddParseTree(as, block.Tree); err != nil {
			return err
		}
	}
	return nil
}

// Pages returns the names of the area's pages.
func (a *Area) Pages() []string { return a.pages }
