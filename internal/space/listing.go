// Package space knows the rooms, beds and gates of a property, how they are mapped to a
// partner's, and where the two contradict each other. It names no reservation.
package space

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The types of a space, ours and a partner's.
const (
	Room = "Room"
	Bed  = "Bed"
	Dorm = "Dorm"
)

// types lists every type of a space.
var types = []string{Room, Bed, Dorm}

// ValidType reports whether t is a type of a space.
func ValidType(t string) bool { return slices.Contains(types, t) }

// Longest texts that are stored, in bytes.
const (
	maxID     = 255
	maxName   = 255
	maxFloor  = 64
	maxDetail = 1024
)

// Listed is one entry of a partner's listing of its rooms and beds.
type Listed struct {
	ExternalID       string // the partner's id, 1 to 255 bytes
	Type             string // Room, Bed or Dorm
	Name             string
	ParentExternalID string // the room of a bed; empty where the partner does not say
	Floor            string
	IsPrivate        bool
	IsActive         bool
}

// Reading is what one call of getSpaces brought: a listing, or why there is none.
type Reading struct {
	Spaces []Listed
	Err    error // its text is shown to staff, so it holds no token
}

// problem says why a reading cannot be relied on, or "". A listing that is suddenly empty is
// a fault of the partner's: no hotel loses all its rooms between two reads.
func (r Reading) problem(listedBefore bool) string {
	if r.Err != nil {
		return r.Err.Error()
	}
	if len(r.Spaces) == 0 && listedBefore {
		return "the listing is empty, and it was not before"
	}
	for i, s := range r.Spaces {
		switch {
		case s.ExternalID == "":
			return fmt.Sprintf("entry %d of the listing has no id", i)
		case len(s.ExternalID) > maxID || len(s.ParentExternalID) > maxID:
			return fmt.Sprintf("entry %d of the listing has an id over %d bytes", i, maxID)
		case !storable(s.ExternalID) || !storable(s.ParentExternalID):
			return fmt.Sprintf("entry %d of the listing has an id with NUL or broken UTF-8", i)
		case !ValidType(s.Type):
			return fmt.Sprintf("entry %d of the listing is neither Room, Bed nor Dorm", i)
		}
	}
	return ""
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// distinct keeps one entry of each id and tells which ids occur more than once. Of an id that
// occurs twice what was known before stays, because neither entry can be trusted.
func distinct(spaces []Listed, before map[string]Listed) (listing map[string]Listed, twice map[string]bool) {
	listing, twice = make(map[string]Listed, len(spaces)), make(map[string]bool)
	for _, s := range spaces {
		if _, ok := listing[s.ExternalID]; !ok {
			s.Name, s.Floor = clip(s.Name, maxName), clip(s.Floor, maxFloor)
			listing[s.ExternalID] = s
			continue
		}
		twice[s.ExternalID] = true
		if known, ok := before[s.ExternalID]; ok {
			listing[s.ExternalID] = known
		}
	}
	return listing, twice
}

// clip shortens s to at most n bytes without cutting a character, and drops what no
// database stores: NUL and broken UTF-8.
func clip(s string, n int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), ""))
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}
