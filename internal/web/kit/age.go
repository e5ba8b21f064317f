package kit

import (
	"html/template"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// Ago renders how long ago a moment was, such as "3 min ago". From one hour on it renders the moment itself, like [Page.When].
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

// When renders a moment as short as is clear: "14:40" today, "yesterday 23:10", and date and time for other days.
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
	case now.Sub(t).Abs() < 300*24*time.Hour:
		return p.aged(at, p.date("date.short", t)+" "+clock)
	}
	return p.aged(at, p.Stamp(at))
}

// sameDay reports whether two times of the page's zone have the same date.
func sameDay(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }

// aged returns text in a time element whose tooltip is the full date and time.
func (p *Page) aged(at *timestamppb.Timestamp, text string) template.HTML {
	return template.HTML(`<time datetime="` + at.AsTime().In(p.zone).Format(time.RFC3339) + `" title="` + template.HTMLEscapeString(p.Stamp(at)) + `">` +
		template.HTMLEscapeString(text) + `</time>`)
}
