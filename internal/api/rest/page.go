package rest

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"latchkey.dev/internal/api/chain"
)

// pagePolicy is the Content-Security-Policy header of pages. It allows only the style sheet and the pictures of the guides.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var notFoundPage = []byte(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>No such page</title>
<link rel="stylesheet" href="/docs.css">
</head>
<body>
<main>
<h1>There is no such page</h1>
<p>Guests <a href="/g/">open their stay</a>. Staff <a href="/app">sign in</a>.</p>
<p>For programs, this is the address of an API. The <a href="/guide">guides</a> and the <a href="/docs">reference</a> describe it.</p>
</main>
</body>
</html>
`)

// rootAnswer is the answer at the path "/", with links to the documentation.
var rootAnswer = []byte(`{"docs":"/docs","openapi":"/openapi.yaml"}`)

// serveBrowser answers GET and HEAD requests for HTML or JSON at the root path, and those for HTML at unknown paths. It returns false,
// without an answer, for all other requests.
func (h *Handler) serveBrowser(w http.ResponseWriter, x *exchange) bool {
	r := x.request
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	html := acceptsHTML(r.Header["Accept"])
	switch {
	case r.URL.Path == "/" && html:
		x.header["Location"] = []string{"/guide"}
		w.WriteHeader(http.StatusFound)
	case r.URL.Path == "/" && acceptsJSON(r.Header["Accept"]):
		x.header["Content-Type"] = jsonType
		writeContent(w, http.StatusOK, rootAnswer)
	case html && len(h.allowedMethods(r.URL.Path)) == 0:
		h.log.LogAttrs(r.Context(), slog.LevelInfo, "call", slog.String("method", "unrouted"), slog.String("protocol", string(chain.REST)),
			slog.String("code", "NOT_FOUND"), slog.String("requestId", x.id))
		setPageHeaders(x.header)
		writeContent(w, http.StatusNotFound, notFoundPage)
	default:
		return false
	}
	return true
}

// setPageHeaders sets the headers of an HTML page: its type, what the browser may load, and that links send no referrer.
func setPageHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
}

// writeContent answers with a status and a body. The caller has set the other headers.
func writeContent(w http.ResponseWriter, code int, content []byte) {
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(content))}
	w.WriteHeader(code)
	// Write fails if the client has disconnected or the method is HEAD.
	_, _ = w.Write(content)
}

// acceptsHTML reports whether an Accept header names text/html, as browsers do, and does not exclude it with q=0. A wildcard does not
// count.
func acceptsHTML(accept []string) bool {
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/html") && !hasZeroQuality(params) {
				return true
			}
		}
	}
	return false
}
