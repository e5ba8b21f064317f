package main

import (
	"cmp"
	"slices"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// sortedSpaces returns a copy of the spaces in natural order: 2 before 12, and beds after their dorm.
func sortedSpaces(list []*propertyv1.Space) []*propertyv1.Space {
	dorms := map[string]string{}
	for _, sp := range list {
		dorms[sp.GetId()] = sp.GetName()
	}
	// A bed sorts by the name of its dorm, directly after the dorm.
	sortKey := func(sp *propertyv1.Space) (name, dorm string, bed bool) {
		if above, ok := dorms[sp.GetParentSpaceId()]; ok && sp.GetParentSpaceId() != "" {
			return above, sp.GetParentSpaceId(), true
		}
		return sp.GetName(), sp.GetId(), false
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *propertyv1.Space) int {
		aName, aDorm, aBed := sortKey(a)
		bName, bDorm, bBed := sortKey(b)
		switch {
		case aDorm != bDorm:
			return cmp.Or(compareNatural(aName, bName), strings.Compare(aDorm, bDorm))
		case aBed != bBed && bBed:
			return -1
		case aBed != bBed:
			return 1
		}
		return compareNatural(a.GetName(), b.GetName())
	})
	return list
}

// compareNatural compares names as people sort them: numbers in them by value, letters without case. It returns a negative number, 0 or a
// positive number; 0 also if only case or leading zeros differ.
func compareNatural(a, b string) int {
	for a, b = strings.ToLower(a), strings.ToLower(b); a != "" && b != ""; {
		an, bn := leadingDigits(a), leadingDigits(b)
		if an == 0 || bn == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:an], "0"), strings.TrimLeft(b[:bn], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[an:], b[bn:]
	}
	return cmp.Compare(len(a), len(b))
}

// leadingDigits returns the number of digits at the beginning of a text.
func leadingDigits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
