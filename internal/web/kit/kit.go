// Package kit has what the pages of guests, tablets and staff share: requests and answers, cookies, headers, languages and looks, style
// sheets and scripts. Each of them is an [Area]. An area embeds [Exchange] and [Page] in types of its own.
package kit

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
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
	templates map[string]*template.Template
}

//go:embed parts
var partFiles embed.FS

// NewArea parses the templates of an area: each page of its pages/*.html gets the parts of the kit and those of its parts/*.html.
func (k *Kit) NewArea(files fs.FS, functions template.FuncMap) (*Area, error) {
	all := maps.Clone(templateFunctions)
	maps.Copy(all, functions)
	base, err := template.New("").Funcs(all).ParseFS(partFiles, "parts/*.html")
	if err != nil {
		return nil, err
	}
	if base, err = base.ParseFS(files, "parts/*.html"); err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		return nil, err
	}
	a := &Area{Kit: k, Mux: http.NewServeMux(), templates: map[string]*template.Template{}}
	for _, name := range names {
		page, err := base.Clone()
		if err != nil {
			return nil, err
		}
		if page, err = page.ParseFS(files, name); err != nil {
			return nil, err
		}
		a.templates[strings.TrimSuffix(path.Base(name), ".html")] = page
	}
	return a, nil
}

// Pages returns the names of the area's pages.
func (a *Area) Pages() (names []string) {
	for name := range a.templates {
		names = append(names, name)
	}
	return names
}
