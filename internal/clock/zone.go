package clock

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // embeds the zones for machines without a zone database
)

// zones caches loaded zones: time.LoadLocation reads a file each time.
var zones sync.Map

// Zone returns the time zone with an IANA name such as Europe/Lisbon. It refuses "Local" and "", which mean a different zone
// on each machine.
func Zone(name string) (*time.Location, error) {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("time zone %q: want an IANA name such as Europe/Lisbon", name)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: want an IANA name such as Europe/Lisbon: %w", name, err)
	}
	zones.Store(name, z)
	return z, nil
}

// InstantAt returns the instant, in UTC, at which the clocks of a zone show a date and a time, given in minutes after midnight. Of date,
// only year, month and day count. When clocks are set back, two instants show the same time: last selects the second. A time that a clock
// change skips becomes the instant of the change.
func InstantAt(date time.Time, minutes int, zone *time.Location, last bool) time.Time {
	wall := time.Date(date.Year(), date.Month(), date.Day(), 0, minutes, 0, 0, time.UTC)
	before := wall.Add(-offsetAt(wall.Add(-24*time.Hour), zone))
	after := wall.Add(-offsetAt(wall.Add(24*time.Hour), zone))
	first, second := before, after
	if second.Before(first) {
		first, second = second, first
	}
	if last {
		first, second = second, first
	}
	for _, t := range []time.Time{first, second} {
		if t.Add(offsetAt(t, zone)).Equal(wall) {
			return t
		}
	}
	change, _ := before.In(zone).ZoneBounds() // before uses the old offset, by which a skipped time is just after the change
	return change.UTC()
}

// DayAt returns when a date begins in a zone and when it ends, which is when the next one begins, in UTC. Of date, only year, month and day
// count. A day whose midnight a clock change skips begins with the change.
func DayAt(date time.Time, zone *time.Location) (begins, ends time.Time) {
	return InstantAt(date, 0, zone, false), InstantAt(time.Date(date.Year(), date.Month(), date.Day()+1, 0, 0, 0, 0, time.UTC), 0, zone, false)
}

// offsetAt returns how far the clocks of a zone are ahead of UTC at t.
func offsetAt(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
