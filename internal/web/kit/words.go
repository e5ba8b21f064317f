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

// Words renders texts in the language of the reader and in the time zone of the property.
type Words struct {
	Lang string
	zone *time.Location
}

// Text renders a message as plain text. kind is its name in the catalogue, such as "web.find.title". A kind without a text renders as its
// name, and a missing parameter as "?".
func (w Words) Text(kind string, params message.Params) string {
	return message.Reader{Language: w.Lang, Zone: w.zone}.Text(message.Message{Kind: kind, Params: params})
}

// T renders a message as HTML. kv are names and values of its parameters. Values are escaped, except those of the type template.HTML.
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

// afterTime matches punctuation after a time element. T moves it into the element, so that no line begins with it.
var afterTime = regexp.MustCompile(`</time>([,.;:!?)]+)`)

// placeholder returns a marker that replaces an HTML parameter while the text is escaped. It consists of private-use characters, which no
// text contains.
func placeholder(i int) string { return fmt.Sprintf("\uE000%d\uE001", i) }

// TimeZone returns the IANA name of the property's time zone, for the page's scripts.
func (w Words) TimeZone() string { return w.zone.String() }

// Has reports whether the English catalogue has a text for a message. The other languages fall back to it.
func (w Words) Has(kind string) bool { return message.Has(kind) }

// Or renders the message kind or, if it has no text, the message other.
func (w Words) Or(kind, other string) template.HTML {
	if !message.Has(kind) {
		kind = other
	}
	return w.T(kind)
}

// Choices returns the messages whose kinds start with prefix, such as "country." for all countries. They are in the order of the language's
// catalogue, without those that it lacks. Their kinds are without the prefix.
func (w Words) Choices(prefix string) []message.Entry { return message.List(w.Lang, prefix) }

// Countries returns the HTML options of all countries. The codes of often come first, in a group of their own, and again in the list of
// all. chosen is the selected code. Go code renders them because a template takes a millisecond for 250 options, more than the rest of the
// page.
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

// Day renders the date of a moment without a year, such as "Saturday, 21 November", or "" for nil.
func (w Words) Day(at *timestamppb.Timestamp) template.HTML {
	return timeTag(at, func(t time.Time) string { return w.day(t) }, w.zone)
}

// Clock renders the time of day of a moment, such as "15:00", or "" for nil.
func (w Words) Clock(at *timestamppb.Timestamp) template.HTML {
	return timeTag(at, func(t time.Time) string { return t.Format("15:04") }, w.zone)
}

// Moment returns a moment in UTC by RFC 3339, which the page's scripts parse. It returns 1970 for nil.
func (w Words) Moment(at *timestamppb.Timestamp) string { return at.AsTime().Format(time.RFC3339) }

// Stamp returns date and time of a moment as plain text, such as "21 Nov 2026, 15:00". It returns a date in 1970 for nil.
func (w Words) Stamp(at *timestamppb.Timestamp) string {
	return w.date("date.time", at.AsTime().In(w.zone))
}

// Short renders the date of a moment in short, such as "Sat 21 Nov", or "" for nil.
func (w Words) Short(at *timestamppb.Timestamp) template.HTML {
	return timeTag(at, func(t time.Time) string { return w.date("date.short", t) }, w.zone)
}

// Date renders a date of the form YYYY-MM-DD without its year, such as "Saturday, 21 November". It returns any other text escaped.
func (w Words) Date(day string) template.HTML {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return template.HTML(template.HTMLEscapeString(day))
	}
	return tag(day, w.day(t))
}

// LongDate renders a date of the form YYYY-MM-DD with its year, such as "21 November 2029". It returns any other text escaped.
func (w Words) LongDate(day string) template.HTML {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return template.HTML(template.HTMLEscapeString(day))
	}
	return tag(day, w.date("date.long", t))
}

// day formats a date without a year, such as "Saturday, 21 November".
func (w Words) day(t time.Time) string { return w.date("date.day", t) }

// date formats a time, in the zone that t has, with a message that is a date format. kind is its name in the catalogue, such as "date.day".
func (w Words) date(kind string, t time.Time) string {
	return message.Reader{Language: w.Lang, Zone: w.zone}.Text(message.Date(kind, t))
}

// timeTag returns an HTML time element for a moment. format makes the text, which timeTag escapes, from the moment in zone. It returns ""
// for nil.
func timeTag(at *timestamppb.Timestamp, format func(time.Time) string, zone *time.Location) template.HTML {
	if at == nil {
		return ""
	}
	t := at.AsTime().In(zone)
	return tag(t.Format(time.RFC3339), format(t))
}

// tag returns an HTML time element. moment is its machine-readable value, and text is what the reader sees; it escapes both.
func tag(moment, text string) template.HTML {
	return template.HTML(`<time datetime="` + template.HTMLEscapeString(moment) + `">` + template.HTMLEscapeString(text) + `</time>`)
}

// PlainDay returns a date of the form YYYY-MM-DD as plain text without its year, such as "Saturday, 21 November". It returns any other text
// unchanged.
func (w Words) PlainDay(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return w.day(t)
}
