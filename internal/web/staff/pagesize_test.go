package staff

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/staff"
)

// crowd is an API with as many unread notices as a page asks for, and more.
type crowd struct {
	*fakeAPI
	asked int32 // asked is the page size of the last call
}

func (c *crowd) ListNotices(_ context.Context, r *propertyv1.ListNoticesRequest, _ ...grpc.CallOption) (*propertyv1.ListNoticesResponse, error) {
	c.asked = r.GetPageSize()
	list := &propertyv1.NoticeList{Unread: 300, NextPageToken: "next"}
	for i := range c.asked {
		list.List = append(list.List, &propertyv1.Notice{
			Id: fmt.Sprintf("ntc_01jd8vx3a2b4c6d8e0f2g4h%03d", i), Kind: "lockOffline", Subject: fmt.Sprintf("lck_01jd8vx3a2b4c6d8e0f2g4h%03d", i), Stands: true, CreatedAt: before(26 * time.Hour),
			Text: fmt.Sprintf("The lock of Deluxe double room %03d is offline. Codes that are on it go on working, new ones wait. Check that its gateway has power and internet.", i),
		})
	}
	return &propertyv1.ListNoticesResponse{Data: list}, nil
}

// A page of the locks or the notices stays below 150 kB in each language also with the most rows, and its next page goes on after the last row.
func TestPagesWithTheMostRows(t *testing.T) {
	c := &crowd{fakeAPI: &fakeAPI{role: staff.Owner}}
	at := before(26 * time.Hour)
	for i := range 300 {
		c.locks = append(c.locks, &propertyv1.Lock{
			Id: fmt.Sprintf("lck_01jd8vx3a2b4c6d8e0f2g4h%03d", i), Name: fmt.Sprintf("Lock with gateway %03d", i),
			DoorId: new(fmt.Sprintf("spc_01jd8vx3a2b4c6d8e0f2g4h%03d", i)), DoorName: new(fmt.Sprintf("Deluxe double room %03d", i)),
			Status: &propertyv1.LockStatus{LastSeenAt: at, Bolt: "locked", BatteryPercent: new(int32(12)), BatteryLow: true, OfflineReason: new("lockOffline"), OfflineSince: at, SlotsFree: 12},
		})
	}
	for _, lang := range []string{"de", "en", "es", "fr"} {
		for path, next := range map[string]string{"/app/locks": `href="/app/locks?page=100"`, "/app/notices": `href="/app/notices?page=next"`} {
			a := serveAs(t, API{Sessions: c, Properties: c, Locks: c, Bridges: c, Notices: c}, lang, path, nil, map[string]string{"Cookie": rowsCookie + "=200"})
			if size := a.Body.Len(); size > 150_000 || size < 50_000 || !strings.Contains(a.Body.String(), next) {
				t.Errorf("%s in %s has %d bytes, and its next page: %t", path, lang, size, strings.Contains(a.Body.String(), next))
			}
		}
	}
	if c.asked != 100 {
		t.Errorf("the page of notices asks for %d", c.asked)
	}
}
