package kit

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// A posted value has no spaces around it, and one character for the end of a line, as the person typed it.
func TestValue(t *testing.T) {
	for posted, want := range map[string]string{
		" Ada ":                            "Ada",
		"one\r\ntwo\r\n\r\nthree\r\n":      "one\ntwo\n\nthree",
		"one\ntwo":                         "one\ntwo",
		strings.Repeat("a\r\n", 999) + "a": strings.Repeat("a\n", 999) + "a",
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(url.Values{"x~text": {posted}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		x := Exchange{R: r, W: httptest.NewRecorder()}
		if !x.ParseForm() || x.Value("text") != want {
			t.Errorf("%q is read as %q", posted, x.Value("text"))
		}
	}
}
