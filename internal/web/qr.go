package web

import (
	"fmt"
	"html/template"
	"image/color"
	"net/url"
	"strings"

	"github.com/boombuler/barcode/qr"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// qrCode is a QR code as an SVG path. The zero qrCode is none.
type qrCode struct {
	Link string
	Size int // modules with the quiet zone
	Path template.HTMLAttr
}

// quiet is the quiet zone around a QR code, in modules.
const quiet = 4

// qr returns the code of a door's page on the guest's own phone; none without a door.
func (x *exchange) qr(door string) qrCode {
	if door == "" {
		return qrCode{}
	}
	return x.qrOf("/q/" + url.PathEscape(door))
}

// phoneQR returns the code of a link with which the guest at a kiosk continues on a phone. It returns none if the stay cannot be handed
// over, such as after a phone has taken it.
func (x *exchange) phoneQR() qrCode {
	made, err := x.site.api.Stays.HandOver(x.callContext(), &guestv1.HandOverRequest{})
	if err != nil {
		return qrCode{}
	}
	return x.qrOf("/g/l/" + url.PathEscape(made.GetLink()))
}

// qrOf returns the code of a path of this server.
func (x *exchange) qrOf(path string) qrCode {
	scheme := "http://"
	if x.site.secure(x.r) {
		scheme = "https://"
	}
	return drawQR(scheme+x.r.Host+path, qr.M, qr.Auto)
}

// drawQR returns the code of a text, or none if the text is too long for one.
func drawQR(text string, level qr.ErrorCorrectionLevel, mode qr.Encoding) qrCode {
	code, err := qr.Encode(text, level, mode)
	if err != nil {
		return qrCode{}
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
	return qrCode{Link: text, Size: size + 2*quiet, Path: template.HTMLAttr(`d="` + d.String() + `"`)}
}
