// Package watch notifies open streams of what changed at a property: by topic and id, never the content. A notification can be lost, so
// each part that passes it on detects a loss and then reports that everything may have changed.
package watch

import (
	"slices"
	"strings"

	"latchkey.dev/internal/db"
)

// Topic is a kind of things at a property of which a stream can report changes.
type Topic string

const (
	Reservations Topic = "reservations" // stays with their access, check-in, guests and readiness, by the id of the reservation
	Spaces       Topic = "spaces"       // spaces, gates, and the listing and mapping of integrations, each by its id
	Locks        Topic = "locks"        // locks with their state, slots and events, by id
	Bridges      Topic = "bridges"      // bridges with their connection, by id
	Notices      Topic = "notices"      // notices to staff, by id
	Messages     Topic = "messages"     // conversations, by the id of the guest
	Kiosks       Topic = "kiosks"       // check-in tablets, by id
)

// Topics lists all topics.
var Topics = []Topic{Reservations, Spaces, Locks, Bridges, Notices, Messages, Kiosks}

// IsTopic reports whether a text names a topic.
func IsTopic(text string) bool { return slices.Contains(Topics, Topic(text)) }

// Changed is the topic of [db.Tx.Notify] that carries changes from a transaction to the streams of all nodes. A key is a property, a topic
// and an id, separated by blanks: see [Key.String].
const Changed db.Topic = "watch.changed"

// Notify notifies the streams of a property, after the commit, that things of a topic changed. Without ids, all of them may have changed.
func Notify(tx *db.Tx, propertyID string, topic Topic, ids ...string) {
	if len(ids) == 0 {
		ids = []string{""}
	}
	for _, id := range ids {
		tx.Notify(Changed, Key{propertyID, topic, id}.String())
	}
}

// Key names what changed. The ID is empty if all things of the topic may have changed.
type Key struct {
	PropertyID string
	Topic      Topic
	ID         string
}

// String returns the key as a text that [ParseKey] reads: property, topic and id, separated by blanks.
func (k Key) String() string { return k.PropertyID + " " + string(k.Topic) + " " + k.ID }

// ParseKey parses the text of a key, as [Key.String] writes it. It returns false for any other text.
func ParseKey(text string) (Key, bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 || !IsTopic(parts[1]) {
		return Key{}, false
	}
	return Key{parts[0], Topic(parts[1]), parts[2]}, true
}
