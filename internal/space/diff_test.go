package space

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"latchkey.dev/internal/message"
)

func room(id, name string) Listed {
	return Listed{ExternalID: id, Type: Room, Name: name, IsPrivate: true, IsActive: true}
}

func bed(id, name, parent string) Listed {
	return Listed{ExternalID: id, Type: Bed, Name: name, ParentExternalID: parent, IsActive: true}
}

func mappedTo(s Listed) Mapped {
	return Mapped{ExternalID: s.ExternalID, SpaceID: "spc_" + s.ExternalID, Name: s.Name, Type: s.Type, ParentExternalID: s.ParentExternalID}
}

func off(s Listed) Listed { s.IsActive = false; return s }

func list(spaces ...Listed) []Listed { return spaces }

func keys(findings []Finding) []string {
	var all []string
	for _, f := range findings {
		all = append(all, strings.TrimSuffix(string(f.Kind)+" "+f.ExternalID, " "))
	}
	return all
}

// haveTexts checks that each finding has a text with exactly its parameters.
func haveTexts(t *testing.T, out DiffResult) {
	t.Helper()
	for _, f := range slices.Concat(out.Opened, out.StillOpen) {
		if err := f.message().Check(); f.Params != nil && err != nil {
			t.Error(err)
		}
	}
}

func TestDiff(t *testing.T) {
	a, b, c := room("1", "101"), room("2", "102"), room("3", "103")
	dorm := Listed{ExternalID: "d", Type: Dorm, Name: "Dorm", IsActive: true}
	attic, again := Listed{ExternalID: "e", Type: Dorm, Name: "Attic", IsActive: true}, Listed{ExternalID: "n", Type: Dorm, Name: "Dorm", IsActive: true}
	bedMapped := func(id, room string) Mapped { return mappedTo(bed(id, "1", room)) }
	open := func(k Kind, id string) []Finding { return []Finding{{Kind: k, ExternalID: id}} }
	tests := map[string]struct {
		known     Stored
		reading   []Listed
		opened    []string
		closed    []string
		stillOpen []string
		upsert    []Listed
		gone      []string
		rooms     map[string]string
	}{
		"first reading opens nothing": {
			reading: list(a, b), upsert: list(a, b),
		},
		"nothing changed": {
			known: Stored{Listing: list(a, b), Mappings: []Mapped{mappedTo(a)}}, reading: list(b, a),
		},
		"a mapped space is gone": {
			known: Stored{Listing: list(a, b), Mappings: []Mapped{mappedTo(a)}}, reading: list(b),
			opened: []string{"missing 1"}, gone: []string{"1"},
		},
		"an unmapped space is gone": {
			known: Stored{Listing: list(a, b)}, reading: list(b), gone: []string{"1"},
		},
		"still gone": {
			known:   Stored{Listing: list(b), Gone: list(a), Mappings: []Mapped{mappedTo(a)}, Open: open(Missing, "1")},
			reading: list(b), stillOpen: []string{"missing 1"},
		},
		"back again": {
			known:   Stored{Listing: list(b), Gone: list(a), Mappings: []Mapped{mappedTo(a)}, Open: open(Missing, "1")},
			reading: list(a, b), closed: []string{"missing 1"}, upsert: list(a),
		},
		"switched off": {
			known: Stored{Listing: list(a), Mappings: []Mapped{mappedTo(a)}}, reading: list(off(a)),
			opened: []string{"inactive 1"}, upsert: list(off(a)),
		},
		"an unmapped one switched off is no conflict": {
			known: Stored{Listing: list(a)}, reading: list(off(a)), upsert: list(off(a)),
		},
		"switched on again": {
			known:   Stored{Listing: list(off(a)), Mappings: []Mapped{mappedTo(a)}, Open: open(Inactive, "1")},
			reading: list(a), closed: []string{"inactive 1"}, upsert: list(a),
		},
		"renamed": {
			known: Stored{Listing: list(a), Mappings: []Mapped{mappedTo(a)}}, reading: list(room("1", "201")),
			opened: []string{"renamed 1"}, upsert: list(room("1", "201")),
		},
		"white space is no new name": {
			known: Stored{Listing: list(room("1", "Blue room")), Mappings: []Mapped{mappedTo(room("1", "Blue room"))}}, reading: list(room("1", "Blue  room")),
			upsert: list(room("1", "Blue  room")),
		},
		"retyped": {
			known: Stored{Listing: list(a), Mappings: []Mapped{mappedTo(a)}}, reading: list(Listed{ExternalID: "1", Type: Dorm, Name: "101", IsActive: true}),
			opened: []string{"retyped 1"}, upsert: list(Listed{ExternalID: "1", Type: Dorm, Name: "101", IsActive: true}),
		},
		"several at once": {
			known: Stored{Listing: list(a), Mappings: []Mapped{mappedTo(a)}}, reading: list(off(Listed{ExternalID: "1", Type: Dorm, Name: "x"})),
			opened: []string{"inactive 1", "renamed 1", "retyped 1"}, upsert: list(off(Listed{ExternalID: "1", Type: Dorm, Name: "x"})),
		},
		"a new one": {
			known: Stored{Listing: list(a), Mappings: []Mapped{mappedTo(a)}}, reading: list(a, b),
			opened: []string{"newUnmapped 2"}, upsert: list(b),
		},
		"a new one, inactive": {
			known: Stored{Listing: list(a)}, reading: list(a, off(b)), upsert: list(off(b)),
		},
		"an inactive one comes into use": {
			known: Stored{Listing: list(a, off(b))}, reading: list(a, b), opened: []string{"newUnmapped 2"}, upsert: list(b),
		},
		"long known and unmapped stays quiet": {
			known: Stored{Listing: list(a, b)}, reading: list(a, b),
		},
		"still new": {
			known: Stored{Listing: list(a, b), Open: open(NewUnmapped, "2")}, reading: list(a, b), stillOpen: []string{"newUnmapped 2"},
		},
		"new and gone again": {
			known: Stored{Listing: list(a, b), Open: open(NewUnmapped, "2")}, reading: list(a), closed: []string{"newUnmapped 2"}, gone: []string{"2"},
		},
		"beds without parents where no bed has one": {
			reading: list(dorm, bed("x", "1", ""), bed("y", "2", "")), upsert: list(dorm, bed("x", "1", ""), bed("y", "2", "")),
		},
		"a bed names a room that is not listed": {
			reading: list(dorm, bed("x", "1", "nowhere"), bed("y", "2", "d")), upsert: list(dorm, bed("x", "1", "nowhere"), bed("y", "2", "d")),
			opened: []string{"bedWithoutRoom x"},
		},
		"a bed names none where others do": {
			reading: list(dorm, bed("x", "1", ""), bed("y", "2", "d")), upsert: list(dorm, bed("x", "1", ""), bed("y", "2", "d")),
			opened: []string{"bedWithoutRoom x"},
		},
		"a bed within a bed": {
			reading: list(dorm, bed("x", "1", "y"), bed("y", "2", "d")), upsert: list(dorm, bed("x", "1", "y"), bed("y", "2", "d")),
			opened: []string{"bedWithoutRoom x"},
		},
		"the room of a bed appears": {
			known:   Stored{Listing: list(bed("y", "2", "d")), Open: open(BedWithoutRoom, "y"), Mappings: []Mapped{mappedTo(dorm)}},
			reading: list(dorm, bed("y", "2", "d")), upsert: list(dorm), closed: []string{"bedWithoutRoom y"},
		},
		"a bed in another room": {
			known: Stored{Listing: list(dorm, attic, bed("x", "1", "d")), Mappings: []Mapped{bedMapped("x", "d")}}, reading: list(dorm, attic, bed("x", "1", "e")),
			opened: []string{"moved x"}, upsert: list(bed("x", "1", "e")),
		},
		"a bed back in its room": {
			known: Stored{Listing: list(dorm, attic, bed("x", "1", "e")), Mappings: []Mapped{bedMapped("x", "d")}, Open: open(Moved, "x")}, reading: list(dorm, attic, bed("x", "1", "d")),
			closed: []string{"moved x"}, upsert: list(bed("x", "1", "d")),
		},
		"a bed in another room, and the former one gone": {
			known: Stored{Listing: list(dorm, attic, bed("x", "1", "d")), Mappings: []Mapped{bedMapped("x", "d")}}, reading: list(attic, bed("x", "1", "e")),
			opened: []string{"moved x"}, upsert: list(bed("x", "1", "e")), gone: []string{"d"},
		},
		"an unmapped bed in another room": {
			known: Stored{Listing: list(dorm, attic, bed("x", "1", "d"))}, reading: list(dorm, attic, bed("x", "1", "e")), upsert: list(bed("x", "1", "e")),
		},
		"the room of a bed has a new id": {
			known: Stored{Listing: list(dorm, bed("x", "1", "d")), Mappings: []Mapped{bedMapped("x", "d")}}, reading: list(again, bed("x", "1", "n")),
			opened: []string{"newUnmapped n"}, upsert: list(again, bed("x", "1", "n")), gone: []string{"d"}, rooms: map[string]string{"x": "n"},
		},
		"a bed moves to an older room with the name of a room that ends": {
			known: Stored{Listing: list(dorm, again, bed("x", "1", "d")), Mappings: []Mapped{bedMapped("x", "d")}}, reading: list(again, bed("x", "1", "n")),
			opened: []string{"moved x"}, upsert: list(bed("x", "1", "n")), gone: []string{"d"},
		},
		"the new room of a bed is mapped to the dorm of the property": {
			known: Stored{
				Listing: list(dorm, attic, bed("x", "1", "e")), Open: open(Moved, "x"),
				Mappings: []Mapped{{ExternalID: "x", SpaceID: "spc_x", Name: "1", Type: Bed, ParentExternalID: "d", OwnDormID: "spc_e"}, mappedTo(attic)},
			},
			reading: list(dorm, attic, bed("x", "1", "e")), closed: []string{"moved x"}, rooms: map[string]string{"x": "e"},
		},
		"the PMS starts to send the rooms of beds": {
			known: Stored{Listing: list(dorm, bed("x", "1", "")), Mappings: []Mapped{bedMapped("x", "")}}, reading: list(dorm, bed("x", "1", "d")),
			upsert: list(bed("x", "1", "d")), rooms: map[string]string{"x": "d"},
		},
		"the PMS sends the rooms of beds no longer": {
			known: Stored{Listing: list(dorm, bed("x", "1", "d")), Mappings: []Mapped{bedMapped("x", "d")}}, reading: list(dorm, bed("x", "1", "")), upsert: list(bed("x", "1", "")),
		},
		"listed twice keeps what was known": {
			known:   Stored{Listing: list(a), Mappings: []Mapped{mappedTo(a)}},
			reading: list(room("1", "x"), room("1", "y")), opened: []string{"duplicateId 1"},
		},
		"listed twice at the first sight keeps the first": {
			known: Stored{Listing: list(a)}, reading: list(a, c, room("3", "y"), c),
			opened: []string{"duplicateId 3", "newUnmapped 3"}, upsert: list(c),
		},
		"listed once again": {
			known: Stored{Listing: list(a), Open: open(DuplicateID, "1")}, reading: list(a), closed: []string{"duplicateId 1"},
		},
		"readable again": {
			known: Stored{Listing: list(a), Open: open(Unreadable, ""), Failures: 7}, reading: list(a), closed: []string{"unreadable"},
		},
		"an empty property stays empty": {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			out := Diff(tt.known, Reading{Spaces: tt.reading}, Options{})
			if out.Problem.Kind != "" || out.Failures != 0 {
				t.Errorf("reading counted as failed: %v, %d", out.Problem, out.Failures)
			}
			haveTexts(t, out)
			if d := cmp.Diff(tt.rooms, out.Rooms, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("rooms (-want +got):\n%s", d)
			}
			for what, pair := range map[string][2]any{
				"opened": {tt.opened, keys(out.Opened)}, "closed": {tt.closed, keys(out.Closed)}, "stillOpen": {tt.stillOpen, keys(out.StillOpen)},
				"upsert": {tt.upsert, out.Upsert}, "gone": {tt.gone, out.Gone},
			} {
				if d := cmp.Diff(pair[0], pair[1]); d != "" {
					t.Errorf("%s (-want +got):\n%s", what, d)
				}
			}
		})
	}
}

func TestDiffFailedReading(t *testing.T) {
	a := room("1", "101")
	known := Stored{Listing: list(a), Mappings: []Mapped{mappedTo(a)}, Open: []Finding{{Kind: Renamed, ExternalID: "1"}}}
	refused := errors.New("status 500")
	tests := map[string]struct {
		reading   Reading
		failures  int
		open      bool
		limit     int
		opened    []string
		stillOpen []string
	}{
		"first":               {reading: Reading{Err: refused}, stillOpen: []string{"renamed 1"}},
		"second":              {reading: Reading{Err: refused}, failures: 1, stillOpen: []string{"renamed 1"}},
		"third":               {reading: Reading{Err: refused}, failures: 2, opened: []string{"unreadable"}, stillOpen: []string{"renamed 1"}},
		"fourth":              {reading: Reading{Err: refused}, failures: 3, open: true, stillOpen: []string{"renamed 1", "unreadable"}},
		"a setting":           {reading: Reading{Err: refused}, limit: 1, opened: []string{"unreadable"}, stillOpen: []string{"renamed 1"}},
		"empty":               {reading: Reading{}, failures: 2, opened: []string{"unreadable"}, stillOpen: []string{"renamed 1"}},
		"no id":               {reading: Reading{Spaces: list(room("", "x"))}, stillOpen: []string{"renamed 1"}},
		"long id":             {reading: Reading{Spaces: list(room(strings.Repeat("x", 256), "x"))}, stillOpen: []string{"renamed 1"}},
		"neither room or bed": {reading: Reading{Spaces: list(Listed{ExternalID: "1", Type: "Suite"})}, stillOpen: []string{"renamed 1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := known
			k.Failures = tt.failures
			if tt.open {
				k.Open = append([]Finding{{Kind: Unreadable}}, known.Open...)
			}
			out := Diff(k, tt.reading, Options{UnreadableAfter: tt.limit})
			if out.Problem.Kind == "" || out.Failures != tt.failures+1 {
				t.Errorf("Problem %v, Failures %d, want a problem and %d", out.Problem, out.Failures, tt.failures+1)
			}
			if len(out.Upsert)+len(out.Gone)+len(out.Closed) != 0 {
				t.Errorf("a failed reading changed the listing or closed a conflict: %+v", out)
			}
			haveTexts(t, out)
			if d := cmp.Diff(tt.opened, keys(out.Opened)); d != "" {
				t.Errorf("opened (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.stillOpen, keys(out.StillOpen)); d != "" {
				t.Errorf("stillOpen (-want +got):\n%s", d)
			}
		})
	}
}

func TestReview(t *testing.T) {
	a, b := room("1", "101"), room("2", "102")
	open := []Finding{{Kind: Renamed, ExternalID: "1"}, {Kind: NewUnmapped, ExternalID: "2"}, {Kind: DuplicateID, ExternalID: "9"}, {Kind: Unreadable}}
	out := Review(Stored{Listing: list(a, b), Open: open, Failures: 4, Mappings: []Mapped{mappedTo(a), mappedTo(b)}})
	if d := cmp.Diff([]string{"newUnmapped 2", "renamed 1"}, keys(out.Closed)); d != "" {
		t.Errorf("closed (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"duplicateId 9", "unreadable"}, keys(out.StillOpen)); d != "" {
		t.Errorf("stillOpen (-want +got):\n%s", d)
	}
	if out.Failures != 4 || len(out.Opened) != 0 {
		t.Errorf("Failures %d, opened %v", out.Failures, out.Opened)
	}
	gone := Review(Stored{Listing: list(b), Gone: list(a), Mappings: []Mapped{mappedTo(a)}})
	if d := cmp.Diff([]string{"missing 1"}, keys(gone.Opened)); d != "" {
		t.Errorf("opened (-want +got):\n%s", d)
	}
}

// Reading the same listing again opens and closes nothing, whatever the listing.
func TestDiffIsIdempotent(t *testing.T) {
	listing := rapid.Custom(func(t *rapid.T) []Listed {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Listed {
			return Listed{
				ExternalID: rapid.SampledFrom([]string{"1", "2", "3", "4", "5"}).Draw(t, "id"),
				Type:       rapid.SampledFrom(types).Draw(t, "type"), Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"),
				ParentExternalID: rapid.SampledFrom([]string{"", "1", "2", "9"}).Draw(t, "parent"), IsActive: rapid.Bool().Draw(t, "active"),
			}
		}), 1, 7).Draw(t, "listing")
	})
	rapid.Check(t, func(t *rapid.T) {
		known := Stored{Listing: dedupe(listing.Draw(t, "before"))}
		for i, s := range known.Listing {
			if i%2 == 0 {
				known.Mappings = append(known.Mappings, mappedTo(s))
			}
		}
		reading := Reading{Spaces: listing.Draw(t, "reading")}
		for round := range 3 {
			out := Diff(known, reading, Options{})
			if round > 0 && len(out.Opened)+len(out.Closed)+len(out.Upsert)+len(out.Gone) != 0 {
				t.Fatalf("round %d changed something: %+v", round, out)
			}
			known = after(known, out)
		}
	})
}

// A bed whose room got a new id in the same reading that made it a bed: the mapping learns the new id, and the next reading opens nothing.
func TestDiffLearnsTheRoomOfANewBed(t *testing.T) {
	room, was := Listed{ExternalID: "1", Type: Room, Name: "b"}, Listed{ExternalID: "4", Type: Room, Name: "a", ParentExternalID: "1"}
	known := Stored{Listing: list(room, was), Mappings: []Mapped{mappedTo(room), mappedTo(was)}}
	reading := Reading{Spaces: list(Listed{ExternalID: "2", Type: Room, Name: "b"}, Listed{ExternalID: "4", Type: Bed, Name: "a", ParentExternalID: "2"})}
	first := Diff(known, reading, Options{})
	if d := cmp.Diff(map[string]string{"4": "2"}, first.Rooms); d != "" {
		t.Errorf("learned rooms (-want +got):\n%s", d)
	}
	if again := Diff(after(known, first), reading, Options{}); len(again.Opened)+len(again.Closed) != 0 {
		t.Errorf("the second reading opened %v and closed %v", again.Opened, again.Closed)
	}
}

func dedupe(spaces []Listed) []Listed {
	m := indexByID(spaces)
	var all []Listed
	for _, id := range sortedKeys(m) {
		all = append(all, m[id])
	}
	return all
}

// after applies an outcome as the shell does.
func after(known Stored, out DiffResult) Stored {
	listing, gone := indexByID(known.Listing), indexByID(known.Gone)
	for _, s := range out.Upsert {
		listing[s.ExternalID] = s
		delete(gone, s.ExternalID)
	}
	for _, id := range out.Gone {
		gone[id] = listing[id]
		delete(listing, id)
	}
	known.Listing, known.Gone = known.Listing[:0:0], nil
	for _, id := range sortedKeys(listing) {
		known.Listing = append(known.Listing, listing[id])
	}
	for _, id := range sortedKeys(gone) {
		known.Gone = append(known.Gone, gone[id])
	}
	known.Mappings = slices.Clone(known.Mappings)
	for i, m := range known.Mappings {
		if room, learned := out.Rooms[m.ExternalID]; learned {
			known.Mappings[i].ParentExternalID = room
		}
	}
	known.Open = append(append([]Finding{}, out.Opened...), out.StillOpen...)
	return known
}

func TestClip(t *testing.T) {
	tests := []struct{ in, want string }{
		{"  Room ", "Room"}, {"a\x00b", "ab"}, {"a\xffb", "ab"}, {"ééé", "éé"}, {"abcdef", "abcde"},
	}
	for _, tt := range tests {
		if got := clip(tt.in, 5); got != tt.want {
			t.Errorf("clip(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	var k Stored
	for i := range 1000 {
		s := room(fmt.Sprint(i), fmt.Sprint(i))
		k.Listing, k.Mappings = append(k.Listing, s), append(k.Mappings, mappedTo(s))
	}
	for b.Loop() {
		Diff(k, Reading{Spaces: k.Listing}, Options{})
	}
}

// The type of a space is in the language of the reader, and a name that looks like a type stays a name.
func TestConflictTypes(t *testing.T) {
	de := message.Reader{Language: "de"}
	for _, c := range []struct {
		finding Finding
		want    string
	}{
		{Finding{Missing, "1", message.Params{"type": "Room", "name": "Room"}}, "Zimmer „Room“ ist zugeordnet, aber der Partner führt den Eintrag nicht mehr."},
		{Finding{Retyped, "1", message.Params{"name": "A", "from": "Room", "to": "Dorm"}}, "Die Art von „A“ ist beim Partner jetzt Schlafsaal; vorher war sie Zimmer."},
		{Finding{Renamed, "1", message.Params{"from": "Room", "to": "Dorm"}}, "„Room“ heißt beim Partner jetzt „Dorm“."},
	} {
		if got := de.Text(c.finding.message()); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
