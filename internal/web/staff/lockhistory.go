package staff

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// historyDays is how far back the charts of a lock go.
const historyDays = 30

// historyView is what a lock reported over time.
type historyView struct {
	Battery, Link, Clock chart
	Days                 int
	From                 *timestamppb.Timestamp
	Gaps                 []*propertyv1.LockGap // newest first
	Events, Older        []*propertyv1.LockHistoryEvent
}

// newestEvents is how many events a page shows at once.
const newestEvents = 8

// lockHistory loads the history of a lock. It ends with what the lock reported last.
func (x *exchange) lockHistory(id string, status *propertyv1.LockStatus) (historyView, error) {
	now := x.site.Now()
	s := span{now.AddDate(0, 0, -historyDays), now}
	found, err := x.site.api.Locks.GetLockHistory(x.call(), &propertyv1.GetLockHistoryRequest{Id: id, Since: timestamppb.New(s.from)})
	if err != nil {
		return historyView{}, err
	}
	h := found.GetData()
	if status.BatteryPercent != nil {
		h.Battery = withLatest(h.GetBattery(), status.GetBatteryObservedAt(), int64(status.GetBatteryPercent()))
	}
	h.Clock = withLatest(h.GetClock(), status.GetClockObservedAt(), status.GetClockOffsetMs())
	return newHistoryView(s, h), nil
}

// withLatest adds the value that a lock reported last: a change below a step is not in the history.
func withLatest(readings []*propertyv1.LockReading, at *timestamppb.Timestamp, value int64) []*propertyv1.LockReading {
	if at == nil || len(readings) > 0 && (readings[len(readings)-1].GetValue() == value || at.AsTime().Before(readings[len(readings)-1].GetAt().AsTime())) {
		return readings
	}
	return append(readings, &propertyv1.LockReading{At: at, Value: value})
}

func newHistoryView(s span, h *propertyv1.LockHistory) historyView {
	v := historyView{
		Battery: newChart(s, h.GetBattery(), h.GetGaps(), 0, 100), Link: linkChart(s, h.GetGaps()), Clock: clockChart(s, h.GetClock(), h.GetGaps()),
		Days: historyDays, From: timestamppb.New(s.from), Gaps: slices.Clone(h.GetGaps()), Events: h.GetEvents(),
	}
	slices.Reverse(v.Gaps)
	v.Gaps = v.Gaps[:min(maxChartRows, len(v.Gaps))]
	if len(v.Events) > newestEvents {
		v.Events, v.Older = v.Events[:newestEvents], v.Events[newestEvents:]
	}
	return v
}

// EventText returns the message of an event of a lock.
func (p *page) EventText(kind string) string {
	if text := "staff.event." + kind; p.Has(text) {
		return text
	}
	return "staff.event.other"
}

// Seconds returns a number of milliseconds as seconds, rounded.
func (p *page) Seconds(milliseconds int64) int64 {
	return time.Duration(milliseconds*int64(time.Millisecond)).Round(time.Second).Milliseconds() / 1000
}

// slotCounts are how many slots of a lock are ours, and how many have codes of others.
type slotCounts struct{ Ours, Foreign int }

func countSlots(slots []slotRow) (c slotCounts) {
	for _, sl := range slots {
		switch {
		case sl.GetUnmanaged():
			c.Foreign++
		case sl.GetEvidence() != "removed":
			c.Ours++
		}
	}
	return c
}
