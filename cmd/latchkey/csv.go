package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	goio "io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	mostFaults = 50      // maximum number of wrong lines in an error
	mostRows   = 500     // maximum number of rows below the header, because one call accepts no more
	mostCSV    = 4 << 20 // maximum size of a file in bytes; a larger file is refused
)

// sheet is the format of a CSV file that a command reads.
type sheet struct {
	columns []string // columns that a file may have, in lower case; others are refused
	needed  []string // columns that must be present, in lower case
	row     string   // singular noun for a row in errors, such as "space"
	nothing string   // what an error reports as not done, such as "nothing was created"
}

// record is one line of a CSV file. cells has its values without surrounding spaces, by the column's name in lower case.
type record struct {
	line  int
	cells map[string]string
}

// faults are the wrong lines of a CSV file.
type faults struct{ list []wrongLine }

type wrongLine struct {
	line int
	what string
}

// add records what is wrong in a line of the file.
func (f *faults) add(line int, format string, args ...any) {
	f.list = append(f.list, wrongLine{line, fmt.Sprintf(format, args...)})
}

// err returns an error that begins with the text nothing and lists the wrong lines by number, at most mostFaults (50), or nil if there are
// none.
func (f *faults) err(nothing string) error {
	if len(f.list) == 0 {
		return nil
	}
	text := nothing + ":"
	slices.SortStableFunc(f.list, func(a, b wrongLine) int { return a.line - b.line })
	for _, w := range f.list[:min(len(f.list), mostFaults)] {
		text += fmt.Sprintf("\n  line %d: %s", w.line, strings.ReplaceAll(w.what, "\n", "\n  "))
	}
	if n := len(f.list) - mostFaults; n > 0 {
		text += fmt.Sprintf("\n  and %d more", n)
	}
	return errors.New(text)
}

// openFile opens a file for reading. The name "-" is standard input.
func openFile(name string, io *streams) (goio.ReadCloser, error) {
	if name == "-" {
		return goio.NopCloser(io.in), nil
	}
	return os.Open(name)
}

// fileName returns the name of a file for error messages: "standard input" for "-".
func fileName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// readFile reads the records of a CSV file. The faults are its malformed lines, to which the caller adds those with wrong values; they are
// not nil without an error. An error means that the file as a whole is unusable: too large, over mostRows (500) records, not UTF-8, without
// rows or with wrong columns. Its text contains the file's name.
func (sh sheet) readFile(name string, io *streams) ([]record, *faults, error) {
	f, err := openFile(name, io)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	records, wrong, err := sh.read(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", fileName(name), err)
	}
	return records, wrong, nil
}

// read does the work of readFile for an open file. It stops at the first line that is not valid CSV, which it adds to wrong. err is for the
// file as a whole.
func (sh sheet) read(from goio.Reader) (records []record, wrong *faults, err error) {
	raw, err := goio.ReadAll(goio.LimitReader(from, mostCSV+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(raw) > mostCSV:
		return nil, nil, fmt.Errorf("is larger than %d MiB; split the file", mostCSV>>20)
	case !utf8.Valid(raw):
		return nil, nil, errors.New("is not UTF-8; save it as CSV in UTF-8")
	}
	// Spreadsheet programs begin a file with a byte order mark. In some countries they separate columns by semicolons.
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	lines := csv.NewReader(bytes.NewReader(raw))
	first, _, _ := bytes.Cut(raw, []byte("\n"))
	if bytes.Contains(first, []byte(";")) && !bytes.Contains(first, []byte(",")) {
		lines.Comma = ';'
	}
	lines.TrimLeadingSpace, lines.FieldsPerRecord = true, -1
	header, err := lines.Read()
	if err != nil {
		return nil, nil, errors.New("is empty; " + sh.columnsHint())
	}
	if err := sh.checkHeader(header); err != nil {
		return nil, nil, err
	}
	wrong = &faults{}
	for {
		row, err := lines.Read()
		if errors.Is(err, goio.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			wrong.add(broken.Line, "%v", broken.Err)
			break
		}
		if err != nil {
			return nil, nil, err
		}
		line, _ := lines.FieldPos(0)
		if r, ok := readRow(header, line, row, wrong); ok {
			records = append(records, r)
		}
	}
	switch {
	case len(records) == 0 && len(wrong.list) == 0:
		return nil, nil, fmt.Errorf("has no %s below the column names", sh.row)
	case len(records) > mostRows:
		return nil, nil, fmt.Errorf("has more than %d %ss; split the file", mostRows, sh.row)
	}
	return records, wrong, nil
}

// columnsHint returns the part of an error text that names the columns that a file may have, optional ones too.
func (sh sheet) columnsHint() string {
	return "the first line must name the columns: " + strings.Join(sh.columns, ",")
}

// checkHeader refuses unknown, repeated and missing columns. It converts the names to lower case in place. A column without a name is
// allowed.
func (sh sheet) checkHeader(header []string) error {
	for i, name := range header {
		header[i] = strings.ToLower(strings.TrimSpace(name))
		if header[i] == "" {
			continue
		}
		if !slices.Contains(sh.columns, header[i]) {
			return fmt.Errorf("has an unknown column %q; %s", name, sh.columnsHint())
		}
		if slices.Contains(header[:i], header[i]) {
			return fmt.Errorf("has the column %q twice", header[i])
		}
	}
	for _, needed := range sh.needed {
		if !slices.Contains(header, needed) {
			return fmt.Errorf("has no column %q; %s", needed, sh.columnsHint())
		}
	}
	return nil
}

// readRow converts one line of a file to a record. It returns false for a line without values, which spreadsheet programs write, and for a
// wrong line, which it adds to wrong: too few values, or a value in a column without a name.
func readRow(header []string, line int, row []string, wrong *faults) (record, bool) {
	r := record{line, map[string]string{}}
	filled := false
	for i, v := range row {
		v = strings.TrimSpace(v)
		filled = filled || v != ""
		if v != "" && (i >= len(header) || header[i] == "") {
			wrong.add(line, "%q is in a column without a name", v)
			return r, false
		}
		if i < len(header) {
			r.cells[header[i]] = v
		}
	}
	if filled && len(row) < len(header) {
		wrong.add(line, "has %s for %s", formatCount(len(row), "value"), formatCount(len(header), "column"))
		return r, false
	}
	return r, filled
}
