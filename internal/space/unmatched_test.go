package space_test

import (
	"fmt"
	"strings"
	"testing"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/space"
)

func TestFindUnmatched(t *testing.T) {
	of := func(id, kind, name, parent string) space.Listed {
		return space.Listed{ExternalID: id, Type: kind, Name: name, ParentExternalID: parent, IsActive: true}
	}
	closed := of("3", space.Room, "103", "")
	closed.IsActive = false
	closedBed := of("E-3", space.Bed, "Bed 3", "E")
	closedBed.IsActive = false
	listing := []space.Listed{
		of("D-1", space.Bed, "Bed 1", "D"), of("D", space.Dorm, "Dorm", ""), of("1", space.Room, "101", ""), of("2", space.Room, "102", ""), closed,
		of("4", space.Room, "104", ""), of("5", space.Room, "Taken", ""), of("Z-1", space.Bed, "Lost", "Z"), of("L", space.Bed, "Loose", ""), of("E", space.Dorm, "Attic", ""),
		of("E-1", space.Bed, "Bed 1", "E"), of("E-2", space.Bed, "Bed 1", "E"), closedBed, of("F", space.Dorm, "Cellar", ""), of("F-1", space.Bed, "Bed 1", "F"),
		of("F-2", space.Bed, "Bed 2", "F"), of("G", space.Dorm, "Loft", ""), of("G-1", space.Bed, "Bed 1", "G"), of("C", space.Dorm, "Taken", ""), of("C-1", space.Bed, "Bed 1", "C"),
		of("2-1", space.Bed, "Sofa", "2"), of("1-1", space.Bed, "Sofa", "1"), of("N", space.Room, "", ""), of("T", space.Room, "a\tb", ""), // no dorms, and no names
	}
	ours := []space.Own{
		{ID: "s1", Type: space.Room, Name: "Room 101"}, {ID: "s2", Type: space.Room, Name: "Taken"}, {ID: "cellar", Type: space.Dorm, Name: "Cellar"},
		{ID: "s3", Type: space.Bed, Name: "Bed 1", ParentID: "cellar"}, {ID: "loft", Type: space.Dorm, Name: "The loft"},
	}
	mapped := []space.Mapped{{ExternalID: "4", SpaceID: "s4"}, {ExternalID: "F", SpaceID: "cellar"}, {ExternalID: "old 6", SpaceID: "s6"}, {ExternalID: "old F-3", SpaceID: "s7"}}
	// The PMS gave new ids to the room 106 and to a bed of the dorm F. A room that is not mapped replaces nothing.
	gone := []space.Listed{of("old 6", space.Room, "ROOM 106", ""), of("old F-3", space.Bed, "Bed 3", "F"), of("old 2", space.Room, "102", "")}
	listing = append(listing, of("6", space.Room, "Room 106", ""), of("F-3", space.Bed, "Bed 3", "F"))
	ours = append(ours, space.Own{ID: "s6", Type: space.Room, Name: "Six"}, space.Own{ID: "s7", Type: space.Bed, Name: "Three", ParentID: "cellar"})
	suggested := []space.Suggestion{{ExternalID: "1", SpaceID: "s1"}, {ExternalID: "G", SpaceID: "loft"}}
	var got []string
	for _, u := range space.FindUnmatched(listing, gone, ours, mapped, suggested) {
		got = append(got, strings.TrimRight(u.ExternalID+" "+u.DormID, " "))
	}
	if want := "2, E, D, D-1, E-1, G-1 loft, F-2 cellar"; strings.Join(got, ", ") != want {
		t.Errorf("unmatched: %s, want %s", strings.Join(got, ", "), want)
	}
	if found := space.FindUnmatched(nil, nil, ours, mapped, nil); len(found) != 0 {
		t.Errorf("of an empty list: %v", found)
	}
}

// The unmatched spaces are created and mapped in one change, at most 500 of them; a second call creates the rest.
func TestCreateUnmatched(t *testing.T) {
	each(t, func(h house) {
		dorm := listed("d", space.Dorm, "Dorm", "")
		all := []space.Listed{dorm, listed("d-1", space.Bed, "Bed 1", "d"), listed("r0-1", space.Bed, "Sofa", "r0")}
		for i := range 500 {
			all = append(all, listed(fmt.Sprint("r", i), space.Room, fmt.Sprintf("%03d", i), ""))
		}
		h.read(all...)
		create := func() (names []string, left int) {
			h.write(func(tx *db.Tx) error {
				rows, more, touched, err := h.m.CreateUnmatched(tx, prp, itg)
				for _, row := range rows {
					names = append(names, row.Space.Name)
				}
				if len(touched.SpaceIDs) < len(rows) {
					t.Errorf("%d spaces are touched by %d new ones", len(touched.SpaceIDs), len(rows))
				}
				left = more
				return err
			})
			return names, left
		}
		if names, left := create(); len(names) != 500 || left != 2 || names[0] != "000" {
			t.Errorf("%d spaces, %d left", len(names), left)
		}
		if names, left := create(); strings.Join(names, ", ") != "Dorm, Bed 1" || left != 0 {
			t.Errorf("then %v, %d left", names, left)
		}
		if names, left := create(); len(names) != 0 || left != 0 {
			t.Errorf("at last %v, %d left", names, left)
		}
		same(t, "conflicts", []string(nil), h.open())
		place, reason := h.resolve(space.Request{ExternalID: "d-1"})
		if reason != "" || place.Space == nil || place.Space.Name != "Bed 1" {
			t.Errorf("the bed is at %v, %s", place.Space, reason)
		}
	})
}
