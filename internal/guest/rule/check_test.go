package rule

import (
	"strings"
	"testing"
	"time"
)

func TestClean(t *testing.T) {
	for _, test := range []struct {
		field   Field
		in, out string
		problem Problem
	}{
		{LastName, "  da  Silva ", "da Silva", ""},
		{LastName, "O’Neill-Ångström", "O’Neill-Ångström", ""},
		{LastName, strings.Repeat("ü", 101), "", TooLong},
		{BirthDate, "1 marzobre 2011", "", NotADate},
		{LastName, "a\x00b", "", BadCharacter},
		{LastName, "a\u0085b", "a b", ""},
		{LastName, "a\x1bb", "", BadCharacter},
		{LastName, "\u202eavliS\u202c", "avliS", ""},
		{LastName, "Sil\u200bva\ufeff\u00ad", "Silva", ""},
		{LastName, "نیک\u200cنام", "نیک\u200cنام", ""},
		{LastName, "\u200b", "", ""},
		{LastName, "\u200d \u2060", "", ""},
		{LastName, "\u3164", "", ""},
		{LastName, "\u1160", "", ""},
		{LastName, "\u2800\u00a0", "", ""},
		{LastName, "\u0301\u0301", "", ""},
		{LastName, "\x00", "", BadCharacter},
		{DocumentNumber, "12\u200b34", "1234", ""},
		{Mobile, "\u200e+351 912 345 678", "+351912345678", ""},
		{LastName, "\xff", "", BadCharacter},
		{BirthDate, "1990-05-05", "1990-05-05", ""},
		{BirthDate, "1990-02-30", "", NotADate},
		{BirthDate, "2026-11-22", "", NotPossible},
		{BirthDate, "1880-01-01", "", NotPossible},
		{Nationality, "pt", "PT", ""},
		{Nationality, "XX", "XX", ""},
		{Country, "XX", "", NotACountry},
		{Country, "UK", "", NotACountry},
		{BirthCountry, "XK", "XK", ""},
		{Sex, "F", "F", ""},
		{Sex, "f", "", NotAnOption},
		{DocumentType, "residencePermit", "residencePermit", ""},
		{Kinship, "grandparent", "grandparent", ""},
		{DocumentNumber, "ab-12.34 5", "AB12345", ""},
		{Email, "ana@example.com", "ana@example.com", ""},
		{Email, "Ana <ana@example.com>", "", NotAnAddress},
		{Email, "ana@localhost", "", NotAnAddress},
		{Mobile, "+351 912-345.678", "+351912345678", ""},
		{Mobile, "0049 (0)170 1234567", "+491701234567", ""},
		{Mobile, "call me", "", NotAPhone},
		{"own.plate", " AA 00 BB ", "AA 00 BB", ""},
		{Mobile, "", "", ""},
		{SecondLastName, " - ", "-", ""},
		{LastName, "-", "-", ""},
		{DocumentNumber, "-", "", BadCharacter},
		{VisaNumber, "-", "-", ""},
		{EntryDate, "2026-11-23", "2026-11-23", ""}, // guests fill in the form before they travel
		{EntryDate, "2026-11-24", "", NotPossible},
	} {
		if out, problem := Clean(test.field, test.in, Days{Today: arrival, Arrival: arrival.AddDate(0, 0, 2)}); out != test.out || problem != test.problem {
			t.Errorf("%s %q: %q, %q; want %q, %q", test.field, test.in, out, problem, test.out, test.problem)
		}
	}
}

// The day at the property decides whether a day has passed, not the day in UTC.
func TestTodayIsThatOfTheProperty(t *testing.T) {
	east, west := time.FixedZone("", 13*60*60), time.FixedZone("", -11*60*60)
	for _, test := range []struct {
		now    time.Time
		answer string
		want   Problem
	}{
		{time.Date(2026, 11, 21, 0, 30, 0, 0, east), "2026-11-21", ""},
		{time.Date(2026, 11, 21, 0, 30, 0, 0, east), "2026-11-22", NotPossible},
		{time.Date(2026, 11, 20, 23, 30, 0, 0, west), "2026-11-20", ""},
		{time.Date(2026, 11, 20, 23, 30, 0, 0, west), "2026-11-21", NotPossible},
	} {
		if _, problem := Clean(IssueDate, test.answer, Days{Today: test.now}); problem != test.want {
			t.Errorf("at %s, %s: %q", test.now, test.answer, problem)
		}
	}
}
