// Command web bundles the style sheets and scripts of internal/web. It writes them with the hash of their content in their names, except
// the service workers. It does not remove earlier files.
//
// Usage: web SOURCE OUT
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: web SOURCE OUT")
		os.Exit(2)
	}
	source, out := os.Args[1], os.Args[2]
	common := api.BuildOptions{
		AbsWorkingDir: absolute(source), Outdir: absolute(out), Bundle: true, Write: true, MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true,
		LogLevel: api.LogLevelInfo, LegalComments: api.LegalCommentsNone, Charset: api.CharsetUTF8,
	}
	pages := common
	pages.EntryPoints, pages.EntryNames = []string{"guest/ts/guest.ts", "guest/ts/kiosk.ts", "staff/ts/staff.ts", "guest/css/guest.css", "guest/css/kiosk.css", "staff/css/staff.css"}, "[name]-[hash]"
	pages.Format, pages.Target = api.FormatESModule, api.ES2022
	worker := common
	worker.EntryPoints, worker.EntryNames, worker.Format, worker.Target = []string{"guest/ts/sw.ts", "guest/ts/app-sw.ts"}, "[name]", api.FormatIIFE, api.ES2022
	for _, options := range []api.BuildOptions{pages, worker} {
		if built := api.Build(options); len(built.Errors) > 0 {
			os.Exit(1)
		}
	}
}

// absolute returns the absolute form of a path. It panics if the working directory is unknown.
func absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return full
}
