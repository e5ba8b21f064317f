package repository_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Reasons why a package writes rows of another package, besides those that sharedRows gives itself.
const (
	removal = "deletes the rows of a removed stay, or detaches them from it, in the order of the foreign keys"
	erased  = "deletes what names the guests of a stay that is removed or whose guests are erased"
	moved   = "changes the rows of a booking whose mail address changed, in the transaction of the change"
	erasure = "deletes the rows of a guest who is erased, in the transaction of the erasure"
)

// sharedRows are the tables that packages besides their owner write, by ent's name, with these packages and why each of them writes there.
// The list should only become shorter: a package asks the owner of a row to change it.
var sharedRows = map[string]map[string]string{
	"Act":     {"reservation": removal},
	"Arrival": {"reservation": removal},
	"Grant": {
		"mobilekey":   "notes the first SmartKey of a grant in the transaction that signs it",
		"reservation": removal,
	},
	"Guest": {
		"checkin":      "deletes the people of canceled stays together with their forms",
		"conversation": "stores up to which position the messages of a guest are deleted, in the transaction that deletes them",
		"reservation":  erased + "; " + moved + "; reopens the official forms of a stay whose number, state or days changed",
	},
	"GuestLink":    {"reservation": erased + "; " + moved},
	"GuestSession": {"reservation": erased + "; " + moved},
	"Idempotency":  {"worker": "deletes expired rows, for all properties at once"},
	"Integration":  {"space": "notes when the list of spaces was read and how often that failed, in the transaction that stores the list"},
	"Invitation": {
		"guest":       "makes a booker count as not invited when the links of the stay end",
		"property":    "makes invitations due when a setting that they depend on changes",
		"reservation": moved + "; makes the invitation of a new stay with the id of an erased one due, and forgets the address with the guests",
	},
	"Mail": {
		"checkin":     "deletes the mails of canceled stays together with their forms",
		"guest":       erasure,
		"reservation": erased,
		"worker":      "cancels waiting mails with the link that a new mail replaces",
	},
	"Notice": {
		"access/code": "removes the names of holders, which a former version stored in plain text, from the notices about their codes",
		"guest":       erasure,
		"reservation": erased,
	},
	"Phone": {
		"guest":       "clears the name of the phone of a guest who is erased, whose keys remain until they are revoked",
		"reservation": removal,
	},
	"PhoneLink": {"reservation": removal},
	"Pin":       {"reservation": removal},
	"Secret":    {"bridge": "stores the sealed key of the bridge CA when it makes it"},
	"Slot": {
		"access/code": "detaches slots from the codes that retention deletes",
		"reservation": removal,
	},
	"Stay": {
		"guest":       "creates the row when a guest first enters something, and stores what guests enter about the whole stay",
		"reservation": erased + "; " + moved,
	},
}

var rowWrite = regexp.MustCompile(`\b[tT]x\.([A-Z]\w+)\.(?:Update|Create|MapCreate|Delete)\w*\(`)

func TestRowsHaveOneWriter(t *testing.T) {
	writers := map[string]map[string]int{}
	for _, name := range files(t, ".go") {
		room, inside := strings.CutPrefix(path.Dir(name), "internal/")
		if !inside || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(room, "test/") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) { // removed and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range rowWrite.FindAllSubmatch(content, -1) {
			table := string(m[1])
			if writers[table] == nil {
				writers[table] = map[string]int{}
			}
			writers[table][room]++
		}
	}
	if len(writers) < len(sharedRows) {
		t.Fatalf("found the writers of %d tables only", len(writers))
	}
	for table, rooms := range writers {
		owners := slices.Sorted(maps.Keys(rooms))
		for other := range sharedRows[table] {
			owners = slices.DeleteFunc(owners, func(room string) bool { return room == other })
		}
		if len(owners) != 1 {
			t.Errorf("%v write the table %s: one package owns it, and others ask the owner", owners, table)
		}
	}
	for table, others := range sharedRows {
		for other, why := range others {
			if writers[table][other] == 0 || why == "" {
				t.Errorf("%s does not write the table %s, or there is no reason (%q): shorten the list", other, table, why)
			}
		}
	}
}
