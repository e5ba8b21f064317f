package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"latchkey.dev/internal/api/chain"
)

// pagePolicy lets a page of ours have its own style, and nothing else.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(docsStyle))
	return fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(sum[:]))
}()

var noPage = []byte(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>No such page</title>
<style>` + docsStyle + `</style>
</head>
<body>
<main>
<h1>There is no such page</h1>
<p>This is the address of an API for programs. The <a href="/guide">guides</a> and the <a href="/docs">reference</a> describe it.</p>
</main>
</body>
</html>
`)

// entrance names where to go from the first address that people open.
var entrance = []byte(`{"docs":"/docs","openapi":"/openapi.yaml"}`)

// browse answers what people ask for who look around with a browser; false: it is for the API.
func (h *Handler) browse(w http.ResponseWriter, x *exchange) bool {
	r := x.request
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	html := asksForHTML(r.Header["Accept"])
	switch {
	case r.URL.Path == "/" && html:
		x.header["Location"] = []string{"/guide"}
		w.WriteHeader(http.StatusFound)
	case r.URL.Path == "/" && acceptsJSON(r.Header["Accept"]):
		x.header["Content-Type"] = jsonType
		show(w, http.StatusOK, entrance)
	case html && len(h.allowed(r.URL.Path)) == 0:
		h.log.LogAttrs(r.Context(), slog.LevelInfo, "call", slog.String("method", "unrouted"), slog.String("protocol", string(chain.REST)),
			slog.String("code", "NOT_FOUND"), slog.String("requestId", x.id))
		pageHeader(x.header)
		show(w, http.StatusNotFound, noPage)
	default:
		return false
	}
	return true
}

func pageHeader(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
}

func show(w http.ResponseWriter, code int, content []byte) {
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(content))}
	w.WriteHeader(code)
	// A reader that went away needs no page; one that asked for the head alone gets none.
	_, _ = w.Write(content)
}

// asksForHTML reports whether an Accept header names HTML, as those of browsers do.
func asksForHTML(accept []string) bool {
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/html") && !refused(params) {
				return true
			}
		}
	}
	return false
}
