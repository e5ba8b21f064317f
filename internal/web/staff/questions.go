package staff

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

const (
	mostQuestions    = 20 // maximum number of questions that the API accepts
	longestName      = 32 // maximum length of a question's name, which has only ASCII characters
	questionsSetting = "settings.fields"
	labelPrefix      = "question.labels." // prefix of the inputs with the text in one language
)

// questionsView is the list of the questions that the property added to the check-in form, with the form of a new one.
type questionsView struct {
	etagGuard
	List   []*propertyv1.OwnField
	Inputs []kit.Input // form fields of a new question; none if the list is full
}

// Last reports whether the question at index i is the last. It then has no button to move it down.
func (v questionsView) Last(i int) bool { return i == len(v.List)-1 }

// questionView is the page of one question.
type questionView struct {
	*propertyv1.OwnField
	etagGuard
	Inputs []notedInput
}

// questionInputs returns the form fields of a question: its standard text, its texts in the languages of the pages and in any other
// language that is stored, and its switches (mandatory, only for the main guest). q is nil for a new question.
func questionInputs(p *page, q *propertyv1.OwnField) []kit.Input {
	inputs := []kit.Input{{Name: "question.label", Label: "staff.question.label", Hint: "staff.question.label.hint", Value: q.GetLabel(), Autocomplete: "off"}}
	for _, tag := range labelTags(p, q) {
		name := tag
		if slices.Contains(p.Languages, tag) {
			name = p.LanguageName(tag)
		}
		inputs = append(inputs, kit.Input{Name: labelPrefix + tag, Label: "staff.question.in", Of: name, Value: q.GetLabels()[tag], Autocomplete: "off"})
	}
	return append(inputs,
		kit.Input{Name: "question.required", Label: "staff.question.required", Type: "switch", Value: flag(q.GetRequired())},
		kit.Input{Name: "question.mainOnly", Label: "staff.question.main", Hint: "staff.question.main.hint", Type: "switch", Value: flag(q.GetMainOnly())})
}

// labelTags returns the languages in which a question can have a text: those of the pages, then others in which it has a stored text.
func labelTags(p *page, q *propertyv1.OwnField) []string {
	tags := slices.Clone(p.Languages)
	for _, tag := range slices.Sorted(maps.Keys(q.GetLabels())) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// postedQuestion returns the question in the posted form, with this name. Languages with an empty text are left out.
func (x *exchange) postedQuestion(name string) *propertyv1.OwnField {
	q := &propertyv1.OwnField{Name: name, Label: x.Value("question.label"), Required: *x.isOn("question.required"), MainOnly: *x.isOn("question.mainOnly"), Labels: map[string]string{}}
	for input := range x.R.PostForm {
		if tag, ok := strings.CutPrefix(input, labelPrefix); ok && x.Value(input) != "" {
			q.Labels[tag] = x.Value(input)
		}
	}
	return q
}

// questionName derives a name for a new question from its text, such as numberPlate. If list has that name, in any case, it appends a
// number, as in numberPlate2. A text without Latin letters becomes question. The name has at most longestName characters.
func questionName(label string, list []*propertyv1.OwnField) string {
	var b strings.Builder
	word := false // true if the next letter begins a new word
	for _, r := range norm.NFD.String(label) {
		switch {
		case r < unicode.MaxASCII && unicode.IsLetter(r), r < unicode.MaxASCII && unicode.IsDigit(r) && b.Len() > 0:
			if r = unicode.ToLower(r); word && b.Len() > 0 {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
			word = false
		case !unicode.Is(unicode.Mn, r): // an accent does not end the word
			word = true
		}
	}
	base := cmp.Or(b.String(), "question")
	name := base[:min(len(base), longestName)]
	for n := 2; slices.ContainsFunc(list, func(q *propertyv1.OwnField) bool { return strings.EqualFold(q.GetName(), name) }); n++ {
		number := strconv.Itoa(n)
		name = base[:min(len(base), longestName-len(number))] + number
	}
	return name
}

// indexOfQuestion returns the index of the question with this name, or -1.
func indexOfQuestion(list []*propertyv1.OwnField, name string) int {
	return slices.IndexFunc(list, func(q *propertyv1.OwnField) bool { return q.GetName() == name })
}

// saveQuestions stores the list of questions that edit returns for the stored list. It fails like changeRules if another person has changed
// the list. It can call edit twice.
func (x *exchange) saveQuestions(edit func(list []*propertyv1.OwnField) []*propertyv1.OwnField) error {
	return x.changeRules(func(stored *propertyv1.CheckInSettings) *propertyv1.CheckInSettingsChange {
		return &propertyv1.CheckInSettingsChange{Fields: &propertyv1.OwnFields{List: edit(stored.GetFields())}}
	})
}

// ofQuestion returns a fault whose paths match the names of the inputs of one question. at is the index of the question in the list that
// the API refused.
func ofQuestion(f *fault.Fault, at int) *fault.Fault {
	return renamed(f, questionsSetting+".list."+strconv.Itoa(at)+".", "question.")
}

// showQuestions handles the page with the questions that the property added to the check-in form.
func (s *site) showQuestions(x *exchange) error { return x.questionsPage(nil) }

// questionsPage renders the list of questions and the form of a new one. f is why the API refused a change, or nil. It shows the errors of
// f in that form, and an outdated list as such, also after another action than an addition. Any other f is returned. After an addition, or
// the change of a question that was removed meanwhile, the form has the posted values.
func (x *exchange) questionsPage(f *fault.Fault) error {
	stored, err := x.checkInSettings()
	if err != nil {
		return err
	}
	p, status := x.settingsPage("own"), http.StatusOK
	v := questionsView{List: stored.GetFields(), etagGuard: etagGuard{stored.GetEtag(), questionsSetting}}
	if len(v.List) < mostQuestions {
		v.Inputs = append(questionInputs(p, nil), kit.Input{Name: "question.name", Label: "staff.question.name", Hint: "staff.question.name.hint", Autocomplete: "off"})
	}
	if f != nil {
		// If another person has removed the question that was posted, its values become the form of a new question.
		if removed := x.R.PathValue("id"); len(v.Inputs) > 0 && (removed == "" || x.Value("do") == "save") {
			v.Inputs = x.Posted(v.Inputs)
			if name := &v.Inputs[len(v.Inputs)-1]; removed != "" {
				name.Value = removed
			}
		}
		if status, err = x.refuseSetting(p, f, v.Inputs, "staff.questions.outdated"); err != nil {
			return err
		}
	}
	p.Data = v
	return x.render(status, "questions", p)
}

// addQuestion handles the form that adds a question at the end of the list. If the API refuses the question, it shows the form again with
// errors.
func (s *site) addQuestion(x *exchange) error {
	at := 0
	err := x.saveQuestions(func(list []*propertyv1.OwnField) []*propertyv1.OwnField {
		at = len(list)
		return append(list, x.postedQuestion(cmp.Or(x.Value("question.name"), questionName(x.Value("question.label"), list))))
	})
	if err != nil {
		return x.questionsPage(ofQuestion(s.Fault(err), at))
	}
	return x.Redirect("/app/settings/questions?done=saved")
}

// showQuestion handles the page of one question.
func (s *site) showQuestion(x *exchange) error { return x.questionPage(nil) }

// questionPage renders the question in the path, or a 404 page if there is no such question. f is why the API refused the posted form, or
// nil. An f that is not about the form is returned. If the question was removed meanwhile, the values go to the form of a new one.
func (x *exchange) questionPage(f *fault.Fault) error {
	stored, err := x.checkInSettings()
	if err != nil {
		return err
	}
	at := indexOfQuestion(stored.GetFields(), x.R.PathValue("id"))
	if at < 0 && f != nil { // another person has removed the question: keep the posted values in the form of a new one
		return x.questionsPage(fault.New(fault.Aborted, fault.Outdated, "the question was removed"))
	}
	if at < 0 {
		return x.problem(http.StatusNotFound, "staff.problem.unknown")
	}
	q := stored.GetFields()[at]
	p, status := x.settingsPage("own"), http.StatusOK
	p.Title, p.Back = p.T("staff.room.title", "name", q.GetLabel()), "/app/settings/questions"
	inputs := questionInputs(p, q)
	v := questionView{OwnField: q, etagGuard: etagGuard{stored.GetEtag(), questionsSetting}, Inputs: noted(inputs, inputs, false)}
	if f != nil {
		posted := x.Posted(slices.Clone(inputs))
		v.Inputs = noted(posted, inputs, f.Reason == fault.Outdated)
		if status, err = x.refuseSetting(p, ofQuestion(f, at), posted, "staff.questions.outdated"); err != nil {
			return err
		}
	}
	p.Data = v
	return x.render(status, "question", p)
}

// changeQuestion handles the forms that change, move or remove a question. It stores nothing if another person has changed the list.
func (s *site) changeQuestion(x *exchange) error {
	name, do, found := x.R.PathValue("id"), x.Value("do"), false
	if !slices.Contains([]string{"save", "up", "down", "remove"}, do) {
		return x.Redirect("/app/settings/questions")
	}
	err := x.saveQuestions(func(list []*propertyv1.OwnField) []*propertyv1.OwnField {
		at := indexOfQuestion(list, name)
		if found = at >= 0; !found {
			return list
		}
		switch {
		case do == "save":
			list[at] = x.postedQuestion(name)
		case do == "remove":
			return slices.Delete(list, at, at+1)
		case do == "up" && at > 0:
			list[at-1], list[at] = list[at], list[at-1]
		case do == "down" && at < len(list)-1:
			list[at+1], list[at] = list[at], list[at+1]
		}
		return list
	})
	switch {
	case err == nil && !found:
		return x.problem(http.StatusNotFound, "staff.problem.unknown")
	case err != nil && do == "save":
		return x.questionPage(s.Fault(err))
	case err != nil:
		return x.questionsPage(s.Fault(err))
	case do == "remove":
		return x.Redirect("/app/settings/questions?done=deleted")
	}
	return x.Redirect("/app/settings/questions?done=saved")
}
