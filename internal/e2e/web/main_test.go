// Package web_test drives the pages of a running server with Chromium.
package web_test

import (
	"os"
	"testing"

	"latchkey.dev/internal/e2e/program"
	"latchkey.dev/internal/test/browser"
)

func TestMain(m *testing.M) { program.Main(tests{m}) }

// tests are the tests of the package, after which Chromium is stopped.
type tests struct{ *testing.M }

func (t tests) Run() int { return browser.Main(t.M) }

// all is true for the full matrix of sizes, themes and scripts, which "make test-web" runs.
var all = os.Getenv("LATCHKEY_WEB") == "all"
