package guest

import (
	"net/http"
	"slices"
	"strings"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/web/kit"
)

// guestAndStep returns the guest's id and the step's name from the URL, both "" for an invalid URL at a kiosk.
func (x *exchange) guestAndStep() (guest, step string) {
	if x.flow.Kiosk {
		return x.flow.stepOf(x.R.PathValue("step"))
	}
	return x.R.PathValue("guest"), x.R.PathValue("step")
}

// openForm handles the URL of a form. It redirects to the first step with a missing answer. If none is missing, it redirects to the first
// step or, for answers from an earlier stay, to the check of all answers. At a kiosk it chooses the first guest who has a missing answer,
// or redirects to the check-in.
func (s *site) openForm(x *exchange) error {
	id := x.R.PathValue("guest")
	if x.flow.Kiosk {
		missing := x.flow.Stay.GetCheckIn().GetMissingGuestIds()
		if len(missing) == 0 {
			return x.Redirect(x.flow.CheckIn())
		}
		id = missing[0]
	}
	f, err := x.form(id)
	if err != nil {
		return err
	}
	switch {
	case f.GetFromProfile() && f.GetNext() == "":
		return x.Redirect(x.flow.Below("form/check"))
	case f.GetNext() != "":
		return x.Redirect(x.flow.Step(id, f.GetNext()))
	case len(f.GetSteps()) > 0:
		return x.Redirect(x.flow.Step(id, f.GetSteps()[0].GetName()))
	}
	return x.Redirect(x.flow.Home())
}

// form loads the form of a guest, with the labels in the page's language.
func (x *exchange) form(guest string) (*guestv1.Form, error) {
	found, err := x.site.api.Forms.GetForm(x.callContext(), &guestv1.GetFormRequest{GuestId: guest})
	x.translate(found.GetData())
	return found.GetData(), err
}

// translate sets the labels of questions that the property added to the page's language, if they have a text in it.
func (x *exchange) translate(forms ...*guestv1.Form) {
	words := x.words(x.flow.Stay.GetProperty())
	for _, f := range forms {
		for _, step := range f.GetSteps() {
			for _, q := range step.GetFields() {
				if label := q.GetLabels()[words.Lang]; label != "" {
					q.Label = label
				}
			}
		}
	}
}

// field is one question of a step with its value: the stored answer, or the posted one.
type field struct {
	*guestv1.FormField
	ID    string
	Value string
	Parts []string // day, month and year of a date
	Why   string   // kind of the message about why the law asks the question; empty: no reason, or that of the field before
	By    string   // if LockedBy is set: the first name of the guest who may change the answer, or "" if this session must not see the name
}

type stepView struct {
	Guest   *guestv1.StayGuest
	Step    *guestv1.FormStep
	Fields  []field
	Number  int                // number of the step; 0 if the form has only one
	Count   int                // number of steps of the form, or the largest that it can have
	AtMost  bool               // the form can have fewer steps, depending on answers that are still missing
	Confirm bool               // the page returns to the check of all answers
	Same    *guestv1.StayGuest // guest whose address a button copies, or nil
	Other   bool               // the questions are about another guest than the reader
	Party   bool               // the page offers to correct the number of people, because this companion possibly has not come
}

// showStep handles the page of one step of a guest's form.
func (s *site) showStep(x *exchange) error {
	guest, step := x.guestAndStep()
	f, err := x.form(guest)
	if err != nil {
		return err
	}
	var typed map[string]string
	if at := slices.IndexFunc(f.GetSteps(), func(s *guestv1.FormStep) bool { return s.GetName() == step }); at >= 0 && x.HasTyped() {
		typed = x.posted(f.GetSteps()[at])
	}
	return x.step(http.StatusOK, f, step, typed, nil)
}

// step renders the step of form f with this name. posted are answers to show instead of the stored ones, or nil, and faults are the errors
// in them. A step that the form does not have gets the page for unknown URLs.
func (x *exchange) step(status int, f *guestv1.Form, name string, posted map[string]string, faults []fault.Field) error {
	at := slices.IndexFunc(f.GetSteps(), func(s *guestv1.FormStep) bool { return s.GetName() == name })
	if at < 0 {
		return x.notFound()
	}
	step := f.GetSteps()[at]
	other := f.GetGuestId() != x.flow.Self().GetId()
	p := x.stayPage(stepTitle(step, other))
	p.Back, p.Keeps = x.backFrom(f, at), true
	v := stepView{Guest: x.flow.Guest(f.GetGuestId()), Step: step, Confirm: x.isFromCheck(), Other: other}
	v.Count = max(len(f.GetSteps()), int(f.GetMaxSteps()))
	if v.AtMost = v.Count > int(f.GetMinSteps()); v.Count > 1 {
		v.Number = at + 1
	}
	v.Party = x.flow.Kiosk && v.Guest.GetRole() == "companion" && x.flow.misses(f.GetGuestId())
	if _, ok := x.sameAddress(f.GetGuestId(), name); ok {
		v.Same = x.flow.Main()
	}
	for _, asked := range step.GetFields() {
		q := field{FormField: asked, ID: "f-" + strings.ReplaceAll(asked.GetName(), ".", "-"), Value: asked.GetValue(), Why: asked.GetPurpose()}
		if n := len(v.Fields); n > 0 && v.Fields[n-1].GetPurpose() == q.Why {
			q.Why = ""
		}
		switch asked.GetLockedBy() {
		case "mailLink":
			q.By = x.flow.Main().GetFirstName()
		case "guest":
			q.By = x.flow.NameOf(f.GetGuestId())
		}
		if sent, ok := posted[asked.GetName()]; ok {
			q.Value = sent
		}
		if asked.GetKind() == "date" {
			q.Parts = kit.DateParts(q.Value)
		}
		for _, wrongField := range faults {
			if answerOf(wrongField.Path) == asked.GetName() {
				p.Wrong = append(p.Wrong, wrong{ID: q.ID, Label: p.label(asked), Text: p.Or("problem."+string(wrongField.Reason), "problem.required")})
				break
			}
		}
		v.Fields = append(v.Fields, q)
	}
	p.Data = v
	return x.render(status, "step", p)
}

// stepTitle returns the key of the text that is the title of a step. The step "birth" has another title if it asks only for the date, and
// one if it asks only for the sex. The step "name" has another title if other is true: the reader enters the name of another guest.
func stepTitle(step *guestv1.FormStep, other bool) string {
	asks := func(names ...string) bool {
		return slices.ContainsFunc(step.GetFields(), func(f *guestv1.FormField) bool { return slices.Contains(names, f.GetName()) })
	}
	switch {
	case step.GetName() == "name" && other:
		return "form.name.other"
	case step.GetName() != "birth" || asks("birthPlace", "birthProvince", "birthCountry"):
		return "form." + step.GetName()
	case asks("birthDate"):
		return "form.birth.date"
	}
	return "form.birth.sex"
}

// sameAddress returns the answers of the main guest's step "address", which a companion's form can copy. ok is false for other steps, for
// the main guest, and if there is no address, this session must not see it, or the form cannot be loaded.
func (x *exchange) sameAddress(guest, step string) (address map[string]string, ok bool) {
	first := x.flow.Main().GetId()
	if step != "address" || guest == first || first == "" {
		return nil, false
	}
	f, err := x.form(first)
	if err != nil {
		return nil, false
	}
	address = map[string]string{}
	for _, s := range f.GetSteps() {
		for _, q := range s.GetFields() {
			if s.GetName() == step && q.GetValue() != "" {
				address[q.GetName()] = q.GetValue()
			}
		}
	}
	return address, len(address) > 0
}

// isFromCheck reports whether the guest opened the page from the check of all answers, and so comes back to it.
func (x *exchange) isFromCheck() bool { return x.R.URL.Query().Has("check") || x.Value("check") != "" }

// backFrom returns the URL of the link "back" on the step at this index: the step before, or the check of all answers if the page was
// opened from there.
func (x *exchange) backFrom(f *guestv1.Form, at int) string {
	switch {
	case x.isFromCheck():
		return x.checkPage()
	case at > 0:
		return x.flow.Step(f.GetGuestId(), f.GetSteps()[at-1].GetName())
	}
	return x.flow.Home()
}

// checkPage returns the URL of the check of all answers.
func (x *exchange) checkPage() string {
	if x.flow.Kiosk {
		return "/k/confirm"
	}
	return x.flow.Below("form/check")
}

// answerOf returns the name of the answer, such as lastName, from the path of a refused field: "answers.lastName", "answers[lastName]" or
// "lastName". It does not check that there is such an answer.
func answerOf(path string) string {
	path = strings.TrimPrefix(path, "answers")
	return strings.Trim(path, `.[]"`)
}

// saveStep handles the form of a step. It saves the answers and redirects to the next page. The button "same" saves the address of the main
// guest instead. A form that was sent twice is no error.
func (s *site) saveStep(x *exchange) error {
	guest, step := x.guestAndStep()
	f, err := x.form(guest)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(f.GetSteps(), func(s *guestv1.FormStep) bool { return s.GetName() == step })
	if at < 0 {
		return x.notFound()
	}
	posted := x.posted(f.GetSteps()[at])
	if address, ok := x.sameAddress(guest, step); ok && x.Value("do") == "same" {
		posted = address
	}
	saved, err := s.api.Forms.SaveStep(x.callContext(), &guestv1.SaveStepRequest{GuestId: guest, Step: step, Answers: posted, Language: x.language(), LanguageOfBrowser: x.ChosenLanguage() == ""})
	if err != nil {
		if wrong := s.Fault(err); wrong.Kind == fault.Invalid && len(wrong.Fields) > 0 {
			return x.step(http.StatusUnprocessableEntity, f, step, posted, wrong.Fields)
		}
		if s.Fault(err).Reason != fault.ShownOnce {
			return err
		}
		after, err := x.form(guest) // the same form was sent twice, and the first time saved it
		if err != nil {
			return err
		}
		return x.Redirect(x.pageAfterStep(after, step))
	}
	return x.Redirect(x.pageAfterStep(saved.GetData(), step))
}

// posted returns the posted answers of a step, by the name of the question. Questions that this session must not answer are left out.
func (x *exchange) posted(step *guestv1.FormStep) map[string]string {
	posted := map[string]string{}
	words := x.words(x.flow.Stay.GetProperty())
	for _, q := range step.GetFields() {
		if q.GetLockedBy() != "" {
			continue // the page has no input for a question that this session must not answer
		}
		if q.GetKind() == "date" {
			posted[q.GetName()] = words.DateFrom(x.Value(q.GetName()+".day"), x.Value(q.GetName()+".month"), x.Value(q.GetName()+".year"))
			continue
		}
		posted[q.GetName()] = x.Value(q.GetName())
	}
	return posted
}

// pageAfterStep returns the URL of the page after a saved step: the next step, a step with a missing answer, or the check of all answers
// (at a kiosk, the form of the next guest). A step that was opened from the check leads to a missing answer or back to the check. f is the
// form after the save.
func (x *exchange) pageAfterStep(f *guestv1.Form, step string) string {
	if x.isFromCheck() && f.GetNext() == "" {
		return x.checkPage()
	}
	if x.isFromCheck() {
		return x.flow.Step(f.GetGuestId(), f.GetNext())
	}
	at := slices.IndexFunc(f.GetSteps(), func(s *guestv1.FormStep) bool { return s.GetName() == step })
	if at+1 < len(f.GetSteps()) {
		return x.flow.Step(f.GetGuestId(), f.GetSteps()[at+1].GetName())
	}
	if f.GetNext() != "" {
		return x.flow.Step(f.GetGuestId(), f.GetNext())
	}
	if x.flow.Kiosk {
		return "/k/form" // moves to the form of the next guest, or to the check-in
	}
	return x.checkPage()
}
