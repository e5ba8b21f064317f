// Package drawing parses signatures that guests draw on a screen, and renders them. It stores numbers only, never markup.
package drawing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The area in which a guest draws, and the limits of a drawing.
const (
	Width, Height = 1000, 400
	MaxStrokes    = 256
	MaxPoints     = 4000
	MaxLength     = 32 << 10 // bytes of the text
	minExtent     = 50       // a drawing is at least this wide or high: less is a slip
)

// Point is a point of a stroke. X is the distance from the left, 0 to Width, and Y the distance from the top, 0 to Height.
type Point struct{ X, Y int }

// Drawing has the strokes of a signature in the order in which they were drawn.
type Drawing [][]Point

// The errors of [Parse].
var (
	ErrFormat = errors.New(`must be strokes joined by ";", each with points "x,y" joined by a space, x from 0 to 1000 and y from 0 to 400, such as "10,20 30,40;50,60"`)
	ErrSize   = fmt.Errorf("must have at most %d strokes, %d points and %d characters", MaxStrokes, MaxPoints, MaxLength)
	ErrEmpty  = errors.New("is too small for a signature: draw it larger")
)

// Parse returns the drawing of a text that a page sent. It returns ErrSize if the text has more strokes, points or characters than
// MaxStrokes, MaxPoints and MaxLength allow, ErrFormat for any other text that is no drawing, also for "", and ErrEmpty if the drawing is
// less than minExtent wide and high, such as a dot. [Drawing.String] returns exactly the same text.
func Parse(text string) (Drawing, error) {
	if len(text) > MaxLength || strings.Count(text, ";") >= MaxStrokes || strings.Count(text, ",") > MaxPoints {
		return nil, ErrSize
	}
	var d Drawing
	for stroke := range strings.SplitSeq(text, ";") {
		var points []Point
		for pair := range strings.SplitSeq(stroke, " ") {
			x, y, ok := strings.Cut(pair, ",")
			px, xok := coordinate(x, Width)
			py, yok := coordinate(y, Height)
			if !ok || !xok || !yok {
				return nil, ErrFormat
			}
			points = append(points, Point{px, py})
		}
		d = append(d, points)
	}
	if !d.isLarge() {
		return nil, ErrEmpty
	}
	return d, nil
}

// coordinate parses a number from 0 to most. It refuses signs and leading zeros, so that each drawing has one text.
func coordinate(s string, most int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= most && strconv.Itoa(n) == s
}

// isLarge reports whether a drawing is wide or high enough to be a signature.
func (d Drawing) isLarge() bool {
	low, high := d[0][0], d[0][0]
	for _, stroke := range d {
		for _, p := range stroke {
			low, high = Point{min(low.X, p.X), min(low.Y, p.Y)}, Point{max(high.X, p.X), max(high.Y, p.Y)}
		}
	}
	return high.X-low.X >= minExtent || high.Y-low.Y >= minExtent
}

// String returns the text that [Parse] reads.
func (d Drawing) String() string {
	var b strings.Builder
	for i, stroke := range d {
		if i > 0 {
			b.WriteByte(';')
		}
		for j, p := range stroke {
			if j > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%d,%d", p.X, p.Y)
		}
	}
	return b.String()
}

// SVG renders a drawing as an image. A stroke of one point becomes a dot.
func (d Drawing) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"><g fill="none" stroke="#000" stroke-width="4" stroke-linecap="round" stroke-linejoin="round">`, Width, Height)
	for _, stroke := range d {
		fmt.Fprintf(&b, `<path d="M%d %d`, stroke[0].X, stroke[0].Y)
		if len(stroke) == 1 {
			b.WriteString("h0")
		}
		for _, p := range stroke[1:] {
			fmt.Fprintf(&b, "L%d %d", p.X, p.Y)
		}
		b.WriteString(`"/>`)
	}
	b.WriteString("</g></svg>")
	return b.String()
}
