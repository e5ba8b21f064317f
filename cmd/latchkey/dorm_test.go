package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// Beds of two dorms may have equal names: each table and list names the dorm, too.
func TestTablesNameTheDormOfABed(t *testing.T) {
	bed, dorm, at := new("Bed A"), new("Dorm 6"), timestamppb.New(time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC))
	zone := time.UTC
	own := &propertyv1.Space{Id: "spc_1", Type: "Bed", Name: *bed, ParentSpaceId: new("spc_dorm"), ParentName: dorm}
	lock := &propertyv1.Lock{Id: "lck_1", Name: "Lock", DoorId: new("spc_1"), DoorName: bed, DoorParentName: dorm, Status: &propertyv1.LockStatus{}}
	listed := &propertyv1.PartnerSpace{Name: "1", SuggestedSpaceId: new("spc_1"), SuggestedSpaceName: bed, SuggestedParentSpaceName: dorm}
	mapped := &propertyv1.MappedSpace{SpaceId: "spc_1", SpaceName: *bed, ParentSpaceName: *dorm}
	for name, print := range map[string]func(s *session){
		"an arrival": func(s *session) {
			s.printArrivals(zone, "", []*propertyv1.Arrival{{From: at, SpaceName: bed, ParentSpaceName: dorm}})
		},
		"a fix of an arrival": func(s *session) {
			s.printArrivals(zone, "", []*propertyv1.Arrival{{From: at, Fixes: []*propertyv1.ArrivalFix{{Text: "Map it.", DoorName: bed, DoorParentName: dorm}}}})
		},
		"a stay of the day": func(s *session) {
			s.printDay(zone, &propertyv1.DayList{List: []*propertyv1.DayStay{{From: at, To: at, SpaceName: bed, ParentSpaceName: dorm}}})
		},
		"a reservation": func(s *session) {
			s.printReservationTable(zone, "", []*propertyv1.Reservation{{From: at, To: at, SpaceName: bed, ParentSpaceName: dorm}})
		},
		"a door of a reservation": func(s *session) {
			s.printExplainedDoors(&partnerv1.Explanation{Doors: []*partnerv1.ExplainedDoor{{Name: *bed, ParentName: *dorm}}})
		},
		"a test stay": func(s *session) { s.printTestStay(&propertyv1.TestStay{SpaceName: *bed, ParentSpaceName: *dorm}) },
		"a door of a test stay": func(s *session) {
			s.printTestStay(&propertyv1.TestStay{Doors: []*propertyv1.TestDoor{{Name: *bed, ParentName: *dorm}}})
		},
		"a lock":           func(s *session) { s.printLockTable(noLock, nil, []*propertyv1.Lock{lock}) },
		"a lock to choose": func(s *session) { s.say("%s", lockCandidates([]*propertyv1.Lock{lock})[0].about) },
		"a suggestion":     func(s *session) { s.say("%s", suggestionOf(listed)) },
		"a changed mapping": func(s *session) {
			s.say("%s", changedText(&propertyv1.MappingChange{Rows: []*propertyv1.ChangedMapping{{After: mapped}}}))
		},
		"a conversation": func(s *session) {
			s.say("%s", strings.Join(conversationRow(&propertyv1.Conversation{SpaceName: *bed, ParentSpaceName: *dorm}), " "))
		},
		"an opened door": func(s *session) { s.say("%s", codeSentence(own, &propertyv1.CodeUse{Opened: true})) },
	} {
		var out bytes.Buffer
		print(&session{remote: &remote{}, streams: &streams{out: &out}})
		if !strings.Contains(out.String(), "Dorm 6 · Bed A") {
			t.Errorf("%s does not name the dorm: %s", name, out.String())
		}
	}
	var out bytes.Buffer
	(&session{remote: &remote{}, streams: &streams{out: &out}}).printSpaces([]*propertyv1.Space{own})
	if !strings.Contains(out.String(), "Dorm 6") {
		t.Errorf("a list of beds alone does not name their dorms: %s", out.String())
	}
}
