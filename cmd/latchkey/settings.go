package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// environment has every setting of serve come from the environment too: LATCHKEY_ and the flag's name.
func environment(k *kong.Kong) error {
	for _, f := range settingsOf(k.Model.Node) {
		name := "LATCHKEY_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		f.Envs, f.Tag.Envs = []string{name}, []string{name}
	}
	return nil
}

// settingsOf are the flags of serve that are settings.
func settingsOf(root *kong.Node) []*kong.Flag {
	for _, c := range root.Children {
		if c.Name == "serve" {
			return slices.DeleteFunc(slices.Clone(c.Flags), func(f *kong.Flag) bool { return f.Name == "help" || f.Name == "config" })
		}
	}
	return nil
}

// describe is what --help says of a flag. The rule for the environment of settings is said once, above them.
func describe(v *kong.Value) string {
	if v.Flag != nil && v.Flag.Group != nil && strings.HasPrefix(v.Flag.Group.Key, "serve-") {
		return v.Help
	}
	return kong.DefaultHelpValueFormatter(v)
}

// settingsFile is settings by the names of their flags.
type settingsFile map[string]any

// readSettings reads a file of settings: a JSON object with the flags' names, without the dashes before them.
func readSettings(r io.Reader) (kong.Resolver, error) {
	var s settingsFile
	if err := json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&s); err != nil {
		return nil, fmt.Errorf("want a JSON object such as {\"listen-http\": \"127.0.0.1:7080\"}: %w", err)
	}
	return s, nil
}

// Validate refuses what is no setting.
func (s settingsFile) Validate(app *kong.Application) error {
	known := settingsOf(app.Node)
	var wrong []error
	for name := range s {
		if !slices.ContainsFunc(known, func(f *kong.Flag) bool { return f.Name == name }) {
			wrong = append(wrong, fmt.Errorf("the file of settings: there is no setting %q", name))
		}
	}
	return errors.Join(wrong...)
}

// Resolve is what the file says of a flag; what the environment says wins.
func (s settingsFile) Resolve(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
	for _, name := range f.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	return s[f.Name], nil
}
