package kit

import (
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"latchkey.dev/internal/message"
)

// Words render texts in the language of the guest and in the time zone of the property.
type Words struct {
	Lang string
	zone *time.Location
}

// Text renders a message as plain text.
func (w Words) Text(kind string, params message.Params) string {
	return message.Reader{Language: w.Lang, Zone: w.zone}.Text(message.Message{Kind: kind, Params: params})
}

// T renders a message whose parameters follow as names and values. Texts are escaped; parameters that are HTML stay HTML.
func (w Words) T(kind string, kv ...any) template.HTML {
	params := message.Params{}
	var kept []template.HTML
	for i := 0; i+1 < len(kv); i += 2 {
		name, _ := kv[i].(string)
		params[name] = kv[i+1]
		if h, ok := kv[i+1].(template.HTML); ok {
			params[name] = placeholder(len(kept))
			kept = append(kept, h)
		}
	}
	text := template.HTMLEscapeString(w.Text(kind, params))
	for i, h := range kept {
		text = strings.ReplaceAll(text, placeholder(i), string(h))
	}
	if strings.Contains(text, "</time>") {
		text = afterTime.ReplaceAllString(text, "$1</time>")
	}
	return template.HTML(text)
}

// afterTime matches the punctuation after a date. It goes into the element of the date, which lines never break before.
var afterTime = regexp.MustCompile(`</time>([,.;:!?)]+)`)

// placeholder stands for a parameter that is HTML while the text is escaped. It is made of private characters.
func placeholder(i int) string { return fmt.Sprintf("\uE000%d\uE001", i) }

// TimeZone is the name of the property's time zone, for scripts.
func (w Words) TimeZone() string { return w.zone.String() }

// Has reports whether a message has a text.
func (w Words) Has(kind string) bool { return message.Has(kind) }

// Or renders a message, or another if the first has no text.
func (w Words) Or(kind, other string) template.HTML {
	if !message.Has(kind) {
		kind = other
	}
	return w.T(kind)
}

// Choices returns the messages of a prefix in the order of the language, such as all countries.
func (w Words) Choices(prefix string) []message.Entry { return message.List(w.Lang, prefix) }

// Countries renders the options of all countries, after those that are chosen often. They are rendered here because a template takes a
// millisecond for 250 options, more than for the rest of the page.
func (w Words) Countries(chosen string, often []string) template.HTML {
	var b strings.Builder
	option := func(code, text string, selected bool) {
		b.WriteString(`<option value="` + template.HTMLEscapeString(code) + `"`)
		if selected {
			b.WriteString(" selected")
		}
		b.WriteString(">" + template.HTMLEscapeString(text) + "</option>")
	}
	group := func(kind string) { b.WriteString(`<optgroup label="` + string(w.T(kind)) + `">`) }
	if len(often) > 0 {
		group("web.countries.often")
		for _, code := range often {
			option(code, w.Text("country."+code, nil), code == chosen)
		}
		b.WriteString("</optgroup>")
		group("web.countries.all")
	}
	for _, country := range w.Choices("country.") {
		option(country.Kind, country.Text, country.Kind == chosen && !slices.Contains(often, chosen))
	}
	if len(often) > 0 {
		b.WriteString("</optgroup>")
	}
	return template.HTML(b.String())
}

// Day renders the day of a moment, such as "Saturday, 21 November".
func (w Words) Day(at *timestamppb.Timestamp) template.HTML {
	return timeTag(at, func(t time.Time) string { return w.day(t) }, w.zone)
}

// Clock renders the time of day of a moment, such as "15:00".
func (w Words) Clock(at *timestamppb.Timestamp) template.HTML {
	return timeTag(at, func(t time.Time) string { return t.Format("15:04") }, w.zone)
}

// Moment is a moment as scripts read it.
func (w Words) Moment(at *timestamppb.Timestamp) string { return at.AsTime().Format(time.RFC3339) }

// Stamp renders day, year and time of a moment as text, such as "21 Nov 2026, 15:00".
func (w Words) Stamp(at *timestamppb.Timestamp) string {
	return w.date("date.time", at.AsTime().In(w.zone))
}

// Short renders the day of a moment in short, such as "Sat 21 Nov".
func (w Words) Short(at *timestamppb.Timestamp) template.HTML {
	return timeTag(at, func(t time.Time) string { return w.date("date.short", t) }, w.zone)
}

// Date renders a day of the form YYYY-MM-DD, such as "Saturday, 21 November", with the year if it is another than this one's.
func (w Words) Date(day string) template.HTML {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return template.HTML(template.HTMLEscapeString(day))
	}
	return tag(day, w.day(t))
}

// LongDate renders a day of the form YYYY-MM-DD with its year, such as "21 November 2029".
func (w Words) LongDate(day string) template.HTML {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return template.HTML(template.HTMLEscapeString(day))
	}
	return tag(day, w.date("date.long", t))
}

func (w Words) day(t time.Time) string { return w.date("date.day", t) }

func (w Words) date(kind string, t time.Time) string {
	return message.Reader{Language: w.Lang, Zone: w.zone}.Text(message.Date(kind, t))
}

func timeTag(at *timestamppb.Timestamp, format func(time.Time) string, zone *time.Location) template.HTML {
	if at == nil {
		return ""
	}
	t := at.AsTime().In(zone)
	return tag(t.Format(time.RFC3339), format(t))
}

func tag(moment, text string) template.HTML {
	return template.HTML(`<time datetime="` + template.HTMLEscapeString(moment) + `">` + template.HTMLEscapeString(text) + `</time>`)
}

// PlainDay renders a day of the form YYYY-MM-DD as text, such as "Saturday, 21 November".
func (w Words) PlainDay(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return w.day(t)
}
