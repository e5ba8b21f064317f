package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// StaffVisitor is a staff member who uses the dashboard, with a browser without script.
type StaffVisitor struct {
	b    *browser
	site string // the scheme and host of all pages
}

// JoinAsOwner makes a new person, with the name Ada and the password "correct horse battery", owner of the property and signs the person
// in. It uses a new link, so an earlier [World.StaffLink] ends.
func (w *World) JoinAsOwner(ctx context.Context, email string) (*StaffVisitor, error) {
	link, err := w.NewStaffLink(ctx)
	if err != nil {
		return nil, err
	}
	b, err := newBrowser()
	if err != nil {
		return nil, err
	}
	c := &StaffVisitor{b: b, site: "http://" + w.Server.HTTPAddr()}
	if err := b.open(ctx, link); err != nil {
		return nil, err
	}
	if err := b.submit(ctx, map[string]string{"f-name": "Ada", "f-email": email, "f-password": "correct horse battery"}); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(b.at.Path, "/app/") || strings.HasPrefix(b.at.Path, "/app/first/") {
		return nil, fmt.Errorf("the owner's link ends at %s (%s)", b.at.Path, b.heading())
	}
	return c, nil
}

// Open opens a page by its path and query, and returns its HTML. It follows redirects: see Path.
func (c *StaffVisitor) Open(ctx context.Context, path string) (html string, err error) {
	return c.load(ctx, http.MethodGet, path, nil)
}

// Post sends a form to a path, and returns the HTML of the page that follows.
func (c *StaffVisitor) Post(ctx context.Context, path string, form url.Values) (html string, err error) {
	return c.load(ctx, http.MethodPost, path, form)
}

// load opens or posts to a page for Open and Post. A status other than 200 is an error, and so is a page that leads to the sign-in.
func (c *StaffVisitor) load(ctx context.Context, method, path string, form url.Values) (html string, err error) {
	if err := c.b.load(ctx, method, c.site+path, form); err != nil {
		return "", err
	}
	if strings.HasPrefix(c.b.at.Path, "/app/login") {
		return "", fmt.Errorf("the page %s leads to the sign-in", path)
	}
	return c.b.page, nil
}

// Path returns the path of the page that is open, which differs from that given to Open after a redirect.
func (c *StaffVisitor) Path() string { return c.b.at.Path }

// Link returns the open page's first link that consists of prefix and an id, or "" if there is none. If prefix ends with a question mark, a
// query follows it.
func (c *StaffVisitor) Link(prefix string) string {
	for _, l := range c.b.links() {
		rest, ok := strings.CutPrefix(l, prefix)
		isID := strings.Contains(rest, "_") && !strings.ContainsAny(rest, "/?")
		if ok && (isID || rest != "" && strings.HasSuffix(prefix, "?")) {
			return l
		}
	}
	return ""
}

// Another returns a second window of the same person, with the same cookies but no open page, so that both can be used at the same time.
func (c *StaffVisitor) Another() *StaffVisitor {
	return &StaffVisitor{b: &browser{client: &http.Client{Jar: c.b.client.Jar, Timeout: c.b.client.Timeout}}, site: c.site}
}

// Follow calls changed each time the server announces a change of reservations to an open page. Once the stream is open, it returns nil
// when ctx ends or the server closes the stream.
func (c *StaffVisitor) Follow(ctx context.Context, changed func()) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.site+"/app/live?topics=reservations", nil)
	if err != nil {
		return err
	}
	a, err := (&http.Client{Jar: c.b.client.Jar}).Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream of changes answered %d", a.StatusCode)
	}
	lines := bufio.NewScanner(a.Body)
	for lines.Scan() {
		if lines.Text() == "event: changed" {
			changed()
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return lines.Err()
}
