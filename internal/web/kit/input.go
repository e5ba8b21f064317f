package kit

import (
	"slices"

	"latchkey.dev/internal/fault"
)

// Input is a text field of a form: the part "input". Its name is the path of the field in the request that the form becomes.
type Input struct {
	Name         string
	Label, Hint  string // messages
	Type         string // of HTML
	Value        string
	Autocomplete string
	Mode         string // inputmode of HTML
	Script       string // what the script does with it: the attribute data-SCRIPT
}

// ID returns the id of the field.
func (i Input) ID() string { return "f-" + i.Name }

// Refuse adds the wrong fields of a fault to the error summary of a page. It returns false if no input of the page has one of them.
func (p *Page) Refuse(f *fault.Fault, inputs []Input) bool {
	for _, field := range f.Fields {
		at := slices.IndexFunc(inputs, func(i Input) bool { return i.Name == field.Path })
		if at < 0 {
			continue
		}
		kind := "wrong." + field.Path + "." + string(field.Reason)
		if !p.Has(kind) {
			kind = "problem." + string(field.Reason)
		}
		p.Wrong = append(p.Wrong, Wrong{ID: inputs[at].ID(), Label: p.T(inputs[at].Label), Text: p.Or(kind, "problem.required")})
	}
	return len(p.Wrong) > 0
}
