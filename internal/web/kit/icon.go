package kit

import (
	"bytes"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// defaultAccent is the icon colour of a property that has chosen none, as in css/tokens.css.
const defaultAccent = "#0b5d66"

// Sizes of icons in pixels. TouchIcon is for iOS, and the others are those that browsers require of an installable app.
const (
	TouchIcon = 180
	SmallIcon = 192
	LargeIcon = 512
)

var iconName = regexp.MustCompile(`^([0-9a-f]{6})-(180|192|512)\.png$`)

// IconURL returns the URL of an app icon. accent is the property's colour; defaultAccent replaces an empty or invalid one. size is one of
// the sizes above. The URL contains colour and size, so browsers can cache the icon forever.
func IconURL(accent string, size int) string {
	c, ok := parseColour(accent)
	if !ok {
		c, _ = parseColour(defaultAccent)
	}
	return "/icon/" + strings.TrimPrefix(c.String(), "#") + "-" + strconv.Itoa(size) + ".png"
}

// serveIcon answers the URL of IconURL with a PNG of a white key on the colour. The colour is darkened until the key has enough contrast.
func serveIcon(w http.ResponseWriter, r *http.Request) {
	m := iconName.FindStringSubmatch(r.PathValue("name"))
	if m == nil {
		http.NotFound(w, r)
		return
	}
	c, _ := parseColour(m[1])
	size, _ := strconv.Atoi(m[2])
	var b bytes.Buffer
	if err := png.Encode(&b, drawIcon(c.toward(black, lightGround, onLight), size)); err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	newAsset("icon.png", b.Bytes()).write(w, r)
}

// shades is the number of steps from the background's colour to the key's. The mixed colours between them smooth the edges of the key.
const shades = 16

// drawIcon draws the white key on the color ground. The key stays within the middle 80 % of the image, because devices crop icons to other
// shapes.
func drawIcon(ground colour, size int) image.Image {
	palette := make(color.Palette, shades+1)
	for i := range palette {
		var mixed colour
		for n := range mixed {
			mixed[n] = uint8((int(ground[n])*(shades-i) + int(white[n])*i) / shades)
		}
		palette[i] = color.RGBA{mixed[0], mixed[1], mixed[2], 255}
	}
	out := image.NewPaletted(image.Rect(0, 0, size, size), palette)
	for y := range size {
		for x := range size {
			distance := keyDistance((float64(x)+.5)/float64(size), (float64(y)+.5)/float64(size)) * float64(size)
			out.SetColorIndex(x, y, uint8(math.Round(shades*min(1, max(0, .5-distance)))))
		}
	}
	return out
}

// keyDistance returns the distance of a point from the outline of the key. The image is a square of length 1. It is negative inside the
// key, which has a ring, a shaft and two teeth.
func keyDistance(x, y float64) float64 {
	box := func(left, top, right, bottom float64) float64 {
		dx, dy := max(left-x, x-right), max(top-y, y-bottom)
		return math.Hypot(max(dx, 0), max(dy, 0)) + min(max(dx, dy), 0)
	}
	ring := math.Abs(math.Hypot(x-.34, y-.5)-.105) - .04
	return min(ring, box(.46, .46, .83, .54), box(.66, .5, .72, .65), box(.77, .5, .83, .63))
}

// QR is a QR code as the path of an SVG image. The zero QR means that there is none.
type QR struct {
	Link string
	Size int // width in modules, with the quiet zone
	Path template.HTMLAttr
}

// quiet is the quiet zone around a QR code, in modules.
const quiet = 4

// DrawQR returns the QR code of a text. It returns the zero QR if the text is too long.
func DrawQR(text string, level qr.ErrorCorrectionLevel, mode qr.Encoding) QR {
	code, err := qr.Encode(text, level, mode)
	if err != nil {
		return QR{}
	}
	var d strings.Builder
	size := code.Bounds().Dx()
	for y := range size {
		for x := range size {
			if code.At(x, y) == color.Black {
				fmt.Fprintf(&d, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	return QR{Link: text, Size: size + 2*quiet, Path: template.HTMLAttr(`d="` + d.String() + `"`)}
}
