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

// registerColumns are the first columns of the CSV file of the guest register. The fields of the forms follow.
var registerColumns = []string{"arrivalOn", "departureOn", "state", "number", "role", "rule"}

// registerEnd are the last columns of the CSV file of the guest register.
var registerEnd = []string{"signedAt", "eraseAt"}

// registerCSV returns registration forms as a CSV file. Column names are those of the API in every language. Each field that the law
// requires in one of the forms, or that a guest has answered, has a column. The property's own questions have none. A cell that a
// spreadsheet would run as a formula is changed by plainCell.
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
				continue // questions that the property added are not part of an official form
			}
			add(a.Field)
			answers[i][a.Field] = strings.Join(slices.DeleteFunc([]string{answers[i][a.Field], a.Value}, func(v string) bool { return v == "" }), "; ")
		}
	}
	b := bytes.NewBufferString("\ufeff") // a byte order mark, so that spreadsheets read UTF-8
	w := csv.NewWriter(b)
	_ = w.Write(slices.Concat(registerColumns, fields, registerEnd)) // w.Error returns a failure
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

// moment formats a time in UTC by RFC 3339. It returns "" for nil.
func moment(at *timestamppb.Timestamp) string {
	if at == nil {
		return ""
	}
	return at.AsTime().UTC().Format(time.RFC3339)
}

// plainCell puts a quote mark before a value that a spreadsheet would run as a formula, because guests may enter anything. Phone numbers
// keep their plus sign.
func plainCell(value string) string {
	if value == "" || !strings.ContainsAny(value[:1], formulaStart) || strings.Trim(value, "+-0123456789 ()./") == "" {
		return value
	}
	return "'" + value
}
