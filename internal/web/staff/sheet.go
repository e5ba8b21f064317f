package staff

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// sheetColumns are the columns of a sheet, a CSV file of rooms. An imported file needs the first two. The import ignores pmsName.
var sheetColumns = []string{"type", "name", "floor", "dorm", "pmsId", "pmsName"}

// sheetRow is a line of a file of rooms. pms is the id of the room's space at the PMS; "" keeps the present mapping.
type sheetRow struct {
	line                         int
	kind, name, floor, dorm, pms string
}

// sheetFault is an error in a line of the file. Text is a message kind, and Room the parameter of the message.
type sheetFault struct {
	Line int
	Text string
	Room string
}

// maxSheet is the maximum number of rows of a file. It is larger than maxRooms, the limit for rows that change something, so that a large
// property can import its own exported file.
const maxSheet = 5000

// formulaStart are the characters with which a spreadsheet begins a formula. Exported cells that begin with one get a quote mark in front.
const formulaStart = "=+-@\t\r"

// escapeCell puts a quote mark before a cell that a spreadsheet would run as a formula.
func escapeCell(text string) string {
	if text != "" && strings.ContainsRune(formulaStart, rune(text[0])) {
		return "'" + text
	}
	return text
}

// unescapeCell removes the quote mark of escapeCell, and spaces around the cell.
func unescapeCell(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 1 && text[0] == '\'' && strings.ContainsRune(formulaStart, rune(text[1])) {
		return text[1:]
	}
	return text
}

// writeSheet writes the rooms, dorms and beds of the property with their mapping to the chosen PMS as CSV, for readSheet.
func writeSheet(to io.Writer, d spacesData) error {
	names := map[string]string{}
	for _, s := range d.own {
		names[s.GetId()] = s.GetName()
	}
	w := csv.NewWriter(to)
	lines := [][]string{sheetColumns}
	for _, s := range d.own {
		mapped := d.mappedTo(s.GetId())
		line := []string{s.GetType(), s.GetName(), s.GetFloor(), names[s.GetParentSpaceId()], mapped.GetExternalId(), mapped.GetName()}
		for i := range line {
			line[i] = escapeCell(line[i])
		}
		lines = append(lines, line)
	}
	return w.WriteAll(lines)
}

// readSheet parses a file of rooms, with columns separated by commas, semicolons or tabs. The first line names the columns: type and name
// must be among them, and unknown ones are ignored. It stops with an error at a line that is not CSV, and after maxSheet rows. wrong are
// errors in the file itself; rows has the wrong rows too. planSheet finds the errors that depend on the rooms of the property.
func readSheet(text string) (rows []sheetRow, wrong []sheetFault) {
	text = strings.TrimPrefix(text, "\ufeff")
	head, _, _ := strings.Cut(text, "\n")
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	for _, separator := range ";\t" {
		if strings.ContainsRune(head, separator) {
			r.Comma = separator
		}
	}
	columns, err := r.Read()
	if err != nil || !slices.Contains(columns, "type") || !slices.Contains(columns, "name") {
		return nil, []sheetFault{{Line: 1, Text: "staff.sheet.head"}}
	}
	for {
		cells, err := r.Read()
		line, _ := r.FieldPos(0)
		switch {
		case errors.Is(err, io.EOF):
			return rows, wrong
		case err != nil:
			return rows, append(wrong, sheetFault{Line: line, Text: "staff.sheet.unreadable"})
		case len(rows) >= maxSheet:
			return rows, append(wrong, sheetFault{Line: line, Text: "staff.sheet.rows"})
		}
		row := sheetRow{line: line}
		for i, cell := range cells[:min(len(cells), len(columns))] {
			to := map[string]*string{"type": &row.kind, "name": &row.name, "floor": &row.floor, "dorm": &row.dorm, "pmsId": &row.pms}[columns[i]]
			if to != nil {
				*to = unescapeCell(cell)
			}
		}
		if fault := row.fault(); fault != "" {
			wrong = append(wrong, sheetFault{Line: line, Text: fault})
		}
		rows = append(rows, row)
	}
}

// fault returns the message kind of the error in a row itself, or "".
func (r sheetRow) fault() string {
	switch {
	case !slices.Contains([]string{"Room", "Dorm", "Bed"}, r.kind):
		return "staff.sheet.type"
	case r.name == "":
		return "staff.sheet.name"
	case (r.kind == "Bed") != (r.dorm != ""):
		return "staff.sheet.dorm"
	}
	return ""
}

// sheetPlan is what the import of a file of rooms will create and map.
type sheetPlan struct {
	Create  []*propertyv1.NewSpace
	Known   int           // number of rows whose room or bed exists already
	mapped  []spaceChoice // the rows with a pmsId whose room exists already, also if its mapping stays
	created []string      // for each room in Create, the id of its space at the PMS; "": it is created without a mapping
}

// ChangedMappings returns the number of rooms whose mapping the import changes.
func (p sheetPlan) ChangedMappings() (n int) {
	for _, c := range p.mapped {
		if c.now != c.was {
			n++
		}
	}
	for _, external := range p.created {
		if external != "" {
			n++
		}
	}
	return n
}

// planSheet compares the rows of a file with the rooms of the property, and returns what the import will do. It finds an existing room by
// its dorm and name. A row without a pmsId does not change the mapping of its room. The import never changes the type or floor of an
// existing room, and deletes none. A row cannot take a space of the PMS that another room has, unless the file maps that room to another
// space. wrong are the errors that prevent the import. Only the API checks that the dorm of a new bed exists.
func planSheet(rows []sheetRow, d spacesData) (plan sheetPlan, wrong []sheetFault) {
	type roomName struct{ dorm, name string } // names are unique within a dorm, and among rooms and dorms
	names, ours := map[string]string{}, map[roomName]*propertyv1.Space{}
	for _, s := range d.own {
		names[s.GetId()] = s.GetName()
	}
	for _, s := range d.own {
		ours[roomName{names[s.GetParentSpaceId()], s.GetName()}] = s
	}
	full := fullNames(d.own)
	freed := map[string]bool{} // ids of the rooms that a row of the file maps to another space of the PMS
	for _, r := range rows {
		if own := ours[roomName{r.dorm, r.name}]; own != nil && r.pms != "" && r.pms != d.mappedTo(own.GetId()).GetExternalId() {
			freed[own.GetId()] = true
		}
	}
	taken := func(listed int, by *propertyv1.Space) bool { // whether another room than by keeps this space of the PMS
		holder := d.listed[listed].GetSpaceId()
		return holder != "" && holder != by.GetId() && !freed[holder]
	}
	seen, used := map[roomName]bool{}, map[string]bool{}
	for _, row := range rows {
		key := roomName{row.dorm, row.name}
		listed := slices.IndexFunc(d.listed, func(p *propertyv1.PartnerSpace) bool { return p.GetExternalId() == row.pms })
		switch {
		case seen[key]:
			wrong = append(wrong, sheetFault{Line: row.line, Text: "staff.sheet.twice"})
		case row.pms != "" && listed < 0:
			wrong = append(wrong, sheetFault{Line: row.line, Text: "staff.sheet.pms"})
		case row.pms != "" && used[row.pms]:
			wrong = append(wrong, sheetFault{Line: row.line, Text: "staff.sheet.pmsTwice"})
		case row.pms != "" && taken(listed, ours[key]):
			wrong = append(wrong, sheetFault{Line: row.line, Text: "staff.sheet.pmsTaken", Room: full[d.listed[listed].GetSpaceId()]})
		}
		seen[key], used[row.pms] = true, true
		if own := ours[key]; own != nil {
			plan.Known++
			if row.pms != "" {
				plan.mapped = append(plan.mapped, spaceChoice{own.GetId(), d.mappedTo(own.GetId()).GetExternalId(), row.pms})
			}
			continue
		}
		made := &propertyv1.NewSpace{Type: row.kind, Name: row.name, Floor: row.floor}
		if dorm := ours[roomName{"", row.dorm}]; row.dorm != "" && dorm != nil {
			made.ParentSpaceId = dorm.GetId()
		} else {
			made.ParentName = row.dorm
		}
		plan.Create, plan.created = append(plan.Create, made), append(plan.created, row.pms)
	}
	if plan.exceedsCall() {
		wrong = append(wrong, sheetFault{Line: 1, Text: "staff.sheet.many"})
	}
	return plan, wrong
}

// exceedsCall reports whether the plan creates more rooms, or changes more mappings, than one API call allows (maxRooms).
func (p sheetPlan) exceedsCall() bool {
	changes, _ := mappingChanges(p.mapped)
	return len(p.Create) > maxRooms || len(p.withCreated(changes, p.created)) > maxRooms
}

// withCreated adds the mappings of the created rooms to changes. ids are the rooms' ids, in the order of Create. If changes unmap a space
// of the PMS that a created room gets, it drops the unmapping, because one call must name each space only once.
func (p sheetPlan) withCreated(changes []*propertyv1.Mapping, ids []string) []*propertyv1.Mapping {
	changes = slices.DeleteFunc(slices.Clone(changes), func(m *propertyv1.Mapping) bool { return slices.Contains(p.created, m.GetExternalId()) })
	for i, external := range p.created {
		if external != "" {
			changes = append(changes, mapTo(external, ids[i]))
		}
	}
	return changes
}
