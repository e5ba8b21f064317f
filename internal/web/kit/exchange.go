package kit

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"latchkey.dev/internal/fault"
)

// Exchange is one request for a page and its response.
type Exchange struct {
	W http.ResponseWriter
	R *http.Request
	// IgnoreChosenLanguage makes the page ignore the language that a person chose on the device.
	IgnoreChosenLanguage bool

	area  *Area
	nonce string
}

// NewExchange starts the handling of a request. It sets the security headers and chooses the nonce of the page's scripts.
func (a *Area) NewExchange(w http.ResponseWriter, r *http.Request) *Exchange {
	x := &Exchange{W: w, R: r, area: a, nonce: rand.Text()}
	x.setHeaders()
	return x
}

// maxForm is the maximum size of a posted form in bytes.
const maxForm = 64 << 10

// ErrForm means that a posted form is invalid or too large.
var ErrForm = errors.New("the posted form is invalid or too large")

// ParseForm parses the body of a POST, also one with uploaded files. It returns [ErrForm] if the body is invalid or larger than maxForm, and
// the fault of reading it if the server has no room. For other methods it does nothing.
func (x *Exchange) ParseForm() error { return x.ParseFormOf(maxForm) }

// ParseFormOf is [Exchange.ParseForm] with another maximum size in bytes: it parses the body of a POST, and returns ErrForm if the body is
// invalid or larger.
func (x *Exchange) ParseFormOf(most int64) error {
	if x.R.Method != http.MethodPost {
		return nil
	}
	if receive := x.area.Receive; receive != nil {
		defer receive(x.W, x.R, most)()
	}
	x.R.Body = http.MaxBytesReader(x.W, x.R.Body, most)
	err := error(nil)
	if strings.HasPrefix(x.R.Header.Get("Content-Type"), "multipart/form-data") {
		err = x.R.ParseMultipartForm(most)
	} else {
		err = x.R.ParseForm()
	}
	if f, ok := fault.Of(err); ok {
		return f
	}
	if err != nil {
		return ErrForm
	}
	return nil
}

// SendFile answers with a message of the API as a JSON file, which the browser stores under the name, which must not contain quotation
// marks.
func (x *Exchange) SendFile(name string, content proto.Message) error {
	file, err := protojson.MarshalOptions{Multiline: true}.Marshal(content)
	if err != nil {
		return err
	}
	x.W.Header().Set("Content-Type", "application/json")
	x.W.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, err = x.W.Write(file)
	return err
}

// CallContext returns the context for an API call. It carries c with the idempotency key of the posted form as its Key.
func (x *Exchange) CallContext(c Credential) context.Context {
	c.Key = x.callKey()
	return x.area.As(x.R.Context(), x.R, c)
}

// formKey matches the random key that each rendered form contains.
var formKey = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// Key returns the random key of the posted form, or "" if the request posts no form or the form came from no page. A mail scanner that
// posts to a link has no key.
func (x *Exchange) Key() string {
	if key := x.R.PostForm.Get("key"); formKey.MatchString(key) {
		return key
	}
	return ""
}

// callKey returns the idempotency key for API calls of the posted form, or "" if the form has no key. It is a hash of the form's key and
// values: the same for a form that is sent twice, and another for a changed form.
func (x *Exchange) callKey() string {
	key := x.Key()
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key + "\n" + x.R.PostForm.Encode()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Value returns the first posted value of an input, or "". It trims spaces, and replaces "\r\n", which browsers post, by "\n". It ignores
// the random prefix that input names have at a kiosk, which ends in "~".
func (x *Exchange) Value(name string) string {
	for full, values := range x.R.PostForm {
		if plain := full[strings.LastIndexByte(full, '~')+1:]; plain == name && len(values) > 0 {
			return strings.ReplaceAll(strings.TrimSpace(values[0]), "\r\n", "\n")
		}
	}
	return ""
}

// HasTyped reports whether the page must show the posted values instead of the stored ones. It is true only for the GET of
// [Exchange.typedRequest], which renders a half-filled form again after a choice of colors or language.
func (x *Exchange) HasTyped() bool { return x.R.Method == http.MethodGet && len(x.R.PostForm) > 0 }

// Scripted reports whether the page's script sent the request. A script gets the header Latchkey-Location instead of a redirect. A fetch
// that follows a redirect would load the next page twice, and a kiosk shows a code only once.
func (x *Exchange) Scripted() bool { return x.R.Header.Get("Latchkey-Script") != "" }

// Redirect sends the browser to another page with 303. A script gets the URL in a header instead: see [Exchange.Scripted]. It does not
// check that the URL is of this site. It always returns nil.
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

// Address returns the complete URL of a path of this server, with the host of the request.
func (x *Exchange) Address(path string) string {
	scheme := "http"
	if x.area.Secure(x.R) {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: x.R.Host}).String() + path
}

// Render executes the template of a page within the layout and sends it. page embeds a [Page]. If a template fails, Render returns the
// error and sends nothing. It ignores an error of sending. secret means that the page shows a secret: it is not compressed, see
// [mayCompress].
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

// CookieName returns the name under which the browser stores a cookie. With TLS it has the prefix __Host-, so that other hosts of the
// domain cannot set it.
func (x *Exchange) CookieName(name string) string {
	if x.area.Secure(x.R) {
		return "__Host-" + name
	}
	return name
}

// Cookie returns the value of a cookie of the request, or "" if there is none. name is without the prefix.
func (x *Exchange) Cookie(name string) string {
	c, err := x.R.Cookie(x.CookieName(name))
	if err != nil {
		return ""
	}
	return c.Value
}

// SetCookie stores a cookie in the browser until a time. name is without the prefix. With the zero time, the browser deletes the cookie
// when the browser closes.
func (x *Exchange) SetCookie(name, value string, until time.Time) {
	http.SetCookie(x.W, &http.Cookie{
		Name: x.CookieName(name), Value: value, Path: "/", Expires: until, Secure: x.area.Secure(x.R), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// DropCookie deletes a cookie in the browser. name is without the prefix. The present request keeps the cookie.
func (x *Exchange) DropCookie(name string) {
	http.SetCookie(x.W, &http.Cookie{
		Name: x.CookieName(name), Path: "/", MaxAge: -1, Secure: x.area.Secure(x.R), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}
