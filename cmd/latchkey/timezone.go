package main

import (
	"strings"
	"time"
	"unicode"
)

// zoneAreas are the first words of the IANA names of time zones that are named after a place.
var zoneAreas = []string{"Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"}

// hintZone adds the time zone that the user may have meant to the error of a command, if there is no zone of the name that the user typed.
// It returns other errors unchanged. zone is nil if the user typed none.
func hintZone(err error, zone *string) error {
	if err == nil || zone == nil {
		return err
	}
	if _, unknown := time.LoadLocation(*zone); unknown == nil {
		return err
	}
	if near := nearZone(*zone); near != "" {
		return &hintedError{err, "--time-zone " + quoted(*zone) + ": did you mean " + near + "?"}
	}
	return err
}

// nearZone returns the time zone whose name a word is in another case or without its area: Europe/Lisbon for lisbon. It returns "" if there
// is none. It tries names, because the time zones in the program cannot be listed.
func nearZone(word string) string {
	name := capitalized(strings.Join(strings.Fields(word), "_"))
	if name == "" {
		return ""
	}
	tries := []string{name}
	for _, area := range zoneAreas {
		tries = append(tries, area+"/"+name)
	}
	for _, try := range tries {
		if _, err := time.LoadLocation(try); err == nil && try != "Local" { // the zone of this machine
			return try
		}
	}
	return ""
}

// capitalized returns a name with a capital at the beginning of each of its words, and with other letters in lower case.
func capitalized(name string) string {
	begins := true
	return strings.Map(func(r rune) rune {
		defer func() { begins = !unicode.IsLetter(r) }()
		if begins {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, name)
}
