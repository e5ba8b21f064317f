package message

import (
	"slices"
	"testing"
	"time"
)

// The notation holds the rules of languages with one to six forms. The wanted forms are those of Unicode CLDR.
func TestPlurals(t *testing.T) {
	for _, test := range []struct {
		language, rule string
		want           map[int][]int // numbers of each form
	}{
		{"Japanese", "other", map[int][]int{0: {0, 1, 2, 100}}},
		{"German", "n = 1 | other", map[int][]int{0: {1, -1}, 1: {0, 2, 11, 21, 101}}},
		{"French", "n = 0,1 | other", map[int][]int{0: {0, 1}, 1: {2, 11, 100}}},
		{"Czech", "n = 1 | n = 2..4 | other", map[int][]int{0: {1}, 1: {2, 3, 4}, 2: {0, 5, 22, 104}}},
		{"Polish", "n = 1 | n % 10 = 2..4 and n % 100 != 12..14 | other", map[int][]int{0: {1}, 1: {2, 4, 22, 103}, 2: {0, 5, 11, 12, 14, 21, 112, 25}}},
		{"Ukrainian", "n % 10 = 1 and n % 100 != 11 | n % 10 = 2..4 and n % 100 != 12..14 | other", map[int][]int{0: {1, 21, 101}, 1: {2, 24, 102}, 2: {0, 5, 11, 12, 111, 20}}},
		{"Arabic", "n = 0 | n = 1 | n = 2 | n % 100 = 3..10 | n % 100 = 11..99 | other", map[int][]int{0: {0}, 1: {1}, 2: {2}, 3: {3, 10, 103}, 4: {11, 99, 111}, 5: {100, 101, 202}}},
		{"Irish", "n = 1 | n = 2 | n = 3..6 | n = 7..10 | other", map[int][]int{0: {1}, 1: {2}, 2: {3, 6}, 3: {7, 10}, 4: {0, 11}}},
		{"either", "n = 1 or n % 10 = 5 and n != 15 | other", map[int][]int{0: {1, 5, 25}, 1: {0, 15}}},
	} {
		p, err := parsePlurals(test.rule)
		if err != nil || p.forms() != len(test.want) {
			t.Errorf("%s: %d forms, %v", test.language, p.forms(), err)
		}
		for form, numbers := range test.want {
			for _, n := range numbers {
				if got := p.form(n); got != form {
					t.Errorf("%s: %d has the form %d, want %d", test.language, n, got, form)
				}
			}
		}
	}
}

func TestPluralsThatCannotBeRead(t *testing.T) {
	for _, rule := range []string{"", "n = 1", "n = 1 | ", "n == 1 | other", "n = a | other", "n % 0 = 1 | other", "n = 4..2 | other", "n = 1..2..3 | other", "n = , | other", "other | other", "n=1 | other", "n = 99999999999999999999 | other"} {
		if p, err := parsePlurals(rule); err == nil {
			t.Errorf("%q: %v", rule, p)
		}
	}
}

// Dates and plurals of each language are those of Unicode CLDR.
func TestDatesAndPlurals(t *testing.T) {
	at := saturday
	for _, test := range []struct {
		language string
		dates    map[string]string
		plurals  []string // of 0, 1 and 2 open items
	}{
		{"en", map[string]string{"date.day": "Saturday, 21 November", "date.short": "Sat 21 Nov", "date.full": "Saturday, 21 November 2026", "date.long": "21 November 2026", "date.time": "21 Nov 2026, 23:30"},
			[]string{"0 things are still to do.", "1 thing is still to do.", "2 things are still to do."}},
		{"de", map[string]string{"date.day": "Samstag, 21. November", "date.short": "Sa. 21. Nov.", "date.full": "Samstag, 21. November 2026", "date.long": "21. November 2026", "date.time": "21. Nov. 2026, 23:30 Uhr"},
			[]string{"0 Punkte sind noch offen.", "1 Punkt ist noch offen.", "2 Punkte sind noch offen."}},
		{"es", map[string]string{"date.day": "sábado, 21 de noviembre", "date.short": "sáb, 21 nov", "date.full": "sábado, 21 de noviembre de 2026", "date.long": "21 de noviembre de 2026", "date.time": "21 nov 2026, 23:30"},
			[]string{"Quedan 0 cosas por hacer.", "Queda 1 cosa por hacer.", "Quedan 2 cosas por hacer."}},
		{"fr", map[string]string{"date.day": "samedi 21 novembre", "date.short": "sam. 21 nov.", "date.full": "samedi 21 novembre 2026", "date.long": "21 novembre 2026", "date.time": "21 nov. 2026 à 23:30"},
			[]string{"Il reste 0 chose à faire.", "Il reste 1 chose à faire.", "Il reste 2 choses à faire."}},
	} {
		r := Reader{Language: test.language}
		for kind, want := range test.dates {
			if got := r.Text(Date(kind, at)); got != want {
				t.Errorf("%s: %s is %q, want %q", test.language, kind, got, want)
			}
		}
		var got []string
		for n := range 3 {
			got = append(got, r.Text(Message{Kind: "web.checkin.todo", Params: Params{"count": n}}))
		}
		if !slices.Equal(got, test.plurals) {
			t.Errorf("%s: %q", test.language, got)
		}
	}
}

// French counts the first day of a month, and no other.
func TestFirstDay(t *testing.T) {
	first := time.Date(2026, 12, 1, 23, 30, 0, 0, time.UTC)
	for language, want := range map[string]string{"en": "Tuesday, 1 December", "de": "Dienstag, 1. Dezember", "es": "martes, 1 de diciembre", "fr": "mardi 1er décembre", "pt": "Tuesday, 1 December"} {
		if got := (Reader{Language: language}).Text(Date("date.day", first)); got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
	if got := (Reader{Language: "fr"}).Text(Date("date.time", first.AddDate(0, 0, 1))); got != "2 déc. 2026 à 23:30" {
		t.Errorf("the second day is %q", got)
	}
}
