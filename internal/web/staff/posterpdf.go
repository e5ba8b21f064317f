package staff

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// The poster is a sheet of A4. Its measures are points.
const (
	sheetWidth, sheetHeight = 595, 842
	sheetMargin             = 60
	textWidth               = sheetWidth - 2*sheetMargin
	codeSize                = 340
)

// winAnsi are the characters of the fonts of PDF that are not at their place in Latin-1.
var winAnsi = map[rune]byte{'€': 0x80, '…': 0x85, 'Š': 0x8a, 'Œ': 0x8c, 'Ž': 0x8e, '‘': 0x91, '’': 0x92, '“': 0x93, '”': 0x94, '•': 0x95, '–': 0x96, '—': 0x97, '™': 0x99, 'š': 0x9a, 'œ': 0x9c, 'ž': 0x9e, 'Ÿ': 0x9f, '\u202f': 0xa0}

// pdfText encodes a text for the fonts that each reader of PDF has. It returns false if they lack one of its characters.
func pdfText(text string) (string, bool) {
	var out strings.Builder
	for _, r := range text {
		b, special := winAnsi[r]
		switch {
		case special:
		case r >= 0x20 && r < 0x7f || r >= 0xa0 && r <= 0xff:
			b = byte(r)
		default:
			return "", false
		}
		if strings.IndexByte(`()\`, b) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(b)
	}
	return out.String(), true
}

// wrapText breaks a text into lines of at most a number of characters. A longer word is cut.
func wrapText(text string, most int) (lines []string) {
	line := []rune{}
	for _, word := range strings.Fields(text) {
		next := []rune(word)
		if len(line) > 0 && len(line)+1+len(next) > most {
			lines, line = append(lines, string(line)), nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		for line = append(line, next...); len(line) > most; line = line[most:] {
			lines = append(lines, string(line[:most]))
		}
	}
	return append(lines, string(line))
}

// pdfPage draws on a page, from the top to the bottom.
type pdfPage struct {
	bytes.Buffer
	y float64
}

// write writes a text in a font: F1 is bold, F2 is plain, and F3 has characters of the same width. wide is the width of a character in parts of the size.
// A text with characters that the fonts lack is left out: the page for printing has it.
func (p *pdfPage) write(text, font string, size, wide float64) {
	encoded := []string{}
	for _, line := range wrapText(text, int(textWidth/(size*wide))) {
		one, ok := pdfText(line)
		if !ok {
			return
		}
		encoded = append(encoded, one)
	}
	for _, line := range encoded {
		p.y -= size * 1.25
		fmt.Fprintf(p, "BT /%s %g Tf %d %.1f Td (%s) Tj ET\n", font, size, sheetMargin, p.y, line)
	}
}

// drawCode draws a QR code with its quiet zone.
func (p *pdfPage) drawCode(link string) {
	code, err := qr.Encode(link, qr.M, qr.Auto)
	if err != nil {
		return
	}
	modules := code.Bounds().Dx()
	step := float64(codeSize) / float64(modules)
	p.y -= codeSize
	for y := range modules {
		for x := range modules {
			if code.At(x, y) == color.Black {
				fmt.Fprintf(p, "%.2f %.2f %.2f %.2f re\n", sheetMargin+float64(x)*step, p.y+float64(modules-1-y)*step, step+.05, step+.05)
			}
		}
	}
	p.WriteString("f\n")
}

// pdf returns the poster as a PDF file of one page.
func (v poster) pdf(property string) []byte {
	page := &pdfPage{y: sheetHeight - sheetMargin}
	page.write(property, "F1", 26, .62)
	page.y -= 14
	for i, c := range v.Calls {
		size := 16.
		if i == 0 {
			size = 22
		}
		page.write(c.Text, "F2", size, .56)
	}
	page.y -= 24
	page.drawCode(v.QR.Link)
	page.y -= 16
	page.write(v.QR.Link, "F3", 11, .6)
	font := func(name string) string {
		return "<< /Type /Font /Subtype /Type1 /BaseFont /" + name + " /Encoding /WinAnsiEncoding >>"
	}
	return pdfFile(
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R /F3 7 0 R >> >> >>", sheetWidth, sheetHeight),
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", page.Len(), page.Bytes()),
		font("Helvetica-Bold"), font("Helvetica"), font("Courier"),
	)
}

// pdfFile returns a file of these objects. The first is the catalog.
func pdfFile(objects ...string) []byte {
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	var at []int
	for i, object := range objects {
		at = append(at, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
	return out.Bytes()
}
