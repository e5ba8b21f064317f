// Package jsonpb reads the JSON bodies and query strings of REST calls into protobuf messages. Its [Report] records what protobuf cannot
// represent: which fields were sent, and the values of a wrong type. Validation and handlers use the report.
package jsonpb

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/structpb"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// maxErrors bounds the errors about values in one report, and separately its unknown names. Further ones are left out.
const maxErrors = 2000

// Report records what the reader found in a call's JSON and query string. A nil report is valid: it belongs to a protobuf call and has no
// errors and no masks. The report does not change while the handler runs.
type Report struct {
	// Field is the request field that the JSON body is read into; "" if the body is the whole request. Error paths are relative to this
	// field.
	Field string
	// Fault is set if the body is not one JSON object, or the query string is invalid. The message can then be filled in part.
	Fault *fault.Fault

	errors        []fault.Field
	unknownFields []unknownField    // names in the body that are not fields of the message
	query         []fault.Field     // errors in the query string
	queryNames    map[string]string // maps a field path to the parameter name as written in the query
	oversized     []fault.Field     // lists and maps that are too long; errors contains them too
	mask          []string
	items         map[string][]item // entries of each top-level list of messages, by JSON name
	raw           []byte
	hasExtras     bool // the body contains unknown names or invalid values, which the message does not contain
}

// item is the record of one entry of a top-level list: its field mask, and where its JSON starts and ends in the body.
type item struct {
	mask       []string
	start, end int
}

// unknownField is a name in the body that is not a field of its message.
type unknownField struct {
	at, name string // at is the path of the object, name the unknown name in it
	of       *plan
}

// Mask returns the fields that the body contains, as field mask paths in proto spelling ("pms_meta.space_id") and in the order sent. The
// path "" means the whole body, "reservations[2]" an entry of a top-level list. A message counts by the fields in it, so an empty object
// adds none. A field that is sent as null is in the mask but unset in the message. The mask is nil for a nil report, as of a protobuf call.
func (r *Report) Mask(path string) []string {
	if r == nil {
		return nil
	}
	if path == "" {
		return r.mask
	}
	if it := r.item(path); it != nil {
		return it.mask
	}
	return nil
}

// Len returns how many entries of a top-level list of messages were read; 0 for a list of other values. list is its JSON name.
func (r *Report) Len(list string) int {
	if r == nil {
		return 0
	}
	return len(r.items[list])
}

// TypeErrors returns the errors about values at or below a path, such as a wrong type or a duplicate name; "" means everywhere. Paths are
// relative to the body.
func (r *Report) TypeErrors(prefix string) []fault.Field {
	if r == nil || len(r.errors) == 0 {
		return nil
	}
	if prefix == "" {
		return r.errors
	}
	var found []fault.Field
	for _, f := range r.errors {
		if Within(f.Path, prefix) {
			found = append(found, f)
		}
	}
	return found
}

// Oversized returns the lists and maps that are too long. Only their first entries were read. TypeErrors also contains them.
func (r *Report) Oversized() []fault.Field {
	if r == nil {
		return nil
	}
	return r.oversized
}

// Unknown returns an error for each unknown field in the body, at most maxErrors. Paths are relative to the body. The first maxSuggestions
// errors suggest the most similar field.
func (r *Report) Unknown() (list []fault.Field) {
	if r == nil {
		return nil
	}
	for i, u := range r.unknownFields {
		f := fault.Field{Path: u.name, Reason: fault.Unsupported, Message: "unknown field"}
		if u.at != "" {
			f.Path = u.at + "." + u.name
		}
		if i < maxSuggestions {
			if near := u.of.nearest(u.name); near != "" {
				f.Message += fmt.Sprintf("; did you mean %q?", near)
			}
		}
		list = append(list, f)
	}
	return list
}

// maxSuggestions bounds how many unknown fields are compared with all fields of their message.
const maxSuggestions = 20

// nearest returns the JSON name of the field that is most similar to name, or "" if each differs in more than a third of the letters.
func (p *plan) nearest(name string) string {
	known := make([]string, len(p.ordered))
	for i, f := range p.ordered {
		known[i] = f.json
	}
	return text.Nearest(name, known, max(1, len(name)/3))
}

// Within reports whether a path equals prefix or is below it. Every path is below "".
func Within(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (prefix == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Sent returns the entry of a top-level list at a path such as "reservations[2]" as the caller sent it, except for what [lenientStruct]
// changes. It returns false if there is no such entry, as in a protobuf call.
func (r *Report) Sent(path string) (*structpb.Struct, bool) {
	if r == nil {
		return nil, false
	}
	it := r.item(path)
	if it == nil || it.end > len(r.raw) {
		return nil, false
	}
	return lenientStruct(r.raw[it.start:it.end]), true
}

// item returns the record of the list entry at a path such as "reservations[2]", or nil if there is none.
func (r *Report) item(path string) *item {
	name, rest, ok := strings.Cut(path, "[")
	digits, ok2 := strings.CutSuffix(rest, "]")
	if !ok || !ok2 {
		return nil
	}
	i, err := strconv.Atoi(digits)
	if list := r.items[name]; err == nil && i >= 0 && i < len(list) {
		return &list[i]
	}
	return nil
}

// IncompleteBody returns the raw body if it contains anything that its message cannot represent: unknown names, values of a wrong type,
// duplicate names. The result is in canonical form if possible. It is nil if the message and the mask hold the whole body.
func (r *Report) IncompleteBody() []byte {
	if r == nil || !r.hasExtras {
		return nil
	}
	v := jsontext.Value(bytes.Clone(r.raw))
	if v.Canonicalize() != nil {
		return r.raw
	}
	return v
}

// QueryErrors returns what is wrong with the query string. Each path is a parameter name as written in the query.
func (r *Report) QueryErrors() []fault.Field {
	if r == nil {
		return nil
	}
	return r.query
}

// AsWritten returns the parameter name that the caller used for a field, such as "filter[type]" for "filter.type". It returns a path that
// is not in the query unchanged.
func (r *Report) AsWritten(path string) string {
	if r == nil || len(r.queryNames) == 0 {
		return path
	}
	for at, name := range r.queryNames {
		if Within(path, at) {
			return name + path[len(at):]
		}
	}
	return path
}

// queryError records an error in the query string.
func (r *Report) queryError(f fault.Field) { r.query = append(r.query, f) }

// recordQueryName records which parameter name the query uses for a field. It returns false if the field already has a name, also an equal
// one.
func (r *Report) recordQueryName(path, name string) bool {
	if _, there := r.queryNames[path]; there {
		return false
	}
	if r.queryNames == nil {
		r.queryNames = map[string]string{}
	}
	r.queryNames[path] = name
	return true
}

// printable shortens a name from a request to maxEchoedName bytes and replaces what is not printable, so that an error can repeat it.
func printable(name string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, text.Truncate(strings.ToValidUTF8(name, "?"), maxEchoedName))
}

// maxEchoedName bounds the length in bytes of an unknown name in an error message.
const maxEchoedName = 64

// markUnknownName records that the body contains an unknown name, but does not list it. It returns false if maxErrors unknown names are
// listed already.
func (r *Report) markUnknownName() bool {
	r.hasExtras = true
	return len(r.unknownFields) < maxErrors
}

// markWrongValue records that the body contains an invalid value, but lists no error. It returns false if maxErrors errors are listed
// already; the caller then adds none.
func (r *Report) markWrongValue() bool {
	r.hasExtras = true
	return len(r.errors) < maxErrors
}

// addUnknown records an unknown name in the object at a path. of is the plan of its message.
func (r *Report) addUnknown(at, name string, of *plan) {
	r.unknownFields = append(r.unknownFields, unknownField{at, printable(name), of})
}

// addOversized records a list or map that is too long.
func (r *Report) addOversized(f fault.Field) {
	r.addError(f)
	if len(r.oversized) < maxErrors {
		r.oversized = append(r.oversized, f)
	}
}

// addError records an error about a value of the body, unless the report has maxErrors already.
func (r *Report) addError(f fault.Field) {
	if r.markWrongValue() {
		r.errors = append(r.errors, f)
	}
}

// EntryMask returns the field mask of one entry of a top-level list; see [Report.Mask].
func (r *Report) EntryMask(list string, i int) []string {
	if r == nil || i < 0 || i >= len(r.items[list]) {
		return nil
	}
	return r.items[list][i].mask
}
