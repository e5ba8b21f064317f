package main

import (
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

func TestMatch(t *testing.T) {
	list := []candidate{
		{id: "lck_1", names: []string{"Front", "0x1"}}, {id: "lck_2", names: []string{"front", "0x2"}}, {id: "lck_3", names: []string{"Twin", "0x3"}},
		{id: "lck_4", names: []string{"Twin", "0x4"}}, {id: "lck_5", names: []string{"lck_3", "0x5"}}, {id: "lck_6", names: []string{"", "Twin"}}, {id: "lck_7", names: []string{"Same", "Same"}},
	}
	for word, want := range map[string]string{
		"Front": "lck_1", "front": "lck_2", "FRONT": "lck_1 lck_2", "0x2": "lck_2", "0X2": "lck_2", "Twin": "lck_3 lck_4 lck_6", "t win": "lck_3 lck_4 lck_6",
		"lck_3": "lck_3", "Same": "lck_7", "": "", "none": "",
	} {
		var got []string
		for _, c := range aLock.match(word, list) {
			got = append(got, c.id)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q names %v, want %q", word, got, want)
		}
	}
}

// The PMS chooses the ids of a partner's spaces. Such an id may be the name of another space.
func TestMatchOfPartnerSpaces(t *testing.T) {
	list := []candidate{
		{id: "101", names: []string{"204"}}, {id: "7", names: []string{"101"}}, {id: "R1", names: []string{"R1"}}, {id: "R2", names: []string{"r1"}},
		{id: "id:8", names: []string{"Eight"}},
	}
	for word, want := range map[string]string{
		"101": "101 7", "id:101": "101", "id:7": "7", "7": "7", "204": "101", "R1": "R1", "r1": "R2", "id:r1": "", "id:204": "", "id:id:8": "id:8", "": "", "id:": "",
	} {
		var got []string
		for _, c := range aPartnerSpace("int_1").match(word, list) {
			got = append(got, c.id)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q names %v, want %q", word, got, want)
		}
	}
}

func TestMappingFileWithAWordThatIsIDAndName(t *testing.T) {
	partners := []candidate{{id: "101", names: []string{"204"}, about: "Room"}, {id: "7", names: []string{"101"}, about: "Room"}}
	spaces := []candidate{{id: "spc_1", names: []string{"101"}}, {id: "spc_2", names: []string{"204"}}}
	resolve := func(text string) ([]*propertyv1.Mapping, error) {
		records, wrong, err := mappingSheet.read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		mappings, _ := mappingsOf(records, aPartnerSpace("int_1"), partners, spaces, wrong)
		return mappings, wrong.err(mappingSheet.nothing)
	}
	_, err := resolve("partner,space\n101,101\n")
	for _, want := range []string{"nothing was mapped", `line 2: "101" matches more than one space of the partner; use an id`, "id:101  204  Room", "id:7  101  Room"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	mappings, err := resolve("partner,space\nid:7,101\nid:101,204\n")
	if err != nil || len(mappings) != 2 || mappings[0].GetExternalId() != "7" || mappings[0].GetSpaceId() != "spc_1" ||
		mappings[1].GetExternalId() != "101" || mappings[1].GetSpaceId() != "spc_2" {
		t.Errorf("%v, %v", mappings, err)
	}
}

// Every argument that takes an id also takes a name.
func TestNamesForIDs(t *testing.T) {
	s, w := newWorld(t)
	s.ok("lock unassign 'Bed A'", "Bed A")
	s.ok("lock assign 'bed a' 'Dorm 4/Bed A'", "Bed A  Dorm 4 · Bed A", "Next:", "latchkey integration connect")
	s.ok("lock rename 'Room 101' Alpha")
	s.ok("lock show ALPHA", "Alpha", "Room 101")
	s.ok("lock show 'Room 101'", "Alpha") // by its address
	s.fails(1, "lock show Beta", "there is no lock Beta", "latchkey lock list")
	s.ok("lock rename 'Room 102' Alpha")
	s.fails(1, "lock unlock Alpha", "matches more than one lock", "lck_", "address Room 101", "address Room 102")
	s.fails(1, "lock assign Alpha 'Room 103'", "matches more than one lock")
	s.fails(1, "lock assign 'Room 103' Nowhere", "there is no space or gate Nowhere")
	s.ok("lock list --bridge 'bridge in the OFFICE'", "Alpha")
	s.ok("bridge join-code 'Bridge in the office'", "valid for one enrolment")
	s.ok("space set 'Room 103' --floor 9", "9")
	s.ok("space set 'Dorm 4/Bed B' --dorm 'dorm 4' --floor 8", "8")
	s.ok("gate set 'Front door' --space 'Room 101' --space 'Room 102'", w.Spaces["Room 101"], w.Spaces["Room 102"])
	s.ok("gate create Back --space 'Room 103'", w.Spaces["Room 103"])
	s.ok("gate delete back", "Deleted gat_")
	s.fails(1, "gate create Side --space 'Room 999'", "no space Room 999")
	s.ok("integration show 'sandbox pms'", "Sandbox PMS")
	s.ok("endpoint list 'Sandbox PMS'", "getSpaces")
	s.ok("mapping unset 'Sandbox PMS' 'Room 103'", "R103 is not mapped")
	s.ok("mapping set 'Sandbox PMS' R103 'Room 103'", "Mapped R103")
	s.ok("app create 'Other PMS'")
	s.ok("integration connect 'Other PMS' --name Second", "Connected int_")
	s.ok("app token create --app 'Other PMS' --name spare", "lkc_")
	s.ok("app token revoke --app 'Other PMS' spare", "Revoked tok_")
	s.ok("app token rotate --app 'Other PMS' --overlap 1d", "lkc_")
	s.ok("code create Ana --door 'Front door' --door 'Room 101'", "2 doors")
	s.ok("code show Ana", "1", "Ana")
	s.ok("code revoke Ana")
	s.fails(1, "code show Ana", "there is no code Ana")
	s.ok("token create --name Desk --ttl 30d")
	s.ok("token list", "Desk")
	s.ok("token revoke Desk", "Revoked tok_")
	s.ok("admin token create Bo --ttl 1d12h")
	s.ok("admin token revoke Bo", "Revoked tok_")
	s.ok("property create Annex --time-zone Europe/Rome")
	s.ok("property show -p annex", "Europe/Rome")
	s.fails(1, "property show -p Nowhere", "there is no property Nowhere")
	s.ok("space list --token "+w.StaffToken+" -p 'hostel miramar'", "Room 101")
	s.fails(1, "space list --token "+w.StaffToken+" -p Annex", "Annex")
}

func TestAssignFromAFile(t *testing.T) {
	s, _ := newWorld(t)
	for _, door := range []string{"Bed A", "Bed B", "Front door"} {
		s.ok("lock unassign '" + door + "'")
	}
	assign := func(want int, text string, says ...string) {
		t.Helper()
		code, out, errs := s.feed(text, "lock", "assign", "--file", "-", "--data-dir", s.dir)
		if code != want {
			t.Errorf("%q: exit code %d, want %d: %s%s", text, code, want, out, errs)
		}
		for _, w := range says {
			if !strings.Contains(out+errs, w) {
				t.Errorf("%q: %q is not in:\n%s%s", text, w, out, errs)
			}
		}
	}
	assign(1, "lock,door\nBed A,Bed A\nNone,Room 101\nBed B,\nBed A,Front door\nFront door,Room 102\nRoom 103,Nowhere\n",
		"nothing was assigned", "line 3: there is no lock None", "line 4: space or gate is missing", "line 5: lock Bed A is in line 2, too", "line 6: Room 102 already has lock Room 102", "line 7: there is no space or gate Nowhere")
	s.ok("lock list --unassigned", "Bed A")
	assign(0, "lock;door\nBed A;Dorm 4/Bed A\nbed b;Bed B\nFront door;Front door\nRoom 101;Room 101\n", "Bed A", "Front door")
	s.ok("lock list --unassigned", "Every lock has a door")
	assign(0, "lock,door\nBed A,Bed A\n", "All locks are already assigned", "latchkey lock list --data-dir "+s.dir+" --unassigned")
	s.fails(1, "lock assign 'Room 101'", "--file")
	s.fails(1, "lock assign 'Room 101' 'Room 101' --file x", "not both")
	s.fails(1, "lock assign --file /nowhere/locks.csv", "/nowhere/locks.csv")
}

func TestMappingFromAFile(t *testing.T) {
	s, _ := newWorld(t)
	feed := func(want int, text string, says ...string) {
		t.Helper()
		code, out, errs := s.feed(text, "mapping", "import", "Sandbox PMS", "--data-dir", s.dir)
		if code != want {
			t.Errorf("%q: exit code %d, want %d: %s%s", text, code, want, out, errs)
		}
		for _, w := range says {
			if !strings.Contains(out+errs, w) {
				t.Errorf("%q: %q is not in:\n%s%s", text, w, out, errs)
			}
		}
	}
	s.ok("mapping unset 'Sandbox PMS' R101")
	s.ok("mapping unset 'Sandbox PMS' R102")
	feed(1, "partner,space\nR101,Room 101\nR999,Room 102\nR102,Room 999\nR101,Room 103\n",
		"nothing was mapped", "line 3: there is no space of the partner R999", "line 4: there is no space Room 999", "line 5: partner R101 is in line 2, too")
	feed(1, "partner,space\nR101,Room 103\n", "is mapped to the partner's space")
	feed(0, "partner,space\nRoom 101,room 102\nR102,Room 101\n", "Mapped 2 spaces.")
	s.ok("mapping list 'Sandbox PMS' --unmapped", "No spaces to show")
}

func TestImportOfBedsAndPrivacy(t *testing.T) {
	s := newShell(t)
	s.ok("property create A --time-zone Europe/Lisbon")
	code, out, errs := s.feed("type,name,floor,private,beds\nDorm,Dorm A,2,,12\nRoom,1,,no,\nDorm,Dorm B,,YES,0\n", "space", "import", "--data-dir", s.dir)
	if code != 0 || strings.Count(out, "  Bed ") != 12 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	s.ok("space list", "Room  1       -      -       no", "Dorm  Dorm B  -      -       yes")
	s.fails(1, "space set 1x --floor 1", "there is no space 1x")
	s.ok("space set 'Dorm A/12' --floor 7", "12    7")
	code, _, errs = s.feed("type,name,private,beds\nRoom,1,maybe,\nRoom,2,,3\nDorm,C,,many\n", "space", "import", "--data-dir", s.dir)
	for _, w := range []string{"line 2: private must be yes, no or empty", "line 3: beds must be 0 to 499, and only a Dorm", "line 4: beds must be"} {
		if code != 1 || !strings.Contains(errs, w) {
			t.Errorf("exit code %d, %q is not in %s", code, w, errs)
		}
	}
	if code, _, errs = s.feed("type,name,beds\nDorm,C,300\nDorm,D,300\n", "space", "import", "--data-dir", s.dir); code != 1 || !strings.Contains(errs, "more than 500 spaces") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
