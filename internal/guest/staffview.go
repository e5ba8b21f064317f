package guest

import (
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/staff"
)

// notAsked is the reason of a stored answer that neither a law nor the property asks of the guest any more: the property changed its
// settings, or the PMS changed the stay. Owners and managers still see such an answer.
const notAsked rule.Reason = ""

// StaffSees reports whether a member of staff sees an answer of a guest that is asked for a reason. role is that of a person or of a staff
// token. The front desk and operators see what the check-in needs: what the law or the property asks. Owners and managers see every answer,
// because they also answer guests who want to know what is stored. Other roles see none.
func StaffSees(role string, why rule.Reason) bool {
	switch role {
	case string(staff.Owner), string(staff.Manager): // a token has the role owner too
		return true
	case string(staff.FrontDesk), credential.RoleOperator:
		return why != notAsked
	}
	return false
}

// AnswersFor returns the answers of a guest that staff with a role see, and the number of other stored answers.
func (p *Party) AnswersFor(role string, m Member) (seen rule.Answers, withheld int) {
	seen = rule.Answers{}
	reasons := p.reasonsOf(m)
	for field, value := range m.Answers.WithoutNone() {
		if StaffSees(role, reasons[field]) {
			seen[field] = value
		} else {
			withheld++
		}
	}
	return seen, withheld
}

// reasonsOf returns why each field is asked of a guest: by the present settings of the property, or by the law under which the answers were
// saved. A field that neither asks is missing: see notAsked.
func (p *Party) reasonsOf(m Member) map[rule.Field]rule.Reason {
	out := map[rule.Field]rule.Reason{}
	for _, a := range rule.Fields(p.Rules, ruleGuest(m), p.ruleParty()) {
		out[a.Field] = a.Reason()
	}
	saved, ok := rule.Find(m.Row.Law)
	if m.Row.Law == "" || !ok {
		return out
	}
	for _, a := range rule.Fields(rule.Settings{Rule: saved}, ruleGuest(m), p.ruleParty()) {
		if a.ByLaw {
			out[a.Field] = a.Reason()
		}
	}
	return out
}
