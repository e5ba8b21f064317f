package kit

import (
	"slices"
	"strings"

	"latchkey.dev/internal/fault"
)

// Input is a field of a form, which the template "input" renders. Name is the path of the field in the API request.
type Input struct {
	Name         string
	Label, Hint  string // message kinds, such as "staff.gate.name"
	Of           string // the parameter {of} of the label, such as the name of a language
	Type         string // a type of HTML ("" is text), or lines (several lines), switch (on or off), boxes (any number of the options)
	Value        string // the value; of a switch "yes" or "", of boxes the checked values, separated by space characters
	Autocomplete string
	Mode         string   // the attribute inputmode of HTML
	Script       string   // "zone": the field gets the attribute data-zone, by which the page's script finds it; any other value does nothing
	Options      []Option // the choices of boxes; with another Type, the field becomes a list of these choices
}

// Option is a choice of an input. Its label is the message of Kind or, without a Kind, the plain Text.
type Option struct{ Value, Kind, Text string }

// ID returns the HTML id of the field.
func (i Input) ID() string { return "f-" + i.Name }

// Has reports whether the box with this value is checked, in an input of the type "boxes".
func (i Input) Has(value string) bool { return slices.Contains(strings.Fields(i.Value), value) }

// ownsPath reports whether the API field at path belongs to this input: the paths are equal, or path is below the input's name.
func (i Input) ownsPath(path string) bool {
	rest, found := strings.CutPrefix(path, i.Name)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Refuse adds the fields of inputs that the API refused to the error summary of the page, in the order of inputs, and ignores other fields.
// It returns false if f concerns none of the inputs: the caller must then handle f in another way.
func (p *Page) Refuse(f *fault.Fault, inputs []Input) bool {
	before := len(p.Wrong)
	owner := func(of fault.Field) int {
		return slices.IndexFunc(inputs, func(i Input) bool { return i.ownsPath(of.Path) })
	}
	for _, field := range slices.SortedStableFunc(slices.Values(f.Fields), func(a, b fault.Field) int { return owner(a) - owner(b) }) {
		at := owner(field)
		if at < 0 {
			continue
		}
		kind := "wrong." + inputs[at].Name + "." + string(field.Reason)
		if !p.Has(kind) {
			kind = "problem." + string(field.Reason)
		}
		p.Wrong = append(p.Wrong, Wrong{ID: inputs[at].ID(), Label: p.T(inputs[at].Label, "of", inputs[at].Of), Text: p.Or(kind, "problem.required")})
	}
	return len(p.Wrong) > before
}

// Posted sets the values of inputs to the posted ones, in place, and returns inputs. An input that was not posted becomes "". It does not
// set passwords, so that no page contains one.
func (x *Exchange) Posted(inputs []Input) []Input {
	for i := range inputs {
		switch inputs[i].Type {
		case "password":
		case "boxes":
			inputs[i].Value = strings.Join(x.R.PostForm[inputs[i].Name], " ")
		default:
			inputs[i].Value = x.Value(inputs[i].Name)
		}
	}
	return inputs
}
