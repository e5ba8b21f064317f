package doors

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

// made makes a code and waits until every lock is known to hold it.
func made(t *testing.T, w *e2etest.World, r *propertyv1.CreateCodeRequest) (id, pin string) {
	t.Helper()
	c, err := propertyv1.NewCodeServiceClient(w.Public).CreateCode(w.Staff(t.Context()), r)
	if err != nil {
		t.Fatal(err)
	}
	id = c.GetData().GetId()
	if c.GetData().GetState() == "open" {
		placed(t, w, id, "verified")
	}
	return id, reads(t, w, id)
}

func reads(t *testing.T, w *e2etest.World, id string) string {
	t.Helper()
	c, err := propertyv1.NewCodeServiceClient(w.Public).RevealCode(w.Staff(t.Context()), &propertyv1.RevealCodeRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	if c.GetPin() == "" || c.GetData().GetReadAt() == nil || c.GetData().GetReadBy() == "" {
		t.Fatalf("reading a PIN: %q, read %v by %q", c.GetPin(), c.GetData().GetReadAt(), c.GetData().GetReadBy())
	}
	return c.GetPin()
}

// placed waits until all locks of a code are known to be so.
func placed(t *testing.T, w *e2etest.World, id, evidence string) {
	t.Helper()
	w.Await("code "+id+" is "+evidence, func(ctx context.Context) (bool, error) {
		c, err := propertyv1.NewCodeServiceClient(w.Public).GetCode(w.Staff(ctx), &propertyv1.GetCodeRequest{Id: id})
		if err != nil {
			return false, err
		}
		for _, p := range c.GetPlaces() {
			if p.GetEvidence() != evidence {
				return false, nil
			}
		}
		return len(c.GetPlaces()) > 0, nil
	})
}

// at fails unless the PIN opens these doors and no others of the two rooms and the gate.
func at(t *testing.T, w *e2etest.World, pin string, open ...string) {
	t.Helper()
	want := map[string]bool{}
	for _, d := range open {
		want[d] = true
	}
	for _, d := range []string{"Room 101", "Room 102", front} {
		if got := types(t, w, d, pin); got != want[d] {
			t.Errorf("%s: opened %v, want %v", d, got, want[d])
		}
	}
}

// today are the weekday of the property's calendar, and another that is far from it.
func today(t *testing.T) (day, other int32) {
	t.Helper()
	d, err := time.Parse(time.DateOnly, e2etest.LocalDate(0))
	if err != nil {
		t.Fatal(err)
	}
	day = int32(d.Weekday()+6)%7 + 1
	return day, (day+2)%7 + 1
}

func TestHousekeepingOpensWithinItsHours(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		day, other := today(t)
		rooms := func(days ...int32) *propertyv1.CreateCodeRequest {
			return &propertyv1.CreateCodeRequest{Kind: "staff", Holder: "Cleaning", AllRooms: true, Hours: []*propertyv1.WeeklyHours{{Days: days, From: "00:00", To: "24:00"}}}
		}
		id, pin := made(t, w, rooms(day, day%7+1)) // tomorrow too: the test may run over midnight
		at(t, w, pin, "Room 101", "Room 102")
		_, off := made(t, w, rooms(other))
		at(t, w, off)
		if off == pin {
			t.Error("two people have the same PIN")
		}
		codesOf := propertyv1.NewCodeServiceClient(w.Public)
		if _, err := codesOf.RevokeCode(w.Staff(t.Context()), &propertyv1.RevokeCodeRequest{Id: id}); err != nil {
			t.Fatal(err)
		}
		placed(t, w, id, "removed")
		at(t, w, pin)
		if _, err := codesOf.RevealCode(w.Staff(t.Context()), &propertyv1.RevealCodeRequest{Id: id}); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("the PIN of a code that is over: %v", err)
		}
		c, err := codesOf.GetCode(w.Staff(t.Context()), &propertyv1.GetCodeRequest{Id: id})
		if err != nil || c.GetData().GetState() != "ended" || c.GetData().GetEndReason() != "revoked" || !c.GetData().GetRemoved() {
			t.Errorf("after a revocation: %v, %v", c, err)
		}
	})
}

func TestOneTimeCodeOpensOnce(t *testing.T) {
	both(t, func(t *testing.T, w *e2etest.World) {
		id, pin := made(t, w, &propertyv1.CreateCodeRequest{Kind: "oneTime", Holder: "Plumber", DoorIds: []string{w.Spaces["Room 101"], w.Spaces[front]}})
		if !types(t, w, "Room 101", pin) {
			t.Fatal("the first use did not open")
		}
		placed(t, w, id, "removed")
		at(t, w, pin)
		c, err := propertyv1.NewCodeServiceClient(w.Public).GetCode(w.Staff(t.Context()), &propertyv1.GetCodeRequest{Id: id})
		if err != nil || c.GetData().GetEndReason() != "used" || c.GetData().GetUsedAt() == nil {
			t.Errorf("after its use: %v, %v", c, err)
		}
	})
}

func TestBackupCodesOpenWithoutServerAndAreSwapped(t *testing.T) {
	w, p := apart(t, often)
	staff, locks := w.Staff(t.Context()), propertyv1.NewLockServiceClient(w.Public)
	list, err := locks.ListLocks(staff, &propertyv1.ListLocksRequest{PageSize: 200})
	if err != nil {
		t.Fatal(err)
	}
	lockID := ""
	for _, l := range list.GetData().GetList() {
		if l.GetDoorName() == "Room 101" {
			lockID = l.GetId()
		}
	}
	kept := propertyv1.NewCodeServiceClient(w.Public)
	if _, err := kept.SwapBackupCodes(staff, &propertyv1.SwapBackupCodesRequest{LockId: lockID}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("swapped where none are kept: %v", err)
	}
	_, err = propertyv1.NewPropertyServiceClient(w.Public).UpdateProperty(staff, &propertyv1.UpdatePropertyRequest{Settings: &propertyv1.PropertySettings{BackupCodes: proto.Bool(true)}})
	if err != nil {
		t.Fatal(err)
	}
	backups := func(ctx context.Context) []string {
		answer, err := kept.ListCodes(w.Staff(ctx), &propertyv1.ListCodesRequest{Kind: "backup", LockId: lockID})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, c := range answer.GetData().GetList() {
			ids = append(ids, c.GetId())
		}
		return ids
	}
	w.Await("the lock keeps two", func(ctx context.Context) (bool, error) { return len(backups(ctx)) == 2, nil })
	ids := backups(t.Context())
	placed(t, w, ids[0], "verified")
	placed(t, w, ids[1], "verified")
	first, second := reads(t, w, ids[0]), reads(t, w, ids[1])

	p.Refuse()
	online(w, "offline")
	at(t, w, first, "Room 101")
	at(t, w, second, "Room 101")
	swapped, err := kept.SwapBackupCodes(staff, &propertyv1.SwapBackupCodesRequest{LockId: lockID})
	if err != nil || len(swapped.GetData()) != 2 {
		t.Fatal(swapped, err)
	}
	p.EndFaults()
	for _, c := range swapped.GetData() {
		placed(t, w, c.GetId(), "verified")
		at(t, w, reads(t, w, c.GetId()), "Room 101")
	}
	placed(t, w, ids[0], "removed")
	placed(t, w, ids[1], "removed")
	at(t, w, first)
	at(t, w, second)
	w.Await("staff hear that a backup was used", func(ctx context.Context) (bool, error) {
		n, err := propertyv1.NewNoticeServiceClient(w.Public).ListNotices(w.Staff(ctx), &propertyv1.ListNoticesRequest{})
		for _, one := range n.GetData().GetList() {
			if one.GetKind() == "backupCodeUsed" {
				return true, nil
			}
		}
		return false, err
	})
}

func TestOneTimeCodeOpensOnceWhileBridgeIsOffline(t *testing.T) {
	w, p := apart(t)
	id, pin := made(t, w, &propertyv1.CreateCodeRequest{Kind: "oneTime", Holder: "Plumber", DoorIds: []string{w.Spaces["Room 101"], w.Spaces[front]}})
	p.Refuse()
	online(w, "offline")
	if !types(t, w, "Room 101", pin) {
		t.Fatal("the first use did not open")
	}
	for _, door := range []string{"Room 101", front} {
		w.Await(door+" is rid of it, without the service", func(context.Context) (bool, error) { return !types(t, w, door, pin), nil })
	}
	if c := codeOf(t, w, id); c.GetData().GetState() == "ended" || c.GetPlaces()[0].GetEvidence() == "removed" {
		t.Errorf("the service cannot know yet: %v", c)
	}
	p.EndFaults()
	placed(t, w, id, "removed")
	at(t, w, pin)
	if c := codeOf(t, w, id); c.GetData().GetEndReason() != "used" || c.GetData().GetUsedAt() == nil || !c.GetData().GetRemoved() {
		t.Errorf("after the link is back: %v", c)
	}
}

func codeOf(t *testing.T, w *e2etest.World, id string) *propertyv1.GetCodeResponse {
	t.Helper()
	c, err := propertyv1.NewCodeServiceClient(w.Public).GetCode(w.Staff(t.Context()), &propertyv1.GetCodeRequest{Id: id})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
