package staff

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// day30 is a span of 30 days that ends at noon: an hour has 600/720 units of the image.
var day30 = newSpan(noon.AddDate(0, 0, -30), noon, time.Time{})

func reading(ago time.Duration, value int64) *propertyv1.LockReading {
	return &propertyv1.LockReading{At: before(ago), Value: value}
}

// gap is a time in which a lock could not be reached; until is negative while it goes on.
func gap(from, until time.Duration) *propertyv1.LockGap {
	g := &propertyv1.LockGap{From: before(from)}
	if until >= 0 {
		g.Until = before(until)
	}
	return g
}

// A reading holds until the next one, and no line crosses a time in which the lock could not be reached.
func TestChart(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		readings []*propertyv1.LockReading
		gaps     []*propertyv1.LockGap
		path     string
		bars     int
	}{
		"no reading":                   {nil, nil, "", 0},
		"one reading":                  {[]*propertyv1.LockReading{reading(15*day, 50)}, nil, `d="M300.0 40.0H600.0"`, 0},
		"a reading before the span":    {[]*propertyv1.LockReading{reading(40*day, 100)}, nil, `d="M0.0 0.0H600.0"`, 0},
		"a step":                       {[]*propertyv1.LockReading{reading(30*day, 100), reading(15*day, 25)}, nil, `d="M0.0 0.0H300.0V60.0H600.0"`, 0},
		"a gap inside":                 {[]*propertyv1.LockReading{reading(30*day, 100)}, []*propertyv1.LockGap{gap(15*day, 3*day)}, `d="M0.0 0.0H300.0M540.0 0.0H600.0"`, 1},
		"a gap that goes on":           {[]*propertyv1.LockReading{reading(30*day, 100)}, []*propertyv1.LockGap{gap(15*day, -1)}, `d="M0.0 0.0H300.0"`, 1},
		"a gap up to a reading":        {[]*propertyv1.LockReading{reading(30*day, 100), reading(3*day, 50)}, []*propertyv1.LockGap{gap(15*day, 3*day)}, `d="M0.0 0.0H300.0M540.0 40.0H600.0"`, 1},
		"a gap of the whole time":      {[]*propertyv1.LockReading{reading(30*day, 100)}, []*propertyv1.LockGap{gap(31*day, -1)}, `d=""`, 1},
		"a gap before the span":        {[]*propertyv1.LockReading{reading(40*day, 100)}, []*propertyv1.LockGap{gap(39*day, 35*day)}, `d="M0.0 0.0H600.0"`, 0},
		"two gaps":                     {[]*propertyv1.LockReading{reading(30*day, 100)}, []*propertyv1.LockGap{gap(24*day, 18*day), gap(12*day, 6*day)}, `d="M0.0 0.0H120.0M240.0 0.0H360.0M480.0 0.0H600.0"`, 2},
		"a value outside of the edges": {[]*propertyv1.LockReading{reading(30*day, 140)}, nil, `d="M0.0 0.0H600.0"`, 0},
	} {
		got := newChart(day30, c.readings, c.gaps, 0, 100)
		if string(got.Path) != c.path || len(got.Gaps) != c.bars || got.HasLine != (len(c.readings) > 0) {
			t.Errorf("%s: %s with %d gaps", name, got.Path, len(got.Gaps))
		}
	}
}

// The chart of a new lock claims nothing of the time before its first report, and a single reading is a dot.
func TestChartOfANewLock(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		created    time.Duration // before now
		path, gray string
		dot        dot
	}{
		"old":              {40 * day, `d="M0.0 40.0H600.0"`, "", dot{}},
		"half of the time": {15 * day, `d="M300.0 40.0H600.0"`, "300.0", dot{"300.0", "40.0"}},
		"just now":         {30 * time.Second, `d="M600.0 40.0H600.0"`, "600.0", dot{"596.0", "40.0"}},
	} {
		v := newHistoryView(newSpan(noon.AddDate(0, 0, -30), noon, noon.Add(-c.created)), &propertyv1.LockHistory{Battery: []*propertyv1.LockReading{reading(time.Second, 50)}})
		var gray string
		var at dot
		if v.Link.Unknown != nil {
			gray = v.Link.Unknown.Width
		}
		if v.Link.Dot != nil {
			at = *v.Link.Dot
		}
		if string(v.Link.Path) != c.path || gray != c.gray || at != c.dot || (v.Since != nil) != (gray != "") {
			t.Errorf("%s: %s, gray until %q, dot at %v", name, v.Link.Path, gray, at)
		}
		if v.Battery.Dot == nil || *v.Battery.Dot != (dot{"596.0", "40.0"}) || (v.Battery.Unknown != nil) != (gray != "") {
			t.Errorf("%s: the battery has %+v", name, v.Battery)
		}
	}
}

// The clock's chart has 0 in its middle and room for the largest offset.
func TestClockChart(t *testing.T) {
	c := clockChart(day30, []*propertyv1.LockReading{reading(30*24*time.Hour, 0), reading(15*24*time.Hour, -20_000)}, nil)
	if c.Path != `d="M0.0 40.0H300.0V80.0H600.0"` || c.Least != -20_000 || c.Most != 0 {
		t.Errorf("%+v", c)
	}
}

// A battery that falls is low when its line since the last change reaches 20 %.
func TestForecast(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		readings []*propertyv1.LockReading
		in       time.Duration
		ok       bool
	}{
		"no reading":            {nil, 0, false},
		"one reading":           {[]*propertyv1.LockReading{reading(day, 30)}, 0, false},
		"2 % a day":             {[]*propertyv1.LockReading{reading(10*day, 50), reading(0, 30)}, 5 * day, true},
		"changed in between":    {[]*propertyv1.LockReading{reading(20*day, 22), reading(10*day, 100), reading(0, 90)}, 70 * day, true},
		"charged":               {[]*propertyv1.LockReading{reading(10*day, 25), reading(0, 35)}, 0, false},
		"it should be low long": {[]*propertyv1.LockReading{reading(20*day, 40), reading(10*day, 21)}, 0, true},
	} {
		at, ok := forecast(c.readings, noon)
		if ok != c.ok || ok && !at.Equal(noon.Add(c.in)) {
			t.Errorf("%s: %v, %v", name, at, ok)
		}
	}
}

// Every event of a lock that the service records has a text, and another one has the general text.
func TestEventTexts(t *testing.T) {
	p := &page{}
	for _, kind := range []string{
		"door.opened", "door.denied", "lock.offline", "lock.online", "lock.batteryLow", "lock.batteryOk", "lock.tampered", "lock.jammed", "lock.clockUntrusted", "lock.clockOk",
		"lock.moved", "lock.guessBudgetSpent", "lock.keypadPaused", "credential.verified", "slot.reassigned",
	} {
		if text := p.EventText(kind); text != "staff.event."+kind {
			t.Errorf("%s has the text %s", kind, text)
		}
	}
	if text := p.EventText("lock.new"); text != "staff.event.other" {
		t.Errorf("an unknown event has the text %s", text)
	}
}

// The history of a lock shows the newest events, and the gaps newest first.
func TestHistoryView(t *testing.T) {
	h := &propertyv1.LockHistory{Gaps: []*propertyv1.LockGap{gap(48*time.Hour, 47*time.Hour), gap(time.Hour, -1)}}
	for range 12 {
		h.Events = append(h.Events, &propertyv1.LockHistoryEvent{At: timestamppb.New(noon), Kind: "door.opened"})
	}
	v := newHistoryView(day30, h)
	if len(v.Events) != newestEvents || len(v.Older) != 12-newestEvents || v.Gaps[0].Until != nil || len(v.Link.Gaps) != 2 {
		t.Errorf("%+v", v)
	}
}

// The history ends with the value that the lock reported last, if it is another one.
func TestWithLatest(t *testing.T) {
	one := []*propertyv1.LockReading{reading(time.Hour, 50)}
	for name, c := range map[string]struct {
		readings []*propertyv1.LockReading
		at       *timestamppb.Timestamp
		value    int64
		want     int
	}{
		"never reported": {nil, nil, 0, 0}, "the first": {nil, before(0), 50, 1}, "the same": {one, before(0), 50, 1}, "a small change": {one, before(0), 49, 2}, "an older report": {one, before(2 * time.Hour), 60, 1},
	} {
		if got := withLatest(c.readings, c.at, c.value); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
