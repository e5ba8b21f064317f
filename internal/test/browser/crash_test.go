package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A page whose process crashes is loaded again, with the settings of the test.
func TestCrashedPageIsLoadedAgain(t *testing.T) {
	var loads atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Page</title><h1>Load %d</h1><p></p>
			<script>document.querySelector("p").textContent = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"</script></html>`, loads.Add(1))
	}))
	t.Cleanup(server.Close)
	p := Open(t, Dark)
	p.Visit(server.URL)
	p.WaitHeading("Load 1")
	ctx, cancel := context.WithTimeout(p.ctx, time.Second) // a process that crashes does not answer
	defer cancel()
	_, _ = chromedp.Call(ctx, page.Crash, cdp.Empty{})
	p.WaitHeading("Load 2")
	p.WaitText("dark")
}
