// Package web joins the pages of guests, tablets and staff to one handler.
package web

import (
	"net/http"
	"slices"

	"latchkey.dev/internal/web/guest"
	"latchkey.dev/internal/web/kit"
)

// Paths are the patterns of the paths that the pages need.
var Paths = slices.Concat(kit.Paths, guest.Paths)

// New returns the handler of all pages.
func New(o kit.Options, guests guest.API) (http.Handler, error) {
	k, err := kit.New(o)
	if err != nil {
		return nil, err
	}
	guestPages, err := guest.New(k, guests)
	if err != nil {
		return nil, err
	}
	return k.WithFiles(guestPages), nil
}
