// Package space manages the rooms, beds and gates of a property, their mapping to the spaces of a PMS, and the
// conflicts between the two. It does not depend on package reservation.
package space

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"latchkey.dev/internal/message"
	"latchkey.dev/internal/text"
)

// Types of a space, in Latchkey and in a PMS.
const (
	Room = "Room"
	Bed  = "Bed"
	Dorm = "Dorm"
)

var types = []string{Room, Bed, Dorm}

// ValidType reports whether a text is one of the types Room, Bed and Dorm.
func ValidType(t string) bool { return slices.Contains(types, t) }

// The longest stored texts, in bytes.
const (
	maxID    = 255
	maxName  = 255
	maxFloor = 64
	maxError = 512
)

// Listed is one room, dorm or bed in the list of a PMS.
type Listed struct {
	ExternalID       string // ExternalID is the PMS's id, 1 to 255 bytes
	Type             string // Type is Room, Bed or Dorm
	Name             string
	ParentExternalID string // ParentExternalID is the room of a bed; empty if the PMS sends none
	Floor            string
	IsPrivate        bool
	IsActive         bool
}

// Reading is the result of one getSpaces call to a PMS: its list of spaces, or an error.
type Reading struct {
	Spaces  []Listed
	Err     error           // Err is shown to staff, so its text has no token
	Problem message.Message // Problem is Err for staff, in every language; zero: only Err is known
}

// rejectReason returns why a reading (the result of a getSpaces call) must be rejected, or a message without a kind if it can be stored.
// listedBefore means that an earlier list was not empty: then an empty list is an error of the PMS, because no hotel loses all its rooms
// between two readings.
func (r Reading) rejectReason(listedBefore bool) message.Message {
	if r.Err != nil {
		var problem any = r.errText()
		if r.Problem.Kind != "" {
			problem = r.Problem
		}
		return message.Message{Kind: "listing.failed", Params: message.Params{"error": problem}}
	}
	if len(r.Spaces) == 0 && listedBefore {
		return message.Message{Kind: "listing.empty"}
	}
	for i, s := range r.Spaces {
		params := message.Params{"entry": i}
		switch {
		case s.ExternalID == "":
			return message.Message{Kind: "listing.idMissing", Params: params}
		case len(s.ExternalID) > maxID || len(s.ParentExternalID) > maxID:
			params["most"] = maxID
			return message.Message{Kind: "listing.idTooLong", Params: params}
		case !isStorable(s.ExternalID) || !isStorable(s.ParentExternalID):
			return message.Message{Kind: "listing.idBroken", Params: params}
		case !ValidType(s.Type):
			return message.Message{Kind: "listing.typeUnknown", Params: params}
		}
	}
	return message.Message{}
}

// errText returns the text of r.Err, which must not be nil: why the PMS's spaces could not be read. It is cut to maxError bytes and ends
// without a full stop.
func (r Reading) errText() string { return strings.TrimSuffix(clip(r.Err.Error(), maxError), ".") }

// isStorable reports whether both databases can store a text.
func isStorable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// deduplicate returns one entry for each id of a reading, with name and floor cut to their limits, and the ids that occur more than once.
// before is the stored list. For an id that occurs twice it keeps the stored entry, because neither new entry can be trusted. If none is
// stored, it keeps the first new one.
func deduplicate(spaces []Listed, before map[string]Listed) (listing map[string]Listed, twice map[string]bool) {
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

// clip trims s, shortens it to at most n bytes without splitting a character, and removes NUL and invalid UTF-8, which the databases do not
// store.
func clip(s string, n int) string {
	return text.Truncate(strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")), n)
}

// sortedKeys returns the keys of a map in ascending order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare)
	return keys
}
