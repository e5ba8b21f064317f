package kit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
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

func TestDeviceOf(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1": "iPhone",
		"Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 Version/16.6 Mobile/15E148 Safari/604.1":          "iPad",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/141.0.0.0 Mobile Safari/537.36":                         "Android",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/141.0.0.0 Safari/537.36":                         "Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15":                   "Mac",
		"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0":                                              "Linux",
		"curl/8.5.0": "", "": "",
	} {
		if got := DeviceOf(agent); got != want {
			t.Errorf("%q is %q; want %q", agent, got, want)
		}
	}
}

// The error summary lists the fields as the page does, whatever their order in the answer of the API.
func TestRefusedFieldsAreInTheOrderOfThePage(t *testing.T) {
	p := &Page{Words: Words{Lang: "en"}}
	f := fault.Fields(fault.Field{Path: "hours[1].to"}, fault.Field{Path: "other"}, fault.Field{Path: "hours[0].from"}, fault.Field{Path: "zone"}, fault.Field{Path: "name"})
	if !p.Refuse(f, []Input{{Name: "name"}, {Name: "zone"}, {Name: "hours"}}) {
		t.Fatal("no field is refused")
	}
	var got []string
	for _, w := range p.Wrong {
		got = append(got, w.ID)
	}
	if want := []string{"f-name", "f-zone", "f-hours", "f-hours"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
