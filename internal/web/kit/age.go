package kit

import (
	"html/template"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Ago renders how long ago a moment was, such as "3 min ago". After one hour, or for a moment more than a minute in the future, it renders
// the moment itself, like [Page.When]. It returns "" for nil.
func (p *Page) Ago(at *timestamppb.Timestamp) template.HTML {
	if at == nil {
		return ""
	}
	switch age := p.now.Sub(at.AsTime()); {
	case age < time.Minute && age > -time.Minute:
		return p.aged(at, p.Text("age.now", nil))
	case age >= time.Minute && age < time.Hour:
		return p.aged(at, p.Text("age.minutes", map[string]any{"count": int(age / time.Minute)}))
	}
	return p.When(at)
}

// When renders a moment as short as is clear: "14:40" today, "yesterday 23:10", and date and time for other days, with the year if it is
// far from now. It returns "" for nil.
func (p *Page) When(at *timestamppb.Timestamp) template.HTML {
	if at == nil {
		return ""
	}
	t, now := at.AsTime().In(p.zone), p.now.In(p.zone)
	clock := t.Format("15:04")
	switch {
	case sameDay(t, now):
		return p.aged(at, clock)
	case sameDay(t, now.AddDate(0, 0, -1)):
		return p.aged(at, p.Text("age.yesterday", map[string]any{"at": clock}))
	case !p.isFar(t):
		return p.aged(at, p.date("date.short", t)+" "+clock)
	}
	return p.aged(at, p.Stamp(at))
}

// isFar reports whether a time is more than half a year before or after now. Its date then needs the year.
func (p *Page) isFar(t time.Time) bool { return p.now.Sub(t).Abs() > 183*24*time.Hour }

// Short renders the date of a moment in short, such as "Sat 21 Nov", or with its year if it is far from now: "21 November 2025". It returns
// "" for nil.
func (p *Page) Short(at *timestamppb.Timestamp) template.HTML {
	if at == nil || !p.isFar(at.AsTime()) {
		return p.Words.Short(at)
	}
	return timeTag(at, func(t time.Time) string { return p.date("date.long", t) }, p.zone)
}

// Date renders a date of the form YYYY-MM-DD, such as "Saturday, 21 November", with its year if it is far from now. It returns any other
// text escaped.
func (p *Page) Date(day string) template.HTML {
	if t, err := time.Parse(time.DateOnly, day); err != nil || !p.isFar(t) {
		return p.Words.Date(day)
	}
	return tag(day, p.PlainDay(day))
}

// PlainDay returns a date of the form YYYY-MM-DD as plain text, such as "Saturday, 21 November", with its year if it is far from now. It
// returns any other text unchanged.
func (p *Page) PlainDay(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil || !p.isFar(t) {
		return p.Words.PlainDay(day)
	}
	return p.date("date.full", t)
}

// sameDay reports whether two times, both in the property's time zone, have the same date.
func sameDay(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }

// aged returns text, which it escapes, in an HTML time element whose tooltip is the full date and time.
func (p *Page) aged(at *timestamppb.Timestamp, text string) template.HTML {
	return template.HTML(`<time datetime="` + at.AsTime().In(p.zone).Format(time.RFC3339) + `" title="` + template.HTMLEscapeString(p.Stamp(at)) + `">` +
		template.HTMLEscapeString(text) + `</time>`)
}
