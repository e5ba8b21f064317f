package staff

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// chart is a line of values over time, drawn in an SVG image. The line has gaps where the lock could not be reached.
type chart struct {
	Path        template.HTMLAttr // the attribute d="…" of the line
	Gaps        []gapBar
	Least, Most int64                     // range of the values; 0 without readings
	Readings    []*propertyv1.LockReading // newest first, at most maxChartRows
	HasLine     bool
	Dot         *dot    // the only reading, whose line may be too short to be seen, or nil
	Unknown     *gapBar // the time before the lock was first reported, or nil
}

// dot is the center of a dot, in units of the image.
type dot struct{ X, Y string }

// dotRadius is the radius of a dot in units of the image.
const dotRadius = 4

// gapBar is the bar of a gap, in units of the image.
type gapBar struct{ X, Width string }

// Size of a chart's image in units of the SVG.
const (
	chartWidth  = 600
	chartHeight = 80
)

// span is the time that a chart shows. Nothing is known of the lock before begin.
type span struct{ from, until, begin time.Time }

// newSpan returns the span between two moments. created is when the lock was first reported: begin is created, but never before from.
func newSpan(from, until, created time.Time) span {
	if created.Before(from) {
		created = from
	}
	return span{from, until, created}
}

// isNew reports whether the lock was first reported within the span.
func (s span) isNew() bool { return s.begin.After(s.from) }

// x returns the horizontal position of a moment in the image. A moment outside the span gets the nearest edge.
func (s span) x(at time.Time) float64 {
	part := float64(at.Sub(s.from)) / float64(s.until.Sub(s.from))
	return math.Max(0, math.Min(1, part)) * chartWidth
}

// reached is a period in which the lock could be reached.
type reached struct{ from, until time.Time }

// reachedBetween returns the parts of a period in which the lock could be reached. gaps are the times when it could not be reached, the
// earliest first. A gap without an end lasts until the end of the period.
func reachedBetween(from, until time.Time, gaps []*propertyv1.LockGap) (parts []reached) {
	for _, g := range gaps {
		begin, end := g.GetFrom().AsTime(), until
		if g.Until != nil {
			end = g.GetUntil().AsTime()
		}
		if !end.After(from) {
			continue
		}
		if !begin.Before(until) {
			break
		}
		if begin.After(from) {
			parts = append(parts, reached{from, begin})
		}
		from = end
	}
	if from.Before(until) {
		parts = append(parts, reached{from, until})
	}
	return parts
}

// newChart returns the chart of readings, the oldest first. Each reading is valid until the next. low and high are the values at the lower
// and upper edge of the image; values beyond them are drawn at the edge. Without readings the chart has no line.
func newChart(s span, readings []*propertyv1.LockReading, gaps []*propertyv1.LockGap, low, high int64) chart {
	c := chart{Gaps: gapBars(s, gaps), Unknown: s.unknownBar()}
	if len(readings) == 0 {
		return c
	}
	c.HasLine, c.Least, c.Most = true, readings[0].GetValue(), readings[0].GetValue()
	y := func(v int64) float64 {
		part := float64(min(max(v, low), high)-low) / float64(high-low)
		return chartHeight - part*chartHeight
	}
	var d strings.Builder
	var end time.Time
	for i, r := range readings {
		c.Least, c.Most = min(c.Least, r.GetValue()), max(c.Most, r.GetValue())
		until := s.until
		if i+1 < len(readings) {
			until = readings[i+1].GetAt().AsTime()
		}
		for _, part := range reachedBetween(r.GetAt().AsTime(), until, gaps) {
			if !part.until.After(s.from) {
				continue
			}
			if part.from.Equal(end) && d.Len() > 0 {
				fmt.Fprintf(&d, "V%.1f", y(r.GetValue()))
			} else {
				fmt.Fprintf(&d, "M%.1f %.1f", s.x(part.from), y(r.GetValue()))
			}
			fmt.Fprintf(&d, "H%.1f", s.x(part.until))
			end = part.until
		}
	}
	if only := readings[0]; len(readings) == 1 && !only.GetAt().AsTime().Before(s.from) {
		c.Dot = &dot{fmt.Sprintf("%.1f", min(max(s.x(only.GetAt().AsTime()), dotRadius), chartWidth-dotRadius)), fmt.Sprintf("%.1f", y(only.GetValue()))}
	}
	c.Path = template.HTMLAttr(`d="` + d.String() + `"`)
	c.Readings = slices.Clone(readings)
	slices.Reverse(c.Readings)
	c.Readings = c.Readings[:min(maxChartRows, len(c.Readings))]
	return c
}

// maxChartRows is how many readings the table below a chart lists.
const maxChartRows = 30

// linkChart returns the chart of the connection: a line while the lock could be reached.
func linkChart(s span, gaps []*propertyv1.LockGap) chart {
	begin := &propertyv1.LockReading{At: timestamppb.New(s.begin), Value: 1}
	c := newChart(s, []*propertyv1.LockReading{begin}, gaps, 0, 2)
	if c.Readings = nil; !s.isNew() {
		c.Dot = nil
	}
	return c
}

// unknownBar returns the bar of the time before the lock was first reported, or nil if there is none.
func (s span) unknownBar() *gapBar {
	if !s.isNew() {
		return nil
	}
	return &gapBar{"0.0", fmt.Sprintf("%.1f", s.x(s.begin))}
}

// gapBars returns the bars of the gaps within the span. A bar is at least one unit wide.
func gapBars(s span, gaps []*propertyv1.LockGap) (bars []gapBar) {
	for _, g := range gaps {
		end := s.until
		if g.Until != nil {
			end = g.GetUntil().AsTime()
		}
		if !end.After(s.from) {
			continue
		}
		from := s.x(g.GetFrom().AsTime())
		width := math.Max(1, s.x(end)-from)
		bars = append(bars, gapBar{fmt.Sprintf("%.1f", from), fmt.Sprintf("%.1f", width)})
	}
	return bars
}

// clockEdge is the smallest scale of the chart of a lock's clock: its upper and lower edge are at least this many milliseconds from 0.
const clockEdge = 10_000

// clockChart returns the chart of how far a lock's clock is off. 0 is in the middle.
func clockChart(s span, readings []*propertyv1.LockReading, gaps []*propertyv1.LockGap) chart {
	edge := int64(clockEdge)
	for _, r := range readings {
		edge = max(edge, r.GetValue(), -r.GetValue())
	}
	return newChart(s, readings, gaps, -edge, edge)
}
