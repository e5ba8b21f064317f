package kit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"latchkey.dev/internal/fault"
)

// A posted value has no spaces around it, and one character for the end of a line, as the person typed it.
func TestValue(t *testing.T) {
	k := testKit(t)
	for posted, want := range map[string]string{
		" Ada ":                            "Ada",
		"one\r\ntwo\r\n\r\nthree\r\n":      "one\ntwo\n\nthree",
		"one\ntwo":                         "one\ntwo",
		strings.Repeat("a\r\n", 999) + "a": strings.Repeat("a\n", 999) + "a",
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(url.Values{"x~text": {posted}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		x := (&Area{Kit: k}).NewExchange(httptest.NewRecorder(), r)
		if x.ParseForm() != nil || x.Value("text") != want {
			t.Errorf("%q is read as %q", posted, x.Value("text"))
		}
	}
}

// A form is too large or invalid, or the server has no room for it.
func TestParseForm(t *testing.T) {
	const urlencoded, multipart = "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"
	part := "--b\r\nContent-Disposition: form-data; name=\"text\"; filename=\"f\"\r\n\r\n" + strings.Repeat("x", 100) + "\r\n--b--\r\n"
	noRoom := fault.New(fault.Unavailable, "", "")
	for _, c := range []struct {
		name, kind, body string
		read             error // of reading the body
		want             error
	}{
		{"good", urlencoded, "a=b", nil, nil},
		{"good parts", multipart, part, nil, nil},
		{"bad", urlencoded, "a=%zz", nil, ErrForm},
		{"bad parts", multipart, "--c", nil, ErrForm},
		{"too large", urlencoded, "a=" + strings.Repeat("x", maxForm), nil, ErrForm},
		{"no memory", urlencoded, "a=b", noRoom, noRoom},
		{"no memory for parts", multipart, part, noRoom, noRoom},
	} {
		k, arrived := testKit(t), 0
		k.Receive = func(_ http.ResponseWriter, r *http.Request, most int64) func() {
			if most != maxForm {
				t.Errorf("%s: at most %d bytes", c.name, most)
			}
			if c.read != nil {
				r.Body = io.NopCloser(iotest.ErrReader(c.read))
			}
			return func() { arrived++ }
		}
		r := httptest.NewRequest("POST", "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		if err := (&Area{Kit: k}).NewExchange(httptest.NewRecorder(), r).ParseForm(); err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if arrived != 1 {
			t.Errorf("%s: arrived %d times", c.name, arrived)
		}
	}
}
