// Package web joins the pages of guests, tablets and staff to one handler.
package web

import (
	"net/http"
	"slices"
	"strings"

	"latchkey.dev/internal/web/guest"
	"latchkey.dev/internal/web/kit"
	"latchkey.dev/internal/web/staff"
)

// Paths are the patterns of the paths that the pages need.
var Paths = slices.Concat(kit.Paths, guest.Paths, staff.Paths)

// New returns the handler of all pages.
func New(o kit.Options, guests guest.API, staffs staff.API) (http.Handler, error) {
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
	return k.WithFiles(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages := guestPages // which answer for unknown paths, too
		if slices.ContainsFunc(staff.Paths, func(p string) bool { return strings.HasPrefix(r.URL.Path, p) }) {
			pages = staffPages
		}
		pages.ServeHTTP(w, r)
	})), nil
}
