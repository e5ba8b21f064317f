package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// naming has the flags and arguments of a command, to translate request fields in error messages.
type naming struct{ flags, arguments []string }

// namingOf returns the flags and arguments of a command, or an empty naming if command is nil.
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

// typedAs maps a request field, by its path or its last name, to its flag or argument for error messages, where that is not the field's
// name in lower case with dashes: see kebab.
var typedAs = map[string]string{
	"checkInTime": "check-in", "checkOutTime": "check-out", "earlyInMinutes": "early-in", "lateOutMinutes": "late-out",
	"kioskOfflineMinutes": "kiosk-offline", "mandatoryGroups": "mandatory", "oftenCountries": "often", "mandatoryGroups.list": "mandatory", "oftenCountries.list": "often",
	"owingPolicy": "owing", "owingThresholdMinor": "owing-threshold",
	"hours.days": "hours", "hours.from": "hours", "hours.to": "hours", "notBefore": "from", "notAfter": "until", "doorIds": "door",
	"parentName": "dorm", "parentSpaceId": "dorm", "spaceIds": "space", "spaces.ids": "space", "scopes": "scope",
	"appId": "app", "bridgeId": "bridge", "doorId": "door", "externalId": "partners-id", "integrationId": "integration",
	"lockId": "lock", "propertyId": "property", "spaceId": "space", "ids": "notice",
	"date": "day", "firstDay": "from", "lastDay": "to", "query": "text", "ttlMinutes": "ttl", "overlapMinutes": "overlap", "pageSize": "limit", "isPrivate": "private", "isActive": "active",
}

// index matches the index of a list entry, such as [3], which is dropped from the path of a request field.
var index = regexp.MustCompile(`\[\d+\]`)

// of returns what the user types for a request field: --time-zone for settings.timeZone. It returns the field's name if the command has no
// such flag or argument.
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

// camel matches words in camel case in an error message: names of request fields, to replace them by flags and arguments.
var camel = regexp.MustCompile(`\b[a-z]+([A-Z][a-z]*)+\b`)

// in returns a message of the server with the names of request fields, such as timeZone, replaced by the flags and arguments of the
// command.
func (n naming) in(message string) string {
	return camel.ReplaceAllStringFunc(message, n.of)
}

// kebab converts the name of a request field to the form of a flag: timeZone to time-zone.
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
