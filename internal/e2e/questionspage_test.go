package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/e2e/e2etest"
)

const questionsPath = "/app/settings/questions"

// TestQuestionsPage adds, changes, moves and removes questions of the property, and keeps what it does not show: a text in a language without pages.
func TestQuestionsPage(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	settings := propertyv1.NewCheckInServiceClient(w.Public)
	stored := func() (all []string) {
		found, err := settings.GetCheckInSettings(w.Staff(t.Context()), &propertyv1.GetCheckInSettingsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range found.GetData().GetFields() {
			text := q.GetName() + ": " + q.GetLabel()
			for _, tag := range []string{"de", "es", "pt-BR"} {
				if label := q.GetLabels()[tag]; label != "" {
					text += " " + tag + " " + label
				}
			}
			if q.GetRequired() {
				text += " required"
			}
			if q.GetMainOnly() {
				text += " mainOnly"
			}
			all = append(all, text)
		}
		return all
	}
	post := func(path string, form url.Values) shown {
		form.Set("etag", s.do(http.MethodGet, questionsPath, nil).field("etag"))
		return s.do(http.MethodPost, path, form)
	}
	is := func(after string, want ...string) {
		t.Helper()
		if got := stored(); !slices.Equal(got, want) {
			t.Errorf("after %s: %q, want %q", after, got, want)
		}
	}
	if a := s.do(http.MethodGet, questionsPath, nil); !strings.Contains(a.text, "You ask no questions of your own.") {
		t.Errorf("without questions: %d %s", a.status, a.text)
	}
	for _, form := range []url.Values{
		{"question.label": {"Number plate"}, "question.labels.de": {"Kennzeichen"}, "question.labels.es": {" "}, "question.required": {"yes"}, "question.mainOnly": {"yes"}},
		{"question.label": {"Do you bring a dog?"}, "question.name": {"pet"}, "question.labels.pt-BR": {"Cão?"}},
	} {
		if a := post(questionsPath, form); a.moved != questionsPath+"?done=saved" {
			t.Fatalf("add %v: %d to %q: %s", form, a.status, a.moved, a.text)
		}
	}
	is("adding", "numberPlate: Number plate de Kennzeichen required mainOnly", "pet: Do you bring a dog? pt-BR Cão?")

	long := strings.Repeat("a", 121)
	for _, c := range []struct {
		path string
		form url.Values
		says []string // also what was typed
	}{
		{questionsPath, url.Values{"question.label": {" "}, "question.labels.de": {long}, "question.name": {"Number plate"}},
			[]string{"Write the question.", "Shorten the answer.", "Enter letters from A to Z and digits", `value="` + long + `"`, `value="Number plate"`}},
		{questionsPath, url.Values{"question.label": {"Number plate"}, "question.name": {"numberplate"}, "question.required": {"yes"}}, []string{"Another question has this name.", `value="yes" checked`}},
		{questionsPath, url.Values{"question.label": {"When?"}, "question.name": {"birthDate"}}, []string{"The form has this question itself."}},
		{questionsPath + "/pet", url.Values{"do": {"save"}, "question.label": {""}, "question.labels.de": {"Hund?"}}, []string{"Write the question.", `value="Hund?"`}},
	} {
		a := post(c.path, c.form)
		for _, text := range append(c.says, `href="#f-question.`) {
			if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.text, text) {
				t.Errorf("%s %.80v: %d to %q without %q: %s", c.path, c.form, a.status, a.moved, text, a.text)
			}
		}
	}
	is("wrong answers", "numberPlate: Number plate de Kennzeichen required mainOnly", "pet: Do you bring a dog? pt-BR Cão?")

	if a := s.do(http.MethodGet, questionsPath+"/pet", nil); a.field("question.labels.pt-BR") == "" && !strings.Contains(a.text, `value="Cão?"`) {
		t.Errorf("the question: %d %s", a.status, a.text)
	}
	if a := post(questionsPath+"/pet", url.Values{"do": {"save"}, "question.label": {"A dog?"}, "question.labels.pt-BR": {"Cão?"}, "question.labels.de": {"Hund?"}}); a.moved != questionsPath+"?done=saved" {
		t.Errorf("change: %d to %q: %s", a.status, a.moved, a.text)
	}
	is("a change", "numberPlate: Number plate de Kennzeichen required mainOnly", "pet: A dog? de Hund? pt-BR Cão?")
	for _, do := range []string{"down", "up", "up"} { // the first and the last stay where they are
		post(questionsPath+"/pet", url.Values{"do": {do}})
	}
	is("moves up", "pet: A dog? de Hund? pt-BR Cão?", "numberPlate: Number plate de Kennzeichen required mainOnly")
	post(questionsPath+"/pet", url.Values{"do": {"down"}})
	is("a move down", "numberPlate: Number plate de Kennzeichen required mainOnly", "pet: A dog? de Hund? pt-BR Cão?")
	if a := post(questionsPath+"/pet", url.Values{"do": {"remove"}}); a.moved != questionsPath+"?done=deleted" {
		t.Errorf("remove: %d to %q: %s", a.status, a.moved, a.text)
	}
	is("a removal", "numberPlate: Number plate de Kennzeichen required mainOnly")
	for _, a := range []shown{s.do(http.MethodGet, questionsPath+"/pet", nil), post(questionsPath+"/pet", url.Values{"do": {"save"}, "question.label": {"A dog?"}})} {
		if a.status != http.StatusNotFound {
			t.Errorf("a question that was removed: %d to %q: %s", a.status, a.moved, a.text)
		}
	}
}

// TestQuestionsOfTwoPeople refuses a change of questions that a colleague changed since they were shown: it keeps what was typed and shows what is stored.
func TestQuestionsOfTwoPeople(t *testing.T) {
	t.Parallel()
	w := e2etest.Open(t)
	s := newSurfer(t, w)
	s.join(w, "ada@example.com")
	settings := propertyv1.NewCheckInServiceClient(w.Public)
	change := func(c *propertyv1.CheckInSettingsChange) {
		t.Helper()
		if _, err := settings.UpdateCheckInSettings(w.Staff(t.Context()), &propertyv1.UpdateCheckInSettingsRequest{Settings: c}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(list ...*propertyv1.OwnField) {
		t.Helper()
		change(&propertyv1.CheckInSettingsChange{Fields: &propertyv1.OwnFields{List: list}})
	}
	box := []string{"settings.fields"}
	save := func(path, etag string, form url.Values) shown {
		form["etag"], form["box"] = []string{etag}, box
		return s.do(http.MethodPost, path, form)
	}
	ask(&propertyv1.OwnField{Name: "plate", Label: "Number plate"})
	page := s.do(http.MethodGet, questionsPath+"/plate", nil)
	if page.field("box") != box[0] {
		t.Fatalf("the page does not name its setting: %s", page.text)
	}
	etag := page.field("etag")

	ask(&propertyv1.OwnField{Name: "plate", Label: "Plate of your car", Required: true})
	mine := func() url.Values {
		return url.Values{"do": {"save"}, "question.label": {"Number plate"}, "question.labels.de": {"Kennzeichen"}}
	}
	refused := save(questionsPath+"/plate", etag, mine())
	for _, text := range []string{"Another person changed the questions.", "Stored now:</div>\n<div class=\"quiet\">Plate of your car</div>", "Stored now: on.", `value="Kennzeichen"`, `value="Number plate"`} {
		if refused.status != http.StatusConflict || !strings.Contains(refused.text, text) {
			t.Errorf("a stale etag: %d to %q without %q: %s", refused.status, refused.moved, text, refused.text)
		}
	}
	for _, c := range []struct {
		path string
		form url.Values
		text string
	}{
		{questionsPath, url.Values{"question.label": {"A dog?"}}, `value="A dog?"`},
		{questionsPath + "/plate", url.Values{"do": {"remove"}}, "Plate of your car"},
		{questionsPath + "/plate", url.Values{"do": {"down"}}, "Plate of your car"},
	} {
		if a := save(c.path, etag, c.form); a.status != http.StatusConflict || !strings.Contains(a.text, c.text) || !strings.Contains(a.text, "Another person changed the questions.") {
			t.Errorf("%v with a stale etag: %d to %q: %s", c.form, a.status, a.moved, a.text)
		}
	}
	etag = refused.field("etag")
	change(&propertyv1.CheckInSettingsChange{DeskPhone: new("+351 21 123 4567")}) // of another form
	if a := save(questionsPath+"/plate", etag, mine()); a.moved != questionsPath+"?done=saved" {
		t.Errorf("after a change of another setting: %d to %q: %s", a.status, a.moved, a.text)
	}
	etag = s.do(http.MethodGet, questionsPath+"/plate", nil).field("etag")
	ask()
	if a := save(questionsPath+"/plate", etag, mine()); a.status != http.StatusConflict || !strings.Contains(a.text, "You ask no questions of your own.") || !strings.Contains(a.text, `value="Kennzeichen"`) || !strings.Contains(a.text, `value="plate"`) {
		t.Errorf("a question that a colleague removed: %d to %q: %s", a.status, a.moved, a.text)
	}
}
