package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// lastEntry returns the last entry of a property's audit log.
func lastEntry(t *testing.T, w *e2etest.World) *propertyv1.AuditEntry {
	t.Helper()
	answer, err := propertyv1.NewAuditServiceClient(w.Public).ListEntries(w.Staff(t.Context()), &propertyv1.ListEntriesRequest{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.GetData().GetList()) == 0 {
		return &propertyv1.AuditEntry{}
	}
	return answer.GetData().GetList()[0]
}

// TestAuditHasOneEntryForEachCall calls each RPC of the staff of a property, as its owner and as a viewer. Calls that change or reveal something
// have exactly one entry, also if they are refused; others have none.
func TestAuditHasOneEntryForEachCall(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	person := signUp(t, w, "ada@example.com").at(w.PropertyID)
	viewer, err := adminv1.NewTokenServiceClient(w.Socket).CreateStaffToken(t.Context(), &adminv1.CreateStaffTokenRequest{PropertyId: w.PropertyID, Role: "viewer"})
	if err != nil {
		t.Fatal(err)
	}
	audited := 0
	for _, r := range e2etest.RPCs() {
		row := matrix[r.Name]
		if row.area != "property" || r.Streams() {
			continue
		}
		for _, c := range []e2etest.Caller{person, e2etest.Bearer("viewer", viewer.GetToken())} {
			for _, p := range e2etest.Protocols {
				before := lastEntry(t, w).GetSeq()
				req, caller := r.Request(), c
				if row.body == untouched {
					caller = caller.WithHeader("idempotency-key", "no key")
				} else if err := protojson.Unmarshal([]byte(row.body), req); err != nil {
					t.Fatal(err)
				}
				got, err := w.Call(t.Context(), p, caller, r, req)
				if err != nil {
					t.Fatal(err)
				}
				want := int64(0)
				switch {
				case r.Name == "latchkey.property.v1.MailService/ReportBounce" && got.OK(): // the mail of a stranger, which changes nothing
				case r.Access.GetMutates() || r.Access.GetReveals():
					want = 1
					audited++
				}
				e := lastEntry(t, w)
				if e.GetSeq() != before+want {
					t.Errorf("%s over %s as %s: %d entries, want %d", r.Name, p, c.Name, e.GetSeq()-before, want)
				}
				if want == 0 {
					continue
				}
				outcome := "refused"
				if got.OK() {
					outcome = "done"
				}
				if e.GetAction() != r.Name || e.GetOutcome() != outcome || !strings.HasPrefix(e.GetActor(), "staff:") || e.GetFrom() != "127.0.0.1" {
					t.Errorf("%s over %s as %s, %v: the entry is %v", r.Name, p, c.Name, got.Code, e)
				}
			}
		}
	}
	if audited < 200 {
		t.Errorf("%d calls were recorded", audited)
	}
	verified, err := propertyv1.NewAuditServiceClient(w.Public).VerifyEntries(w.Staff(t.Context()), &propertyv1.VerifyEntriesRequest{})
	if err != nil || verified.GetData().GetProblem() != "" || verified.GetData().GetVerified() < int32(audited) {
		t.Errorf("verify: %v, %v", verified, err)
	}
}

// TestAuditEntry looks at what an entry says: who, about what, why; and that a repeated answer has one of its own.
func TestAuditEntry(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	ada := signUp(t, w, "ada@example.com")
	session := call(t, w, e2etest.GRPC, ada.at(""), sessionService+"GetSession", &propertyv1.GetSessionRequest{}).Reply.(*propertyv1.GetSessionResponse)
	who := "staff:" + session.GetData().GetPerson().GetId()
	caller := ada.at(w.PropertyID).WithHeader("idempotency-key", "one")
	do := func(name string, req proto.Message, want codes.Code) *propertyv1.AuditEntry {
		t.Helper()
		if got := call(t, w, e2etest.REST, caller, name, req); got.Code != want {
			t.Fatalf("%s: %v, want %v", name, got, want)
		}
		return lastEntry(t, w)
	}
	space := &propertyv1.CreateSpaceRequest{Space: &propertyv1.NewSpace{Type: "Room", Name: "Audited room"}}
	made := do("SpaceService/CreateSpace", space, codes.OK)
	if made.GetActor() != who || made.GetOutcome() != "done" || len(made.GetSubjects()) != 1 || !strings.HasPrefix(made.GetSubjects()[0], "spc_") || strings.Contains(made.String(), "Audited room") {
		t.Errorf("created: %v", made)
	}
	again := do("SpaceService/CreateSpace", space, codes.OK)
	if again.GetSeq() != made.GetSeq()+1 || again.GetOutcome() != "done" {
		t.Errorf("repeated: %v", again)
	}
	inspected := do("GuestRegisterService/InspectRegister", &propertyv1.InspectRegisterRequest{FirstArrivalOn: "2026-01-01", LastArrivalOn: "2026-12-31", Reason: "police inspection"}, codes.OK)
	if inspected.GetReason() != "police inspection" || inspected.GetOutcome() != "done" {
		t.Errorf("inspected: %v", inspected)
	}
	yesterday, later := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)
	for _, c := range []struct {
		filter *propertyv1.ListEntriesRequest
		want   []int64
	}{
		{&propertyv1.ListEntriesRequest{Actor: who, Action: "SpaceService/CreateSpace"}, []int64{again.GetSeq(), made.GetSeq()}},
		{&propertyv1.ListEntriesRequest{Action: "GuestRegisterService", FirstDay: yesterday, LastDay: later}, []int64{inspected.GetSeq()}},
		{&propertyv1.ListEntriesRequest{Action: "SpaceService", Actor: "staff:prs_0"}, nil},
		{&propertyv1.ListEntriesRequest{Action: "SpaceService", FirstDay: later}, nil},
		{&propertyv1.ListEntriesRequest{Action: "SpaceService/CreateSpace", PageSize: 1}, []int64{again.GetSeq()}},
		{&propertyv1.ListEntriesRequest{Action: "SpaceService/CreateSpace", PageSize: 1, PageToken: fmt.Sprint(again.GetSeq())}, []int64{made.GetSeq()}},
	} {
		answer := call(t, w, e2etest.REST, caller, "AuditService/ListEntries", c.filter)
		var got []int64
		for _, e := range answer.Reply.(*propertyv1.ListEntriesResponse).GetData().GetList() {
			got = append(got, e.GetSeq())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v selects %v, want %v", c.filter, got, c.want)
		}
	}
	for _, wrong := range []*propertyv1.ListEntriesRequest{{FirstDay: "today"}, {LastDay: "2026-13-01"}, {FirstDay: later, LastDay: yesterday}, {Action: "Lock%"}} {
		if answer := call(t, w, e2etest.REST, caller, "AuditService/ListEntries", wrong); answer.Code != codes.InvalidArgument {
			t.Errorf("%v: %v", wrong, answer)
		}
	}
	e2etest.PushReservation(t, w, "AUDIT", map[string]any{"state": "confirmed"})
	if last := lastEntry(t, w); last.GetSeq() != inspected.GetSeq() {
		t.Errorf("a reservation of the PMS has an entry: %v", last)
	}
}
