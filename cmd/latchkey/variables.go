package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"latchkey.dev/internal/text"
)

// otherVariables are prefixes of environment variables that other programs of this project read. No warning is printed about them.
var otherVariables = []string{
	"LATCHKEY_BRIDGE_", "LATCHKEY_MQTT_", "LATCHKEY_SMARTKEY_", "LATCHKEY_JOIN_CODE", "LATCHKEY_LOG_LEVEL", "LATCHKEY_TEST", "LATCHKEY_SOAK", "LATCHKEY_TORTURE_",
}

// knownVariables returns the names of all environment variables from which flags of a command, and of the commands below it, are read.
func knownVariables(n *kong.Node) (names []string) {
	for _, f := range n.Flags {
		names = append(names, f.Envs...)
	}
	for _, child := range n.Children {
		names = append(names, knownVariables(child)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknownVariableWarnings returns a warning for each variable in environment, which has the form NAME=value, that begins with LATCHKEY_ but
// is not known, such as a misspelt one, with the nearest known name. It passes over those of other programs: see otherVariables.
func unknownVariableWarnings(environment, known []string) (warnings []string) {
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "LATCHKEY_") || slices.Contains(known, name) || slices.ContainsFunc(otherVariables, func(o string) bool { return strings.HasPrefix(name, o) }) {
			continue
		}
		warning := "the environment variable " + name + " is unknown and ignored"
		if near := nearestWord(name, known); near != "" {
			warning += "; did you mean " + near + "?"
		}
		warnings = append(warnings, warning)
	}
	slices.Sort(warnings)
	return warnings
}

// nearestWord returns the known word most similar to word. It returns "" if more than about a third of the characters differ.
func nearestWord(word string, known []string) string {
	return text.Nearest(word, known, len(strings.TrimPrefix(word, "LATCHKEY_"))/3+1)
}

// printWarnings writes warnings to the writer to, one per line.
func printWarnings(to interface{ Write([]byte) (int, error) }, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(to, "latchkey: warning:", w)
	}
}
