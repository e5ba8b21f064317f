package browser

import (
	"fmt"
	"regexp"
	"strconv"
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
	code := qrModules{size: size - 2*quietZone, dark: map[[2]int]bool{}}
	for _, dot := range qrDot.FindAllStringSubmatch(html, -1) {
		col, _ := strconv.Atoi(dot[1])
		row, _ := strconv.Atoi(dot[2])
		code.dark[[2]int{row - quietZone, col - quietZone}] = true
	}
	text, err := code.text()
	p.check(err)
	return text
}

// qrModules are the modules of a QR code of level M without errors. It is of version 3 to 6: longer and shorter addresses have others.
type qrModules struct {
	size int
	dark map[[2]int]bool // by row and column
}

// qrBlocks is the number of blocks of a version at level M, all of the same length, and the data bytes of each.
var qrBlocks = map[int][2]int{3: {1, 44}, 4: {2, 32}, 5: {2, 43}, 6: {4, 27}}

func (q qrModules) text() (string, error) {
	version := (q.size - 17) / 4
	blocks, known := qrBlocks[version]
	if !known {
		return "", fmt.Errorf("a QR code of version %d is not of those that this reads", version)
	}
	words := q.words()
	var data []byte
	for block := range blocks[0] {
		for i := range blocks[1] {
			data = append(data, words[i*blocks[0]+block])
		}
	}
	// Four bits of the mode, eight of the length, then the bytes: each is split over two words.
	if mode := data[0] >> 4; mode != 4 {
		return "", fmt.Errorf("the QR code has the mode %d instead of bytes", mode)
	}
	text := make([]byte, data[0]<<4|data[1]>>4)
	for i := range text {
		text[i] = data[i+1]<<4 | data[i+2]>>4
	}
	return string(text), nil
}

// words reads the modules in pairs of columns from the right, upwards and downwards in turn.
func (q qrModules) words() (words []byte) {
	mask := q.mask()
	word, bits, up := byte(0), 0, true
	for right := q.size - 1; right > 0; right -= 2 {
		if right == 6 { // the timing column
			right--
		}
		for n := range q.size {
			row := n
			if up {
				row = q.size - 1 - n
			}
			for col := right; col > right-2; col-- {
				if q.fixed(row, col) {
					continue
				}
				word <<= 1
				if q.dark[[2]int{row, col}] != masks[mask](row, col) {
					word |= 1
				}
				if bits++; bits%8 == 0 {
					words = append(words, word)
				}
			}
		}
		up = !up
	}
	return words
}

// fixed reports whether a module is no data: a finder, its format, the timing or the alignment.
func (q qrModules) fixed(row, col int) bool {
	far, center := q.size-8, q.size-7
	return row == 6 || col == 6 || row < 9 && (col < 9 || col >= far) || col < 9 && row >= far ||
		row >= center-2 && row <= center+2 && col >= center-2 && col <= center+2
}

// mask reads the number of the mask in the format, which is itself masked with 101.
func (q qrModules) mask() (mask int) {
	for col := 2; col <= 4; col++ {
		mask <<= 1
		if q.dark[[2]int{8, col}] {
			mask |= 1
		}
	}
	return mask ^ 0b101
}

// masks report which modules are inverted.
var masks = [8]func(row, col int) bool{
	func(r, c int) bool { return (r+c)%2 == 0 },
	func(r, _ int) bool { return r%2 == 0 },
	func(_, c int) bool { return c%3 == 0 },
	func(r, c int) bool { return (r+c)%3 == 0 },
	func(r, c int) bool { return (r/2+c/3)%2 == 0 },
	func(r, c int) bool { return r*c%2+r*c%3 == 0 },
	func(r, c int) bool { return (r*c%2+r*c%3)%2 == 0 },
	func(r, c int) bool { return ((r+c)%2+r*c%3)%2 == 0 },
}
