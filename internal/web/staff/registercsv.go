package staff

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/web/kit"
)

// registerColumns are the columns of each official form. The columns of the fields of its rule follow.
var registerColumns = []string{"arrivalOn", "departureOn", "state", "number", "role", "rule"}

// registerEnd are the last columns.
var registerEnd = []string{"signedAt", "eraseAt"}

// registerCSV renders official forms. Columns have the names of the API in every language, and those of a field of a rule are there also if no form has
// an answer to it.
func registerCSV(list []*propertyv1.RegisterEntry) ([]byte, error) {
	var fields []string
	add := func(field string) {
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	answers := make([]map[string]string, len(list))
	for i, e := range list {
		for _, field := range e.GetFields() {
			add(field)
		}
		answers[i] = map[string]string{}
		for _, a := range kit.AnswersOf(e.GetPerson()) {
			if a.Field == "" {
				continue // a question of the property is no part of an official form
			}
			add(a.Field)
			answers[i][a.Field] = strings.Join(slices.DeleteFunc([]string{answers[i][a.Field], a.Value}, func(v string) bool { return v == "" }), "; ")
		}
	}
	b := bytes.NewBufferString("\ufeff") // so that a spreadsheet reads UTF-8
	w := csv.NewWriter(b)
	_ = w.Write(slices.Concat(registerColumns, fields, registerEnd)) // Error has it
	for i, e := range list {
		line := []string{e.GetArrivalOn(), e.GetDepartureOn(), e.GetState(), e.GetPmsNumber(), e.GetRole(), e.GetRule()}
		for _, field := range fields {
			line = append(line, answers[i][field])
		}
		line = append(line, moment(e.GetSignedAt()), moment(e.GetEraseAt()))
		for j := range line {
			line[j] = plainCell(line[j])
		}
		_ = w.Write(line)
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func moment(at *timestamppb.Timestamp) string {
	if at == nil {
		return ""
	}
	return at.AsTime().UTC().Format(time.RFC3339)
}

// plainCell returns a value that no spreadsheet runs as a formula. A guest may enter anything. A telephone number keeps its plus sign.
func plainCell(value string) string {
	if value == "" || !strings.ContainsAny(value[:1], "=+-@\t\r") || strings.Trim(value, "+-0123456789 ()./") == "" {
		return value
	}
	return "'" + value
}
