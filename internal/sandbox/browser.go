package sandbox

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// browser opens the pages of the service like a browser without script: it keeps cookies, follows links and sends forms. As a check-in
// tablet it also has a key pair, with which it proves who it is.
type browser struct {
	client *http.Client
	key    *ecdsa.PrivateKey
	at     *url.URL // at is the address of the current page; nil before the first
	page   string   // page is the HTML of the current page; "" before the first
}

// newBrowser returns a browser without cookies, with a new key.
func newBrowser() (*browser, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &browser{client: &http.Client{Jar: jar, Timeout: 30 * time.Second}, key: key}, nil
}

// maxPage is how many bytes of a page are read. The rest is cut off, without an error.
const maxPage = 1 << 20

// open opens an address, which may be relative to the current page: see load.
func (b *browser) open(ctx context.Context, ref string) error {
	return b.load(ctx, http.MethodGet, ref, nil)
}

// load sends a request and follows redirects. Then the answer is the current page, cut at maxPage, also if its status is not 200, which is
// an error. form may be nil.
func (b *browser) load(ctx context.Context, method, ref string, form url.Values) error {
	u, err := url.Parse(ref)
	if err != nil {
		return err
	}
	if b.at != nil {
		u = b.at.ResolveReference(u)
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	a, err := b.client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxPage))
	if err != nil {
		return err
	}
	b.at, b.page = a.Request.URL, string(text)
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("the page %s answered %d: %s", pathShape(a.Request.URL), a.StatusCode, b.heading())
	}
	return nil
}

// pathShape returns the path of a page for an error message, without the secret of a guest's link.
func pathShape(u *url.URL) string {
	if strings.HasPrefix(u.Path, "/g/l/") {
		return "/g/l/…"
	}
	return u.Path
}

// pageForm is a form of a page.
type pageForm struct {
	action string
	values url.Values        // values has the fields as the page fills them in: see forms
	names  map[string]string // names has the name of each field by its id
	does   []string          // does has the values of the buttons named "do", each an action
}

var (
	formPattern    = regexp.MustCompile(`(?s)<form\b([^>]*)>(.*?)</form>`)
	controlPattern = regexp.MustCompile(`<(input|select|button|textarea)\b([^>]*)>`)
	headPattern    = regexp.MustCompile(`(?s)<h1[^>]*>(.*?)</h1>`)
	linkPattern    = regexp.MustCompile(`<a\b([^>]*)>`)
	tagPattern     = regexp.MustCompile(`<[^>]*>`)
)

// attribute returns an attribute of an HTML tag, or "". tag is the text between the tag's name and its end.
func attribute(tag, name string) string {
	_, rest, ok := strings.Cut(" "+tag, " "+name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(value)
}

// forms returns the forms of the page's main part, without the choices of language and colors. Boxes and radio buttons are not chosen, and
// lists and text areas are empty.
func (b *browser) forms() (out []pageForm) {
	_, main, _ := strings.Cut(b.page, "<main")
	for _, m := range formPattern.FindAllStringSubmatch(main, -1) {
		f := pageForm{action: cmp.Or(attribute(m[1], "action"), b.at.Path), values: url.Values{}, names: map[string]string{}}
		for _, c := range controlPattern.FindAllStringSubmatch(m[2], -1) {
			name, kind := attribute(c[2], "name"), attribute(c[2], "type")
			switch {
			case name == "":
			case c[1] == "button":
				if name == "do" {
					f.does = append(f.does, attribute(c[2], "value"))
				}
			case kind == "checkbox" || kind == "radio":
				f.names[attribute(c[2], "id")] = name // not chosen
			default:
				f.values.Set(name, attribute(c[2], "value"))
				f.names[attribute(c[2], "id")] = name
			}
		}
		out = append(out, f)
	}
	return out
}

// links returns the addresses of the page's links.
func (b *browser) links() (out []string) {
	for _, m := range linkPattern.FindAllStringSubmatch(b.page, -1) {
		out = append(out, attribute(m[1], "href"))
	}
	return out
}

// heading returns the text of the page's heading, or "a page without a heading".
func (b *browser) heading() string {
	m := headPattern.FindStringSubmatch(b.page)
	if m == nil {
		return "a page without a heading"
	}
	return strings.TrimSpace(html.UnescapeString(tagPattern.ReplaceAllString(m[1], "")))
}

// text returns the text of the page on one line.
func (b *browser) text() string {
	return strings.Join(strings.Fields(html.UnescapeString(tagPattern.ReplaceAllString(b.page, " "))), " ")
}

// askedFor returns those of the answers for which the page has a field. The keys are ids of fields.
func (b *browser) askedFor(answers map[string]string) map[string]string {
	asked := map[string]string{}
	for _, f := range b.forms() {
		for id, v := range answers {
			if f.names[id] != "" {
				asked[id] = v
			}
		}
	}
	return asked
}

// submit sends the page's first form that has a field for each of the answers and no button named "do". The keys of the answers are ids of
// fields.
func (b *browser) submit(ctx context.Context, answers map[string]string) error {
	for _, f := range b.forms() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(answers)), func(id string) bool { return f.names[id] == "" }) && len(f.does) == 0 {
			for id, v := range answers {
				f.values.Set(f.names[id], v)
			}
			return b.send(ctx, f)
		}
	}
	return fmt.Errorf("the page %s (%s) has no form with the expected fields", pathShape(b.at), b.heading())
}

// field returns the id of a field whose id has a prefix, of the page's first form that has one, or "". Of several such fields it returns
// any.
func (b *browser) field(prefix string) string {
	for _, f := range b.forms() {
		for id := range f.names {
			if strings.HasPrefix(id, prefix) {
				return id
			}
		}
	}
	return ""
}

// choose presses the button with the value do and sends its form, with answers by the id of their field. It fails if no form has this
// button. It does not check that the form has these fields.
func (b *browser) choose(ctx context.Context, do string, answers map[string]string) error {
	for _, f := range b.forms() {
		if !slices.Contains(f.does, do) {
			continue
		}
		f.values.Set("do", do)
		for id, v := range answers {
			f.values.Set(f.names[id], v)
		}
		return b.send(ctx, f)
	}
	return fmt.Errorf("the page %s (%s) has no button for %s", pathShape(b.at), b.heading(), do)
}

// fill opens the form that the page of the stay links to, and answers its questions until the page that shows all answers. It returns the
// headings of the questions. It fails at a question that answers lacks.
func (b *browser) fill(ctx context.Context, answers map[string]string) (asked []string, err error) {
	form := slices.IndexFunc(b.links(), func(l string) bool { return strings.Contains(l, "/form/") })
	if form < 0 {
		return nil, fmt.Errorf("the page of the stay (%s) has no link to a form", b.heading())
	}
	if err := b.open(ctx, b.links()[form]); err != nil {
		return nil, err
	}
	for !strings.HasSuffix(b.at.Path, "/form/check") {
		given := b.askedFor(answers)
		if len(given) == 0 || len(asked) > len(answers) {
			return nil, fmt.Errorf("the form asks %q, which has no answer", b.heading())
		}
		asked = append(asked, b.heading())
		if err := b.submit(ctx, given); err != nil {
			return nil, err
		}
	}
	return asked, nil
}

// press presses the first button of the check-in's next step, and returns its value, such as "complete". It fails if the page has none.
func (b *browser) press(ctx context.Context) (do string, err error) {
	for _, f := range b.forms() {
		if len(f.does) > 0 {
			f.values.Set("do", f.does[0])
			return f.does[0], b.send(ctx, f)
		}
	}
	return "", fmt.Errorf("the page %s (%s) has no next step", pathShape(b.at), b.heading())
}

// send sends a form. It fills the field publicKey, and the field signature with a signature of the page's challenge, if the form has them,
// as the script on a tablet does.
func (b *browser) send(ctx context.Context, f pageForm) error {
	if f.values.Has("publicKey") {
		der, err := x509.MarshalPKIXPublicKey(&b.key.PublicKey)
		if err != nil {
			return err
		}
		f.values.Set("publicKey", base64.StdEncoding.EncodeToString(der))
	}
	if f.values.Has("signature") {
		digest := sha256.Sum256([]byte(f.values.Get("challenge")))
		r, s, err := ecdsa.Sign(rand.Reader, b.key, digest[:])
		if err != nil {
			return err
		}
		raw := make([]byte, 64)
		r.FillBytes(raw[:32])
		s.FillBytes(raw[32:])
		f.values.Set("signature", base64.StdEncoding.EncodeToString(raw))
	}
	return b.load(ctx, http.MethodPost, f.action, f.values)
}
