package dbtest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/watch"
)

// watchedTables has, for each table that streams show, the topic that must be notified after each change of its rows.
var watchedTables = map[string]watch.Topic{
	"reservations": watch.Reservations, "stays": watch.Reservations, "guests": watch.Reservations, "grants": watch.Reservations,
	"spaces": watch.Spaces, "gates": watch.Spaces, "mappings": watch.Spaces, "partner_spaces": watch.Spaces, "conflicts": watch.Spaces,
	"locks": watch.Locks, "slots": watch.Locks,
	"bridges":  watch.Bridges,
	"notices":  watch.Notices,
	"messages": watch.Messages,
	"kiosks":   watch.Kiosks,
}

// silentChanges lists the functions whose changes no stream shows, of all tables or of one, with the reason.
var silentChanges = map[string]string{
	"access/code.deleteAll slots":         "a free slot shows no code",
	"reservation.Service.removeAll slots": "a free slot shows no code",
	"bridge.StoreInstalledKeys":           "staff do not see which keys a bridge has",
	"conversation.DeleteEnded guests":     "no one reads the number of the last deleted message",
	"conversation.MarkMailed":             "staff do not see which messages were mailed",
	"guest.LoadOrCreateStay":              "an empty row says the same as none",
	"guest.(*Party).keepProfile":          "staff do not see whether a profile is kept",
	"guest.offerProfile":                  "staff do not see profiles",
	"guest.recordProfile":                 "staff do not see profiles",
	"kiosk.MarkSeen":                      "it notifies when the tablet is back; a reader sees the time of the last call when it reads",
	"kiosk.UseProof":                      "it only keeps a signature from being used twice",
	"bridge.MarkAllOffline":               "a server that starts has no streams",
	"lock.MarkSent":                       "it records who may hold a code, which no one reads",
	"bridge.RecordHeartbeat":              "a reader sees the time of the last heartbeat when it reads",
	"bridge.StoreEventSequence":           "it only counts the stored events of a bridge",
	"lock.nextGeneration":                 "the change of a slot that follows notifies; without a free slot, none follows",
	"property.deleteRows":                 "the streams of a deleted property end",
	"reservation.PostponePlan":            "it only marks what to plan",
	"reservation.Service.markAndPlan":     "it only marks what to plan",
	"reservation.Service.planNext":        "it only marks what to plan",
	"space.ForgetConflicts":               "they were closed long before",
}

var changedTable = regexp.MustCompile("(?i)^\\s*(?:INSERT\\s+INTO|UPDATE|DELETE\\s+FROM)\\s+[`\"]?([a-z_]+)[`\"]?")

var unannounced struct {
	sync.Mutex
	found map[string]bool // found has the marks of the violations
}

var watchAnnouncements = sync.OnceFunc(func() {
	unannounced.found = map[string]bool{}
	db.WatchChanges(db.ChangeWatcher{Changed: markOf, Committed: checkAnnounced})
})

// markOf is the ChangeWatcher's Changed. It returns "function table" if a function of the product changes a watched table, otherwise "".
func markOf(statement string) string {
	m := changedTable.FindStringSubmatch(statement)
	if m == nil || watchedTables[m[1]] == "" {
		return ""
	}
	function, _, ok := productFunction()
	if !ok || strings.HasPrefix(function, "test/") || silentChanges[function] != "" || silentChanges[function+" "+m[1]] != "" {
		return ""
	}
	return function + " " + m[1]
}

// checkAnnounced is the ChangeWatcher's Committed. It records the marks of changes whose topic was not notified.
func checkAnnounced(marks []string, notified map[db.Topic][]string) {
	topics := map[watch.Topic]bool{}
	for _, key := range notified[watch.Changed] {
		if parts := strings.SplitN(key, " ", 3); len(parts) == 3 { // ids that tests make up may have spaces
			topics[watch.Topic(parts[1])] = true
		}
	}
	unannounced.Lock()
	defer unannounced.Unlock()
	for _, mark := range marks {
		if _, table, _ := strings.Cut(mark, " "); !topics[watchedTables[table]] {
			unannounced.found[mark] = true
		}
	}
}

// failOnUnannounced makes a test fail if the product changes rows that streams show without a notification of the streams.
func failOnUnannounced(t testing.TB) {
	if _, isTest := t.(*testing.T); !isTest {
		return
	}
	watchAnnouncements()
	t.Cleanup(func() {
		unannounced.Lock()
		defer unannounced.Unlock()
		for _, mark := range slices.Sorted(maps.Keys(unannounced.found)) {
			function, table, _ := strings.Cut(mark, " ")
			t.Errorf("%s changes %s and does not notify %s; call watch.Notify, or name the function in silentChanges and say why", function, table, watchedTables[table])
		}
		clear(unannounced.found)
	})
}

// Notified runs f and returns the keys of which its changes notify the open streams.
func Notified(d *db.DB, f func()) (keys []watch.Key) {
	var mu sync.Mutex
	over := false
	d.Subscribe(watch.Changed, func(key string) {
		mu.Lock()
		defer mu.Unlock()
		if k, ok := watch.ParseKey(key); ok && !over {
			keys = append(keys, k)
		}
	})
	f()
	mu.Lock()
	defer mu.Unlock()
	over = true
	return keys
}
