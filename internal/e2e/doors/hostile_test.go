package doors

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
	"latchkey.dev/internal/sandbox"
)

// villain is a partner whose endpoints misbehave, each path in its way.
type villain struct {
	*httptest.Server
	sent  atomic.Int64 // bytes that were taken from it
	inner atomic.Int64 // calls that a redirect led here
	free  chan struct{}
}

func newVillain(t *testing.T) *villain {
	t.Helper()
	v := &villain{free: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-v.free:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		beat := time.NewTicker(50 * time.Millisecond)
		defer beat.Stop()
		for {
			_, err := w.Write([]byte(" "))
			if e := http.NewResponseController(w).Flush(); err != nil || e != nil {
				return
			}
			select {
			case <-beat.C:
			case <-v.free:
				return
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("/gigabyte", func(w http.ResponseWriter, _ *http.Request) { v.sent.Add(pour(w, 1<<30)) })
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		pour(z, 256<<20)
		_ = z.Close()
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("a", 128<<10)) })
	mux.HandleFunc("/inner", func(w http.ResponseWriter, _ *http.Request) { v.inner.Add(1); fmt.Fprint(w, `[]`) })
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/inner", http.StatusFound) })
	mux.HandleFunc("/metadata", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/garbage", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte{0, 0xff, 0x7b}, 1000))
	})
	mux.HandleFunc("/deep", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("[", 200_000)) })
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Welcome</html>") })
	mux.HandleFunc("/wrong", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[{"id":7,"type":"Tent","name":null}]`) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, `[{"id":`)
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/error", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"error":{"reason":"broken","message":"the database password is hunter2"}}`)
	})
	v.Server = httptest.NewServer(mux)
	t.Cleanup(func() { close(v.free); v.Close() })
	return v
}

// pour writes zeros until it is stopped, and says how many.
func pour(w io.Writer, n int64) (sent int64) {
	block := make([]byte, 64<<10)
	for sent < n {
		if _, err := w.Write(block); err != nil {
			break
		}
		sent += int64(len(block))
	}
	return sent
}

// calledBy is a partner of the property whose getSpaces is at one of the villain's paths.
func calledBy(t *testing.T, w *e2etest.World, url string) e2etest.Caller {
	t.Helper()
	c := e2etest.ConnectApp(t, w, "Villain "+url[strings.LastIndexByte(url, '/')+1:])
	o, err := w.Do(t.Context(), c, "PATCH", "/v1/endpoints", map[string]any{"action": "getSpaces", "url": url, "token": "T"})
	if err != nil || !o.OK() {
		t.Fatal(url, o, err)
	}
	return c
}

func TestHostilePartners(t *testing.T) {
	t.Parallel()
	v := newVillain(t)
	w := e2etest.Open(t, func(c *sandbox.Config) { c.Server.Partner.Allow = []string{strings.TrimPrefix(v.URL, "http://")} })
	var all sync.WaitGroup
	over := make(chan struct{})
	for _, path := range []string{"hang", "drip", "gigabyte", "bomb", "header", "redirect", "metadata", "garbage", "deep", "page", "wrong", "cut", "error"} {
		c := calledBy(t, w, v.URL+"/"+path)
		all.Go(func() {
			// 15 s is the law; the rest is for a slow machine.
			ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
			defer cancel()
			o, err := w.Do(ctx, c, "POST", "/v1/endpoints/getSpaces:test", `{}`)
			if err != nil || !o.OK() {
				t.Errorf("%s: %v %v", path, o, err)
				return
			}
			violations, _ := o.Data()["violations"].([]any)
			if o.Data()["ok"] != false || len(violations) == 0 {
				t.Errorf("%s passes the test: %s", path, o.Raw)
			}
			if strings.Contains(string(o.Raw), "meta-data") || len(o.Raw) > 16<<10 {
				t.Errorf("%s: the report says too much: %.300s", path, o.Raw)
			}
		})
	}
	go func() { all.Wait(); close(over) }()

	// Meanwhile a well-behaved partner is served as ever.
	served := 0
	for done := false; !done; {
		select {
		case <-over:
			done = true
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		o, err := w.Do(ctx, w.Partner(), "POST", "/v1/endpoints/getSpaces:test", `{}`)
		cancel()
		if err != nil || o.Data()["ok"] != true {
			t.Fatalf("a good partner in addition to the bad ones: %v %s %v", o, o.Raw, err)
		}
		served++
	}
	if served < 10 {
		t.Errorf("the good partner was called %d times only", served)
	}
	if n := v.inner.Load(); n != 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
	// What the sockets hold comes on top of the 1 MiB that is read.
	if n := v.sent.Load(); n > 32<<20 {
		t.Errorf("%d bytes were taken from the villain", n)
	}
	// A failed reading removes no access, and staff see why it failed.
	w.Await("every villain is failing", func(ctx context.Context) (bool, error) {
		i, err := propertyv1.NewIntegrationServiceClient(w.Public).ListIntegrations(w.Staff(ctx), &propertyv1.ListIntegrationsRequest{})
		for _, one := range i.GetData().GetList() {
			for _, e := range one.GetEndpoints() {
				if strings.HasPrefix(one.GetName(), "Villain") && (e.GetState() != "failing" || e.GetLastError() == "") {
					return false, err
				}
			}
		}
		return err == nil, err
	})
	g := arrives(t, w, "G", room("R101"))
	g.settles("issued")
	g.opens(g.pin(), "Room 101", front)
}

// Without --partner-allow, no spelling of the server's own address can be registered.
func TestForbiddenPartnerAddresses(t *testing.T) {
	w := e2etest.Open(t)
	before := e2etest.PartnerView(t, w)
	for _, url := range []string{
		"http://127.0.0.1/", "https://127.0.0.1/spaces", "https://127.0.0.1:8443/", "https://localhost/", "https://LOCALHOST./", "https://a.localhost/", "https://[::1]/", "https://0.0.0.0/",
		"https://127.1/", "https://2130706433/", "https://0x7f.0.0.1/", "https://0177.0.0.1/", "https://[::ffff:127.0.0.1]/", "https://[::127.0.0.1]/", "https://10.1.2.3/", "https://192.168.0.1/", "https://172.16.0.1/",
		"https://169.254.169.254/latest/", "https://[fe80::1]/", "https://[fd00:ec2::254]/", "https://100.64.0.1/", "https://[64:ff9b::7f00:1]/", "https://224.0.0.1/", "https://255.255.255.255/",
		"http://pms.example.com/", "https://pms.example.com:22/", "https://user:pass@pms.example.com/", "ftp://pms.example.com/", "file:///etc/passwd", "gopher://x/", "//pms.example.com/", "pms.example.com", "https://", "https:///x",
		"https://pms.example.com\\@127.0.0.1/", "https://127.0.0.1%2f@pms.example.com/", "https://pms.internal/", "https://router.lan/", "https://pms.example.com/#fragment",
	} {
		o, err := w.Do(t.Context(), w.Partner(), "PATCH", "/v1/endpoints", map[string]any{"action": "getSpaces", "url": url, "token": "T"})
		if err != nil || o.HTTP != 400 || o.Reason != "invalidFields" || len(o.Fields) != 1 || o.Fields["url"] == "" {
			t.Errorf("%s: %v %v", url, o, err)
		}
	}
	if after := e2etest.PartnerView(t, w); after != before {
		t.Errorf("something was stored: %s", after)
	}
}
