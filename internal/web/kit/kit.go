// Package kit has what the pages of guests, tablets and staff share: requests and answers, cookies, headers, languages and looks, style
// sheets and scripts. There is one [Area] each for guests and tablets, staff, and operators. An area embeds [Exchange] and [Page] in types
// of its own.
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

// Options are what the pages need from the server.
type Options struct {
	Logger *slog.Logger
	// Secure reports whether the client uses TLS. Cookies are then bound to the host.
	Secure func(*http.Request) bool
	Now    func() time.Time
	// As returns the context for an API call on behalf of a browser's request.
	As func(ctx context.Context, r *http.Request, c Credential) context.Context
	// Fault converts the error of an API call.
	Fault func(error) *fault.Fault
	// Receive bounds the forms that arrive at the same time. It may replace the body of r by one whose Read returns a fault if there is no
	// room. most is the size in bytes to which the caller limits the body. The caller calls arrived when the form has been read. If Receive
	// is nil, there is no bound.
	Receive func(w http.ResponseWriter, r *http.Request, most int64) (arrived func())
}

// Credential is what an API call sends in addition to its message. Each field may be empty.
type Credential struct {
	Token    string
	Property string // the id of the property that a call of staff is about
	Language string // the language of the texts in the answer
	Key      string // the idempotency key
	// Automatic means that the page reloads by itself. The call does not count as activity of the person.
	Automatic bool
}

// Kit is what all areas share: options, static files and languages.
type Kit struct {
	Options
	files *assets
	// languages are the languages of the message catalogue.
	languages []string
	mux       *http.ServeMux
}

// New loads the static files and the languages. Each option except Receive is required. It fails if one of these is missing.
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

// Paths are the path patterns that [Kit.WithFiles] answers itself.
var Paths = []string{"/static/", "/theme/", "/icon/"}

// WithFiles returns a handler that serves the style sheets, scripts and icons of all areas, and passes other requests to pages.
func (k *Kit) WithFiles(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.ContainsFunc(Paths, func(p string) bool { return strings.HasPrefix(r.URL.Path, p) }) {
			k.mux.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
}

// Area is a part of the site with its own templates and routes: the pages of guests and tablets, of staff, or of operators.
type Area struct {
	*Kit
	Mux       *http.ServeMux
	templates *template.Template
	pages     []string
}

//go:embed parts
var partFiles embed.FS

// NewArea parses the templates of an area: parts of the kit, parts from shared, and parts/*.html and pages/*.html from files. functions are
// template functions in addition to those of the kit. All pages are in one template set, which needs a tenth of the memory of a set per
// page. So block names must be unique, and pageBlock renames the block "main" of each page.
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

// pageBlock returns the name that the block "main" of a page has in the template set.
func pageBlock(name string) string { return "pages/" + name }

// addPage adds the blocks of a page's template to the set of the area. It renames the block "main" by pageBlock. It fails if the set
// already has a block of the same name.
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

// Pages returns the names of the area's page templates, for tests that render each.
func (a *Area) Pages() []string { return a.pages }

// DeskParts are the templates that the areas of staff and of operators share: see [Kit.NewArea].
//
//go:embed desk
var DeskParts embed.FS

// ProblemOf returns, for the pages of staff and operators, the HTTP status of the error page for an API error, and the message kind of its
// title. method is that of the browser's request: unless it is POST, fault.Invalid means a wrong URL, so it is a page that does not exist.
// known is false for an unexpected error, which the caller must log. The caller handles an ended session (fault.Unauthenticated) itself.
func ProblemOf(f *fault.Fault, method string) (status int, message string, known bool) {
	switch {
	case f.Kind == fault.Denied:
		return http.StatusForbidden, "staff.problem.role", true
	case f.Kind == fault.NotFound, f.Kind == fault.Invalid && method != http.MethodPost:
		return http.StatusNotFound, "staff.problem.unknown", true
	case f.Kind == fault.Exhausted:
		return http.StatusTooManyRequests, "staff.problem.tooMany", true
	case slices.Contains([]fault.Kind{fault.Invalid, fault.Precondition, fault.Aborted, fault.Exists}, f.Kind):
		return http.StatusConflict, "staff.problem.changed", true
	case slices.Contains([]fault.Kind{fault.Unavailable, fault.Deadline, fault.Canceled}, f.Kind):
		return http.StatusServiceUnavailable, "staff.problem.away", true
	}
	return http.StatusInternalServerError, "staff.problem.away", false
}
