package space_test

import (
	"testing"

	"latchkey.dev/ent"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/space"
)

func TestMappingAndResolve(t *testing.T) {
	each(t, func(h house) {
		room := h.create(space.Draft{Type: space.Room, Name: "101"})
		dorm := h.create(space.Draft{Type: space.Dorm, Name: "Dorm"})
		bed := h.create(space.Draft{Type: space.Bed, Name: "1", ParentID: dorm.ID})
		r := h.read(listed("r", space.Room, "Room 101", ""), listed("d", space.Dorm, "Dorm", ""), listed("b", space.Bed, "Bed 1", "d"), listed("rb", space.Bed, "Bed", "r"))
		if len(r.AffectedStays.Externals) != 4 || len(r.Opened) != 0 {
			t.Errorf("first reading: %+v", r)
		}
		suggestions, err := space.Suggestions(h.d.View(h.ctx()), prp, itg)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "suggestions", []space.Suggestion{{ExternalID: "b", SpaceID: bed.ID, Confidence: space.Likely}, {ExternalID: "d", SpaceID: dorm.ID, Confidence: space.Exact}, {ExternalID: "r", SpaceID: room.ID, Confidence: space.Likely}}, suggestions)

		for ext, want := range map[string]string{"": space.RoomNotAssigned, "r": space.SpaceNotMapped, "zz": space.SpaceUnknown} {
			if p, reason := h.resolve(space.Request{ExternalID: ext}); reason != want || p.Space != nil {
				t.Errorf("resolve %q: %v, %s, want %s", ext, p.Space, reason, want)
			}
		}
		same(t, "touched", space.AffectedStays{SpaceIDs: []string{room.ID}, Externals: []space.External{{IntegrationID: itg, ID: "r"}, {IntegrationID: itg, ID: "rb"}}}, h.bind("r", room.ID))
		h.bind("d", dorm.ID)
		h.bind("b", bed.ID)

		h.refuse(fault.AlreadyExists, func(tx *db.Tx) error { _, _, err := h.m.Map(tx, prp, itg, "rb", room.ID); return err })
		h.refuse(space.SpaceUnknown, func(tx *db.Tx) error { _, _, err := h.m.Map(tx, prp, itg, "zz", room.ID); return err })
		h.refuse(fault.IntegrationNotFound, func(tx *db.Tx) error { _, _, err := h.m.Map(tx, other, itg, "r", room.ID); return err })
		h.refuse(fault.SpaceNotFound, func(tx *db.Tx) error { _, _, err := h.m.Map(tx, other, "int_two", "r", room.ID); return err })
		h.refuse(fault.IntegrationNotFound, func(tx *db.Tx) error { _, _, err := h.m.Unmap(tx, other, itg, "r"); return err })
		h.refuse(fault.InUse, func(tx *db.Tx) error { _, err := space.Delete(tx, prp, room.ID); return err })

		tests := map[string]struct {
			request      space.Request
			room, parent string
			reason       string
		}{
			"a room":                        {request: space.Request{ExternalID: "r"}, room: room.ID},
			"a room as parent alone":        {request: space.Request{ExternalParentID: "r"}, room: room.ID},
			"a bed with its dorm":           {request: space.Request{ExternalID: "b", ExternalParentID: "d"}, room: bed.ID, parent: dorm.ID},
			"a bed alone":                   {request: space.Request{ExternalID: "b"}, room: bed.ID, parent: dorm.ID},
			"an unmapped bed in a room":     {request: space.Request{ExternalID: "rb", ExternalParentID: "r"}, room: room.ID},
			"an unknown bed in a room":      {request: space.Request{ExternalID: "zz", ExternalParentID: "r"}, room: room.ID},
			"an unknown bed in a dorm":      {request: space.Request{ExternalID: "zz", ExternalParentID: "d"}, reason: space.SpaceUnknown},
			"own space":                     {request: space.Request{OwnID: bed.ID}, room: bed.ID, parent: dorm.ID},
			"own space before the partners": {request: space.Request{OwnID: room.ID, ExternalID: "b"}, room: room.ID},
			"one of another tenant":         {request: space.Request{PropertyID: other, OwnID: bed.ID}, reason: space.SpaceUnknown},
			"a mapping of another tenant":   {request: space.Request{PropertyID: other, IntegrationID: itg, ExternalID: "r"}, reason: space.SpaceUnknown},
			"of another integration":        {request: space.Request{PropertyID: prp, IntegrationID: "int_two", ExternalID: "r"}, reason: space.SpaceUnknown},
		}
		for name, tt := range tests {
			p, reason := h.resolve(tt.request)
			if reason != tt.reason || id(p.Space) != tt.room || id(p.Parent) != tt.parent {
				t.Errorf("%s: %q in %q, reason %q, want %q in %q, %q", name, id(p.Space), id(p.Parent), reason, tt.room, tt.parent, tt.reason)
			}
		}
		off := false
		h.write(func(tx *db.Tx) error {
			_, touched, err := space.Update(tx, prp, dorm.ID, space.Change{IsActive: &off})
			same(t, "touched", []space.External{{IntegrationID: itg, ID: "b"}, {IntegrationID: itg, ID: "d"}}, touched.Externals)
			return err
		})
		if p, reason := h.resolve(space.Request{ExternalID: "b"}); reason != space.SpaceInactive || id(p.Space) != bed.ID {
			t.Errorf("a bed in a dorm that is off: %v, %q", p.Space, reason)
		}
		h.write(func(tx *db.Tx) error {
			_, touched, err := h.m.Unmap(tx, prp, itg, "d")
			same(t, "touched", []space.External{{IntegrationID: itg, ID: "b"}, {IntegrationID: itg, ID: "d"}}, touched.Externals)
			return err
		})
		entries, total, err := space.Entries(h.d.View(h.ctx()), prp, itg, space.EntryFilter{UnmappedOnly: true})
		if err != nil || total != 2 || entries[0].ExternalID != "rb" || entries[1].ExternalID != "d" {
			t.Errorf("unmapped: %v, %d, %v", entries, total, err)
		}
		ids, err := space.ExternalIDs(h.d.View(h.ctx()), prp, itg, []string{room.ID, dorm.ID})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "external ids", map[string]string{room.ID: "r"}, ids)
	})
}

func id(s *ent.Space) string {
	if s == nil {
		return ""
	}
	return s.ID
}

// A bed and a room that is not the bed's, and a dorm without a bed, are resolved with a doubt.
func TestDoubtfulPlaces(t *testing.T) {
	each(t, func(h house) {
		room := h.create(space.Draft{Type: space.Room, Name: "101"})
		dorm := h.create(space.Draft{Type: space.Dorm, Name: "Dorm"})
		bed := h.create(space.Draft{Type: space.Bed, Name: "1", ParentID: dorm.ID})
		h.read(listed("r", space.Room, "Room 101", ""), listed("d", space.Dorm, "Dorm", ""), listed("b", space.Bed, "Bed 1", "d"),
			listed("rb", space.Bed, "Bed", "r"), listed("ub", space.Bed, "Upper", "d"))
		h.bind("r", room.ID)
		h.bind("d", dorm.ID)
		h.bind("b", bed.ID)
		for name, tt := range map[string]struct {
			request space.Request
			room    string
			doubt   string
		}{
			"a bed and its dorm":                {request: space.Request{ExternalID: "b", ExternalParentID: "d"}, room: bed.ID},
			"a bed and another room":            {request: space.Request{ExternalID: "b", ExternalParentID: "r"}, room: bed.ID, doubt: space.SpacesDisagree},
			"a bed and an unknown room":         {request: space.Request{ExternalID: "b", ExternalParentID: "zz"}, room: bed.ID, doubt: space.SpacesDisagree},
			"a room as a bed of a dorm":         {request: space.Request{ExternalID: "r", ExternalParentID: "d"}, room: room.ID, doubt: space.SpacesDisagree},
			"a room as itself":                  {request: space.Request{ExternalID: "r", ExternalParentID: "r"}, room: room.ID},
			"an unmapped bed of another room":   {request: space.Request{ExternalID: "ub", ExternalParentID: "r"}, doubt: space.SpacesDisagree},
			"an unmapped bed of the room":       {request: space.Request{ExternalID: "rb", ExternalParentID: "r"}, room: room.ID},
			"a dorm without a bed":              {request: space.Request{ExternalID: "d"}, room: dorm.ID, doubt: space.BedNotAssigned},
			"a dorm of the property, without":   {request: space.Request{OwnID: dorm.ID}, room: dorm.ID, doubt: space.BedNotAssigned},
			"a dorm that is named as the room":  {request: space.Request{ExternalParentID: "d"}, room: dorm.ID, doubt: space.BedNotAssigned},
			"a private room without a bed's id": {request: space.Request{ExternalParentID: "r"}, room: room.ID},
		} {
			p, _ := h.resolve(tt.request)
			if id(p.Space) != tt.room || p.Doubt != tt.doubt {
				t.Errorf("%s: %q, doubt %q, want %q, %q", name, id(p.Space), p.Doubt, tt.room, tt.doubt)
			}
		}
	})
}
