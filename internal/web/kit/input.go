package kit

import (
	"slices"
	"strings"

	"latchkey.dev/internal/fault"
)

// Input is a field of a form: the part "input". Its name is the path of the field in the request that the form becomes.
type Input struct {
	Name         string
	Label, Hint  string // messages
	Of           string // what the label is about: its {of}, such as the name of a language
	Type         string // of HTML, or lines (several lines), switch (on or off), boxes (any number of the options)
	Value        string // of a switch yes or "", of boxes the values with spaces between
	Autocomplete string
	Mode         string   // inputmode of HTML
	Script       string   // what the script does with it: the attribute data-SCRIPT
	Options      []Option // of a list that the field is then, or of boxes
}

// Option is a choice of an input. Its text is a message, or else itself.
type Option struct{ Value, Kind, Text string }

// ID returns the id of the field.
func (i Input) ID() string { return "f-" + i.Name }

// Has reports whether one of the boxes is checked.
func (i Input) Has(value string) bool { return slices.Contains(strings.Fields(i.Value), value) }

// asks reports whether the input is the field of a path, or has it as a part.
func (i Input) asks(path string) bool {
	rest, found := strings.CutPrefix(path, i.Name)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Refuse adds the wrong fields of a fault to the error summary of a page. It returns false if no input of the page has one of them.
func (p *Page) Refuse(f *fault.Fault, inputs []Input) bool {
	for _, field := range f.Fields {
		at := slices.IndexFunc(inputs, func(i Input) bool { return i.asks(field.Path) })
		if at < 0 {
			continue
		}
		kind := "wrong." + inputs[at].Name + "." + string(field.Reason)
		if !p.Has(kind) {
			kind = "problem." + string(field.Reason)
		}
		p.Wrong = append(p.Wrong, Wrong{ID: inputs[at].ID(), Label: p.T(inputs[at].Label, "of", inputs[at].Of), Text: p.Or(kind, "problem.required")})
	}
	return len(p.Wrong) > 0
}

// Posted returns inputs with the values that were posted. A password is never shown again.
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
