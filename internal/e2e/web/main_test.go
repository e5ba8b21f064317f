// Package web_test drives the pages of a running server with Chromium.
package web_test

import (
	"os"
	"testing"

	"latchkey.dev/internal/test/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }

// all is true for the full matrix of sizes, themes and scripts, which "make test-web" runs.
var all = os.Getenv("LATCHKEY_WEB") == "all"
