package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A property goes with everything that belongs to it, but not while a code may be on a lock.
func TestPropertyDelete(t *testing.T) {
	const name = "Hostel Miramar"
	s, w := newWorld(t)
	other := id(s.json("property create Other --time-zone Europe/Rome"))
	mine := "--property " + w.PropertyID
	push(t, w, "B-1", "4711", "Ada", "Lovelace", "started", "R101", 2)
	s.fails(1, "property delete "+mine+" --confirm Other", "must be the name of the property")
	s.fails(1, "property delete "+mine+" --confirm '"+name+"'", "codes may still be on locks")

	push(t, w, "B-1", "4711", "Ada", "Lovelace", "canceled", "R101", 2)
	err := w.Await(t.Context(), "the deletion", func(context.Context) (bool, error) {
		code, out, errs := s.feed(name+"\n", "property", "delete", "--property", w.PropertyID, "--data-dir", s.dir)
		if code != 0 && !strings.Contains(errs, "codes may still be on locks") {
			return false, errors.New(errs)
		}
		return strings.Contains(out, "Deleted "), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.fails(1, "property show "+mine, "no such property")
	s.ok("property show --property "+other, "Other")
}
