package space

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSuggest(t *testing.T) {
	own := func(id, kind, name, parent string) Own { return Own{ID: id, Type: kind, Name: name, ParentID: parent} }
	dorm := func(id, name string) Listed { return Listed{ExternalID: id, Type: Dorm, Name: name, IsActive: true} }
	tests := map[string]struct {
		listing  []Listed
		ours     []Own
		mappings []Mapped
		want     []Suggestion
	}{
		"same name": {
			listing: list(room("1", "101")), ours: []Own{own("a", Room, "101", "")},
			want: []Suggestion{{"1", "a", Exact}},
		},
		"case, punctuation and leading zeros": {
			listing: list(room("1", "ROOM-007")), ours: []Own{own("a", Room, " room 7", "")},
			want: []Suggestion{{"1", "a", Exact}},
		},
		"a word for what it is": {
			listing: list(room("1", "Room 101"), room("2", "102")), ours: []Own{own("a", Room, "101", ""), own("b", Room, "Zimmer 102", "")},
			want: []Suggestion{{"1", "a", Likely}, {"2", "b", Likely}},
		},
		"exact goes before likely": {
			listing: list(room("1", "Room 101"), room("2", "101")), ours: []Own{own("a", Room, "101", ""), own("b", Room, "No. 101", "")},
			want: []Suggestion{{"1", "b", Likely}, {"2", "a", Exact}},
		},
		"two could be meant": {
			listing: list(room("1", "Double"), room("2", "Double")), ours: []Own{own("a", Room, "Double", "")},
		},
		"two spaces of the property could be meant": {
			listing: list(room("1", "Double")), ours: []Own{own("a", Room, "Double", ""), own("b", Room, "double", "")},
		},
		"mapped ones are left alone": {
			listing: list(room("1", "101"), room("2", "102")), ours: []Own{own("a", Room, "101", ""), own("b", Room, "102", "")},
			mappings: []Mapped{{ExternalID: "1", SpaceID: "b"}},
		},
		"what is switched off is not offered": {
			listing: list(off(room("1", "101"))), ours: []Own{own("a", Room, "101", "")},
		},
		"beds within their dorm": {
			listing: list(dorm("d", "Dorm A"), dorm("e", "Dorm B"), bed("d1", "Bed 1", "d"), bed("e1", "Bed 1", "e")),
			ours: []Own{
				own("A", Dorm, "Dorm A", ""), own("B", Dorm, "dorm b", ""),
				own("A1", Bed, "bed 01", "A"), own("B1", Bed, "1", "B"),
			},
			want: []Suggestion{{"d", "A", Exact}, {"d1", "A1", Exact}, {"e", "B", Exact}, {"e1", "B1", Likely}},
		},
		"beds that begin with the letter of their dorm": {
			listing: list(dorm("d", "Dorm B"), bed("d1", "B1", "d"), bed("d2", "B2", "d")),
			ours: []Own{
				own("B", Dorm, "Dorm B", ""), own("B1", Bed, "Bed 1", "B"), own("B2", Bed, "Dorm B - 2", "B"),
			},
			want: []Suggestion{{"d", "B", Exact}, {"d1", "B1", Likely}, {"d2", "B2", Likely}},
		},
		"a bed is never more certain than its dorm": {
			listing: list(dorm("d", "Dorm Blue"), bed("d1", "1", "d")),
			ours:    []Own{own("A", Dorm, "Blue", ""), own("A1", Bed, "1", "A")},
			want:    []Suggestion{{"d", "A", Likely}, {"d1", "A1", Likely}},
		},
		"beds of a dorm mapped by hand": {
			listing: list(dorm("d", "Sea"), bed("d1", "Bed 1", "d")), ours: []Own{own("A", Dorm, "Mountain", ""), own("A1", Bed, "Bed 1", "A")},
			mappings: []Mapped{{ExternalID: "d", SpaceID: "A"}},
			want:     []Suggestion{{"d1", "A1", Exact}},
		},
		"beds named with their dorm": {
			listing: list(dorm("d", "Dorm A"), bed("d1", "Dorm A - Bed 1", "d")), ours: []Own{own("A", Dorm, "Dorm A", ""), own("A1", Bed, "Bed 1", "A")},
			want: []Suggestion{{"d", "A", Exact}, {"d1", "A1", Likely}},
		},
		"a partner that names no rooms of beds": {
			listing: list(dorm("d", "Dorm A"), bed("d1", "Dorm A Bed 1", ""), bed("d2", "Bed 2", "")),
			ours:    []Own{own("A", Dorm, "Dorm A", ""), own("A1", Bed, "Bed 1", "A"), own("A2", Bed, "Dorm A Bed 2", "A")},
			want:    []Suggestion{{"d", "A", Exact}, {"d1", "A1", Likely}},
		},
		"a bed is never offered for a room": {
			listing: list(bed("1", "101", "")), ours: []Own{own("a", Room, "101", "")},
		},
		"the bed of an unpaired dorm waits": {
			listing: list(dorm("d", "Sea"), bed("d1", "1", "d")), ours: []Own{own("A", Dorm, "Land", ""), own("A1", Bed, "1", "A")},
		},
		"names without letters or digits": {
			listing: list(room("1", "***")), ours: []Own{own("a", Room, "---", "")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Suggest(tt.listing, tt.ours, tt.mappings)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	for in, want := range map[string]string{
		"Room-007B": "room 7 b", "": "", "000": "0", "Ä 12/3": "ä 12 3", "A1": "a 1", " a  1 ": "a 1",
	} {
		if got := strings.Join(splitWords(in), " "); got != want {
			t.Errorf("tokens(%q) = %q, want %q", in, got, want)
		}
	}
}
