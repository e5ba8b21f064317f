package staff

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// notices is an API with unread notices, of which a page lists the first.
type notices struct {
	house
	propertyv1.NoticeServiceClient
	shown, unread int
	marked        []*propertyv1.MarkNoticesReadRequest
}

func (n *notices) ListNotices(context.Context, *propertyv1.ListNoticesRequest, ...grpc.CallOption) (*propertyv1.ListNoticesResponse, error) {
	list := &propertyv1.NoticeList{Unread: int32(n.unread)}
	for i := range n.shown {
		list.List = append(list.List, &propertyv1.Notice{Id: fmt.Sprintf("ntc_%d", i), Text: "Jammed"})
	}
	return &propertyv1.ListNoticesResponse{Data: list}, nil
}

func (n *notices) MarkNoticesRead(_ context.Context, r *propertyv1.MarkNoticesReadRequest, _ ...grpc.CallOption) (*propertyv1.MarkNoticesReadResponse, error) {
	n.marked = append(n.marked, r)
	return &propertyv1.MarkNoticesReadResponse{}, nil
}

// The button above the list marks exactly the notices that the page shows, and says whether these are all.
func TestMarkShownNotices(t *testing.T) {
	for _, c := range []struct {
		shown, unread int
		button        string
	}{
		{2, 2, "Mark all as read"}, {2, 5, "Mark these as read"},
	} {
		n := &notices{house: house{rights: []string{"readNotices", "manageNotices"}}, shown: c.shown, unread: c.unread}
		api := API{Sessions: n, Properties: n, Notices: n}
		body := serve(t, api, "/app/notices", nil).Body.String()
		form, _, _ := strings.Cut(body[strings.Index(body, `id="mark"`):], "</form>")
		if !strings.Contains(form, ">"+c.button+"<") {
			t.Errorf("%d of %d notices: no button %q in %s", c.shown, c.unread, c.button, form)
		}
		values := url.Values{}
		for _, field := range regexp.MustCompile(`name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
			values.Add(field[1], field[2])
		}
		if w := serve(t, api, "/app/notices", values); w.Code != http.StatusSeeOther || len(n.marked) != 1 {
			t.Fatalf("status %d, %d calls: %s", w.Code, len(n.marked), w.Body)
		}
		if r := n.marked[0]; r.GetAll() || !slices.Equal(r.GetIds(), []string{"ntc_0", "ntc_1"}) {
			t.Errorf("%d of %d notices: marked %v", c.shown, c.unread, r)
		}
	}
}

// A form that names no notice, such as one of an older version of the page, marks none.
func TestMarkNoNotice(t *testing.T) {
	n := &notices{house: house{rights: []string{"readNotices", "manageNotices"}}}
	if w := serve(t, API{Sessions: n, Properties: n, Notices: n}, "/app/notices", url.Values{"all": {"yes"}}); w.Code != http.StatusSeeOther || len(n.marked) > 0 {
		t.Errorf("status %d, %d calls", w.Code, len(n.marked))
	}
}

// A notice is open, resolved, or about what happened once. An open call for help comes before newer notices.
func TestNoticeChips(t *testing.T) {
	at := timestamppb.Now()
	all := []*propertyv1.Notice{
		{Kind: "batteryLow", Stands: true}, {Kind: "batteryLow", ResolvedAt: at}, {Kind: "lockTampered"},
		{Kind: "checkInHelp", ReadAt: at}, {Kind: "checkInHelp", Stands: true}, {Kind: "kioskHelp", Stands: true},
	}
	var rows []noticeRow
	for _, n := range all {
		rows = append(rows, newNoticeRow(n, func(string) bool { return true }))
	}
	slices.SortStableFunc(rows, callsFirst)
	var got []string
	for _, r := range rows {
		got = append(got, r.GetKind()+" "+r.Chip.Text)
		checkTexts(t, r.Chip.Text)
	}
	want := []string{
		"checkInHelp staff.notice.open", "kioskHelp staff.notice.open", "batteryLow staff.notice.open", "batteryLow staff.notice.over",
		"lockTampered staff.notice.once", "checkInHelp staff.notice.once",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
