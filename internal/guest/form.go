package guest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	entguest "latchkey.dev/ent/guest"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/property"
	"latchkey.dev/internal/watch"
)

// Form is the form of one guest as a session sees it.
type Form struct {
	Member Member
	Asks   []rule.Ask
	// MinSteps and MaxSteps are how many steps the form can have, see [rule.StepRange].
	MinSteps, MaxSteps int

	law    *rule.Rule
	viewer actor.Actor
	ward   bool // the guest is a minor for whom the main guest decides and may read the answers, see [age.isWard]
	names  bool // the session may read the first and family name of the guest, also if it did not give them
}

// FormOf returns the form of a guest as a session sees it, or errGuestNotFound for a guest whom it must not see.
func (p *Party) FormOf(a actor.Actor, guestID string) (Form, error) {
	m, err := p.Member(a, guestID)
	if err != nil {
		return Form{}, err
	}
	asks := rule.Fields(p.Rules, ruleGuest(m), p.ruleParty())
	least, most := rule.StepRange(p.Rules, ruleGuest(m), p.ruleParty())
	return Form{Member: m, Asks: asks, MinSteps: least, MaxSteps: most, law: p.Law(), viewer: a, ward: p.isWardOfMainGuest(m), names: p.MayAccess(a)}, nil
}

// Value returns the answer to a field. withheld means that the session must not read it. A session of two facts (booking number and family
// name) reads only answers that it gave itself, and the names as long as [Party.MayAccess] allows. The main guest does not read what a
// companion answered on a link of their own, except the names, unless an adult decides for that companion.
func (f Form) Value(field rule.Field) (value string, withheld bool) {
	value = f.Member.Answers[field]
	switch {
	case value == "", f.names && (field == rule.FirstName || field == rule.LastName), f.Member.by[field] == f.viewer.ID:
		return value, false
	case f.viewer.Origin != OriginMail, !f.ward && f.LockedBy(field) != "":
		return "", true
	}
	return value, false
}

// LockedBy returns how the present answer to a field was given if this forbids the session to change it, and "" if the session may change
// it.
func (f Form) LockedBy(field rule.Field) AnsweredBy {
	given := f.Member.answeredBy(field)
	if f.Member.Answers[field] == "" || callerOf(f.viewer, f.Member.Row).mayChange(given) {
		return ""
	}
	return given
}

// IsMissing reports whether a required answer is missing.
func (f Form) IsMissing(a rule.Ask) bool { return a.Required && f.Member.Answers[a.Field] == "" }

// problemReasons maps each problem of an answer to the reason in the API's error.
var problemReasons = map[rule.Problem]fault.Reason{
	rule.TooLong: fault.TooLong, rule.NotADate: fault.NotADate, rule.NotPossible: fault.NotPossible, rule.NotACountry: fault.NotACountry,
	rule.NotAnOption: fault.NotAnOption, rule.NotAnAddress: fault.NotAnAddress, rule.NotAPhone: fault.NotAPhone, rule.BadCharacter: fault.BadCharacter,
}

// SaveStep stores the answers of one step of a form, and returns the party with them. Fields that are not in answers keep theirs. An empty
// answer removes the stored one, unless the session must not read it. If an answer is wrong, or empty but required, it stores none, and the
// error names every wrong field. It removes answers to questions that are no longer asked, and fails if the session must not change one of
// these. A new mail address of a companion can end links and sessions: see endCompanionAddress. It also erases a signature of other
// answers, opens a closed official form again, and updates a kept profile: see [Party.save]. After the stay it returns errStayEnded,
// because the official form is complete.
func SaveStep(tx *db.Tx, keys *keyring.Ring, a actor.Actor, guestID string, step rule.Step, answers map[string]string) (*Party, error) {
	p, err := loadTrustedParty(tx, keys, a)
	if err != nil {
		return nil, err
	}
	if p.hasEnded() {
		return nil, errStayEnded
	}
	form, err := p.FormOf(a, guestID)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(rule.Steps, step) {
		return nil, noSuchStep(form)
	}
	m, err := p.applyAnswers(tx, form, step, answers)
	if err != nil {
		return nil, err
	}
	if err := p.save(tx, keys, a, m); err != nil {
		return nil, err
	}
	if err := endCompanionAddress(tx, keys, a, form.Member, m); err != nil {
		return nil, err
	}
	return p, recordCompletion(tx, keys, a)
}

// noSuchStep returns the error of a step that no form has. The error lists the steps of this form.
func noSuchStep(form Form) error {
	var steps []string
	for _, ask := range form.Asks {
		if name := string(ask.Step); !slices.Contains(steps, name) {
			steps = append(steps, name)
		}
	}
	return fault.Fields(fault.Field{Path: "step", Reason: fault.WrongValue, Message: "is no step of a form: this guest's form has " + strings.Join(steps, ", ")})
}

// lockedTexts say why an answer cannot be changed.
var lockedTexts = map[AnsweredBy]string{
	ByGuest:    "was answered by the guest on a link of their own: only this guest changes it",
	ByMailLink: "was answered with the link of the mail: open that link to change it, or ask staff",
}

// applyAnswers returns a copy of the form's guest with the sent answers of a step, and without answers of any step that the form does not
// ask any more. It returns an error that names all wrong fields, or errOwnAnswers or errMailedAnswers, without fields, if an answer would
// be lost that the session must not change. A required field that was not sent is not wrong. It stores nothing.
func (p *Party) applyAnswers(tx *db.Tx, form Form, step rule.Step, answers map[string]string) (Member, error) {
	m := form.Member
	m.Answers, m.by, m.own, m.mailed = maps.Clone(m.Answers), maps.Clone(m.by), maps.Clone(m.own), maps.Clone(m.mailed)
	zone, err := clock.Zone(p.Property.TimeZone)
	if err != nil {
		return Member{}, err
	}
	days := rule.Days{Today: tx.Now().In(zone), Arrival: p.arrival}
	var wrong []fault.Field
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		field := rule.Field(name)
		if in, ok := rule.StepOf(field); !ok || in != step {
			wrong = append(wrong, fault.Field{Path: answerPath(field), Reason: fault.Unsupported, Message: "is not a field of this step: read the form for the fields of each step"})
		} else if w := form.setAnswer(m, field, answers[name], days); w != nil {
			wrong = append(wrong, *w)
		}
	}
	asks := rule.Fields(p.Rules, ruleGuest(m), p.ruleParty())
	for _, ask := range asks {
		if _, sent := answers[string(ask.Field)]; sent && ask.Required && ask.Step == step && m.Answers[ask.Field] == "" && !hasField(wrong, ask.Field) {
			wrong = append(wrong, fault.Field{Path: answerPath(ask.Field), Reason: fault.Required, Message: "is required"})
		}
	}
	if len(wrong) > 0 {
		return Member{}, fault.Fields(wrong...)
	}
	dropUnasked(m, asks)
	if err := form.checkLockedAnswers(m); err != nil {
		return Member{}, err
	}
	m.mailTo = form.companionMailTo(m)
	p.findMissing(&m)
	return m, nil
}

// setAnswer sets one answer of m, a copy of the form's guest, and how it was given. It returns what is wrong with the answer, or nil. An
// empty answer to a field that the session must not read changes nothing, nor does the same answer to a locked one.
func (f Form) setAnswer(m Member, field rule.Field, answer string, days rule.Days) *fault.Field {
	value, problem := rule.Clean(field, answer, days)
	if problem != "" {
		text := message.Reader{Language: message.English}.Text(message.Message{Kind: "problem." + string(problem)})
		return &fault.Field{Path: answerPath(field), Reason: problemReasons[problem], Message: text}
	}
	shown, withheld := f.Value(field)
	if value == "" && withheld {
		return nil // the caller does not see the answer, so an empty field keeps it
	}
	if locked := f.LockedBy(field); locked != "" {
		if withheld || value != shown {
			return &fault.Field{Path: answerPath(field), Reason: fault.NotYourAnswer, Message: lockedTexts[locked]}
		}
		return nil
	}
	m.Answers[field], m.by[field] = value, f.viewer.ID
	if m.Row.Role == Companion && callerOf(f.viewer, m.Row) == theGuest {
		m.own[field] = true
	}
	if f.viewer.Origin == OriginMail {
		m.mailed[field] = true
	}
	return nil
}

// checkLockedAnswers returns errOwnAnswers or errMailedAnswers, by who gave it, if m, a copy of the form's guest with other answers, lost
// an answer that the session must not change.
func (f Form) checkLockedAnswers(m Member) error {
	for field := range f.Member.Answers {
		if m.Answers[field] != "" {
			continue
		}
		switch f.LockedBy(field) {
		case ByGuest:
			return errOwnAnswers
		case ByMailLink:
			return errMailedAnswers
		}
	}
	return nil
}

// dropUnasked removes empty answers, and answers to questions that are not asked any more after another answer changed. Some laws forbid to
// store more than they ask.
func dropUnasked(m Member, asks []rule.Ask) {
	for field, value := range m.Answers {
		if value == "" || !slices.ContainsFunc(asks, func(a rule.Ask) bool { return a.Field == field }) {
			delete(m.Answers, field)
			delete(m.by, field)
			delete(m.own, field)
			delete(m.mailed, field)
		}
	}
}

// answerPath returns the path of an answer in the API's errors.
func answerPath(f rule.Field) string { return "answers." + string(f) }

// hasField reports whether a list of errors contains one of a field.
func hasField(wrong []fault.Field, f rule.Field) bool {
	return slices.ContainsFunc(wrong, func(w fault.Field) bool { return w.Path == answerPath(f) })
}

// save stores the answers of m, as confirmed by the guest and under the present law, and replaces the member in p. It erases a signature of
// other answers, and opens a closed official form again. It updates the kept profile if the main guest keeps one and uses the link of the
// mail.
func (p *Party) save(tx *db.Tx, keys *keyring.Ring, a actor.Actor, m Member) error {
	if m.SignedAt = p.signedAt(m); m.SignedAt.IsZero() {
		m.signature = nil
	}
	sealed, err := sealPerson(tx.Context(), keys, m.Row, m.person())
	if err != nil {
		return err
	}
	complete := len(m.Missing) == 0
	err = tx.Guest.Update().Where(entguest.PropertyID(m.Row.PropertyID), entguest.ID(m.Row.ID)).
		SetPerson(sealed).SetComplete(complete).SetFromProfile(false).SetUpdatedAt(tx.Now()).SetLaw(p.keptLaw()).ClearEraseAt().Exec(tx.Context())
	if err != nil {
		return fmt.Errorf("store the answers of a guest: %w", err)
	}
	watch.Notify(tx, m.Row.PropertyID, watch.Reservations, m.Row.ReservationID)
	row := *m.Row
	row.Person, row.Complete, row.FromProfile = sealed, complete, false
	m.Row = &row
	for i := range p.Members {
		if p.Members[i].Row.ID == m.Row.ID {
			p.Members[i] = m
		}
	}
	if m.Row.Role == Main && p.Stay.KeepProfile && a.Origin == OriginMail {
		return p.saveProfile(tx, keys, m.Answers)
	}
	return nil
}

// Settings are a property's rules of self check-in, with their defaults.
type Settings = property.CheckInSettings

// ruleSettings converts the settings for package rule. An unknown country rule counts as the rule without questions.
func ruleSettings(s *Settings) rule.Settings {
	law, ok := rule.Find(s.Rule)
	if !ok {
		law = &rule.Rules[0]
	}
	out := rule.Settings{Rule: law}
	for _, f := range s.Fields {
		out.Own = append(out.Own, rule.Own{Name: f.Name, Label: f.Label, Labels: f.Labels, Required: f.Required, MainOnly: f.MainOnly})
	}
	for _, g := range s.MandatoryGroups {
		out.Mandatory = append(out.Mandatory, rule.Group(g))
	}
	return out
}
