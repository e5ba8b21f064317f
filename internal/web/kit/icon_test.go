package kit

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"testing"
)

// An icon is the drawing of its color, also if it comes from the stored one.
func TestIcons(t *testing.T) {
	k := testKit(t)
	for _, accent := range []string{"#000000", "#ffffff", "#3366cc", "#abc", "#ff0000"} {
		for _, size := range []int{TouchIcon, SmallIcon, LargeIcon} {
			path := IconURL(accent, size)
			c, ok := parseColour(path[len("/icon/"):len("/icon/3366cc")])
			got := get(k.mux, path)
			shown, err := png.Decode(bytes.NewReader(got.Body.Bytes()))
			if err != nil || !ok {
				t.Fatalf("%s: %v", path, err)
			}
			if want := drawIcon(c.toward(black, lightGround, onLight), size); fmt.Sprint(shown) != fmt.Sprint(want) {
				t.Errorf("%s is another drawing", path)
			}
		}
	}
}

// Files that are made for a request cost little, because any browser can ask for 16 million of them: no drawing and no compression.
func TestMadeFilesCostLittle(t *testing.T) {
	k := testKit(t)
	tags := map[string]bool{}
	for path, most := range map[string]float64{"/icon/3366cc-512.png": 60, "/icon/3366cd-512.png": 60, "/icon/3366cc-180.png": 60, "/theme/3366cc.css": 120} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		k.mux.ServeHTTP(w, r)
		tag := w.Header().Get("ETag")
		if w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "" || tags[tag] {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		tags[tag] = true
		if n := testing.AllocsPerRun(10, func() { k.mux.ServeHTTP(httptest.NewRecorder(), r) }); n > most {
			t.Errorf("%s: %v allocations", path, n)
		}
		r.Header.Set("If-None-Match", tag)
		w = httptest.NewRecorder()
		if k.mux.ServeHTTP(w, r); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s again: %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
}

// BenchmarkIcon measures the largest icon.
func BenchmarkIcon(b *testing.B) {
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, "/icon/3366cc-512.png", nil)
		r.SetPathValue("name", "3366cc-512.png")
		serveIcon(httptest.NewRecorder(), r)
	}
}
