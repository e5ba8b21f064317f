package guest

import (
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/guest/drawing"
	"latchkey.dev/internal/guest/rule"
	"latchkey.dev/internal/keyring"
)

// Drawn is the value of a property's Signature setting with which guests sign on a screen.
const Drawn = "drawn"

// signature is a signature that a guest drew on a screen. It is sealed with the answers.
type signature struct {
	Drawing string    `json:"drawing"`
	Of      string    `json:"of"` // the version of the answers that were signed
	At      time.Time `json:"at"`
}

// SignatureState says whether a guest can sign on a screen now, or why not.
type SignatureState string

// The states of a signature.
const (
	SignatureNotNeeded SignatureState = ""           // the property wants no signature of this guest on a screen
	SignIncomplete     SignatureState = "incomplete" // required answers are missing
	SignLater          SignatureState = "later"      // the law wants the signature on the day of arrival
	SignAtDesk         SignatureState = "atDesk"     // some answers are hidden from the session: sign where they were given, or at the desk
	SignOpen           SignatureState = "open"       // the guest can sign now
	Signed             SignatureState = "signed"
)

var signRefusals = map[SignatureState]string{
	SignatureNotNeeded: "the property wants no signature of this guest on a screen",
	SignIncomplete:     "answers are missing: complete the form, then sign",
	SignLater:          "the law wants the signature on the day of arrival: sign then",
	SignAtDesk:         "some answers were given on another device and are not shown here: sign on that device, or at the desk",
}

// Signature is the signature of a guest as a session sees it.
type Signature struct {
	State  SignatureState
	Shown  string       // Shown is the version of the answers to sign, for [Sign]; empty unless State is SignOpen
	Fields []rule.Field // Fields are those whose answers are signed, in the order of the form; nil unless SignOpen or Signed
	At     time.Time    // At is when the guest signed, or zero
}

// signs reports whether a guest has to sign if the settings want signatures: the guest fills in the form, and [rule.Signs] wants it.
func (p *Party) signs(m Member) bool {
	return p.fillsIn(m) && rule.Signs(p.Rules.Rule, ruleGuest(m), p.ruleParty())
}

// NeedsSignature reports whether any guest of the party has to sign if the settings want signatures.
func (p *Party) NeedsSignature() bool { return slices.ContainsFunc(p.Members, p.signs) }

// Unsigned returns the ids of the guests who have to sign on a screen and have not signed the present answers. It returns none if the
// property's setting is not Drawn.
func (p *Party) Unsigned() []string {
	var out []string
	for _, m := range p.Members {
		if p.Settings.Signature == Drawn && p.signs(m) && m.SignedAt.IsZero() {
			out = append(out, m.Row.ID)
		}
	}
	return out
}

// signedAnswers returns the answers that a guest signs: those of the official form, or all if no law applies.
func (p *Party) signedAnswers(m Member) rule.Answers {
	if p.Rules.Rule == &rule.Rules[0] {
		return m.Answers.WithoutNone()
	}
	return rule.OfficialAnswers(p.Rules, ruleGuest(m), p.ruleParty())
}

// version identifies the answers that a guest signs: a signature counts only for this version. It is a keyed hash, so that nothing about
// the answers can be guessed from it.
func (p *Party) version(m Member) string {
	values := []string{p.Property.ID, m.Row.ID}
	answers := p.signedAnswers(m)
	for _, f := range slices.Sorted(maps.Keys(answers)) {
		values = append(values, string(f), answers[f])
	}
	return hex.EncodeToString(p.keys.MAC("signedAnswers", values...)[:16])
}

// signedAt returns when a guest signed the present answers, or zero. Where the law wants the signature on the day of arrival, one from an
// earlier day does not count: the PMS moved the stay afterwards.
func (p *Party) signedAt(m Member) time.Time {
	if m.signature == nil || m.signature.Of != p.version(m) || p.signsLater(m.signature.At) {
		return time.Time{}
	}
	return m.signature.At
}

// signsLater reports whether the law wants the signature on the day of arrival, and at is on an earlier day.
func (p *Party) signsLater(at time.Time) bool {
	return p.Law().SignsOnArrival && at.In(p.arrival.Location()).Format(time.DateOnly) < p.arrival.Format(time.DateOnly)
}

// Signature returns the signature of a guest as a session sees it at a moment. It has Fields only if the guest can sign or has signed.
func (p *Party) Signature(f Form, now time.Time) (Signature, error) {
	zone, err := clock.Zone(p.Property.TimeZone)
	if err != nil {
		return Signature{}, err
	}
	s := Signature{State: p.signatureState(f, now.In(zone)), At: f.Member.SignedAt}
	if s.State != SignOpen && s.State != Signed {
		return s, nil
	}
	answers := p.signedAnswers(f.Member)
	for _, a := range f.Asks {
		if answers[a.Field] != "" {
			s.Fields = append(s.Fields, a.Field)
		}
	}
	if s.State == SignOpen {
		s.Shown = p.version(f.Member)
	}
	return s, nil
}

// signatureState returns whether the guest of a form has to sign, may sign now, or has signed.
func (p *Party) signatureState(f Form, now time.Time) SignatureState {
	m := f.Member
	switch {
	case p.Settings.Signature != Drawn || !p.signs(m):
		return SignatureNotNeeded
	case !m.SignedAt.IsZero():
		return Signed
	case len(m.Missing) > 0:
		return SignIncomplete
	case p.signsLater(now):
		return SignLater
	}
	for field := range p.signedAnswers(m) {
		if _, withheld := f.Value(field); withheld {
			return SignAtDesk
		}
	}
	return SignOpen
}

// Sign stores the signature of a guest and returns the party. drawn is the text of a [drawing.Drawing], and shown the version of the
// answers that the guest saw. It returns an error if the answers changed since, the guest cannot sign now (see [SignatureState]), or the
// stay has ended. If the guest has signed already, it keeps that signature and returns no error.
func Sign(tx *db.Tx, keys *keyring.Ring, a actor.Actor, guestID, shown, drawn string) (*Party, error) {
	picture, err := drawing.Parse(drawn)
	if err != nil {
		return nil, fault.Fields(fault.Field{Path: "drawing", Reason: fault.BadFormat, Message: err.Error()})
	}
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
	s, err := p.Signature(form, tx.Now())
	switch {
	case err != nil:
		return nil, err
	case s.State == Signed:
		return p, nil
	case s.State != SignOpen:
		return nil, fault.New(fault.Precondition, fault.CannotSignHere, signRefusals[s.State])
	case s.Shown != shown:
		return nil, fault.New(fault.Precondition, fault.DetailsChanged, "the answers changed after they were shown: show them again, then sign")
	}
	m := form.Member
	m.signature = &signature{Drawing: picture.String(), Of: shown, At: tx.Now()}
	return p, p.save(tx, keys, a, m)
}

// DrawnSignature returns the valid signature of a guest as an SVG image, and when it was drawn, or the error fault.NotSigned. An
// unknown guest is errGuestNotFound.
func (p *Party) DrawnSignature(guestID string) (svg string, at time.Time, err error) {
	i := slices.IndexFunc(p.Members, func(m Member) bool { return m.Row.ID == guestID })
	if i < 0 {
		return "", time.Time{}, errGuestNotFound
	}
	m := p.Members[i]
	if m.SignedAt.IsZero() {
		return "", time.Time{}, fault.New(fault.NotFound, fault.NotSigned, "this guest has not signed on a screen, or an answer changed after the signature")
	}
	picture, err := drawing.Parse(m.signature.Drawing)
	if err != nil {
		return "", time.Time{}, err
	}
	return picture.SVG(), m.SignedAt, nil
}

// validSignature returns the signature that counts for the present answers and the present arrival, or nil.
func (m Member) validSignature() *signature {
	if m.SignedAt.IsZero() {
		return nil
	}
	return m.signature
}
