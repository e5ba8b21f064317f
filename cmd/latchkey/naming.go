package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// naming lists the flags and arguments of a command.
type naming struct{ flags, arguments []string }

// namingOf is the naming of a command.
func namingOf(command *kong.Node) naming {
	var n naming
	if command == nil {
		return n
	}
	for _, group := range command.AllFlags(true) {
		for _, f := range group {
			n.flags = append(n.flags, f.Name)
		}
	}
	for _, a := range command.Positional {
		n.arguments = append(n.arguments, a.Name)
	}
	return n
}

// typedAs is the flag or argument for a field of a request, where the names differ.
var typedAs = map[string]string{
	"checkInTime": "check-in", "checkOutTime": "check-out", "earlyInMinutes": "early-in", "lateOutMinutes": "late-out",
	"owingPolicy": "owing", "owingThresholdMinor": "owing-threshold",
	"hours.days": "hours", "hours.from": "hours", "hours.to": "hours", "notBefore": "from", "notAfter": "until", "doorIds": "door",
	"parentName": "dorm", "parentSpaceId": "dorm", "spaceIds": "space", "spaces.ids": "space", "scopes": "scope",
	"appId": "app", "bridgeId": "bridge", "doorId": "door", "externalId": "partners-id", "integrationId": "integration",
	"lockId": "lock", "propertyId": "property", "spaceId": "space", "ids": "notice",
	"date": "day", "query": "text", "ttlMinutes": "ttl", "overlapMinutes": "overlap", "pageSize": "limit", "isPrivate": "private", "isActive": "active",
}

var index = regexp.MustCompile(`\[\d+\]`)

// of returns the flag or argument for a field of the request: --time-zone for settings.timeZone. A field that the command
// does not take keeps its name.
func (n naming) of(field string) string {
	path := strings.TrimPrefix(index.ReplaceAllString(field, ""), "settings.")
	word := path[strings.LastIndex(path, ".")+1:]
	for _, name := range []string{typedAs[path], typedAs[word], kebab(word)} {
		switch {
		case name == "":
		case slices.Contains(n.flags, name):
			return "--" + name
		case slices.Contains(n.arguments, name):
			return "<" + name + ">"
		}
	}
	if word == "id" && len(n.arguments) > 0 {
		return "<" + n.arguments[0] + ">"
	}
	return field
}

// camel finds the names of fields in a message.
var camel = regexp.MustCompile(`\b[a-z]+([A-Z][a-z]*)+\b`)

// in replaces the names of fields in a message by flags and arguments.
func (n naming) in(message string) string {
	return camel.ReplaceAllStringFunc(message, n.of)
}

// kebab writes timeZone as time-zone.
func kebab(word string) string {
	var b strings.Builder
	for _, r := range word {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
