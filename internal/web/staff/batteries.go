package staff

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/clock"
)

// At lowPercent or below, a battery is low and the service creates a notice. Only a battery at mayGetLow or below can become low within a
// week: its history shows whether it will.
const (
	lowPercent = 20
	mayGetLow  = 40
	weekDays   = 7
)

// maxForecasts bounds how many locks one page forecasts, because each needs an API call for its history. It skips those with the most
// charge.
const maxForecasts = 20

// batteryRow is a lock whose battery staff should change this week.
type batteryRow struct {
	lockRow
	LowAt *timestamppb.Timestamp // when the battery will be low; nil if it is low now
}

type batteriesView struct {
	Rows    []batteryRow
	Unknown []lockRow // locks on doors whose battery is not known
	Skipped int       // number of locks at mayGetLow or below whose battery was not forecast
}

// MayGetLow returns the charge in percent up to which a battery is forecast.
func (batteriesView) MayGetLow() int { return mayGetLow }

// forecast estimates when a battery falls to lowPercent, from its readings, the oldest first. It uses only those since the charge last
// rose, which means a new battery. lowAt is never before now. ok is false if the charge does not fall, or if there are fewer than two
// readings.
func forecast(readings []*propertyv1.LockReading, now time.Time) (lowAt time.Time, ok bool) {
	if len(readings) < 2 {
		return time.Time{}, false
	}
	first := len(readings) - 1
	for first > 0 && readings[first-1].GetValue() >= readings[first].GetValue() {
		first--
	}
	from, last := readings[first], readings[len(readings)-1]
	fallen, took := from.GetValue()-last.GetValue(), last.GetAt().AsTime().Sub(from.GetAt().AsTime())
	if fallen <= 0 || took <= 0 {
		return time.Time{}, false
	}
	left := time.Duration(float64(took) / float64(fallen) * float64(last.GetValue()-lowPercent))
	return clock.Later(last.GetAt().AsTime().Add(left), now), true
}

// showBatteries handles the list of batteries to change within a week, for printing.
func (s *site) showBatteries(x *exchange) error {
	locks, err := x.locks(&propertyv1.ListLocksRequest{BatteryAtMost: new(int32(mayGetLow))})
	if err != nil {
		return err
	}
	var v batteriesView
	var falling []lockRow
	for _, l := range locks {
		row := newLockRow(l, s.Now())
		switch percent := l.GetStatus().BatteryPercent; {
		case row.Low:
			v.Rows = append(v.Rows, batteryRow{lockRow: row})
		case percent != nil:
			falling = append(falling, row)
		case row.lacksBattery():
			v.Unknown = append(v.Unknown, row)
		}
	}
	slices.SortStableFunc(falling, func(a, b lockRow) int {
		return cmp.Compare(a.GetStatus().GetBatteryPercent(), b.GetStatus().GetBatteryPercent())
	})
	v.Skipped = max(0, len(falling)-maxForecasts)
	for _, row := range falling[:len(falling)-v.Skipped] {
		found, err := s.api.Locks.GetLockHistory(x.call(), &propertyv1.GetLockHistoryRequest{Id: row.GetId(), Since: timestamppb.New(s.Now().AddDate(0, 0, -historyDays))})
		if err != nil {
			return err
		}
		if at, ok := forecast(found.GetData().GetBattery(), s.Now()); ok && at.Before(s.Now().AddDate(0, 0, weekDays)) {
			v.Rows = append(v.Rows, batteryRow{row, timestamppb.New(at)})
		}
	}
	slices.SortStableFunc(v.Rows, func(a, b batteryRow) int {
		return cmp.Or(a.LowAt.AsTime().Compare(b.LowAt.AsTime()), compareNames(cmp.Or(doorName(a.Lock), a.GetName()), cmp.Or(doorName(b.Lock), b.GetName())))
	})
	p := x.newPage("staff.batteries.title")
	p.Here, p.Back, p.Data = "locks", "/app/locks", v
	return x.render(http.StatusOK, "batteries", p)
}
