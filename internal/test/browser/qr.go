package browser

import (
	"regexp"
	"strconv"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
)

var (
	qrBox = regexp.MustCompile(`<svg class="qr"[^>]*viewBox="0 0 (\d+) `)
	qrDot = regexp.MustCompile(`M(\d+) (\d+)h1v1h-1z`)
)

// quietZone is the empty border of a QR code, in modules.
const quietZone = 4

// QR returns the text of the page's QR code, as a phone's camera reads it.
func (p *Page) QR() string {
	p.t.Helper()
	html := p.HTML()
	box := qrBox.FindStringSubmatch(html)
	if box == nil {
		p.fatal("the page has no QR code")
	}
	size, err := strconv.Atoi(box[1])
	p.check(err)
	modules, err := gozxing.NewSquareBitMatrix(size - 2*quietZone)
	p.check(err)
	for _, dot := range qrDot.FindAllStringSubmatch(html, -1) {
		x, _ := strconv.Atoi(dot[1])
		y, _ := strconv.Atoi(dot[2])
		modules.Set(x-quietZone, y-quietZone)
	}
	read, err := decoder.NewDecoder().Decode(modules, nil)
	p.check(err)
	return read.GetText()
}
