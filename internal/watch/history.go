package watch

import (
	"cmp"
	"maps"
	"slices"
)

const (
	// MaxIDs is how many ids of a topic one [Change] lists. If more changed, the Change has Everything set.
	MaxIDs = 50
	// maxKept is how many ids of changed objects are kept per topic, for slow readers and for streams that resume after a lost connection.
	// If more change, the older half is forgotten: see history.floor.
	maxKept = 256
)

// Change is what changed in one topic.
type Change struct {
	Topic      Topic
	IDs        []string // IDs are in the order of their last change; empty with Everything
	Everything bool     // Everything means that too many things changed to list, or that it is not known which
}

// history keeps when each thing of one topic last changed. A position is a number that grows with each change of the property.
type history struct {
	last  map[string]uint64 // last has the position of the last change, by id
	floor uint64            // floor is the position up to which changes can be missing from last; a reader at a lower position must read everything again
}

// add records a change. An empty id means that all things may have changed.
func (h *history) add(id string, position uint64) {
	if id == "" {
		h.floor = position
		clear(h.last)
		return
	}
	if h.last == nil {
		h.last = map[string]uint64{}
	}
	h.last[id] = position
	if len(h.last) > maxKept {
		h.dropOldest()
	}
}

// dropOldest forgets the older half of the changes, and raises floor to the last of them.
func (h *history) dropOldest() {
	positions := slices.Sorted(maps.Values(h.last))
	h.floor = max(h.floor, positions[len(positions)/2])
	maps.DeleteFunc(h.last, func(_ string, at uint64) bool { return at <= h.floor })
}

// after returns what changed in the topic after a position, or false if nothing did. The Change has Everything and no ids if more than
// MaxIDs things changed, or if the history may lack changes after the position.
func (h *history) after(topic Topic, position uint64) (Change, bool) {
	if position < h.floor {
		return Change{Topic: topic, Everything: true}, true
	}
	c := Change{Topic: topic}
	for id, at := range h.last {
		if at > position {
			c.IDs = append(c.IDs, id)
		}
	}
	if len(c.IDs) > MaxIDs {
		return Change{Topic: topic, Everything: true}, true
	}
	slices.SortFunc(c.IDs, func(a, b string) int { return cmp.Compare(h.last[a], h.last[b]) })
	return c, len(c.IDs) > 0
}
