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
	// leastWrapped is the minimum width of the last column in characters. With less space, the column is printed below the others, indented
	// by belowIndent.
	leastWrapped = 24
	belowIndent  = 4
)

// widthOf returns the width of the terminal that out writes to; 0 if it is not a terminal.
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

// columnsOf formats rows as lines with aligned columns, and escapes control characters. The first row is the header, which must be there.
// Cells at the end of a row may be missing. width is that of the terminal: the last column is wrapped between words to fit, or printed
// below the others if little space is left. With width 0 no line is wrapped.
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
	at, below := before, false // at: offset of the last column; below: whether it is printed below the others
	if width > 0 && before+widths[last] > width && width-before < leastWrapped {
		at, below = belowIndent, true
	}
	var lines []string
	for i, row := range escaped {
		var b strings.Builder
		for j, cell := range row[:min(len(row), last)] {
			b.WriteString(cell + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+columnGap))
		}
		line := b.String()
		if len(row) > last {
			parts := wrap(row[last], max(width-at, 0))
			if !below || i == 0 {
				line, parts = line+parts[0], parts[1:]
			}
			for _, part := range parts {
				if strings.TrimSpace(line) != "" {
					lines = append(lines, strings.TrimRight(line, " "))
				}
				line = strings.Repeat(" ", at) + part
			}
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// wrap breaks a text between words into lines of at most width characters. A longer word is not broken. Width 0 gives one line.
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
