package guest

import (
	"net/http"
	"slices"

	guestv1 "latchkey.dev/gen/latchkey/guest/v1"
)

// answers are the answers of one guest, for the page that checks them.
type answers struct {
	Guest *guestv1.StayGuest
	Form  *guestv1.Form
}

// answered reports whether a question has an answer, or one that is not shown here.
func answered(f *guestv1.FormField) bool { return f.GetValue() != "" || f.GetWithheld() }

// missing returns the questions of a step that hold up the check-in.
func missing(step *guestv1.FormStep) []*guestv1.FormField {
	return slices.DeleteFunc(slices.Clone(step.GetFields()), func(f *guestv1.FormField) bool { return answered(f) || !holdsUp(f) })
}

// left returns the other questions of a step without an answer.
func left(step *guestv1.FormStep) []*guestv1.FormField {
	return slices.DeleteFunc(slices.Clone(step.GetFields()), func(f *guestv1.FormField) bool { return answered(f) || holdsUp(f) })
}

func holdsUp(f *guestv1.FormField) bool {
	return f.GetRequired() && !f.GetByDeparture() && f.GetLockedBy() == ""
}

type checkView struct {
	Guests  []answers
	Missing string // the first step with a missing answer; "" if there is none
	Kept    bool   // the answers are from a former stay, and the guest has not confirmed them
}

func (s *site) showAnswers(x *exchange) error {
	p := x.stayPage("web.check.title")
	all, err := x.answers()
	if err != nil {
		return err
	}
	p.Data = checkView{Guests: all, Missing: x.firstMissing(all), Kept: slices.ContainsFunc(all, func(a answers) bool { return a.Form.GetFromProfile() })}
	return x.render(http.StatusOK, "check", p)
}

// firstMissing returns the URL of the first step with a missing answer, or "" if there is none. The step leads back to the check.
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

// confirmAnswers confirms answers of a former stay: it saves a step of the form unchanged.
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
		if _, err := s.api.Forms.SaveStep(x.callContext(), &guestv1.SaveStepRequest{GuestId: a.Form.GetGuestId(), Step: first.GetName(), Answers: same, Language: x.language()}); err != nil {
			return err
		}
	}
	return x.Redirect(x.flow.Home())
}

// answers returns the forms of all guests whose answers the device may read.
func (x *exchange) answers() (all []answers, err error) {
	found, err := x.site.api.Forms.ListForms(x.callContext(), &guestv1.ListFormsRequest{})
	if err != nil {
		return nil, err
	}
	x.translate(found.GetData()...)
	for _, f := range found.GetData() {
		all = append(all, answers{Guest: x.flow.guest(f.GetGuestId()), Form: f})
	}
	return all, nil
}
