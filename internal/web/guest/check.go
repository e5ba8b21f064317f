package guest

import (
	"net/http"
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// answers is the form of one guest, on the page where the guest checks all answers before the check-in.
type answers struct {
	Guest *guestv1.StayGuest
	Form  *guestv1.Form
}

// answered reports whether a question has an answer. An answer that this device must not see counts, too.
func answered(f *guestv1.FormField) bool { return f.GetValue() != "" || f.GetWithheld() }

// missing returns the questions of a step that have no answer and therefore hold up the check-in, see holdsUp.
func missing(step *guestv1.FormStep) []*guestv1.FormField {
	return slices.DeleteFunc(slices.Clone(step.GetFields()), func(f *guestv1.FormField) bool { return answered(f) || !holdsUp(f) })
}

// left returns the questions of a step that have no answer and do not hold up the check-in, see holdsUp.
func left(step *guestv1.FormStep) []*guestv1.FormField {
	return slices.DeleteFunc(slices.Clone(step.GetFields()), func(f *guestv1.FormField) bool { return answered(f) || holdsUp(f) })
}

// holdsUp reports whether the check-in needs the answer now: it is required, it is not due only at departure, and this session may give it.
func holdsUp(f *guestv1.FormField) bool {
	return f.GetRequired() && !f.GetByDeparture() && f.GetLockedBy() == ""
}

type checkView struct {
	Guests  []answers
	Missing string // URL of the first step with a missing answer, or ""
	Kept    bool   // the answers of a guest are from a former stay and not confirmed yet
}

// showAnswers handles the page on which the guest checks all answers.
func (s *site) showAnswers(x *exchange) error {
	p := x.stayPage("web.check.title")
	all, err := x.answers()
	if err != nil {
		return err
	}
	p.Data = checkView{Guests: all, Missing: x.firstMissing(all), Kept: slices.ContainsFunc(all, func(a answers) bool { return a.Form.GetFromProfile() })}
	return x.render(http.StatusOK, "check", p)
}

// firstMissing returns the URL of the first step with a missing answer, or "". From that step, the guest comes back to the check of all
// answers.
func (x *exchange) firstMissing(all []answers) string {
	for _, a := range all {
		for _, step := range a.Form.GetSteps() {
			if len(missing(step)) > 0 {
				return x.flow.Step(a.Form.GetGuestId(), step.GetName()) + "?check"
			}
		}
	}
	return ""
}

// confirmAnswers handles the button that confirms answers from an earlier stay. It saves the first step of each such form unchanged,
// because a save counts as a confirmation of all its answers.
func (s *site) confirmAnswers(x *exchange) error {
	all, err := x.answers()
	if err != nil {
		return err
	}
	for _, a := range all {
		if !a.Form.GetFromProfile() || len(a.Form.GetSteps()) == 0 {
			continue
		}
		first, same := a.Form.GetSteps()[0], map[string]string{}
		for _, q := range first.GetFields() {
			same[q.GetName()] = q.GetValue()
		}
		if _, err := s.api.Forms.SaveStep(x.callContext(), &guestv1.SaveStepRequest{GuestId: a.Form.GetGuestId(), Step: first.GetName(), Answers: same, Language: x.language(), LanguageOfBrowser: x.ChosenLanguage() == ""}); err != nil {
			return err
		}
	}
	return x.Redirect(x.flow.Home())
}

// answers loads the forms of all guests that this device may read.
func (x *exchange) answers() (all []answers, err error) {
	found, err := x.site.api.Forms.ListForms(x.callContext(), &guestv1.ListFormsRequest{})
	if err != nil {
		return nil, err
	}
	x.translate(found.GetData()...)
	for _, f := range found.GetData() {
		all = append(all, answers{Guest: x.flow.Guest(f.GetGuestId()), Form: f})
	}
	return all, nil
}
