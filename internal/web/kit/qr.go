package kit

import (
	"fmt"
	"html/template"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// QR is a QR code as an SVG path. The zero QR is none.
type QR struct {
	Link string
	Size int // modules with the quiet zone
	Path template.HTMLAttr
}

// quiet is the quiet zone around a QR code, in modules.
const quiet = 4

// DrawQR returns the code of a text, or none if the text is too long for one.
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
