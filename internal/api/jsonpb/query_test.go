package jsonpb

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/fault"
)

func TestQuery(t *testing.T) {
	for _, c := range []struct {
		query string
		want  proto.Message
	}{
		{"filter[type]=Bed&filter[floor]=2&filter[parentSpaceId]=s&page[limit]=10&page[offset]=2",
			&partnerv1.ListSpacesRequest{Filter: &partnerv1.SpaceFilter{Type: "Bed", Floor: "2", ParentSpaceId: "s"}, Page: &partnerv1.Page{Limit: 10, Offset: 2}}},
		{"filter%5Btype%5D=Room&page.limit=5", &partnerv1.ListSpacesRequest{Filter: &partnerv1.SpaceFilter{Type: "Room"}, Page: &partnerv1.Page{Limit: 5}}},
		{"filter[parent_space_id]=x", &partnerv1.ListSpacesRequest{Filter: &partnerv1.SpaceFilter{ParentSpaceId: "x"}}},
		{"page[limit]=", &partnerv1.ListSpacesRequest{Page: &partnerv1.Page{}}},
		{"", &partnerv1.ListSpacesRequest{}},
		{"pmsId=r-1&extend=pin,gatePins&extend=space", &partnerv1.FindReservationRequest{PmsId: "r-1", Extend: []string{"pin", "gatePins", "space"}}},
		{"pmsId=r%2B1&extend[]=pin,&extend=", &partnerv1.FindReservationRequest{PmsId: "r+1", Extend: []string{"pin"}}},
		{"updatedSince=2026-11-20T15:00:00%2B01:00&pageSize=7", &partnerv1.ListReservationsRequest{PageSize: 7, UpdatedSince: &timestamppb.Timestamp{Seconds: 1795183200}}},
		{"updatedSince=2026-11-20T15:00:00+01:00", &partnerv1.ListReservationsRequest{UpdatedSince: &timestamppb.Timestamp{Seconds: 1795183200}}},
	} {
		got := c.want.ProtoReflect().New()
		r := &Report{}
		Query(c.query, got, nil, r)
		if r.Fault != nil || len(r.QueryErrors()) > 0 {
			t.Errorf("%s: %v %v", c.query, r.Fault, r.QueryErrors())
		}
		if diff := cmp.Diff(c.want, got.Interface(), protocmp.Transform(), protocmp.IgnoreEmptyMessages()); diff != "" {
			t.Errorf("%s: %s", c.query, diff)
		}
	}
}

func TestQueryNamesEveryWrongValue(t *testing.T) {
	for _, c := range []struct {
		msg   proto.Message
		query string
		want  []string
	}{
		{&partnerv1.ListSpacesRequest{}, "page[limit]=ten&page[offset]=1.5&filter[type]=a%00", []string{"filter[type] notPrintable", "page[limit] wrongType", "page[offset] wrongType"}},
		{&partnerv1.ListSpacesRequest{}, "page[limit]=1&page[limit]=2", []string{"page[limit] duplicate"}},
		{&partnerv1.ListSpacesRequest{}, "page[limit]=99999999999", []string{"page[limit] outOfRange"}},
		{&partnerv1.ListSpacesRequest{}, "filter[type]=Bed&filter.type=Room", []string{"filter[type] duplicate"}},
		{&partnerv1.ListSpacesRequest{}, "filter[name]=x&filter[x[=1&filter]=2&a[b][c]=3&filter=4&page[limit][x]=1", []string{
			"a[b][c] unsupported", "filter unsupported", "filter[name] unsupported", "filter[x[ unsupported", "filter] unsupported", "page[limit][x] unsupported"}},
		{&partnerv1.ListReservationsRequest{}, "since=2026-11-20T15:00:00Z&%00=1", []string{"? unsupported", "since unsupported"}},
		{&partnerv1.ListReservationsRequest{}, "updatedSince=today&state=%ff", []string{"state notPrintable", "updatedSince badFormat"}},
	} {
		r := &Report{}
		Query(c.query, c.msg.ProtoReflect(), nil, r)
		var got []string
		for _, f := range r.QueryErrors() {
			got = append(got, fmt.Sprintf("%s %s", f.Path, f.Reason))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || r.Fault != nil {
			t.Errorf("%s: %v %s", c.query, r.Fault, diff)
		}
	}
}

func TestQueryRefusesInvalidQuery(t *testing.T) {
	for _, q := range []string{"a=%zz", "a=1;b=2"} {
		r := &Report{}
		Query(q, (&partnerv1.ListSpacesRequest{}).ProtoReflect(), nil, r)
		if r.Fault == nil {
			t.Errorf("%s is taken", q)
		}
	}
}

func TestQueryCannotSetPathFields(t *testing.T) {
	msg := &partnerv1.GetReservationRequest{Id: "rsv_1"}
	r := &Report{}
	Query("id=rsv_2&extend=pin", msg.ProtoReflect(), func(fd protoreflect.FieldDescriptor) bool { return fd.Name() == "id" }, r)
	if msg.GetId() != "rsv_1" || len(msg.GetExtend()) != 1 {
		t.Errorf("got %v", msg)
	}
	want := []fault.Field{{Path: "id", Reason: fault.Unsupported, Message: "unknown query parameter; this route supports extend"}}
	if diff := cmp.Diff(want, r.QueryErrors()); diff != "" {
		t.Error(diff)
	}
}

func FuzzQuery(f *testing.F) {
	for _, q := range []string{"filter[type]=Bed&page[limit]=1", "extend=pin,space&extend=x", "updatedSince=2026-11-20T15:00:00Z", "a[b][c]=1", "price=1e5&stale=true&gatesPins.gateId=1", "%zz"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		for _, msg := range []proto.Message{&partnerv1.ListSpacesRequest{}, &partnerv1.ListReservationsRequest{}, &partnerv1.UpsertReservationRequest{}, &partnerv1.Reservation{}} {
			Query(q, msg.ProtoReflect(), nil, &Report{})
			if _, err := proto.Marshal(msg); err != nil {
				t.Fatalf("read a message that protobuf cannot write: %v", err)
			}
		}
	})
}
