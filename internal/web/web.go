// Package web joins the pages of guests, tablets, staff and operators to one handler.
package web

import (
	"net/http"
	"slices"
	"strings"

	"latchkey.dev/internal/web/guest"
	"latchkey.dev/internal/web/kit"
	"latchkey.dev/internal/web/operator"
	"latchkey.dev/internal/web/staff"
)

// Paths are the path prefixes of all pages and of their files, such as /app/ and /static/. The server routes them to the handler of [New].
var Paths = slices.Concat(kit.Paths, guest.Paths, staff.Paths, operator.Paths)

// New returns the HTTP handler of all web pages and their files. An unknown path outside of the pages of staff and operators gets an error
// page in the layout of guests. o configures what the pages share. guests, staffs and operators are the API clients that each kind of page
// calls.
func New(o kit.Options, guests guest.API, staffs staff.API, operators operator.API) (http.Handler, error) {
	k, err := kit.New(o)
	if err != nil {
		return nil, err
	}
	guestPages, err := guest.New(k, guests)
	if err != nil {
		return nil, err
	}
	staffPages, err := staff.New(k, staffs)
	if err != nil {
		return nil, err
	}
	operatorPages, err := operator.New(k, operators)
	if err != nil {
		return nil, err
	}
	at := func(paths []string, r *http.Request) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(r.URL.Path, p) })
	}
	return k.WithFiles(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case at(staff.Paths, r):
			staffPages.ServeHTTP(w, r)
		case at(operator.Paths, r):
			operatorPages.ServeHTTP(w, r)
		default:
			guestPages.ServeHTTP(w, r) // also renders the error page for unknown paths
		}
	})), nil
}
