package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	goio "io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type spaceImport struct {
	File string `arg:"" optional:"" default:"-" help:"CSV with a first line of column names: type,name and optionally floor,dorm. - reads standard input."`
}

func (spaceImport) Help() string {
	return `Columns are parted by commas or semicolons. Example of a file:
  type,name,floor,dorm
  Room,101,1,
  Dorm,Dorm A,2,
  Bed,1,2,Dorm A
  Bed,2,2,Dorm A`
}

func (c *spaceImport) Run(ctx context.Context, r *remote, io *streams) error {
	from := io.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	spaces, lines, err := readSpacesCSV(from)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if err := createSpaces(ctx, r, io, spaces); err != nil {
		return &atLines{error: err, lines: lines}
	}
	return nil
}

// columns are those of a file of spaces, and the field of each.
var columns = []struct{ name, field string }{{"type", "type"}, {"name", "name"}, {"floor", "floor"}, {"dorm", "parentName"}}

// types are those of spaces.
var types = []string{"Room", "Dorm", "Bed"}

const (
	mostFaults  = 50      // that are told of one file
	mostSpaces  = 500     // as many as one call creates
	mostCSV     = 4 << 20 // bytes, far more than so many spaces need
	wantColumns = "the first line names the columns: type,name,floor,dorm"
)

// readSpacesCSV reads spaces and the line of each. It names all lines that are wrong.
func readSpacesCSV(from goio.Reader) ([]*propertyv1.NewSpace, []int, error) {
	raw, err := goio.ReadAll(goio.LimitReader(from, mostCSV+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(raw) > mostCSV:
		return nil, nil, fmt.Errorf("is larger than %d MiB; split the file", mostCSV>>20)
	case !utf8.Valid(raw):
		return nil, nil, errors.New("is not UTF-8; save it as CSV in UTF-8")
	}
	// Spreadsheets begin a file with a byte order mark, and part columns by what the country uses.
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	records := csv.NewReader(bytes.NewReader(raw))
	first, _, _ := bytes.Cut(raw, []byte("\n"))
	if bytes.Contains(first, []byte(";")) && !bytes.Contains(first, []byte(",")) {
		records.Comma = ';'
	}
	records.TrimLeadingSpace, records.FieldsPerRecord = true, -1
	header, err := records.Read()
	if err != nil {
		return nil, nil, errors.New("holds no line; " + wantColumns)
	}
	if err := checkHeader(header); err != nil {
		return nil, nil, err
	}
	t := &table{header: header, seen: map[string]int{}}
	for {
		row, err := records.Read()
		if errors.Is(err, goio.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			t.wrong(broken.Line, broken.Err.Error())
			break
		}
		if err != nil {
			return nil, nil, err
		}
		line, _ := records.FieldPos(0)
		t.read(line, row)
	}
	return t.result()
}

// checkHeader lowers the names of columns, and refuses others than there are.
func checkHeader(header []string) error {
	for i, name := range header {
		header[i] = strings.ToLower(strings.TrimSpace(name))
		known := header[i] == ""
		for _, c := range columns {
			known = known || c.name == header[i]
		}
		if !known {
			return fmt.Errorf("has an unknown column %q; %s", name, wantColumns)
		}
		if header[i] != "" && slices.Contains(header[:i], header[i]) {
			return fmt.Errorf("has the column %q twice", header[i])
		}
	}
	for _, needed := range []string{"type", "name"} {
		if !slices.Contains(header, needed) {
			return fmt.Errorf("has no column %q; %s", needed, wantColumns)
		}
	}
	return nil
}

// table is what was read of a file.
type table struct {
	header []string
	spaces []*propertyv1.NewSpace
	lines  []int
	seen   map[string]int // the line of each name, with its dorm
	faults []string
}

func (t *table) wrong(line int, what string) {
	t.faults = append(t.faults, fmt.Sprintf("line %d: %s", line, what))
}

// read reads one line. One without a value is skipped, as spreadsheets leave them behind.
func (t *table) read(line int, row []string) {
	cells := map[string]string{}
	filled := false
	for i, v := range row {
		v = strings.TrimSpace(v)
		filled = filled || v != ""
		if v != "" && (i >= len(t.header) || t.header[i] == "") {
			t.wrong(line, fmt.Sprintf("%q is in a column without a name", v))
			return
		}
		if i < len(t.header) {
			cells[t.header[i]] = v
		}
	}
	if !filled {
		return
	}
	if len(row) < len(t.header) {
		t.wrong(line, fmt.Sprintf("has %d values for %d columns", len(row), len(t.header)))
		return
	}
	n := &propertyv1.NewSpace{Type: cells["type"], Name: cells["name"], Floor: cells["floor"], ParentName: cells["dorm"]}
	t.check(line, n)
	t.spaces, t.lines = append(t.spaces, n), append(t.lines, line)
}

// check says what can be known without the server to be wrong with a line.
func (t *table) check(line int, n *propertyv1.NewSpace) {
	for _, kind := range types {
		if strings.EqualFold(kind, n.GetType()) {
			n.Type = kind
		}
	}
	switch {
	case !slices.Contains(types, n.GetType()):
		t.wrong(line, "type must be one of "+strings.Join(types, ", "))
	case n.GetType() == "Bed" && n.GetParentName() == "":
		t.wrong(line, "dorm must name the dorm of the bed")
	case n.GetType() != "Bed" && n.GetParentName() != "":
		t.wrong(line, "dorm must be empty: only a bed is in one")
	}
	if n.GetName() == "" {
		t.wrong(line, "name must not be empty")
		return
	}
	key := fmt.Sprint(n.GetType() == "Bed", n.GetParentName(), "\n", n.GetName())
	if before := t.seen[key]; before > 0 {
		t.wrong(line, fmt.Sprintf("name is that of line %d", before))
		return
	}
	t.seen[key] = line
}

func (t *table) result() ([]*propertyv1.NewSpace, []int, error) {
	switch {
	case len(t.faults) > mostFaults:
		t.faults = append(t.faults[:mostFaults], fmt.Sprintf("and %d more", len(t.faults)-mostFaults))
		fallthrough
	case len(t.faults) > 0:
		return nil, nil, errors.New(strings.Join(append([]string{"nothing was created:"}, t.faults...), "\n  "))
	case len(t.spaces) == 0:
		return nil, nil, errors.New("holds no space below the line of column names")
	case len(t.spaces) > mostSpaces:
		return nil, nil, fmt.Errorf("has more than %d spaces; split the file", mostSpaces)
	}
	return t.spaces, t.lines, nil
}

// atLines is an error of the server about a file of which each line is known.
type atLines struct {
	error
	lines []int
}

func (e *atLines) Unwrap() error { return e.error }

// of is where in the file a field of the request was: spaces[1].parentName in line 3, the column dorm.
func (e *atLines) of(field string) string {
	rest, found := strings.CutPrefix(field, "spaces[")
	number, rest, closed := strings.Cut(rest, "]")
	if i, err := strconv.Atoi(number); found && closed && err == nil && i >= 0 && i < len(e.lines) {
		rest = strings.TrimPrefix(rest, ".")
		for _, c := range columns {
			if c.field == rest {
				rest = c.name
			}
		}
		return strings.TrimSuffix(fmt.Sprintf("line %d: %s", e.lines[i], rest), " ")
	}
	return field
}

// where is the line that an error is about as a whole, such as a name that is taken: of the server's index.
func (e *atLines) where(said *errdetails.ErrorInfo) string {
	if i := said.GetMetadata()["index"]; i != "" {
		return e.of("spaces["+i+"]") + " "
	}
	return ""
}
