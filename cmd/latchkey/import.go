package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type spaceImport struct {
	File string `arg:"" optional:"" default:"-" help:"CSV file. Its first line names the columns: type,name and optionally floor,dorm,private,beds. - reads standard input."`
}

// Help returns what --help adds: the format of the file, with an example.
func (spaceImport) Help() string {
	return `Separate columns by commas or semicolons. private is yes or no; if empty, a room is private and a dorm is not. beds is the number of beds of a dorm: they are created too, with the names 1 to N. Example of a file:
  type,name,floor,dorm,private,beds
  Room,101,1,,,
  Dorm,Dorm A,2,,,8
  Dorm,Dorm B,2,,no,
  Bed,Window,2,Dorm B,,`
}

// Run creates the spaces in a CSV file with one call. If a line is wrong, it creates none.
func (c *spaceImport) Run(ctx context.Context, r *remote, io *streams) error {
	records, wrong, err := spaceSheet.readFile(c.File, io)
	if err != nil {
		return err
	}
	spaces, lines := spacesOf(records, wrong)
	if err := wrong.err(spaceSheet.nothing); err != nil {
		return fmt.Errorf("%s: %w", fileName(c.File), err)
	}
	if len(spaces) > mostRows {
		return fmt.Errorf("%s: has more than %d spaces with the beds of dorms; split the file", fileName(c.File), mostRows)
	}
	if err := createSpaces(ctx, r, io, spaces); err != nil {
		return &atLines{error: err, list: "spaces", columns: spaceColumns, lines: lines}
	}
	return nil
}

// spaceSheet is the format of the file of space import.
var spaceSheet = sheet{
	columns: []string{"type", "name", "floor", "dorm", "private", "beds"}, needed: []string{"type", "name"},
	row: "space", nothing: "nothing was created",
}

// spaceColumns maps a field of the request to its CSV column, where the names differ.
var spaceColumns = map[string]string{"parentName": "dorm", "isPrivate": "private"}

var types = []string{"Room", "Dorm", "Bed"}

// spacesOf converts the records of a file to spaces; lines has the line number of each. A dorm with beds also yields a space for each bed.
// spacesOf adds wrong lines to wrong, also a repeated name. Their spaces may be in the result.
func spacesOf(records []record, wrong *faults) (spaces []*propertyv1.NewSpace, lines []int) {
	seen := map[string]int{} // line number of each space so far, by its dorm and name, to find repeated names
	add := func(line int, n *propertyv1.NewSpace) {
		key := fmt.Sprint(n.GetType() == "Bed", n.GetParentName(), "\n", n.GetName())
		if before := seen[key]; before > 0 {
			wrong.add(line, "line %[2]d has the name %[1]s, too", n.GetName(), before)
			return
		}
		seen[key] = line
		spaces, lines = append(spaces, n), append(lines, line)
	}
	for _, r := range records {
		n := &propertyv1.NewSpace{Type: r.cells["type"], Name: r.cells["name"], Floor: r.cells["floor"], ParentName: r.cells["dorm"]}
		for _, kind := range types {
			if strings.EqualFold(kind, n.GetType()) {
				n.Type = kind
			}
		}
		beds, problems := checkSpace(n, r.cells["private"], r.cells["beds"])
		for _, p := range problems {
			wrong.add(r.line, "%s", p)
		}
		if n.GetName() == "" {
			continue
		}
		add(r.line, n)
		for i := range beds {
			add(r.line, &propertyv1.NewSpace{Type: "Bed", Name: strconv.Itoa(i + 1), Floor: n.GetFloor(), ParentName: n.GetName()})
		}
	}
	return spaces, lines
}

// checkSpace checks one space of a file. private and beds are the cells of these columns. It sets whether the space is private. It returns
// the number of beds to create in a dorm, 0 for other spaces, and a text for each problem.
func checkSpace(n *propertyv1.NewSpace, private, beds string) (number int, problems []string) {
	switch {
	case !slices.Contains(types, n.GetType()):
		problems = append(problems, "type must be one of "+strings.Join(types, ", "))
	case n.GetType() == "Bed" && n.GetParentName() == "":
		problems = append(problems, "dorm must name the dorm of the bed")
	case n.GetType() != "Bed" && n.GetParentName() != "":
		problems = append(problems, "dorm must be empty: only a bed has a dorm")
	}
	if n.GetName() == "" {
		problems = append(problems, "name must not be empty")
	}
	if private != "" {
		is := slices.Contains([]string{"yes", "true", "1"}, strings.ToLower(private))
		if !is && !slices.Contains([]string{"no", "false", "0"}, strings.ToLower(private)) {
			problems = append(problems, "private must be yes, no or empty")
		}
		n.IsPrivate = &is
	}
	if beds != "" {
		var err error
		number, err = strconv.Atoi(beds)
		if err != nil || number < 0 || number > mostBeds || n.GetType() != "Dorm" && number > 0 {
			problems = append(problems, fmt.Sprintf("beds must be 0 to %d, and only a Dorm can have beds", mostBeds))
			number = 0
		}
	}
	return number, problems
}

// atLines is an error of the server about a request that was made from the lines of a file. The error text names these lines.
type atLines struct {
	error
	list    string            // name of the list field in the request, such as spaces
	columns map[string]string // column name by field name, where the names differ
	lines   []int             // line number in the file, from 1, of each entry of the list
}

func (e *atLines) Unwrap() error { return e.error }

// of returns the line and column that a request field came from: spaces[1].parentName becomes "line 3: dorm". It returns other fields
// unchanged.
func (e *atLines) of(field string) string {
	rest, found := strings.CutPrefix(field, e.list+"[")
	number, rest, closed := strings.Cut(rest, "]")
	if i, err := strconv.Atoi(number); found && closed && err == nil && i >= 0 && i < len(e.lines) {
		rest = strings.TrimPrefix(rest, ".")
		if column := e.columns[rest]; column != "" {
			rest = column
		}
		return strings.TrimSuffix(fmt.Sprintf("line %d: %s", e.lines[i], rest), " ")
	}
	return field
}

// where returns how the text of an error about a whole list entry begins, such as "line 3: " for a name in use. The metadata of the error
// contain the index of the entry; where returns "" if they do not.
func (e *atLines) where(info *errdetails.ErrorInfo) string {
	if i := info.GetMetadata()["index"]; i != "" {
		return e.of(e.list+"["+i+"]") + " "
	}
	return ""
}
