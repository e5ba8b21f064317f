package staff

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// historyDays is how many days the charts of a lock show.
const historyDays = 30

// historyView is the history of a lock as charts and lists.
type historyView struct {
	Battery, Link, Clock chart
	Days                 int
	From                 *timestamppb.Timestamp
	Since                *timestamppb.Timestamp // when the lock was first reported, if the charts begin before; or nil
	Gaps                 []*propertyv1.LockGap  // newest first, at most maxChartRows
	Events, Older        []*propertyv1.LockHistoryEvent
}

// newestEvents is how many events the page shows before the person expands the list.
const newestEvents = 8

// lockHistory loads the history of a lock for the last historyDays days. It appends the last values in the status of l, see withLatest.
func (x *exchange) lockHistory(l *propertyv1.Lock) (historyView, error) {
	now, status := x.site.Now(), l.GetStatus()
	s := newSpan(now.AddDate(0, 0, -historyDays), now, l.GetCreatedAt().AsTime())
	found, err := x.site.api.Locks.GetLockHistory(x.call(), &propertyv1.GetLockHistoryRequest{Id: l.GetId(), Since: timestamppb.New(s.from)})
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

// withLatest appends a reading with the value that a lock last reported, and its time at. The history leaves out small changes. It appends
// nothing if at is nil, or if the last reading is later or has the same value.
func withLatest(readings []*propertyv1.LockReading, at *timestamppb.Timestamp, value int64) []*propertyv1.LockReading {
	if at == nil || len(readings) > 0 && (readings[len(readings)-1].GetValue() == value || at.AsTime().Before(readings[len(readings)-1].GetAt().AsTime())) {
		return readings
	}
	return append(readings, &propertyv1.LockReading{At: at, Value: value})
}

// newHistoryView returns the charts and lists of a history. s is the time that the charts show.
func newHistoryView(s span, h *propertyv1.LockHistory) historyView {
	v := historyView{
		Battery: newChart(s, h.GetBattery(), h.GetGaps(), 0, 100), Link: linkChart(s, h.GetGaps()), Clock: clockChart(s, h.GetClock(), h.GetGaps()),
		Days: historyDays, From: timestamppb.New(s.from), Gaps: slices.Clone(h.GetGaps()), Events: h.GetEvents(),
	}
	if s.isNew() {
		v.Since = timestamppb.New(s.begin)
	}
	slices.Reverse(v.Gaps)
	v.Gaps = v.Gaps[:min(maxChartRows, len(v.Gaps))]
	if len(v.Events) > newestEvents {
		v.Events, v.Older = v.Events[:newestEvents], v.Events[newestEvents:]
	}
	return v
}

// EventText returns the message kind for a kind of event in the history, or that for other events if the kind has no message.
func (p *page) EventText(kind string) string {
	if text := "staff.event." + kind; p.Has(text) {
		return text
	}
	return "staff.event.other"
}

// Seconds converts milliseconds to seconds, rounded.
func (p *page) Seconds(milliseconds int64) int64 {
	return time.Duration(milliseconds*int64(time.Millisecond)).Round(time.Second).Milliseconds() / 1000
}

// slotCounts counts the used slots of a lock: those with codes of Latchkey, and those with codes of other software.
type slotCounts struct{ Ours, Foreign int }

// countSlots counts the used slots of a lock. A slot whose code was removed is not used.
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
