package main

import "testing"

// The case of a word that the command line itself chooses does not matter.
func TestCaseOfChosenWords(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	s.ok("space create 101 --type room", "Room")
	s.ok("space list --type ROOM", "101")
	s.ok("today INHOUSE", "in house")
	s.fails(2, "space create 102 --type villa", "villa")
}

// The error lists the rules and names no call of the API.
func TestErrorOfRuleListsTheRules(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	s.fails(1, "checkin settings --rule XX", "--rule must be one of the rules: ")
}
