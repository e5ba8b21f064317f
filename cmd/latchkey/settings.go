package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// environment is a hook of kong. It gives every setting of the serve command an environment variable: LATCHKEY_ and the flag's name in
// upper case, with underscores. --config is not a setting: see settingsOf. The error is always nil.
func environment(k *kong.Kong) error {
	for _, f := range settingsOf(k.Model.Node) {
		name := "LATCHKEY_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		f.Envs, f.Tag.Envs = []string{name}, []string{name}
	}
	return nil
}

// settingsOf returns the flags of the serve command that are settings of the server. root is the whole command line.
func settingsOf(root *kong.Node) []*kong.Flag {
	for _, c := range root.Children {
		if c.Name == "serve" {
			return slices.DeleteFunc(slices.Clone(c.Flags), func(f *kong.Flag) bool { return f.Name == "help" || f.Name == "config" })
		}
	}
	return nil
}

// describe returns the help text of a flag for kong. For the settings of serve it leaves out the environment variable, because the help of
// serve explains all their names.
func describe(v *kong.Value) string {
	if v.Flag != nil && v.Flag.Group != nil && strings.HasPrefix(v.Flag.Group.Key, "serve-") {
		return v.Help
	}
	return kong.DefaultHelpValueFormatter(v)
}

// settingsFile is a settings file, with the value and line of each setting by flag name.
type settingsFile struct {
	known  []string // names of all settings
	name   string
	values map[string]any
	lines  map[string]int
}

const mostSettings = 1 << 20 // maximum size of a settings file in bytes

// read reads the file of --config: a JSON object whose keys are flag names without leading dashes, at most mostSettings bytes. It fails if
// a name is unknown or set twice. kong then asks the result for the value of each flag.
func (s *settingsFile) read(r io.Reader) (kong.Resolver, error) {
	s.name, s.values, s.lines = "the settings file", map[string]any{}, map[string]int{}
	if named, ok := r.(interface{ Name() string }); ok {
		s.name = named.Name()
	}
	raw, err := io.ReadAll(io.LimitReader(r, mostSettings+1))
	if err == nil && len(raw) > mostSettings {
		err = fmt.Errorf("has more than %d bytes", mostSettings)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	line := func() int { return 1 + bytes.Count(raw[:min(d.InputOffset(), int64(len(raw)))], []byte("\n")) }
	fail := func(err error) error {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file ends too early")
		}
		return fmt.Errorf("%s, line %d: must be a JSON object such as {\"listen-http\": \"127.0.0.1:7080\"}: %w", s.name, line(), err)
	}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fail(errors.Join(err, errors.New("it does not begin with {")))
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fail(err)
		}
		key, _ := t.(string)
		if s.lines[key] > 0 {
			return nil, fail(fmt.Errorf("%q is set twice", key))
		}
		s.lines[key] = line()
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, fail(err)
		}
		s.values[key] = v
	}
	if _, err := d.Token(); err != nil {
		return nil, fail(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fail(errors.New("there is text after the object"))
	}
	return s, s.unknown()
}

// Validate always returns nil, because there is nothing to check here. [kong.Resolver] requires it.
func (s *settingsFile) Validate(*kong.Application) error { return nil }

// unknown returns an error that lists the names in the file that are no settings, each with a similar name, or nil.
func (s *settingsFile) unknown() error {
	var unknown []string
	for name := range s.values {
		if !slices.Contains(s.known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.SortFunc(unknown, func(a, b string) int { return s.lines[a] - s.lines[b] })
	var wrong []error
	for _, name := range unknown {
		text := fmt.Sprintf("%s, line %d: there is no setting %q", s.name, s.lines[name], name)
		if near := nearestWord(name, s.known); near != "" {
			text += fmt.Sprintf("; did you mean %q?", near)
		}
		wrong = append(wrong, errors.New(text))
	}
	return errors.Join(wrong...)
}

// Resolve returns the value of a flag from the file. It returns nil if the file does not have the flag, or if the environment sets it. The
// error is always nil.
func (s *settingsFile) Resolve(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
	for _, name := range f.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	return s.values[f.Name], nil
}

// origins returns lines to append to an error text, or "". For each setting that the text mentions, they name the settings file and the
// line, if the value came from there. args is the command line, which overrides the file.
func (s *settingsFile) origins(text string, args []string) string {
	var places []string
	for name, line := range s.lines {
		flag := "--" + name
		_, env := os.LookupEnv("LATCHKEY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		given := slices.ContainsFunc(args, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") })
		named := slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return !isFlagRune(r) }), func(w string) bool { return w == flag })
		if named && !env && !given {
			places = append(places, fmt.Sprintf("\n%s is set in %s, line %d", flag, s.name, line))
		}
	}
	slices.Sort(places)
	return strings.Join(places, "")
}

// isFlagRune reports whether a character can be part of a flag, including its dashes.
func isFlagRune(r rune) bool { return r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
