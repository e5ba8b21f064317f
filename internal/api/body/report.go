// Package body reads what REST callers send, a JSON body and a query string, into
// protobuf messages, and keeps what protobuf cannot hold: which fields were named, and
// every value of a wrong type. The [Report] rides in the call's context to validation and
// handlers.
package body

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/structpb"

	"latchkey.dev/internal/fault"
)

// maxErrors bounds how many wrong values one report lists.
const maxErrors = 2000

// Report says what was found while reading a call's input. A nil report is that of a call
// that came in as protobuf: nothing was found and no mask is known. A report belongs to
// one call and is not changed once the call's handler runs.
type Report struct {
	// Field is the request field that the JSON body stands for, "" when the body is the
	// whole request. Paths of errors begin inside it.
	Field string
	// Fault is set when the input could not be read at all.
	Fault *fault.Fault
	// Derived is set when masks of the request were added out of the body: see [Report.FillMasks].
	Derived bool

	errors []fault.Field
	beside []fault.Field     // the names that are no field of the message
	query  []fault.Field     // what is wrong with the query string
	spelt  map[string]string // path of a field → the query name that the caller wrote for it
	large  []fault.Field     // those errors that are a list or a map of too many entries
	mask   []string
	items  map[string][]item // by the JSON name of a list at the top of the body
	raw    []byte
	odd    bool // the body holds what the message does not: unknown names, wrong values
}

type item struct {
	mask       []string
	start, end int
}

type key struct{}

// With returns a context that carries the report.
func With(ctx context.Context, r *Report) context.Context { return context.WithValue(ctx, key{}, r) }

// From returns the report of a call, nil for one that came in as protobuf.
func From(ctx context.Context) *Report {
	r, _ := ctx.Value(key{}).(*Report)
	return r
}

// Mask returns the fields that the body names, as field mask paths in proto spelling
// ("pms_meta.space_id"), in the order sent. A path of "" asks about the body itself,
// "reservations[2]" about one entry of a list at its top. A field named with null is in
// the mask and unset in the message.
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

// Len returns how many entries of the list at the top of the body were read.
func (r *Report) Len(list string) int {
	if r == nil {
		return 0
	}
	return len(r.items[list])
}

// TypeErrors returns the values of a wrong type at or below a path; "" stands for all.
// Their paths begin at the body.
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

// Oversized returns the lists and maps that held more than they may, and were read in part. They are among TypeErrors too.
func (r *Report) Oversized() []fault.Field {
	if r == nil {
		return nil
	}
	return r.large
}

// Unknown returns the names that were sent and are no field, as errors whose paths begin at the body.
func (r *Report) Unknown() []fault.Field {
	if r == nil {
		return nil
	}
	return r.beside
}

// Within reports whether a path is prefix or lies below it; every path lies below "".
func Within(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (prefix == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Sent returns one entry of a list at the top of the body as it was sent, with what is no
// text replaced, and false when the call came in as protobuf.
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

// Beyond returns the body, in canonical form where it has one, if it holds anything that its message does not: unknown
// names, values of a wrong type, a name sent twice. Else, and for a call that came in as protobuf, nil: what was sent is
// the message and its mask.
func (r *Report) Beyond() []byte {
	if r == nil || !r.odd {
		return nil
	}
	v := jsontext.Value(bytes.Clone(r.raw))
	if v.Canonicalize() != nil {
		return r.raw
	}
	return v
}

// QueryErrors returns what is wrong with the query string. Each path is the name that the caller wrote.
func (r *Report) QueryErrors() []fault.Field {
	if r == nil {
		return nil
	}
	return r.query
}

// AsWritten returns the path of a field as the caller wrote it: "filter[type]" of a query for "filter.type".
func (r *Report) AsWritten(path string) string {
	if r == nil || len(r.spelt) == 0 {
		return path
	}
	for at, name := range r.spelt {
		if Within(path, at) {
			return name + path[len(at):]
		}
	}
	return path
}

func (r *Report) queryError(f fault.Field) { r.query = append(r.query, f) }

// spell notes the query name of a field. It returns false if the field has been named before.
func (r *Report) spell(path, name string) bool {
	if _, there := r.spelt[path]; there {
		return false
	}
	if r.spelt == nil {
		r.spelt = map[string]string{}
	}
	r.spelt[path] = name
	return true
}

// printable makes a name that the caller chose fit to be repeated in an answer.
func printable(name string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(name[:min(len(name), maxName)], "?"))
}

// maxName bounds what is repeated of a name that nobody knows.
const maxName = 64

// unknownName notes that a name is no field, and reports whether it is one more to list.
func (r *Report) unknownName() bool {
	r.odd = true
	return len(r.beside) < maxErrors
}

// wrongValue notes that a value is wrong, and reports whether it is one more to list.
func (r *Report) wrongValue() bool {
	r.odd = true
	return len(r.errors) < maxErrors
}

func (r *Report) unknown(at, name string) {
	name = printable(name)
	if at != "" {
		name = at + "." + name
	}
	r.beside = append(r.beside, fault.Field{Path: name, Reason: fault.Unsupported, Message: "unknown field"})
}

func (r *Report) tooMany(f fault.Field) {
	r.add(f)
	if len(r.large) < maxErrors {
		r.large = append(r.large, f)
	}
}

func (r *Report) add(f fault.Field) {
	if r.wrongValue() {
		r.errors = append(r.errors, f)
	}
}

// EntryMask returns the mask of one entry of the list at the top of the body; see [Report.Mask].
func (r *Report) EntryMask(list string, i int) []string {
	if r == nil || i < 0 || i >= len(r.items[list]) {
		return nil
	}
	return r.items[list][i].mask
}
