package reservation

import (
	"slices"
	"time"

	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/fault"
)

// Dates before the first or after the last of these years are rejected as typing errors.
const (
	firstYear = 2000
	lastYear  = 2199
)

// datesAt returns the start and the end of a stay under the property's current check-in and check-out hours. The hours complete a day; an
// instant that the PMS gave stays. It returns the stored dates if the hours would leave no time between them.
func (r Record) datesAt(h Hours) (from, to time.Time) {
	from, to = r.From, r.To
	if r.FromDate != nil {
		from = instantOn(*r.FromDate, h.CheckIn, h.Zone)
	}
	if r.ToDate != nil {
		to = instantOn(*r.ToDate, h.CheckOut, h.Zone)
	}
	if !from.Before(to) {
		return r.From, r.To
	}
	return from, to
}

// dates sets the start and the end, each from an instant, or from a day and the property's hours. It adds an error for each invalid field,
// and if the stay does not end after it starts.
func (m *merge) dates() {
	wrong := len(m.wrong)
	m.out.From, m.out.FromDate = m.instantOrDay(From, FromDate, m.hours.CheckIn, m.out.From, m.out.FromDate)
	m.out.To, m.out.ToDate = m.instantOrDay(To, ToDate, m.hours.CheckOut, m.out.To, m.out.ToDate)
	if len(m.wrong) > wrong {
		return
	}
	if m.out.From, m.out.To = m.out.datesAt(m.hours); !m.out.From.Before(m.out.To) {
		m.failDateOrder()
	}
}

// failDateOrder adds the error that the stay does not end after it starts, at one date field that the PMS sent. It adds none if the patch
// has no date.
func (m *merge) failDateOrder() {
	hint := ""
	if from, to := m.out.FromDate, m.out.ToDate; from != nil && to != nil && *from == *to {
		hint = "; send a stay of one day as moments, in from and to"
	}
	for _, f := range []Field{From, FromDate} {
		if v, _ := m.patch.text(f); v != nil {
			m.addWrong(f, fault.DatesNotValid, "must be before the end of the stay"+hint)
			return
		}
	}
	for _, f := range []Field{To, ToDate} {
		if v, _ := m.patch.text(f); v != nil {
			m.addWrong(f, fault.DatesNotValid, "must be after the beginning of the stay"+hint)
			return
		}
	}
}

// instantOrDay merges the start or the end of the stay. The PMS sends it as an instant, or as a day to which the property's hour is added.
// heldAt and heldDay are the stored values. If both fields are sent and agree, the instant counts and the day is dropped, unless both are
// the stored values: a client can read a reservation and send it back unchanged. It adds an error if the two fields disagree, if neither is
// sent and none is stored, or if the patch only clears the stored form.
func (m *merge) instantOrDay(instant, day Field, hour string, heldAt time.Time, heldDay *string) (time.Time, *string) {
	at, atNamed := m.patch.text(instant)
	date, dateNamed := m.patch.text(day)
	switch {
	case at != nil && isHeld(*at, heldAt) && (date == nil && !dateNamed || date != nil && !differs(date, heldDay)):
		return heldAt, heldDay
	case at != nil && date != nil:
		wrong := len(m.wrong)
		t, _ := m.instant(instant, *at), m.day(day, *date, hour)
		if len(m.wrong) == wrong && t.In(m.hours.Zone).Format(time.DateOnly) != *date {
			m.addWrong(instant, fault.Conflicting, "does not fall on "+string(day)+" in the property's time zone, "+m.hours.Zone.String()+": send one of the two, or two that agree")
		}
		return t, nil
	case at != nil:
		return m.instant(instant, *at), nil
	case date != nil:
		return m.day(day, *date, hour), date
	case atNamed && heldDay == nil, dateNamed && heldDay != nil, heldAt.IsZero():
		m.addWrong(instant, fault.Required, "is required unless "+string(day)+" is sent")
		return heldAt, heldDay
	}
	return heldAt, heldDay
}

// isHeld reports whether an instant that was sent is the stored one; an invalid text is not. Answers have no fractions of a second, which
// older versions stored.
func isHeld(sent string, held time.Time) bool {
	t, err := clock.Parse(sent)
	return err == nil && !held.IsZero() && t.Truncate(time.Second).Equal(held.Truncate(time.Second))
}

// instant parses a date and time with an offset, and cuts it to whole seconds. It adds an error for the field and returns zero if the text
// is invalid.
func (m *merge) instant(f Field, s string) time.Time {
	t, err := clock.Parse(s)
	if err != nil {
		m.addWrong(f, fault.BadFormat, "must be a date and time with an offset as in RFC 3339, such as 2026-07-01T15:00:00+02:00")
		return time.Time{}
	}
	m.checkYear(f, t)
	return t.UTC().Truncate(time.Second)
}

// day parses a day YYYY-MM-DD, and returns the instant of the given hour (HH:MM) on that day, in the property's time zone. It adds an error
// for the field and returns zero if the text is invalid.
func (m *merge) day(f Field, s, hour string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		m.addWrong(f, fault.BadFormat, "must be a day such as 2026-07-01")
		return time.Time{}
	}
	m.checkYear(f, t)
	return instantOn(s, hour, m.hours.Zone)
}

// checkYear adds an error for a date outside the years 2000 to 2199, which is a typing error.
func (m *merge) checkYear(f Field, t time.Time) {
	if t.Year() < firstYear || t.Year() > lastYear {
		m.addWrong(f, fault.OutOfRange, "must lie between the years 2000 and 2199")
	}
}

// yearErrors returns those of the errors of a merge that checkYear added.
func yearErrors(wrong []fault.Field) (years []fault.Field) {
	for _, f := range wrong {
		if f.Reason == fault.OutOfRange && slices.Contains([]Field{From, FromDate, To, ToDate}, Field(f.Path)) {
			years = append(years, f)
		}
	}
	return years
}

// instantOn returns the first instant at which clocks in a time zone show an hour on a day. If a clock change skips the hour, it returns
// the instant of that change. An invalid day gives zero, an invalid hour counts as 00:00.
func instantOn(day, hour string, zone *time.Location) time.Time {
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return time.Time{}
	}
	h, err := time.Parse("15:04", hour)
	if err != nil {
		h = time.Time{}
	}
	return clock.InstantAt(d, h.Hour()*60+h.Minute(), zone, false)
}
