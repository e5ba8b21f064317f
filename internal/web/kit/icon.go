package kit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

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

// IconURL returns the URL of an app icon. accent is the property's colour; defaultAccent replaces an empty or invalid one. size is
// TouchIcon, SmallIcon or LargeIcon. The URL contains colour and size, so browsers can cache the icon forever.
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
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	newSmallAsset("icon.png", encodeIcon(c.toward(black, lightGround, onLight), size)).write(w, r)
}

// blankIcons are the encoded icons on a black ground, by size; encodeIcon replaces the colors. Each is drawn once, because drawing and
// encoding take a hundred times as long as the rest of a request.
var blankIcons = map[int]func() []byte{TouchIcon: blankIcon(TouchIcon), SmallIcon: blankIcon(SmallIcon), LargeIcon: blankIcon(LargeIcon)}

// blankIcon returns a function that encodes the white key on a black ground, as an icon of a size, at the first call.
func blankIcon(size int) func() []byte {
	return sync.OnceValue(func() []byte {
		var b bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if err := encoder.Encode(&b, drawIcon(black, size)); err != nil {
			panic(err) // a buffer takes every image with a palette
		}
		return b.Bytes()
	})
}

// paletteStart is where the palette of a PNG is, after the signature, the chunk with the size and the palette's own length and type.
const paletteStart = 8 + 25 + 8

// encodeIcon returns the icon on the color ground as a PNG. Icons of one size differ only in the palette and its checksum, which also
// covers the type of the chunk. size must be TouchIcon, SmallIcon or LargeIcon.
func encodeIcon(ground colour, size int) []byte {
	icon := bytes.Clone(blankIcons[size]())
	at := icon[paletteStart:]
	for i, c := range iconPalette(ground) {
		r, g, b, _ := c.RGBA()
		at[3*i], at[3*i+1], at[3*i+2] = byte(r>>8), byte(g>>8), byte(b>>8)
	}
	const end = 3 * (shades + 1)
	binary.BigEndian.PutUint32(at[end:], crc32.ChecksumIEEE(icon[paletteStart-4:paletteStart+end]))
	return icon
}

// shades is the number of steps from the background's colour to the key's. The mixed colours between them smooth the edges of the key.
const shades = 16

// drawIcon draws the white key on the color ground. The key stays within the middle 80 % of the image, because devices crop icons to other
// shapes.
func drawIcon(ground colour, size int) image.Image {
	out := image.NewPaletted(image.Rect(0, 0, size, size), iconPalette(ground))
	for y := range size {
		for x := range size {
			distance := keyDistance((float64(x)+.5)/float64(size), (float64(y)+.5)/float64(size)) * float64(size)
			out.SetColorIndex(x, y, uint8(math.Round(shades*min(1, max(0, .5-distance)))))
		}
	}
	return out
}

// iconPalette returns the colors of an icon, from the color ground to that of the key.
func iconPalette(ground colour) color.Palette {
	palette := make(color.Palette, shades+1)
	for i := range palette {
		var mixed colour
		for n := range mixed {
			mixed[n] = uint8((int(ground[n])*(shades-i) + int(white[n])*i) / shades)
		}
		palette[i] = color.RGBA{mixed[0], mixed[1], mixed[2], 255}
	}
	return palette
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
