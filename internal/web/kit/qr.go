package kit

import (
	"fmt"
	"html/template"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

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
