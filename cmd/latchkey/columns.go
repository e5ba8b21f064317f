package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"latchkey.dev/internal/text"
)

const (
	columnGap = 2
	// leastWrapped is the least width of a last column that is wrapped. With less room its lines run over the edge.
	leastWrapped = 20
)

// widthOf is the width of the terminal that a stream writes to, or 0.
func widthOf(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// columnsOf aligns the cells of rows, whichever of them are empty or missing, and escapes what controls a terminal. Where the
// width is known, the last column is wrapped between words.
func columnsOf(rows [][]string, width int) []string {
	var widths []int
	escaped := make([][]string, len(rows))
	for i, row := range rows {
		for j, cell := range row {
			cell = text.Escape(cell)
			escaped[i] = append(escaped[i], cell)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	last := len(widths) - 1
	before := 0
	for _, w := range widths[:last] {
		before += w + columnGap
	}
	room := 0
	if width-before >= leastWrapped {
		room = width - before
	}
	var lines []string
	for _, row := range escaped {
		var b strings.Builder
		for j, cell := range row {
			if j < last {
				b.WriteString(cell + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+columnGap))
				continue
			}
			for k, part := range wrap(cell, room) {
				if k > 0 {
					lines = append(lines, strings.TrimRight(b.String(), " "))
					b.Reset()
					b.WriteString(strings.Repeat(" ", before))
				}
				b.WriteString(part)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// wrap breaks a text between words into lines of at most a width; 0: one line. A longer word stays whole.
func wrap(s string, width int) []string {
	if width == 0 || utf8.RuneCountInString(s) <= width {
		return []string{s}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
