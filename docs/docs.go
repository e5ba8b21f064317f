// Package docs holds the guides, so that the server can show them.
package docs

import "embed"

// Guides are the guides, in Markdown.
//
//go:embed *.md
var Guides embed.FS
