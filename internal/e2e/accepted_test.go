package e2e

import (
	"net/http"
	"strings"
	"testing"

	"latchkey.dev/internal/e2e/e2etest"
)

func TestUnusualButValidInput(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	for name, c := range map[string]struct {
		verb, path, raw string
		headers         map[string]string
	}{
		"unknown fields":         {"PATCH", "/v1/reservations", `{"pmsMeta":{"id":"S1","x":{"deep":[1]}},"pmsNumber":"1","booker":{"lastName":"A","shoe":44},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02","id":"rsv_mine","pin":"123456","zzz":null}`, nil},
		"names of proto":         {"PATCH", "/v1/reservations", `{"pmsMeta":{"id":"S2"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"}`, nil},
		"a whole number":         {"PATCH", "/v1/reservations", `{"pmsMeta":{"id":"S3"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02","adultCount":2.0,"price":1.50e2}`, nil},
		"255 letters":            {"PATCH", "/v1/reservations", `{"pmsMeta":{"id":"S4"},"pmsNumber":"` + long(255) + `","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"}`, nil},
		"emoji":                  {"PATCH", "/v1/reservations", `{"pmsMeta":{"id":"S5"},"pmsNumber":"\ud83d\ude00","booker":{"lastName":"👩‍👧"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"}`, nil},
		"words in any case":      {"PATCH", "/v1/reservations", `{"pmsMeta":{"id":"S9"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"CONFIRMED","fromDate":"2190-01-01","toDate":"2190-01-02"}`, nil},
		"blanks around":          {"PATCH", "/v1/reservations", "\n\t {\"pmsMeta\":{\"id\":\"S6\"},\"pmsNumber\":\"1\",\"booker\":{\"lastName\":\"A\"},\"state\":\"confirmed\",\"fromDate\":\"2190-01-01\",\"toDate\":\"2190-01-02\"}\r\n", nil},
		"no content type":        {"PATCH", "/v1/reservations", `{"pmsMeta":{"id":"S7"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"}`, map[string]string{"Content-Type": ""}},
		"form as content type":   {"PATCH", "/v1/reservations", `{"pmsMeta":{"id":"S8"},"pmsNumber":"1","booker":{"lastName":"A"},"state":"confirmed","fromDate":"2190-01-01","toDate":"2190-01-02"}`, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
		"any kind of answer":     {"GET", "/v1/spaces", "", map[string]string{"Accept": "text/html, */*;q=0.1"}},
		"an empty parameter":     {"GET", "/v1/spaces?page[limit]=", "", nil},
		"words in capitals":      {"GET", "/v1/spaces?filter[type]=BED", "", nil},
		"grpc metadata is none":  {"GET", "/v1/spaces", "", map[string]string{"Grpc-Metadata-Authorization": "Bearer x", "Grpc-Timeout": "1n"}},
		"dots in a query":        {"GET", "/v1/spaces?filter.type=Bed&page.limit=1", "", nil},
		"extensions one by one":  {"GET", "/v1/reservations/find?pmsId=S0&extend=pin&extend=space", "", nil},
		"a page beyond the last": {"GET", "/v1/spaces?page[offset]=1000", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(c.path, "S0") {
				if o, err := w.Do(t.Context(), w.Partner(), "PATCH", "/v1/reservations", good("S0")); err != nil || !o.OK() {
					t.Fatal(o, err)
				}
			}
			as := w.Partner()
			for k, v := range c.headers {
				as = as.WithHeader(k, v)
			}
			var content any
			if c.raw != "" {
				content = c.raw
			}
			if o, err := w.Do(t.Context(), as, c.verb, c.path, content); err != nil || o.HTTP != http.StatusOK {
				t.Errorf("%v %v", o, err)
			}
		})
	}
}

func TestHeadAndOptions(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	o, err := w.HTTPCall(t.Context(), w.Partner(), "HEAD", "/v1/spaces", "", nil)
	if err != nil || o.HTTP != 200 || len(o.Raw) != 0 || o.Header.Get("Content-Type") != "application/json" {
		t.Errorf("HEAD: %v %v %v", o, err, o.Header)
	}
	if o, err = w.HTTPCall(t.Context(), e2etest.Anonymous(), "HEAD", "/v1/spaces", "", nil); err != nil || o.HTTP != 401 || len(o.Raw) != 0 {
		t.Errorf("HEAD without a credential: %v %v", o, err)
	}
	o, err = w.HTTPCall(t.Context(), e2etest.Anonymous(), "OPTIONS", "/v1/reservations", "", nil)
	if allow := o.Header.Get("Allow"); err != nil || o.HTTP != 204 || !strings.Contains(allow, "PATCH") || !strings.Contains(allow, "GET") || strings.Contains(allow, "DELETE") {
		t.Errorf("OPTIONS: %v %v %q", o, err, allow)
	}
	if o, err = w.HTTPCall(t.Context(), e2etest.Anonymous(), "OPTIONS", "/v1/none", "", nil); err != nil || o.HTTP != 404 {
		t.Errorf("OPTIONS of nothing: %v %v", o, err)
	}
}
