package kit

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Exchange is one request for a page, and its answer.
type Exchange struct {
	W http.ResponseWriter
	R *http.Request
	// OwnLanguage means that the page does not follow the language that was chosen on the device.
	OwnLanguage bool

	area  *Area
	nonce string
}

// NewExchange begins to answer a request: it sets the headers.
func (a *Area) NewExchange(w http.ResponseWriter, r *http.Request) *Exchange {
	x := &Exchange{W: w, R: r, area: a, nonce: rand.Text()}
	x.setHeaders()
	return x
}

// maxForm is the most bytes of a posted form.
const maxForm = 64 << 10

// ParseForm reads a posted form, which may have files. It returns false if that fails.
func (x *Exchange) ParseForm() bool {
	if x.R.Method != http.MethodPost {
		return true
	}
	x.R.Body = http.MaxBytesReader(x.W, x.R.Body, maxForm)
	if strings.HasPrefix(x.R.Header.Get("Content-Type"), "multipart/form-data") {
		return x.R.ParseMultipartForm(maxForm) == nil
	}
	return x.R.ParseForm() == nil
}

// CallContext returns the context for an API call of the exchange, with the key of the posted form.
func (x *Exchange) CallContext(c Credential) context.Context {
	c.Key = x.callKey()
	return x.area.As(x.R.Context(), x.R, c)
}

// formKey is the form of the key that a page puts into its forms.
var formKey = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// Key returns the key of the posted form, or "".
func (x *Exchange) Key() string {
	if key := x.R.PostForm.Get("key"); formKey.MatchString(key) {
		return key
	}
	return ""
}

// callKey returns the idempotency key of a call for the posted form, or "". The same form sent twice has the same key. A person who goes
// back, changes an answer and sends the page again makes another request, which needs another key.
func (x *Exchange) callKey() string {
	key := x.Key()
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + "\n" + x.R.PostForm.Encode()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Value returns the posted value of an input without spaces around it. A kiosk's inputs have a random prefix that ends in "~".
func (x *Exchange) Value(name string) string {
	for full, values := range x.R.PostForm {
		if plain := full[strings.LastIndexByte(full, '~')+1:]; plain == name && len(values) > 0 {
			return strings.TrimSpace(values[0])
		}
	}
	return ""
}

// HasTyped reports whether the page shows what was posted in place of what is stored: only the request of [Exchange.typedRequest] reads
// a page and has a posted form.
func (x *Exchange) HasTyped() bool { return x.R.Method == http.MethodGet && len(x.R.PostForm) > 0 }

// Scripted reports whether the page's script sent the request. It follows the header Latchkey-Location in place of a redirect: a fetch
// that follows a redirect would load the next page twice, and a kiosk shows a code only once.
func (x *Exchange) Scripted() bool { return x.R.Header.Get("Latchkey-Script") != "" }

// Redirect sends the browser to another page. The script of a page follows a header in place of a redirect, see [Exchange.Scripted].
func (x *Exchange) Redirect(url string) error {
	if x.Scripted() {
		x.W.Header().Set("Latchkey-Location", url)
		x.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	x.W.Header().Set("Location", url)
	x.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// Address returns the address of a path of this server, as a person can type it.
func (x *Exchange) Address(path string) string {
	scheme := "http"
	if x.area.Secure(x.R) {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: x.R.Host}).String() + path
}

// Render answers with a page of the area, which embeds a [Page]. A page with a secret is never compressed, see [mayCompress].
func (x *Exchange) Render(status int, name string, page interface{ setMain(template.HTML) }, secret bool) error {
	var main, b bytes.Buffer
	if err := x.area.templates.ExecuteTemplate(&main, pageBlock(name), page); err != nil {
		return err
	}
	page.setMain(template.HTML(main.String()))
	if err := x.area.templates.ExecuteTemplate(&b, "layout", page); err != nil {
		return err
	}
	x.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	x.write(status, b.Bytes(), !secret && mayCompress(x.R))
	return nil
}
