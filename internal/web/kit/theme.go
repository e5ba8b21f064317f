package kit

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// colour is an sRGB colour.
type colour [3]uint8

// parseColour parses a colour of six hexadecimal digits, with or without "#". ok is false for anything else.
func parseColour(text string) (c colour, ok bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	if err != nil || len(strings.TrimPrefix(text, "#")) != 6 {
		return c, false
	}
	return colour{uint8(n >> 16), uint8(n >> 8), uint8(n)}, true
}

// String returns the colour as #rrggbb, in lower case.
func (c colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// luminance returns the relative luminance of WCAG 2, from 0 to 1.
func (c colour) luminance() float64 {
	var linear [3]float64
	for i, v := range c {
		s := float64(v) / 255
		if linear[i] = s / 12.92; s > 0.04045 {
			linear[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
}

// contrast returns the contrast ratio of two colours by WCAG 2, from 1 to 21.
func contrast(a, b colour) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// toward mixes the colour with to until it is readable: until its contrast is at least 4.5 both with ground, the page behind it, and with
// on, the text on it. If no mix is readable, it returns to.
func (c colour) toward(to, ground, on colour) colour {
	for step := range 101 {
		var moved colour
		for i := range c {
			moved[i] = uint8((int(c[i])*(100-step) + int(to[i])*step) / 100)
		}
		if contrast(moved, ground) >= 4.5 && contrast(moved, on) >= 4.5 {
			return moved
		}
	}
	return to
}

var (
	white, black            = colour{255, 255, 255}, colour{}
	lightGround, darkGround = colour{0xF1, 0xF1, 0xED}, colour{0x1C, 0x1E, 0x1B}
	onLight, onDark         = white, colour{0x10, 0x11, 0x0F}
	themeName               = regexp.MustCompile(`^[0-9a-f]{6}\.css$`)
)

// ThemeURL returns the URL of the style sheet with a property's colour, or "" if accent is not a valid colour. The URL contains the colour,
// so browsers can cache the sheet forever.
func ThemeURL(accent string) string {
	c, ok := parseColour(accent)
	if !ok {
		return ""
	}
	return "/theme/" + strings.TrimPrefix(c.String(), "#") + ".css"
}

// serveTheme answers the URL of ThemeURL with a style sheet. The colour is darkened for light pages and lightened for dark pages until it
// is readable.
func serveTheme(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if !themeName.MatchString(name) {
		http.NotFound(w, r)
		return
	}
	c, _ := parseColour(strings.TrimSuffix(name, ".css"))
	light, dark := c.toward(black, lightGround, onLight), c.toward(white, darkGround, onDark)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	newSmallAsset("theme.css", fmt.Appendf(nil, "@layer theme{:root{--accent:%s;--on-accent:%s}@media(prefers-color-scheme:dark){:root:not([data-face=kiosk],[data-theme=light]){%s}}:root[data-theme=dark]{%[3]s}}\n",
		light, onLight, fmt.Sprintf("--accent:%s;--on-accent:%s;--link:var(--accent)", dark, onDark))).write(w, r)
}
