package property

import (
	"testing"
	"time"

	entarrival "latchkey.dev/ent/arrival"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/access"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/reservation/readiness"
)

// A guest who waits for staff needs them, although every door would open.
func TestNeedsStaff(t *testing.T) {
	for _, c := range []struct {
		state  access.State
		status readiness.Status
		stage  checkin.Stage
		stops  []checkin.StopReason
		want   bool
	}{
		{access.Confirmed, readiness.Ready, checkin.NotStarted, nil, false},
		{access.Confirmed, "", checkin.NotStarted, nil, false}, // a departure, or not checked
		{access.Confirmed, readiness.AtRisk, checkin.NotStarted, nil, true},
		{access.Confirmed, readiness.NotReady, "", nil, true},
		{access.Confirmed, readiness.Ready, checkin.IdentityCheck, nil, true},
		{access.Confirmed, readiness.Ready, checkin.Signature, nil, true},
		{access.Confirmed, "", checkin.Stopped, []checkin.StopReason{checkin.StopOwing}, true},
		{access.Started, readiness.Ready, checkin.CheckedIn, nil, false},
		{access.Started, readiness.NotReady, checkin.CheckedIn, nil, true},
		{access.Processed, readiness.NotReady, checkin.Ended, nil, false},
	} {
		if got := needsStaff(c.state, c.status, checkin.Brief{Stage: c.stage, Stops: c.stops}); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	if !needsStaff(access.Confirmed, readiness.Ready, checkin.Brief{Stage: checkin.NotStarted, Owing: &money.Amount{Minor: 1, Currency: "EUR"}}) {
		t.Error("a guest whose check-in an open amount will stop needs no staff")
	}
}

// The count of the arrivals that need staff is about the whole day, on each page of the arrivals, and a list of only these has as many.
func TestArrivalsThatNeedStaff(t *testing.T) {
	const day = "2026-11-20"
	eachTenant(t, func(a, b *tenant) {
		check(a, a.w.deps.Keys.EnsureKey(a.ctx, a.id))
		check(b, b.w.deps.Keys.EnsureKey(b.ctx, b.id))
		in := a.integration()
		first, second, third := a.reserve(in, "1", nil), a.reserve(in, "2", nil), a.reserve(in, "3", nil) // without a room
		b.reserve(b.integration(), "4", nil)
		days := &Days{Deps: a.w.deps}
		list := func(tab, token string, needy bool) *propertyv1.DayList {
			t.Helper()
			return must(days.ListDay(a.ctx, &propertyv1.ListDayRequest{Date: day, Tab: tab, PageSize: 1, PageToken: token, NeedsStaffOnly: needy}))(t).GetData()
		}
		counts := func(l *propertyv1.DayList) []int32 {
			return []int32{l.GetCounts().GetArrivals(), l.GetCounts().GetArrivalsNeedStaff(), l.GetCounts().GetArrivalsChecked()}
		}
		one := list("", "", false)
		same(t, "a page of one row", []int32{3, 3, 3}, counts(one))
		same(t, "the row", true, one.GetList()[0].GetNeedsStaff())
		a.w.write(t, func(tx *db.Tx) error { // the last check of the second found it ready
			if _, err := tx.Arrival.Delete().Where(entarrival.ID(second)).Exec(tx.Context()); err != nil {
				return err
			}
			return tx.Arrival.Create().SetID(second).SetPropertyID(a.id).SetFromAt(one.GetList()[0].GetFrom().AsTime()).SetMinutes(120).SetVerdict("ready").
				SetJudgedAt(tx.Now()).SetAgainAt(tx.Now().Add(time.Minute)).Exec(tx.Context())
		})
		same(t, "after a check", []int32{3, 2, 3}, counts(list("", "", false)))
		same(t, "on another list", []int32{3, 0, 0}, counts(list("departures", "", false)))
		var ids []string
		for token := ""; ; {
			page := list("", token, true)
			same(t, "on a page of only these", []int32{3, 2, 3}, counts(page))
			for _, stay := range page.GetList() {
				ids = append(ids, stay.GetReservationId())
			}
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		same(t, "only those that need staff", []string{first, third}, ids)
		same(t, "a day without arrivals", 0, len(must(days.ListDay(a.ctx, &propertyv1.ListDayRequest{Date: "2026-11-21", NeedsStaffOnly: true}))(t).GetData().GetList()))
	})
}
