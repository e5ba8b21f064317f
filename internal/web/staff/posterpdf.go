package staff

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"codeberg.org/go-pdf/fpdf"
	"github.com/boombuler/barcode/qr"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
)

// Margin of the poster and width of its QR code, in points. The poster is a sheet of A4.
const (
	sheetMargin = 60
	codeSize    = 340
)

// The fonts of the poster. They have Latin, Greek and Cyrillic letters.
const (
	boldFont  = "bold"
	plainFont = "plain"
	monoFont  = "mono"
)

var fontFiles = map[string][]byte{boldFont: gobold.TTF, plainFont: goregular.TTF, monoFont: gomono.TTF}

// thinSpaces replaces the narrow space before French punctuation, which the fonts lack.
var thinSpaces = strings.NewReplacer("\u202f", "\u00a0", "\u2009", "\u00a0")

// canDraw reports whether a font has every character of a text. font is a key of fontFiles.
func canDraw(font, text string) bool {
	parsed, err := sfnt.Parse(fontFiles[font])
	if err != nil {
		return false
	}
	var buffer sfnt.Buffer
	for _, r := range thinSpaces.Replace(text) {
		if glyph, err := parsed.GlyphIndex(&buffer, r); err != nil || glyph == 0 {
			return false
		}
	}
	return true
}

// pdfSheet draws on a page, from the top to the bottom.
type pdfSheet struct{ *fpdf.Fpdf }

// write writes a text in a font, below what was drawn before. size is in points. If the font lacks a character of the text, it writes
// nothing: the HTML page of the poster, which can be printed, has the text.
func (p pdfSheet) write(text, font string, size float64) {
	if !canDraw(font, text) {
		return
	}
	p.SetFont(font, "", size)
	p.MultiCell(0, size*1.25, thinSpaces.Replace(text), "", "L", false)
}

// drawCode draws the QR code of a link with its quiet zone above and below. The margins of the sheet are wide enough for the sides.
func (p pdfSheet) drawCode(link string) error {
	code, err := qr.Encode(link, qr.M, qr.Auto)
	if err != nil {
		return fmt.Errorf("encode the QR code: %w", err)
	}
	modules := code.Bounds().Dx()
	step := float64(codeSize) / float64(modules)
	quiet := 4 * step // ISO/IEC 18004
	top := p.GetY() + quiet
	for y := range modules {
		for x := range modules {
			if code.At(x, y) == color.Black {
				p.Rect(sheetMargin+float64(x)*step, top+float64(y)*step, step+.05, step+.05, "F")
			}
		}
	}
	p.SetY(top + codeSize + quiet)
	return nil
}

// pdf returns the poster as a PDF file of one page. It leaves out texts with a character that the font lacks. property is the name of the
// property.
func (v poster) pdf(property string) ([]byte, error) {
	page := pdfSheet{fpdf.New("P", "pt", "A4", "")}
	for name, file := range fontFiles {
		page.AddUTF8FontFromBytes(name, "", file)
	}
	page.SetMargins(sheetMargin, sheetMargin, sheetMargin)
	page.SetAutoPageBreak(false, 0)
	page.SetCellMargin(0)
	page.AddPage()
	page.write(property, boldFont, 26)
	page.Ln(14)
	for i, c := range v.Calls {
		size := 16.
		if i == 0 {
			size = 22
		}
		page.write(c.Text, plainFont, size)
	}
	if err := page.drawCode(v.QR.Link); err != nil {
		return nil, err
	}
	page.write(v.QR.Link, monoFont, 11)
	var file bytes.Buffer
	if err := page.Output(&file); err != nil {
		return nil, fmt.Errorf("write the poster as PDF: %w", err)
	}
	return file.Bytes(), nil
}
